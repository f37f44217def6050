"""What the command line trains is what a comparison compares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia import load
from absentia.cli import main
from absentia.cli.model_commands import written_with
from absentia.recipe.learning_table import split_target
from absentia.recipe.model import TableModel
from absentia.recipe.training import METHODS, fit, new_steps
from absentia.tables.encoder import TableEncoder
from lab.baselines import registry
from lab.experiments.methods import METHODS as LAB_METHODS


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("method", [m for m in METHODS if "rbf" in m or m in ("esd", "egk")])
def test_train_and_compare_take_methods_and_grids_from_the_registry(method, task):
    model = new_steps(method, task)
    machine = (model if task == "classification" else model.regressor)[-1]
    source = LAB_METHODS[method].source(task, 0)
    tried = [{}] if machine.mask_weights is None else machine.mask_weights
    if machine.mask_weights is not None:
        tried = [{"mask_weight": weight} for weight in tried]
    assert tried == list(source.extras)
    assert machine.kernel == source.kernel
    assert type(machine.density) is type(source.density)
    entry = registry()[method]
    (penalties,) = (v for name, v in entry.grid(task).items() if name.endswith("__C"))
    assert machine.Cs == penalties


def test_no_column_is_lost_where_another_class_has_the_next_name(capsys):
    frame = pd.DataFrame({"prediction": [1], "prediction_2": [2], "probability_a": [3]})
    found = {"prediction": ["a"], "probability_a": [0.75], "probability_a_2": [0.25]}
    written = written_with(frame, found, keep=True)
    assert written.to_dict("list") == {
        "prediction": [1],
        "prediction_2": [2],
        "probability_a": [3],
        "prediction_3": ["a"],
        "probability_a_3": [0.75],
        "probability_a_2": [0.25],
    }
    assert [note.split()[-1] for note in capsys.readouterr().err.splitlines()] == [
        "'prediction_3'.",
        "'probability_a_3'.",
    ]


def test_a_value_too_far_away_is_named_as_the_table_has_it():
    """The machine sees it in other units, in a column that has no name."""
    frame = pd.DataFrame({"a": range(20), "b": [0.5, 7.0] * 10, "y": [1.0, 2.0] * 10})
    model = new_steps("genrbf", "regression", [("encode", TableEncoder(limits=True))])
    fit(model, split_target(frame, "y", "regression"))
    rows = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 1e308]})
    for column in (rows["b"], pd.Series(["<0.5", "1e308"])):  # text, where another cell is a limit
        with pytest.raises(ValueError, match=r"Row 2 has 1e\+308 in column 'b'"):
            TableModel(model).read(rows.assign(b=column))


def test_the_support_of_a_column_is_given_on_the_command_line(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    frame["y"] = np.where(frame["a"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = ["train", str(tmp_path / "t.csv"), "-t", "y", "-o", str(tmp_path / "m"), "-q"]
    given += ["--method", "logistic"]
    assert main([*given, "--support", "a=-10:10"]) == 0
    encoder = TableModel(load(tmp_path / "m")).encoder
    assert encoder.supports == {"a": "-10:10"}
    assert main([*given, "--force", "--support", "a"]) == 1
    assert "--support takes COLUMN=LOW:HIGH" in capsys.readouterr().err
    assert main([*given, "--force", "--support", "a=1:0"]) == 1
    assert "support of column 'a'" in capsys.readouterr().err
    compare = ["compare", str(tmp_path / "t.csv"), "-t", "y", "-q", "--methods", "genrbf"]
    assert main([*compare, "--support", "a=-1:0"]) == 1
    assert "outside of the support that was given for it" in capsys.readouterr().err
    assert main([*compare, "--support", "a=-10:10"]) == 0
