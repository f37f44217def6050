"""What the command line trains is what a comparison compares."""

from __future__ import annotations

import pytest

from absentia.cli.learning import AUTOMATIC, TRAINABLE, new_model
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
