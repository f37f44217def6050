"""Pairs of components whose weights cannot matter are left out of a mixture's Gram matrix."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import ExpectedRBF, GenRBF
from absentia.beliefs import LowRankPrior, Prior
from absentia.beliefs.conditioning import condition
from absentia.engine.compiling import always_compiled
from absentia.kernels.gram import sides
from kernels.examples import rows_of
from oracles import kernels as oracle


def separated(rng, kind):
    """Return beliefs in two clusters far apart, some rows between them, all patterns different."""
    d = 8 if kind == "dense" else 16
    means = np.array([np.zeros(d), np.full(d, 6.0), np.full(d, -6.0)])
    X = means[rng.integers(3, size=40)] + rng.normal(size=(40, d))
    X[:4] = rng.normal(size=(4, d)) + 3.0
    X[rng.random(X.shape) < 0.4] = np.nan
    X[4:8, 2:] = np.nan
    X[4:8, :2] = 3.0
    weights = np.array([0.5, 0.3, 0.2])
    if kind == "dense":
        roots = rng.normal(size=(3, d, d))
        prior = Prior(weights, means, roots @ roots.transpose(0, 2, 1) / d + 0.3 * np.eye(d))
    else:
        noises = rng.uniform(0.2, 1.0, (3, d))
        prior = LowRankPrior.of(weights, means, 0.5 * rng.normal(size=(3, d, 1)), noises)
    return condition(prior, X)[0]


@pytest.mark.parametrize("kind", ["dense", "low rank"])
def test_entries_are_those_of_the_formula(kind, monkeypatch):
    P = separated(np.random.default_rng(0), kind)
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
    exact = np.array([[oracle.expected_rbf(p, q, gamma) for q in rows] for p in rows])
    np.testing.assert_allclose(K, exact, rtol=1e-10)
    assert np.array_equal(K, K.T)
    # The bound itself, and rounding.
    np.testing.assert_allclose(K, everything, rtol=2e-14)
    np.testing.assert_allclose(cross, normalised, rtol=2e-14)
    # Pairs are left out indeed: with a bound that is far too large the entries are visibly smaller.
    assert (coarse <= everything * (1 + 1e-14)).all()
    assert (coarse < 0.999 * everything).any()
