"""Measure next for conformal predictors: what makes the promised region smaller."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from absentia import (
    ConformalClassifier,
    ConformalRegressor,
    GaussianProcessRegressor,
    LogisticRegression,
    MarginalRegressor,
    measure_next,
)
from absentia.beliefs.column_trials import trapezoidal
from absentia.densities.missing_values import MissingValues
from absentia.tables import Table

NOTHING = np.full((1, 3), np.nan)


def numbers(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 3 * X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=n)
    return np.where(rng.random(X.shape) < 0.3, np.nan, X), y


def expected_over_values(unknowns, rows, function):
    """Return the mean of a function over the two rules that regions are averaged with."""
    table, missing = Table(rows, columns_checked=True), np.isnan(rows)
    trials = [unknowns.trials(table, missing, trapezoidal(level)) for level in (0, 1)]
    return np.mean([one.expected(function(one.table.array)) for one in trials], axis=0)


@pytest.mark.parametrize("method", ["split", "nested*", "exact"])
def test_gain_in_width_is_now_less_the_mean_afterwards(method):
    X, y = numbers()
    model = ConformalRegressor(
        GaussianProcessRegressor(gamma=0.1), method=method, conformity_score="normalised",
        random_state=0,
    ).fit(X, y)  # fmt: skip
    rows = np.array([[np.nan, np.nan, np.nan], [0.3, np.nan, np.nan]])
    found = measure_next(model, rows, loss="width")
    unknowns = MissingValues.of(model.estimator_.density_, ["x0", "x1", "x2"], 3)
    after = expected_over_values(unknowns, rows, lambda table: model.predict_interval(table).width)
    now = model.predict_interval(rows).width
    np.testing.assert_allclose(found.loss_before, now, rtol=1e-10)
    np.testing.assert_allclose(found.spread_after[np.isnan(rows)], after, rtol=1e-10)
    gains = (now[:, None] - found.spread_after)[np.isnan(rows)]
    np.testing.assert_allclose(found.gain[np.isnan(rows)], gains, atol=1e-10)
    assert found.best[0] == "x0"


def test_smaller_sets_of_classes():
    X, y = numbers()
    model = ConformalClassifier(LogisticRegression(C=10.0), method="nested*", random_state=0)
    model.fit(X, np.digitize(y, [-1, 1]))
    found = measure_next(model, NOTHING, loss="size")
    assert found.loss_before[0] == model.predict_set(NOTHING).size[0]
    unknowns = MissingValues.of(model.estimator_.density_, ["x0", "x1", "x2"], 3)
    after = expected_over_values(unknowns, NOTHING, lambda table: model.predict_set(table).size)
    np.testing.assert_allclose(found.spread_after[0], after, rtol=1e-10)
    np.testing.assert_allclose(found.gain, found.loss_before[0] - found.spread_after, atol=1e-10)
    with pytest.raises(ValueError, match="regions cannot be averaged: leave both out"):
        measure_next(model, NOTHING, loss="size", lookahead=2)


def test_a_region_that_stays_infinite_gains_nothing():
    X, y = numbers(40)
    model = ConformalRegressor(
        GaussianProcessRegressor(gamma=0.1), method="exact", coverage=0.99, random_state=0
    ).fit(X, y)
    found = measure_next(model, NOTHING, loss="width")
    assert np.isinf(found.loss_before).all()
    np.testing.assert_array_equal(found.gain, 0.0)
    assert found.best == ["stop"]


def test_a_model_without_regions_says_what_to_wrap_it_in():
    X, y = numbers(60)
    process = GaussianProcessRegressor(gamma=0.1).fit(X, y)
    with pytest.raises(ValueError, match="has no predict_interval: wrap it in ConformalRegressor"):
        measure_next(process, NOTHING, loss="width")
    with pytest.raises(ValueError, match="has no predict_set"):
        measure_next(LogisticRegression().fit(X, y > 0), NOTHING, loss="size")


def test_a_wrapped_process_tells_its_noise_apart():
    """Draws of a wrapped process and its own closed form are the same decomposition."""
    X, y = numbers()
    X = np.nan_to_num(X)
    process = GaussianProcessRegressor(gamma=0.1).fit(X, y)
    rows = np.array([[0.5, np.nan, 0.0], [0.5, 0.2, 0.0]])
    wrapper = MarginalRegressor(FrozenEstimator(process), n_draws=1024, random_state=0).fit(X)
    mine, theirs = wrapper.predict_uncertainty(rows), process.predict_uncertainty(rows)
    np.testing.assert_allclose(mine.noise, theirs.noise, rtol=1e-6)
    assert (mine.noise > 0).all()
    np.testing.assert_allclose(mine.model, theirs.model, rtol=2e-2)
    np.testing.assert_allclose(mine.missing, theirs.missing, rtol=2e-2, atol=1e-6)
    boosting = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    silent = MarginalRegressor(FrozenEstimator(boosting), random_state=0).fit(X)
    assert (silent.predict_uncertainty(rows).noise == 0).all()
