"""What strangers' names and other versions do on the command line."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

from absentia.cli import main
from persistence.hostile_files import rewrite

NAME = "in\x1b]0;owned\x07come"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    label = np.where(np.arange(40) % 2, "=1+2", "b\x1b[31m")
    frame = pd.DataFrame(X, columns=[NAME, r"$\frac{$"]).assign(**{"target\x1b": label})
    frame.to_csv("t.csv", index=False)
    return "t.csv"


def test_escape_sequences_do_not_reach_the_terminal(file, capsys, monkeypatch):
    assert main(["describe", file, "--plot", "p.png"]) == 0
    assert main(["train", "--method", "genrbf", file, "-t", "target\x1b", "-o", "m.abs"]) == 0
    assert main(["train", "--method", "genrbf", file, "-t", "no\x1b[2J", "-o", "n.abs"]) == 1
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["predict", "m.abs", file]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\x07" not in out + err
    assert "in\\x1b]0;owned" in out
    assert "b\\x1b[31m" in out


def test_files_keep_the_bytes_of_labels(file):
    assert main(["train", "--method", "genrbf", file, "-t", "target\x1b", "-o", "m.abs"]) == 0
    assert main(["predict", "m.abs", file, "-o", "out.csv"]) == 0
    assert set(pd.read_csv("out.csv")["prediction"]) <= {"=1+2", "b\x1b[31m"}


def test_another_version_of_scikit_learn_is_noted_once(file, capsys):
    assert main(["train", "--method", "genrbf", file, "-t", "target\x1b", "-o", "m.abs", "-q"]) == 0
    rewrite(Path("m.abs"), lambda header, _: header["versions"].update({"scikit-learn": "1.0.2"}))
    capsys.readouterr()
    assert main(["predict", "m.abs", file]) == 0
    err = capsys.readouterr().err
    said = f"was trained with scikit-learn 1.0.2, and {sklearn.__version__} is installed"
    assert err.count(said) == 1
