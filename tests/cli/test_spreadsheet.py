"""A sheet as people keep it: UTF-16, ``sep=;``, blanks, limits, money, codes, sorted by outcome."""

import io
import re
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

from absentia.cli import main
from absentia.tables.files.formats import read_bytes


def european(value):
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def sheet(n=90):
    rng = np.random.default_rng(0)
    ill = np.sort(rng.integers(2, size=n))
    age = rng.normal(40 + 15 * ill, 8).round().astype(int)
    lead = rng.gamma(1 + 2 * ill)
    seen = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    return pd.DataFrame(
        {
            "Patient ID": [f"P-{k}" for k in range(n)],
            "Ward ": np.where(ill, "North ", "South"),
            "Age": np.where(rng.random(n) < 0.1, "n/a", age.astype(str)),
            "Lead": [f"{v:.1f}".replace(".", ",") if v > 0.5 else "<0,5" for v in lead],
            "Bill": [f"{european(v)} €" for v in rng.gamma(2.0, 600.0 * (1 + ill))],
            "Share": [f"{v:.0f} %" for v in 100 * rng.beta(2 + 2 * ill, 4)],
            "Seen": [d.strftime("%d.%m.%Y" if k % 3 else "%Y-%m-%d") for k, d in enumerate(seen)],
            "BP": np.where(rng.random(n) < 0.1, -999, rng.normal(120, 12, n).round()).astype(int),
            "Group": np.select([age < 30, age < 50], ["<30", "30-49"], "50+"),
            "Outcome": np.where(ill, "relapse", "well"),
        }
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "sep=;\r\n" + sheet().to_csv(index=False, sep=";", lineterminator="\r\n")
    (tmp_path / "sheet.csv").write_bytes(text.encode("utf-16"))
    new = sheet().drop(columns=["Outcome", "BP"]).iloc[[0, -1]]
    new["Ward "], new["Bill"] = ["East", "North"], ["12 apples", "100,00 €"]
    new.to_csv("new.csv", index=False, sep=";")


def test_describe_says_what_was_found(files, capsys):
    assert main(["describe", "sheet.csv", "--no-test"]) == 0
    out = capsys.readouterr().out
    for said in (
        "amounts of money in €",
        "percentages, 12 % read as 12",
        "such as '<0,5'",
        "2 date formats",
        "of -999, far from the others",
        "ranges of numbers, read as numbers from 0 ('<30') to 2 ('50+')",
    ):
        assert said in out
    assert main(["describe", "sheet.csv", "--no-test", "--numbers", "BP"]) == 0
    assert "-999" not in capsys.readouterr().out
    assert main(["describe", "sheet.csv", "--categories", "Nix"]) == 1
    assert "There is no column 'Nix'" in capsys.readouterr().err


def test_train_predict_and_ask(files, capsys):
    train = ["train", "sheet.csv", "-t", "Outcome", "-o", "model", "--method", "genrbf"]
    assert main(train) == 0
    said = capsys.readouterr().err
    assert "such as '<0,5' are limits" in said
    assert "BP: use --numbers BP to keep such codes as numbers" in said
    assert "Ward: 2 categories" in said
    assert main(["predict", "model", "new.csv", "--uncertainty", "-o", "out.csv"]) == 0
    said = capsys.readouterr().err
    assert "lacks 'BP'" in said
    assert "Words that did not occur in training count as missing: 'East' in 'Ward'." in said
    assert "Bill: 1 value cannot be read as a number, such as '12 apples' in row 1" in said
    assert pd.read_csv("out.csv")["prediction"].tolist() == ["well", "relapse"]
    assert main(["ask", "model", "new.csv"]) == 0
    assert "Bill" in capsys.readouterr().out
    assert main([*train, "--force", "--numbers", "BP", "--categories", "Group"]) == 0
    said = capsys.readouterr().err
    assert "-999" not in said
    assert "Group: 3 categories, one indicator column for each" in said
    assert main([*train, "--force", "--numbers", "BP", "--categories", "BP"]) == 1
    assert "BP cannot be both a category and a number" in capsys.readouterr().err


def test_limits_move_predictions(files):
    assert main(["train", "sheet.csv", "-t", "Outcome", "-o", "m", "--method", "genrbf", "-q"]) == 0
    rows = pd.DataFrame({"Lead": ["<0,5", "", ">5"]})
    rows.to_csv("lead.csv", index=False)
    assert main(["predict", "m", "lead.csv", "--probabilities", "-o", "out.csv"]) == 0
    low, unknown, high = pd.read_csv("out.csv")["probability_relapse"]
    assert low < unknown < high


def test_limits_narrow_doubts_and_what_is_worth_measuring(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 90))
    written = [f"{value:.2f}" if value > -1 else "<-1" for value in x]
    train = pd.DataFrame({"x": written, "z": z, "y": 3 * x + z, "word": ["a", "b"] * 45})
    train.to_csv("train.csv", index=False)
    # What is missing lies in an interval, below a limit, or anywhere.
    pd.DataFrame({"x": ["0.4-0.6", "<-1", ""], "z": [0.0] * 3, "word": ["a"] * 3}).to_csv(
        "new.csv", index=False
    )
    for target, other in (("y", "word"), ("word", "y")):
        command = ["train", "train.csv", "-t", target, "--method", "genrbf", "-o", "m", "--force"]
        assert main([*command, "--ignore", other, "-q"]) == 0
        new = "new.csv"
        assert main(["predict", "m", new, "--uncertainty", "-o", "out.csv", "--force"]) == 0
        found = pd.read_csv("out.csv")
        assert main(["ask", "m", new, "-o", "gains.csv", "--force"]) == 0
        asked = pd.read_csv("gains.csv").query("column == 'x'").set_index("row")
        if target == "word":
            continue  # nothing to learn there; it must only run with a calibrated classifier
        # Shares are of a row's own variance: between rows, the variances count.
        gains = asked["gain"] * asked["doubt"] ** 2
        narrow, below, unknown = found["due_to_missing"]
        assert narrow < 0.2 < below < unknown
        assert gains[1] < 0.05 * gains[3]
        assert gains[2] < gains[3]
    capsys.readouterr()


def test_a_name_that_comes_twice_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,a\n" + "1,2,3\n4,5,6\n" * 10)
    assert main(["describe", "t.csv", "--no-test"]) == 0
    assert "The column name 'a' appears 2 times" in capsys.readouterr().err


@pytest.mark.parametrize("size", [None, b"", b'<dimension ref="A1:B2"/>'])
def test_a_cell_at_the_far_end_of_a_sheet_is_refused_at_once(tmp_path, size):
    """Two cells in 5 kB would be read as 17 billion empty ones."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.cell(1_048_576, 16_384).value = 3
    book.save(tmp_path / "far.xlsx")
    content = (tmp_path / "far.xlsx").read_bytes()
    if size is not None:  # says nothing of its size, or something else
        out = io.BytesIO()
        with ZipFile(io.BytesIO(content)) as source, ZipFile(out, "w") as target:
            for name in source.namelist():
                text = source.read(name)
                target.writestr(name, re.sub(rb"<dimension[^>]*/>", size, text))
        content = out.getvalue()
    with pytest.raises(ValueError, match=r"far\.xlsx cannot be read as Excel: the sheet reaches"):
        read_bytes(content, "far.xlsx")
