"""Conformal prediction with values of which only limits are known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from absentia import (
    ConformalClassifier,
    ConformalRegressor,
    KernelRidge,
    LogisticRegression,
    bounded,
)
from absentia.persistence import load, save
from absentia.predictions.hiding_table import HidingTable
from absentia.tables.table import Table

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(300, 3))
LOST = RNG.random(300) < 0.2
BELOW = (VALUES[:, 0] < -0.3) & ~LOST
FIRST = np.arange(3) == 0
X = np.where((BELOW | LOST)[:, None] & FIRST, np.nan, VALUES)
TABLE = bounded(X, upper=np.where(BELOW[:, None] & FIRST, -0.3, np.inf))
Y = VALUES[:, 0] + 0.2 * RNG.normal(size=300)
TRAIN, CALIBRATE, TEST = np.split(np.arange(300), [120, 220])


@pytest.mark.parametrize("method", ["nested*", "nested", "exact", "split"])
def test_intervals_cover_and_are_narrower_than_without_limits(method):
    width = {}
    for name, rows in (("limits", TABLE), ("missing", Table(X))):
        machine = KernelRidge(alpha=0.1).fit(rows[TRAIN], Y[TRAIN])
        conformal = ConformalRegressor(FrozenEstimator(machine), method=method, coverage=0.8)
        conformal.fit(rows[CALIBRATE], Y[CALIBRATE])
        found = conformal.predict_interval(rows[TEST])
        covered = (found.lower <= Y[TEST]) & (Y[TEST] <= found.upper)
        assert covered.mean() > 0.65
        width[name] = np.median((found.upper - found.lower)[BELOW[TEST]])
    assert width["limits"] < 0.8 * width["missing"]


def test_hidden_values_have_no_limits():
    table = HidingTable.of(TABLE)
    np.testing.assert_array_equal(table.mask, TABLE.unknown)
    rows = np.flatnonzero(BELOW)[:2]
    kept = table.take(rows)
    assert kept.limited[:, 0].all()
    hidden = table.take(rows, np.array([[True, False, False], [False, True, False]]))
    np.testing.assert_array_equal(hidden.limited[:, 0], [False, True])
    np.testing.assert_array_equal(hidden.mask[:, 1], [False, True])


def test_sets_are_saved_and_loaded(tmp_path):
    machine = LogisticRegression().fit(TABLE[TRAIN], Y[TRAIN] > 0)
    conformal = ConformalClassifier(FrozenEstimator(machine)).fit(
        TABLE[CALIBRATE], Y[CALIBRATE] > 0
    )
    save(conformal, tmp_path / "model")
    again = load(tmp_path / "model")
    expected, found = (each.predict_set(TABLE[TEST]).members for each in (conformal, again))
    np.testing.assert_array_equal(found, expected)
    # What is below the limit is of one class.
    assert expected[BELOW[TEST], 1].mean() < 0.3
