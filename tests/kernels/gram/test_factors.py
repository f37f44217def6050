"""Gram matrices in the factors against the formula with dense covariances."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import SVC, ExpectedRBF, GaussianProcessRegressor, GenRBF, LowRankDensity
from absentia.beliefs import LowRankPrior
from absentia.beliefs.conditioning import condition
from absentia.engine.compiling import always_compiled
from absentia.kernels import gram_blocks
from absentia.kernels.gram import expected
from absentia.kernels.metric import Smoothing
from kernels.examples import rows_of
from kernels.gram.paths import chosen, force
from oracles import kernels as oracle


def _prior(rng, k, d, q, noise=1.0):
    return LowRankPrior.of(
        rng.dirichlet(np.full(k, 5.0)),
        rng.normal(size=(k, d)),
        0.5 * rng.normal(size=(k, d, q)),
        noise * rng.uniform(0.1, 1.0, (k, d)),
    )


def _beliefs(rng, prior, n, rate):
    X = rng.normal(size=(n, prior.n_features))
    X[rng.random(X.shape) < rate] = np.nan
    X[0] = np.nan
    X[1] = np.where(np.isnan(X[1]), 0.5, X[1])
    return condition(prior, X)[0]


@pytest.fixture
def in_factors(monkeypatch):
    """Take the path of factors whatever the size, and count the calls."""

    def has_factors(beliefs, smoothing):
        return beliefs.prior.low_rank is not None and smoothing.diagonal is not None

    def applies(pairs):
        sides = all(has_factors(side.beliefs, pairs.smoothing) for side in pairs.sides)
        return sides and not pairs.frequent

    calls = force(monkeypatch, "factors", applies)
    monkeypatch.setattr(expected, "has_factors", has_factors)
    with always_compiled():
        yield calls


KERNELS = {
    "genrbf": (lambda gamma, M: GenRBF(gamma, M), oracle.genrbf),
    "expected": (lambda gamma, M: ExpectedRBF(gamma, M), oracle.expected_rbf),
    "unscaled": (
        lambda gamma, M: ExpectedRBF(gamma, M, scaled=False),
        lambda p, q, gamma, M: oracle.expected_rbf(p, q, gamma, M, scaled=False),
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("k", "d", "q"), [(1, 7, 2), (1, 4, 5), (3, 6, 2)])
def test_entries_are_those_of_the_formula(k, d, q, name, weighted, in_factors):
    rng = np.random.default_rng(d)
    P = _beliefs(rng, _prior(rng, k, d, q), 13, 0.4)
    M = np.diag(rng.uniform(0.5, 2.0, d)) if weighted else None
    make, formula = KERNELS[name]
    kernel = make(0.15, "euclidean" if M is None else M)
    rows = [row.mixture for row in rows_of(P)]
    exact = np.array([[formula(p, r, 0.15, M) for r in rows] for p in rows])
    K = kernel(P)
    off_diagonal = ~np.eye(len(P), dtype=bool)
    np.testing.assert_allclose(K[off_diagonal], exact[off_diagonal], rtol=1e-10)
    np.testing.assert_allclose(kernel.diag(P), np.diagonal(K), rtol=1e-15)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(kernel(P[:4], P[4:]), exact[:4, 4:], rtol=1e-10)
    assert in_factors


@pytest.mark.parametrize("noise", [1e-6, 1e-3])
@pytest.mark.parametrize("gamma", [1e-4, 10.0])
def test_small_noise_and_narrow_kernels(noise, gamma, in_factors):
    rng = np.random.default_rng(5)
    P = _beliefs(rng, _prior(rng, 1, 8, 2, noise), 10, 0.3)
    rows = [row.mixture for row in rows_of(P)]
    exact = np.array([[oracle.expected_rbf(p, r, gamma) for r in rows] for p in rows])
    # Columns are nearly determined by each other, and the oracle's inverses lose digits too.
    np.testing.assert_allclose(ExpectedRBF(gamma)(P), exact, rtol=1e-8, atol=1e-300)


def test_far_rows_and_units_side_by_side(in_factors):
    rng = np.random.default_rng(6)
    prior = _prior(rng, 1, 6, 2)
    units = np.array([1e-6, 1.0, 1e6, 1.0, 1.0, 1e3])
    X = rng.normal(size=(12, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[3, 0] = 1e9
    near = condition(prior, X)[0]
    metric = np.diag(units**-2.0)
    scaled = condition(prior.in_units(1 / units), X * units)[0]
    K = GenRBF(0.1)(near)
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K).min() > -1e-12
    # Conditional means are rounded in other units.
    np.testing.assert_allclose(GenRBF(0.1, metric)(scaled), K, rtol=1e-8, atol=1e-14)


def test_rows_of_one_pattern_and_complete_rows(in_factors):
    rng = np.random.default_rng(7)
    prior = _prior(rng, 1, 9, 2)
    X = rng.normal(size=(150, 9))
    X[:70, :3] = np.nan
    X[70:110][rng.random((40, 9)) < 0.4] = np.nan
    P = condition(prior, X)[0]
    K = GenRBF(0.1)(P)
    some = np.array([0, 1, 69, 70, 85, 109, 110, 149])
    rows = [row.mixture for row in rows_of(P[some])]
    exact = np.array([[oracle.genrbf(p, r, 0.1) for r in rows] for p in rows])
    np.testing.assert_allclose(K[np.ix_(some, some)], exact, rtol=1e-10)


def test_it_is_used_where_columns_are_many_and_the_metric_is_diagonal():
    rng = np.random.default_rng(8)
    wide = _beliefs(rng, _prior(rng, 1, 120, 3), 6, 0.3)
    narrow = _beliefs(rng, _prior(rng, 1, 8, 3), 6, 0.3)
    assert chosen(wide, None, Smoothing(0.01, None, 120)) == "factors"
    assert chosen(narrow, None, Smoothing(0.01, None, 8)) == "lanes"
    full = np.eye(120) + 0.1
    assert chosen(wide, None, Smoothing(0.01, full, 120)) == "lanes"
    assert chosen(wide, None, Smoothing(1e7, None, 120)) == "explicit covariances"


def test_machines_take_it_by_name():
    rng = np.random.default_rng(9)
    factors = rng.normal(size=(60, 2))
    X = factors @ rng.normal(size=(2, 80)) + 0.3 * rng.normal(size=(60, 80))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = factors[:, 0] > 0
    machine = SVC(density="low-rank").fit(X[:40], y[:40])
    assert machine.density_.n_factors_ == 2
    assert machine.score(X[40:], y[40:]) > 0.8
    process = GaussianProcessRegressor(density=LowRankDensity(2)).fit(X[:40], factors[:40, 0])
    assert process.score(X[40:], factors[40:, 0]) > 0.8


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("make", [GenRBF, ExpectedRBF])
def test_the_height_of_tiles_changes_no_bit(make, k, in_factors):
    rng = np.random.default_rng(10)
    prior = _prior(rng, k, 20, 2)
    P, Q = _beliefs(rng, prior, 140, 0.4), _beliefs(rng, prior, 90, 0.4)
    kernel = make(0.05)
    whole = kernel(P, Q)
    for height in (1, 7, 64):
        blocks = [block for _, block in gram_blocks(kernel, P, Q, block_rows=height)]
        np.testing.assert_array_equal(np.vstack(blocks), whole)
