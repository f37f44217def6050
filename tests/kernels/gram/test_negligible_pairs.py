"""Pairs of components whose weights cannot matter are left out of a mixture's Gram matrix."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import ExpectedRBF, GenRBF
from absentia.beliefs import LowRankPrior
from absentia.beliefs.conditioning import condition
from absentia.engine.compiling import always_compiled
from absentia.kernels.gram import sides
from kernels.examples import rows_of
from kernels.gram.paths import force
from oracles import kernels as oracle


def separated(rng):
    """Return beliefs in two clusters far apart, some rows between them, all patterns different."""
    d = 16
    means = np.array([np.zeros(d), np.full(d, 6.0), np.full(d, -6.0)])
    X = means[rng.integers(3, size=40)] + rng.normal(size=(40, d))
    X[:4] = rng.normal(size=(4, d)) + 3.0
    X[rng.random(X.shape) < 0.4] = np.nan
    X[4:8, 2:] = np.nan
    X[4:8, :2] = 3.0
    noises = rng.uniform(0.2, 1.0, (3, d))
    loadings = 0.5 * rng.normal(size=(3, d, 1))
    prior = LowRankPrior.of(np.array([0.5, 0.3, 0.2]), means, loadings, noises)
    return condition(prior, X)[0]


@pytest.mark.parametrize("path", ["factors", "overlaps"])
def test_entries_are_those_of_the_formula(path, monkeypatch):
    calls = force(monkeypatch, path, lambda pairs: True)
    P = separated(np.random.default_rng(0))
    rows = [row.mixture for row in rows_of(P)]
    gamma = 0.01
    with always_compiled():
        K = ExpectedRBF(gamma)(P)
        cross = GenRBF(gamma)(P[:15], P[15:])
        monkeypatch.setattr(sides, "NEGLIGIBLE", 0.0)
        everything = ExpectedRBF(gamma)(P)
        normalised = GenRBF(gamma)(P[:15], P[15:])
        monkeypatch.setattr(sides, "NEGLIGIBLE", 8.0)
        coarse = ExpectedRBF(gamma)(P)
    assert calls
    exact = np.array([[oracle.expected_rbf(p, q, gamma) for q in rows] for p in rows])
    np.testing.assert_allclose(K, exact, rtol=1e-10)
    assert np.array_equal(K, K.T)
    # The bound itself, and rounding.
    np.testing.assert_allclose(K, everything, rtol=2e-14)
    np.testing.assert_allclose(cross, normalised, rtol=2e-14)
    # Pairs are left out indeed: with a bound that is far too large the entries are visibly smaller.
    assert (coarse <= everything * (1 + 1e-14)).all()
    assert (coarse < 0.999 * everything).any()
