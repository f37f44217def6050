"""Limits ("<0.5") in experiments: used by the methods on beliefs, missing to the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia.tables.encoder import TableEncoder
from absentia.tables.table import Table
from lab.data.datasets import Dataset
from lab.experiments.inner_search import Grid
from lab.experiments.methods import METHODS


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(150, 2))
    # As missing values, those on the one side and those on the other are the same.
    text = values[:, 0].round(5).astype(str)
    text = np.where(values[:, 0] < -0.5, "<-0.5", np.where(values[:, 0] > 0.5, ">0.5", text))
    frame = pd.DataFrame({"a": text, "b": values[:, 1]})
    y = np.where(values[:, 0] > 0, "high", "low")
    rows = TableEncoder(limits=True).fit_transform(frame)
    limits = rows.lower, rows.upper
    return Dataset("mine", "classification", rows.array, y, ("a", "b"), limits=limits)


def test_a_dataset_keeps_limits(data):
    assert data.n_limits == np.isfinite(data.limits).sum() > 60
    some = data.rows(np.arange(20)).columns(np.array([0]))
    assert some.limits[1].shape == (20, 1)
    table = data.table(np.arange(20))
    assert isinstance(table, Table)
    np.testing.assert_array_equal(table.upper[:, :1], some.limits[1])
    np.testing.assert_array_equal(table.lower[:, :1], some.limits[0])


def test_methods_on_beliefs_use_limits_and_others_do_not(data):
    taking = {name for name, method in METHODS.items() if method.takes_limits}
    assert {"automatic", "genrbf", "expected-rbf"} <= taking
    assert not taking & {"mean", "random-forest", "hist-gradient-boosting", "karma"}
    train, test = np.arange(100), np.arange(100, 150)
    grid = Grid((1.0, 10.0), (0.1, 0.5), folds=3)

    def right(name, limits):
        X, new = (data.table(r) if limits else data.X[r] for r in (train, test))
        found = METHODS[name].train(X, data.y[train], new, data.task, grid, 0)
        return (found.prediction == data.y[test]).mean()

    assert right("genrbf", limits=True) > right("genrbf", limits=False) + 0.1
    assert right("mean", limits=True) == right("mean", limits=False)
