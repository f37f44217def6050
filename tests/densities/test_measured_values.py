"""Observed values with a known error: beliefs given a measurement, not a value."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from absentia import (
    SVC,
    GaussianDensity,
    LowRankDensity,
    MixedDensity,
    MixtureDensity,
    bounded,
)
from absentia.beliefs.column_trials import trapezoidal
from absentia.densities.missing_values import MissingValues
from tests.oracles.densities import mixture_given

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) @ RNG.normal(size=(4, 4)) + 3 * RNG.integers(0, 2, (200, 1))
X[RNG.random(X.shape) < 0.2] = np.nan
DENSITIES = [
    GaussianDensity(),
    MixtureDensity(2, random_state=0),
    LowRankDensity(1, n_components=2, random_state=0),
]


def expected(x, errors, prior):
    """Condition the values and their measurements together, those with an error as missing."""
    noisy = (errors > 0) & ~np.isnan(x)
    row = np.concatenate([np.where(noisy, np.nan, x), np.where(noisy, x, np.nan)])
    means = np.hstack([prior.means, prior.means])
    covariances = np.tile(prior.covariances, (1, 2, 2))
    covariances[:, 4:, 4:] += np.diag(errors**2)
    _, weights, centres, spreads = mixture_given(row, prior.weights, means, covariances)
    return weights, np.array(centres)[:, :4], np.array(spreads)[:, :4, :4]


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_beliefs_are_those_of_values_and_measurements_together(density):
    density = density.fit(X)
    errors = np.where(RNG.random((20, 4)) < 0.5, RNG.uniform(0.1, 2.0, (20, 4)), 0.0)
    beliefs = density.condition(bounded(X[:20], errors=errors))
    beliefs.validate()
    dense = beliefs.covariances.dense(beliefs.group_of_row)
    for i in range(20):
        weights, means, spreads = expected(X[i], errors[i], density.prior_)
        np.testing.assert_allclose(beliefs.weights()[i], weights, atol=1e-9)
        np.testing.assert_allclose(beliefs.means[i], means, atol=1e-9)
        np.testing.assert_allclose(dense[i], spreads, atol=1e-9)


def test_small_errors_are_none_and_large_ones_are_missing_values():
    density = GaussianDensity().fit(X)
    row = X[~np.isnan(X).any(axis=1)][:1]
    exact = density.condition(bounded(row, errors=[1e-9, 0, 0, 0]))
    np.testing.assert_allclose(exact.mean(), row, atol=1e-7)
    unknown = density.condition(bounded(row, errors=[1e9, 0, 0, 0]))
    without = row.copy()
    without[0, 0] = np.nan
    np.testing.assert_allclose(unknown.mean(), density.condition(without).mean(), atol=1e-7)
    spread = density.condition(bounded(row, errors=[0.2, 0, 0, 0])).spread()[0]
    assert 0 < spread[0] < 0.2
    assert not spread[1:].any()


def test_measured_values_are_not_imputed_and_limits_stay():
    table = bounded(X, upper=np.where(np.isnan(X), 5.0, np.inf), errors=0.3)
    for margins in (None, "auto"):
        density = GaussianDensity(margins=margins).fit(table)
        filled = density.impute(table)
        np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
        assert (filled[np.isnan(X)] <= 5.0).all()
        assert np.isfinite(density.condition(table).spread()).all()


def test_arrays_pandas_and_polars_agree_on_errors():
    values, other = RNG.normal(7, 1, 60).round(2), RNG.normal(size=60)
    frame = pd.DataFrame({"a": [f"{v} ± 0.4" for v in values], "b": other})
    spreads, y = [], values > 7
    scales = values.std(), other.std()
    scaled = np.column_stack(
        [(values - values.mean()) / scales[0], (other - other.mean()) / scales[1]]
    )
    table = bounded(scaled, errors=[0.4 / scales[0], 0.0])
    for rows in (frame, pl.from_pandas(frame), table):
        density = GaussianDensity().fit(rows)
        spreads.append(density.condition(rows).spread())
        assert SVC().fit(rows, y).score(rows, y) > 0.9
        mixed = MixedDensity(1).fit(rows)
        np.testing.assert_allclose(mixed.condition(rows).spread(), spreads[-1], atol=1e-9)
    np.testing.assert_allclose(spreads[1], spreads[0], atol=1e-12)
    np.testing.assert_allclose(spreads[2], spreads[0], atol=1e-9)
    assert (spreads[0][:, 0] * scales[0] < 0.4).all()
    assert GaussianDensity().fit(frame).impute(frame)["a"].equals(frame["a"])


def test_errors_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="errors must be finite and not negative"):
        bounded(X, errors=-1.0)


def test_trial_rows_keep_the_errors_of_their_row():
    density = GaussianDensity().fit(X)
    missing = MissingValues.of(density, list("abcd"), 4)
    table = bounded(X[:10], errors=[0.3, 0.0, 0.0, 0.0])
    trials = missing.trials(table, missing.missing(table.array), trapezoidal(0))
    beliefs = density.condition(trials.table)
    known = ~np.isnan(X[trials.origin, 0])
    assert (beliefs.spread()[known, 0] > 0).all()
    tried = np.isnan(X[trials.origin, 0]) & ~trials.table.mask[:, 0]
    assert tried.any()
    assert not beliefs.spread()[tried, 0].any()
