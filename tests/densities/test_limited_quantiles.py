"""Quantiles of values that are known up to limits, against integration of the density."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from absentia import GaussianDensity, MixedDensity, MixtureDensity, bounded
from absentia.beliefs.column_trials import _mixture_quantiles


def _table():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([1.0, 2.0, 0.0], [[1, 0.7, 0], [0.7, 1, 0], [0, 0, 1]], size=300)
    X[150:, 0] += 6.0
    X[X[:, 0] < 0.5, 0] = np.nan
    return X, bounded(X, upper=np.where(np.isnan(X), 0.5, np.inf))


def _share_below(density, x, row, upper):
    """P(value < x | rest of the row, value < upper) by integration over the first column."""
    rest, parts = row[1:], []
    for weight, mean, S in zip(density.weights_, density.means_, density.covariances_, strict=True):
        slope = np.linalg.solve(S[1:, 1:], S[1:, 0])
        deviation = rest - mean[1:]
        log_rest = -0.5 * deviation @ np.linalg.solve(S[1:, 1:], deviation)
        log_rest -= 0.5 * np.linalg.slogdet(S[1:, 1:])[1]
        spread = np.sqrt(S[0, 0] - slope @ S[1:, 0])
        height = weight * np.exp(log_rest) / (spread * np.sqrt(2 * np.pi))
        parts.append((height, mean[0] + slope @ deviation, spread))

    def joint(value):
        return sum(
            height * exp(-0.5 * ((value - centre) / spread) ** 2)
            for height, centre, spread in parts
        )

    def mass(end):
        points = np.linspace(-80, end, 161)[1:-1]
        return quad(joint, -80, end, points=points, limit=400, epsabs=0, epsrel=1e-11)[0]

    return mass(x) / mass(upper)


class _Components:
    """One Gaussian, seen as a mixture."""

    def __init__(self, density):
        self.weights_, self.means_ = [1.0], [density.mean_]
        self.covariances_ = [density.covariance_]


@pytest.mark.parametrize(
    "density",
    [GaussianDensity(), MixtureDensity(2, random_state=0), MixedDensity(2, random_state=0)],
)
def test_one_value_with_a_limit_has_truncated_quantiles(density):
    X, T = _table()
    density.fit(T)
    i = np.flatnonzero(np.isnan(X[:, 0]))[:3]
    levels = np.array([0.05, 0.5, 0.95])
    found = density.quantiles(T[i], levels)[:, :, 0]
    assert (found < 0.5).all()
    parts = _Components(density) if isinstance(density, GaussianDensity) else density
    for place, row in enumerate(i):
        shares = [_share_below(parts, x, X[row], 0.5) for x in found[:, place]]
        np.testing.assert_allclose(shares, levels, atol=1e-8)


def test_several_values_with_limits_stay_within_them():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.5], [-1.0, -1.5], [np.nan, np.nan]])
    upper = np.full(X.shape, np.inf)
    upper[4] = -0.5, 0.25
    lower = np.full(X.shape, -np.inf)
    lower[4, 0] = -1.0
    T = bounded(X, lower, upper)
    density = GaussianDensity().fit(T)
    found = density.quantiles(T[4:5], [0.001, 0.5, 0.999])[:, 0]
    assert (found <= upper[4]).all()
    assert (found >= lower[4]).all()
    assert (np.diff(found, axis=0) >= 0).all()


def test_limits_far_outside_keep_their_quantiles():
    """At forty deviations the mass below the limit underflows; the quantiles are near the limit."""
    X, _ = _table()
    density = GaussianDensity().fit(X)
    row = np.array([[np.nan, 2.0, 0.0]])
    upper = np.array([[-100.0, np.inf, np.inf]])
    found = density.quantiles(bounded(row, upper=upper), [0.05, 0.5, 0.95])[:, 0, 0]
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()
    assert (np.abs(found + 100) < 1).all()


@pytest.mark.parametrize("limits", [None, (np.array([-1.5]), np.array([1.0]))])
def test_quantiles_of_a_mixture_have_their_share_below(limits):
    """Components of different spreads, one of them a single point."""
    weights = np.array([[0.2, 0.5, 0.3]])
    means, deviations = np.array([[-2.0, 0.5, 0.75]]), np.array([[0.5, 2.0, 0.0]])
    levels = np.array([0.01, 0.1, 0.25, 0.4, 0.97])
    low, high = limits or (np.array([-np.inf]), np.array([np.inf]))
    with np.errstate(over="ignore"):  # of distances in units of no spread
        found = _mixture_quantiles(weights, means, deviations, np.append(levels, 0.7), limits)
    *found, found_at_the_point = found[:, 0]
    found = np.array(found)
    shares = 0.3 * (found >= 0.75)
    for weight, mean, deviation in ((0.2, -2.0, 0.5), (0.5, 0.5, 2.0)):
        below = ndtr((np.array([*found, low[0], high[0]]) - mean) / deviation)
        shares += weight * (below[:-2] - below[-2]) / (below[-1] - below[-2])
    np.testing.assert_allclose(shares, levels, rtol=1e-12)
    assert ((low <= found) & (found <= high)).all()
    assert found_at_the_point == pytest.approx(0.75, rel=1e-12)
