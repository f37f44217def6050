"""The command line, as a user meets it: files nobody has seen, mistakes, and exit codes."""

import gzip
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from absentia.cli import main
from absentia.cli.terminal import read_table
from absentia.optional_imports import install_command
from absentia.recipe.comparison import QUICK_METHODS


def hospital(n: int = 120) -> pd.DataFrame:
    """A table as hospitals keep them: dates as text, words, an empty column, a constant one."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 3))
    table = pd.DataFrame(
        {
            "patient": [f"P{i:04d}" for i in range(n)],
            "age": (50 + 12 * z[:, 0]).round(),
            "pressure": [f"{v:.1f}".replace(".", ",") for v in 120 + 15 * z[:, 1]],
            "admitted": pd.date_range("2021-03-01", periods=n).strftime("%d/%m/%Y"),
            "ward": rng.choice(["A", "B", "C"], n),
            "unused": np.nan,
            "hospital": "St Mary",
        }
    )
    for name in ("age", "pressure", "admitted", "ward"):
        table.loc[rng.random(n) < 0.15, name] = None
    table["outcome"] = np.where(z[:, 0] + z[:, 1] > 0, "relapse", "healthy")
    table.loc[2, "outcome"] = None
    return table


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hospital.csv"
    hospital().to_csv(path, index=False)
    return str(path)


def test_describe_prints_and_draws(file, capsys, tmp_path):
    assert main(["describe", file, "--plot", str(tmp_path / "holes.png")]) == 0
    out, err = capsys.readouterr()
    assert "120 rows, 8 columns" in out
    assert "unused" in out
    assert "Little's test uses only numbers, so not patient, ward, hospital" in out
    assert "Picture written" in err
    assert (tmp_path / "holes.png").stat().st_size > 5000


def test_describe_tests_the_columns_of_numbers(capsys, tmp_path):
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame = numbers.mask(rng.random((80, 3)) < 0.2).assign(word=rng.choice(["x", "y"], 80))
    for table, said in (
        (frame, "chi-square"),
        (frame[["word"]].mask(rng.random((80, 1)) < 0.2), "nothing is missing from the columns"),
    ):
        table.to_csv(tmp_path / "table.csv", index=False)
        assert main(["describe", str(tmp_path / "table.csv")]) == 0
        assert said in capsys.readouterr().out


def test_train_then_predict_raw_rows_with_words_never_seen(file, capsys, tmp_path):
    model = str(tmp_path / "model.absentia")
    assert main(["train", file, "--target", "outcome", "-o", model]) == 0
    notes = capsys.readouterr().err
    for phrase in (
        "1 row has no outcome",
        "dates written as text",
        "cross-validated accuracy",
        "would score",
        "beliefs-mask",
        " ± ",
    ):
        assert phrase in notes
    new = hospital().iloc[:30].drop(columns=["outcome", "hospital", "unused"])
    new.loc[0, "ward"] = "Z"
    new.to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", model, str(tmp_path / "new.csv")]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert (printed["prediction"] == hospital()["outcome"].iloc[:30]).mean() > 0.7
    command = [sys.executable, "-m", "absentia", "predict", model, str(tmp_path / "new.csv")]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert pd.read_csv(io.StringIO(fresh)).equals(printed)  # nothing else was imported before
    out = tmp_path / "out.parquet"
    assert main(["predict", model, str(tmp_path / "new.csv"), "--keep", "-o", str(out)]) == 0
    kept = pd.read_parquet(out)
    assert list(kept["prediction"]) == list(printed["prediction"])
    assert "age" in kept.columns
    assert main(["predict", model, str(tmp_path / "new.csv"), "--probabilities"]) == 0
    sure = pd.read_csv(io.StringIO(capsys.readouterr().out))
    chances = sure[["probability_healthy", "probability_relapse"]].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    names = np.array(["healthy", "relapse"])[chances.argmax(axis=1)]
    assert list(sure["prediction"]) == list(printed["prediction"]) == list(names)
    new.mask(np.ones(new.shape, bool)).to_csv(tmp_path / "empty.csv", index=False)
    assert main(["predict", model, str(tmp_path / "empty.csv"), "--probabilities"]) == 0
    unsure = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert unsure["probability_healthy"].between(0.3, 0.7).all()
    assert main(["predict", model, file, "-o", str(tmp_path / "x.doc")]) == 1
    new.drop(columns="age").to_csv(tmp_path / "less.csv", index=False)
    capsys.readouterr()
    assert main(["predict", model, str(tmp_path / "less.csv")]) == 0
    out, err = capsys.readouterr()
    assert "lacks 'age', which the model was trained on" in err
    assert len(out.splitlines()) == 31
    new[["patient"]].to_csv(tmp_path / "nothing.csv", index=False)
    assert main(["predict", model, str(tmp_path / "nothing.csv")]) == 1
    assert "none of the columns that the model was trained on" in capsys.readouterr().err


def test_a_quantity_is_learned_in_its_own_units(tmp_path, capsys):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    table["price"] = 1000 + 200 * table["a"] - 50 * table["b"]
    table.loc[::7, "b"] = None
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    model = str(tmp_path / "m")
    command = ["train", str(tmp_path / "t.csv"), "-t", "price", "-o", model]
    assert main([*command, "--method", "genrbf"]) == 0
    said = capsys.readouterr().err
    summary = r"cross-validated R² 0\.\d+ \(the best of \d+ settings, so slightly optimistic"
    assert re.search(summary, said)
    assert main(["predict", model, str(tmp_path / "t.csv")]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))["prediction"]
    assert np.corrcoef(predicted, table["price"])[0, 1] > 0.95
    assert main(["predict", model, str(tmp_path / "t.csv"), "--probabilities"]) == 1
    assert "for classes, not for quantities" in capsys.readouterr().err


def test_compare_on_a_table_nobody_has_seen(file, capsys, tmp_path):
    command = ["compare", file, "--target", "outcome", "--methods", "genrbf,mean-indicator"]
    assert main([*command, "--quiet", "--report", "report"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Classification of outcome (2 classes)" in out
    assert "119 rows" in out
    assert "\nUse " in out
    assert f"absentia train {file} -t outcome -o model.absentia --method genrbf" in out
    assert "failed" not in out
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Methods for hospital" in page
    assert "All methods" in page
    assert "absentia train" in page
    assert (tmp_path / "report" / "methods.png").stat().st_size > 5000


def test_a_quick_comparison_takes_quick_methods_and_few_rows(file, monkeypatch):
    asked = {}

    def stop(frame, target, **options):
        asked.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("absentia.recipe.comparison.compare", stop)
    assert main(["compare", file, "-t", "outcome", "--quick", "-q", "--max-rows", "80"]) == 130
    assert asked["max_rows"] == 80
    assert asked["methods"] == QUICK_METHODS


def test_standard_input(file, capsys, monkeypatch):
    with open(file, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stream.read())))
    assert main(["describe", "-"]) == 0
    assert "120 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        (["describe", "nowhere.csv"], 1, "There is no file nowhere.csv"),
        (["describe", "."], 1, "is a folder"),
        (["train", "{file}", "-t", "nope", "-o", "m"], 1, "There is no column 'nope'"),
        (["train", "{file}", "-t", "outcome", "-o", "no/m"], 1, "There is no folder"),
        (["train", "{file}", "-t", "patient", "-o", "m"], 1, "too many for classes"),
        (["train", "{file}", "-t", "outcome", "-o", "m", "--task", "x"], 1, "classification or"),
        (["train", "{file}", "-t", "outcome", "-o", "m", "--method", "x"], 1, "no method 'x'"),
        (["predict", "{file}", "{file}"], 1, "was not written by absentia.save"),
        (["compare", "{file}", "-t", "outcome", "--methods", "magic"], 1, "no method 'magic'"),
        (["describe", "damaged.csv.gz"], 1, "damaged.csv.gz cannot be unpacked: Error -3"),
        (["predict", "nowhere.model", "{file}"], 1, "absentia: There is no file 'nowhere.model'"),
        (
            ["compare", "{file}", "-t", "outcome", "--seed", "9" * 30],
            2,
            "Invalid value for '--seed'",
        ),
        (["bench", "run", "shift", "--size", "small"], 2, "run `python -m lab` in a checkout"),
        (["train"], 2, "Missing argument"),
        (["fly"], 2, "No such command"),
    ],
)
def test_mistakes_get_one_sentence_and_an_exit_code(file, capsys, command, code, sentence):
    packed = bytearray(gzip.compress(np.random.default_rng(0).bytes(500).hex().encode()))
    packed[60:70] = b"\xff" * 10
    Path("damaged.csv.gz").write_bytes(packed)
    assert main([word.format(file=file) for word in command]) == code
    err = capsys.readouterr().err
    assert sentence in err
    assert "Traceback" not in err
    if code == 1:
        assert err.count("\n") == 1


def test_a_lack_of_memory_gets_a_sentence(file, capsys, monkeypatch):
    def full(*args, **how):
        raise MemoryError

    monkeypatch.setattr("pandas.read_csv", full)
    assert main(["describe", str(file)]) == 1
    assert "not enough memory for this: try fewer rows" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [3, 20_000])
def test_a_reader_that_has_gone_is_no_mistake(file, rows, tmp_path):
    """As `| head -1`; whether the output fits into the pipe or not."""
    code = (
        "import sys, numpy as np, pandas as pd; from absentia import cli; "
        "from absentia.cli import app, terminal; "
        f"frame = pd.DataFrame({{'a': np.arange({rows})}}); "
        "app.app.command('write')(lambda: terminal.write_table(frame, None)); "
        "sys.stdin.readline(); sys.exit(cli.main(['write']))"
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as writer:
        writer.stdout.close()
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
        assert writer.wait(120) == 0
        assert writer.stderr.read() == b""


def test_help(capsys):
    assert main(["--help"]) == 0
    assert "compare" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["a;b\n1;2\n3;\n", "a\tb\n1\t2\n3\t\n", "\ufeffa,b\n1,2\n3,?\n"])
def test_separators_and_byte_order_marks(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    table = read_table(str(path))
    assert list(table.columns) == ["a", "b"]
    assert table["b"].isna().tolist() == [False, True]


def test_without_typer_there_is_a_hint(tmp_path):
    program = (
        "import sys; sys.modules['typer'] = None\n"
        "from absentia.cli import main\n"
        "sys.exit(main(['describe', 'x.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"needs typer: {install_command('cli')}" in done.stderr
    assert "Traceback" not in done.stderr
