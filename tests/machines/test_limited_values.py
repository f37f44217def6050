"""Machines on tables in which some values are known to lie between limits."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import (
    SVC,
    SVCCV,
    SVR,
    Chunks,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelRidge,
    LargeScaleRidge,
    LargeScaleSVC,
    LogisticRegression,
    MixtureDensity,
    RobustSVC,
    bounded,
    load,
    save,
)


def rounded_rows(n=100, seed=0):
    """Return complete rows, and the same with two in five values rounded to whole numbers."""
    rng = np.random.default_rng(seed)
    full = rng.multivariate_normal([0, 0, 0], [[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]], n)
    X = np.where(rng.random(full.shape) < 0.4, np.nan, full)
    return full, X, bounded(X, np.round(full) - 0.5, np.round(full) + 0.5)


CLASSIFIERS = [SVC, SVCCV, LogisticRegression, GaussianProcessClassifier, RobustSVC, LargeScaleSVC]
REGRESSORS = [SVR, KernelRidge, GaussianProcessRegressor, LargeScaleRidge]


@pytest.mark.parametrize("machine", CLASSIFIERS + REGRESSORS)
def test_limits_say_more_than_holes(machine):
    full, X, table = rounded_rows()
    target = full[:, 0] + full[:, 1]
    y = target > 0 if machine in CLASSIFIERS else target
    new_full, new_X, new_table = rounded_rows(400, seed=1)
    new_target = new_full[:, 0] + new_full[:, 1]
    new_y = new_target > 0 if machine in CLASSIFIERS else new_target
    with_limits = machine().fit(table, y).score(new_table, new_y)
    without = machine().fit(X, y).score(new_X, new_y)
    assert with_limits > without


def test_a_machine_with_limits_is_saved_and_loaded(tmp_path):
    full, _, table = rounded_rows()
    machine = SVC(density=MixtureDensity(2, random_state=0)).fit(table, full[:, 0] > 0)
    save(machine, tmp_path / "machine.absentia")
    again = load(tmp_path / "machine.absentia")
    np.testing.assert_array_equal(again.decision_function(table), machine.decision_function(table))


def test_rows_do_not_disturb_one_another():
    full, _, table = rounded_rows()
    machine = SVC().fit(table, full[:, 0] > 0)
    together = machine.decision_function(table)
    alone = [machine.decision_function(table[[i]])[0] for i in range(10)]
    np.testing.assert_allclose(together[:10], alone, rtol=1e-9, atol=1e-10)


def test_chunks_have_no_limits():
    _, _, table = rounded_rows()
    with pytest.raises(ValueError, match="limits"):
        LargeScaleRidge().fit(Chunks([(table, np.zeros(len(table)))]))
