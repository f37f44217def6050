"""Tables as they come: sorted, with ids, bounds, rare classes; and interruptions."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia.cli import main
from absentia.cli.terminal import read_table
from absentia.recipe import comparison


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def numbers(n: int = 60, columns: str = "abc") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(n, len(columns))), columns=list(columns))


def score_of(notes: str) -> float:
    return float(notes.split("cross-validated ")[1].split()[1])


def test_a_file_sorted_by_its_target_is_learned_as_well(capsys):
    table = numbers(100)
    table["price"] = 3 * table["a"] - table["b"]
    table.sort_values("price").to_csv("sorted.csv", index=False)
    assert main(["train", "--method", "genrbf", "sorted.csv", "-t", "price", "-o", "m"]) == 0
    notes = capsys.readouterr().err
    assert score_of(notes) > 0.9
    assert "always the mean would score 0.000" in notes


def test_a_score_stands_beside_that_of_a_constant_answer(capsys):
    # Six rows, ten times each, of which one is rare: nothing can be learned.
    table = pd.concat([numbers(6)] * 10, ignore_index=True)
    table["y"] = ["rare"] * 6 + ["common"] * 54
    table.to_csv("t.csv", index=False)
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m"]) == 0
    said = capsys.readouterr().err
    assert "always 'common' would score 0.900; the model has learned nothing)" in said


def test_rare_classes_are_counted_and_named(capsys):
    table = numbers(60)
    table["y"] = ["yes"] * 15 + ["no"] * 15 + [f"rare {i}" for i in range(30)]
    table.to_csv("t.csv", index=False)
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m"]) == 0
    notes = capsys.readouterr().err
    assert "Of the 32 classes of y, 30 classes have fewer than 5 rows and were left out" in notes
    assert "and 10 more. They have 30 of the 60 rows" in notes


def test_ids_and_ignored_columns(capsys):
    table = numbers(60)
    table["y"] = np.where(table["a"] > 0, "yes", "no")
    table.insert(0, "patient", np.arange(1, 61))
    table.to_csv("t.csv", index=False)
    assert (
        main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m", "--ignore", "c"]) == 0
    )
    notes = capsys.readouterr().err
    assert "patient: left out, it only numbers the rows" in notes
    assert "--numbers patient uses it" in notes
    assert "kinds=" not in notes
    table[["a", "b"]].to_csv("new.csv", index=False)
    assert main(["predict", "m", "new.csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert (pd.read_csv(io.StringIO(out))["prediction"] == table["y"]).mean() > 0.8
    assert (
        main(
            [
                "train",
                "--method",
                "genrbf",
                "t.csv",
                "-t",
                "y",
                "-o",
                "k",
                "--ignore",
                "c",
                "--keep-ids",
            ]
        )
        == 0
    )
    assert "patient" not in capsys.readouterr().err
    for names, said in (
        ("q", "no column 'q' to ignore; the columns are patient"),
        ("y", "to predict"),
    ):
        assert (
            main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "x", "--ignore", names])
            == 1
        )
        assert said in capsys.readouterr().err
    assert main(["describe", "t.csv", "--ignore", "a, b"]) == 0
    assert "60 rows, 3 columns" in capsys.readouterr().out


def test_bounds_and_dashes_are_missing_numbers(capsys):
    table = numbers(100).round(3).astype(object)
    table.loc[:9, "a"] = "<0.5"
    table.loc[20:44, "b"] = "-"
    table["y"] = np.where(np.arange(100) % 2, "yes", "no")
    table.to_csv("t.csv", index=False)
    assert main(["describe", "t.csv"]) == 0
    out = capsys.readouterr().out
    assert "35 of 400 values missing" in out
    assert "chi-square" in out
    limits = "10 values such as '<0.5' are limits."
    assert f"a: numbers written as text; {limits}" in out
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m"]) == 0
    notes = capsys.readouterr().err
    assert "b: numbers written as text; 25 unreadable values ('-') count as missing" in notes
    assert "left out" not in notes


def test_one_infinite_value_stops_nothing(capsys):
    table = numbers(40)
    table["y"] = np.where(table["b"] > 0, "yes", "no")
    table.loc[3, "a"] = np.inf
    table.loc[5:9, "c"] = None
    table.to_csv("t.csv", index=False)
    assert main(["describe", "t.csv"]) == 0
    assert "a: 1 infinite value counts as missing." in capsys.readouterr().out
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m", "-q"]) == 0
    assert main(["predict", "m", "t.csv"]) == 0


def test_a_target_of_numbers_written_as_text_is_a_quantity(capsys):
    table = numbers(60)
    table["price"] = [f"{v:.2f}".replace(".", ",") for v in 10 + 3 * table["a"]]
    table.loc[7, "price"] = "n/a "
    table.loc[8, "price"] = "-"
    table.to_csv("t.csv", index=False, sep=";")
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "price", "-o", "m"]) == 0
    notes = capsys.readouterr().err
    assert "Regression of price from 58 rows" in notes
    assert "2 rows have no price and are left out." in notes


def test_excel_files(capsys, monkeypatch):
    pytest.importorskip("openpyxl")
    table = numbers(30)
    table.loc[4:8, "b"] = None
    with pd.ExcelWriter("t.xlsx") as book:
        table.to_excel(book, sheet_name="first", index=False)
        table.to_excel(book, sheet_name="second", index=False)
    assert main(["describe", "t.xlsx"]) == 0
    out, err = capsys.readouterr()
    assert "30 rows, 3 columns: 5 of 90" in out
    assert "Only the first of 2 sheets was read: first." in err
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert main(["describe", "t.xlsx"]) == 1
    assert "[excel]'" in capsys.readouterr().err
    pd.Series(["no archive"]).to_csv("old.xls")
    assert main(["describe", "old.xls"]) == 1
    assert "Save it as .xlsx or .csv first" in capsys.readouterr().err


def test_columns_of_any_unit():
    table = numbers(40)
    table["weight"] = table["a"] * 1e160
    table["y"] = np.where(table["b"] > 0, "yes", "no")
    table.to_csv("t.csv", index=False)
    assert main(["train", "--method", "genrbf", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert main(["compare", "t.csv", "-t", "y", "--methods", "genrbf", "-q"]) == 0


def test_version_help_and_module():
    for arguments, said in ((["--version"], absentia.__version__), (["--help"], "compare")):
        command = [sys.executable, "-X", "importtime", "-m", "absentia", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0
        assert said in done.stdout
        # What takes seconds to import is not imported.
        for slow in ("numba", "sklearn", "pandas", "scipy"):
            assert f" {slow}\n" not in done.stderr


@pytest.mark.parametrize("command", ["train", "compare"])
def test_an_interruption_says_so(command, capsys, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    table = numbers(40)
    table["y"] = np.where(table["b"] > 0, "yes", "no")
    table.to_csv("t.csv", index=False)
    monkeypatch.setattr("absentia.recipe.training.new_steps", interrupt)
    monkeypatch.setattr(comparison, "cross_validate", interrupt)
    options = ["-o", "m"] if command == "train" else ["-q"]
    assert main([command, "t.csv", "-t", "y", *options]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_blanks_around_names_do_not_count_in_any_kind_of_file(tmp_path, capsys):
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a ": [1.0, 2.0], " b": ["x", "y"]})
    table.to_excel(tmp_path / "t.xlsx", index=False)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    table.to_csv(tmp_path / "t.csv", index=False)
    for ending in ("xlsx", "parquet", "csv"):
        assert list(read_table(str(tmp_path / f"t.{ending}")).columns) == ["a", "b"]
    twice = pd.DataFrame([[1, 2]], columns=["a", "a "])
    twice.to_excel(tmp_path / "t.xlsx", index=False)
    capsys.readouterr()
    assert list(read_table(str(tmp_path / "t.xlsx")).columns) == ["a", "a "]
    said = "The column name 'a' appears 2 times: the later ones are renamed to 'a '."
    assert capsys.readouterr().err == f"{said}\n"


def test_a_sheet_is_chosen_by_its_name(capsys):
    table = numbers(40)
    table["y"] = table["a"] - table["b"]
    with pd.ExcelWriter("t.xlsx") as book:
        pd.DataFrame({"Readme": ["see the next sheet"]}).to_excel(book, sheet_name="Info")
        table.to_excel(book, sheet_name="Data", index=False)
    train = ["train", "t.xlsx", "-t", "y", "-o", "m", "--method", "genrbf"]
    assert main(train) == 1
    assert "Use --sheet to read another: 'Data'" in capsys.readouterr().err
    assert main([*train, "--sheet", "Data"]) == 0
    assert "sheets was read" not in capsys.readouterr().err
    assert main(["describe", "t.xlsx", "--sheet", "Data", "--no-test"]) == 0
    assert main(["predict", "m", "t.xlsx", "--sheet", "Data", "--keep", "-o", "p.csv"]) == 0
    kept = pd.read_csv("p.csv")
    assert list(kept.columns) == [*table.columns, "prediction"]
    assert np.corrcoef(kept["prediction"], table["y"])[0, 1] > 0.9
    assert main(["ask", "m", "t.xlsx", "--sheet", "Data"]) == 0
    capsys.readouterr()
    assert main(["describe", "t.xlsx", "--sheet", "Daten"]) == 1
    assert "t.xlsx has no sheet 'Daten'; its sheets are 'Info', 'Data'" in capsys.readouterr().err
    table.to_csv("t.csv", index=False)
    assert main(["describe", "t.csv", "--sheet", "Data"]) == 1
    assert "t.csv has no sheets: --sheet is for Excel files" in capsys.readouterr().err
    assert main(["studio", "--sheet", "Data", "--no-browser"]) == 1


def test_a_title_above_the_header_of_a_sheet_is_passed_over(capsys):
    table = numbers(40)
    table.to_excel("t.xlsx", index=False, startrow=2)
    pd.DataFrame({"a": [1.0, 2.0]}).to_excel("plain.xlsx")  # the names of rows have none
    book = pd.read_excel("t.xlsx", header=None)
    book.iloc[0, 0] = "Sensor report 2024"
    book.to_excel("t.xlsx", index=False, header=False)
    said = "'Sensor report 2024' above the columns is taken for a title: row 3 has their names."
    capsys.readouterr()
    assert list(read_table("t.xlsx").columns) == list(table.columns)
    assert capsys.readouterr().err == f"{said}\n"
    read_table("plain.xlsx")
    assert not capsys.readouterr().err
