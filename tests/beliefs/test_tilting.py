"""Tilted beliefs against reweighted draws and quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import GaussianDensity, LowRankDensity, MixedDensity, MixtureDensity

DENSITIES = [GaussianDensity(), MixtureDensity(2, random_state=0), LowRankDensity(2)]


def example(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4))
    X[: n // 2] += 2.0
    return X


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_moments_are_those_of_reweighted_draws(density):
    X = example()
    beliefs = density.fit(X).condition([[0.3, np.nan, np.nan, np.nan], [np.nan, 1.0, np.nan, 0.2]])
    shift = np.array([0.4, -0.7, 0.3, 0.5])
    tilted = beliefs.tilted(shift)
    draws = beliefs.sample(200_000, random_state=0)
    for i in range(2):
        spread = beliefs.spread()[i]
        slopes = np.divide(shift, spread, out=np.zeros(4), where=spread > 0)
        weights = np.exp((draws[:, i] - beliefs.mean()[i]) @ slopes)
        weights /= weights.sum()
        mean = weights @ draws[:, i]
        square = weights @ (draws[:, i] - mean) ** 2
        # An effective 50 000 draws or more.
        np.testing.assert_allclose(tilted.mean()[i], mean, atol=0.03 * spread.max())
        np.testing.assert_allclose(tilted.spread()[i] ** 2, square, atol=0.05 * spread.max() ** 2)
    observed = ~beliefs.mask
    np.testing.assert_array_equal(tilted.mean()[observed], beliefs.mean()[observed])


def test_a_gaussian_moves_by_the_closed_form():
    density = GaussianDensity().fit(example())
    beliefs = density.condition([[0.3, np.nan, np.nan, 1.0]])
    C, s = beliefs.covariance()[0], beliefs.spread()[0]
    for delta in (0.0, 1.0, -3.0, 1e9):
        moved = beliefs.tilted([0.0, delta, 0.0, 0.0])
        expected = beliefs.mean()[0] + C[:, 1] * delta / s[1]
        np.testing.assert_allclose(moved.mean()[0], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(moved.covariance(), beliefs.covariance())
    per_row = density.condition(np.full((2, 4), np.nan)).tilted([[1.0] + [0.0] * 3, [0.0] * 4])
    np.testing.assert_array_equal(per_row.mean()[1], density.mean_)


def test_limits_after_the_tilt_are_the_tilt_within_limits():
    """Against a fine grid of the truncated, reweighted density."""
    density = GaussianDensity().fit(example()[:, :1])
    beliefs = density.condition([[np.nan]])
    m, s = beliefs.mean()[0, 0], beliefs.spread()[0, 0]
    low, high = m - 0.5 * s, m + s
    found = beliefs.tilted(0.8).within(low, high)
    grid = low + (high - low) * (np.arange(20_000) + 0.5) / 20_000
    weights = np.exp(-0.5 * ((grid - m) / s) ** 2 + 0.8 * grid / s)
    assert found.mean()[0, 0] == pytest.approx(weights @ grid / weights.sum(), rel=1e-6)


def test_odds_of_categories_are_multiplied():
    rng = np.random.default_rng(0)
    kind = np.where(rng.random(300) < 0.3, 5.0, 7.0)
    X = np.column_stack([kind, rng.normal(4.0 * (kind == 7.0)), rng.normal(size=300)])
    density = MixedDensity(2, categories=[0], random_state=0).fit(X)
    rows = np.array([[np.nan, np.nan, 0.5], [np.nan, 1.0, 0.5], [X[0, 0], np.nan, 0.1]])
    beliefs = density.condition(rows)
    odds = np.array([0.0, 1.3])
    before, after = (b.probabilities(0) for b in (beliefs, beliefs.tilted(0.0, {0: odds})))
    expected = before * np.exp(odds)
    np.testing.assert_allclose(after, expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)
    # Numbers of the row follow: the mean given each category, in the new shares.
    draws = beliefs[0].sample(200_000, random_state=0)[:, 0]
    mean = sum(after[0, c] * draws[draws[:, -1] == c, 0].mean() for c in (0, 1))
    assert beliefs.tilted(0.0, {0: odds}).mean()[0, 0] == pytest.approx(mean, abs=0.02)


def test_bad_shifts_are_refused():
    beliefs = GaussianDensity().fit(example()).condition(np.full((2, 4), np.nan))
    for shift, sentence in (
        ([1.0, 2.0], "one for each of the 4 columns"),
        (np.nan, "must be finite"),
        (1e80, "at most 1e\\+50"),
    ):
        with pytest.raises(ValueError, match=sentence):
            beliefs.tilted(shift)
    with pytest.raises(ValueError, match="there is no column 0 of categories"):
        beliefs.tilted(0.0, {0: [1.0]})
