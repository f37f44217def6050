"""Cells of new rows that a model cannot use, and values far beyond those of training, are said."""

import numpy as np
import pandas as pd
import pytest

from absentia import TableEncoder
from absentia.cli import main
from absentia.tables.files.delimited import cells_as_written, read_delimited
from absentia.tables.plan_notes import as_written


def table(n: int = 80) -> pd.DataFrame:
    """Numbers with unreadable cells of their own, heavy tails, a rare number, dates, words."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, n)
    seen = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame = pd.DataFrame(
        {
            "age": age.astype(str),
            "dose": [f"{value:.2f}" for value in rng.gamma(2, size=n)],
            "bill": np.exp(3 * rng.normal(size=n)).round(3),
            "visits": np.eye(n)[0] * 7,
            "seen": seen.strftime("%Y-%m-%d"),
            "code": np.where(rng.random(n) < 0.1, -999.0, rng.normal(size=n).round(3)),
            "ward": rng.choice(["A", "B"], n),
            "ill": np.where(age > 55, "yes", "no"),
        }
    )
    frame.loc[1:3, "age"] = "lost"
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    table().to_csv(place / "train.csv", index=False)
    command = ["train", str(place / "train.csv"), "-t", "ill", "--method", "genrbf", "-q"]
    assert main([*command, "-o", str(place / "model")]) == 0
    return place


def said(folder, capsys, rows: pd.DataFrame, command: str = "predict") -> list[str]:
    rows.to_csv(folder / "new.csv", index=False)
    capsys.readouterr()
    assert main([command, str(folder / "model"), str(folder / "new.csv")]) == 0
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("command", ["predict", "ask"])
def test_cells_that_cannot_be_read_are_counted_by_column(folder, capsys, command):
    rows = table().drop(columns="ill").iloc[10:16].reset_index(drop=True).astype(object)
    rows.loc[1:2, "age"] = ["61 J.", "zwei"]
    rows.loc[3:4, "dose"] = ["2.5 mg/l", "<0.5"]
    rows.loc[5, "seen"] = "44599"
    rows.loc[0, "age"] = "n/a"
    notes = said(folder, capsys, rows, command)
    assert notes[:3] == [
        "age: 2 values cannot be read as a number, such as '61 J.' in row 2, and count as missing.",
        "dose: 1 value cannot be read as a number, such as '2.5 mg/l' in row 4, and counts as "
        "missing.",
        "seen: 1 value cannot be read as a date, such as '44599' in row 6, and counts as missing.",
    ]


def test_dates_as_numbers_of_a_spreadsheet_are_said_where_all_of_them_are(folder, capsys):
    rows = table().drop(columns="ill").head(3).assign(seen=[44599, 44600, 44601])
    (note, *_) = [note for note in said(folder, capsys, rows) if "seen" in note]
    assert "seen: 3 values cannot be read as a date, such as '44599' in row 1" in note


def test_values_far_beyond_training_are_named(folder, capsys):
    rows = table().drop(columns="ill").iloc[10:14].reset_index(drop=True)
    rows["age"] = ["999", "95", "30", "888"]
    rows.loc[2, "seen"] = "2052-03-01"
    (note,) = said(folder, capsys, rows)
    assert note == (
        "Far beyond the range of training: 999 in 'age', row 1 and 1 more value (training: 20 to "
        "89); 2052-03-01 in 'seen', row 3 (training: 2023-01-05 to 2023-10-26)."
    )


def test_rows_like_those_of_training_have_no_note(folder, capsys):
    # Codes, heavy tails and a number that came once are what training saw.
    rows = table().drop(columns="ill")
    notes = said(folder, capsys, rows)
    assert notes == [
        "age: 3 values cannot be read as a number, such as 'lost' in row 2, and count as missing."
    ]
    assert said(folder, capsys, rows.drop(index=[1, 2, 3])) == []


def test_numbers_where_training_had_words_are_said():
    rng = np.random.default_rng(0)
    encoder = TableEncoder().fit(pd.DataFrame({"ward": rng.choice(["01", "02", "A1"], 60)}))
    (note,) = encoder.read_noted(pd.DataFrame({"ward": [1, 2]})).notes
    assert (
        note == "Words that did not occur in training count as missing: '1' in 'ward' and 1 more."
    )


def test_a_word_is_the_same_whatever_the_other_rows_of_its_file_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ward = rng.choice(["01", "02", "A1"], 90)
    train = pd.DataFrame({"ward": ward, "x": rng.normal(size=90), "y": np.char.add("y", ward)})
    train.to_csv("t.csv", index=False)
    assert main(["train", "t.csv", "-t", "y", "-o", "m", "--method", "genrbf", "-q"]) == 0
    for rows in (["01", "02", ""], ["01", "02", "", "A1"]):
        frame = pd.DataFrame({"ward": rows, "x": [0.0] * len(rows)})
        frame.to_csv("n.csv", index=False)
        capsys.readouterr()
        assert main(["predict", "m", "n.csv"]) == 0
        answers, notes = capsys.readouterr()
        assert answers.split()[1:3] == ["y01", "y02"]
        assert not notes


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_thousands_are_those_of_training_whatever_separates_the_values(separator):
    rng = np.random.default_rng(0)
    rent = [f"{value:,}".replace(",", ".") for value in rng.integers(1000, 2000, 30)]
    share = [f"{value:.1f}".replace(".", ",") for value in rng.normal(5, 1, 30)]
    encoder = TableEncoder().fit(pd.DataFrame({"rent": rent, "share": share}))
    content = f"rent{separator}share\n1.410{separator}5\n".encode()
    later = read_delimited(content, "later.csv")
    rows = as_written(
        encoder, later, lambda: cells_as_written(content, "later.csv", list(later.columns))
    )
    np.testing.assert_array_equal(encoder.transform(rows), [[1410.0, 5.0]])
