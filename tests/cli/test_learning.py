"""What the command line trains is what a comparison compares."""

from __future__ import annotations

import pandas as pd
import pytest

from absentia.cli.learning import AUTOMATIC, TRAINABLE, new_model, written_with
from absentia.comparators import registry
from absentia.evaluation.methods import METHODS


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("method", [name for name in TRAINABLE if name != AUTOMATIC])
def test_train_and_compare_take_methods_and_grids_from_the_registry(method, task):
    model = new_model(task, method)
    machine = (model if task == "classification" else model.regressor)[-1]
    source = METHODS[method].source(task, 0)
    tried = [{}] if machine.mask_weights is None else machine.mask_weights
    if machine.mask_weights is not None:
        tried = [{"mask_weight": weight} for weight in tried]
    assert tried == list(source.extras)
    assert machine.kernel == source.kernel
    assert type(machine.density) is type(source.density)
    entry = registry()[method]
    (penalties,) = (v for name, v in entry.grid(task).items() if name.endswith("__C"))
    assert machine.Cs == penalties


def test_no_column_is_lost_where_another_class_has_the_next_name():
    frame = pd.DataFrame({"prediction": [1], "prediction_2": [2], "probability_a": [3]})
    found = {"prediction": ["a"], "probability_a": [0.75], "probability_a_2": [0.25]}
    notes = []
    written = written_with(frame, found, keep=True, note=notes.append)
    assert written.to_dict("list") == {
        "prediction": [1],
        "prediction_2": [2],
        "probability_a": [3],
        "prediction_3": ["a"],
        "probability_a_3": [0.75],
        "probability_a_2": [0.25],
    }
    assert [note.split()[-1] for note in notes] == ["'prediction_3'.", "'probability_a_3'."]
