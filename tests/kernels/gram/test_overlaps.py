"""Gram matrices from what both rows miss against the formula with whole covariances."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import ExpectedRBF, GenRBF
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.engine.compiling import always_compiled
from absentia.kernels import gram_blocks
from absentia.kernels.gram import overlaps as overlap_path
from absentia.kernels.metric import Smoothing
from kernels.examples import rows_of
from kernels.gram.paths import chosen, force
from kernels.gram.test_expected import _prior
from oracles import kernels as oracle
from oracles import overlaps


def _beliefs(rng, prior, n, rate):
    X = rng.normal(size=(n, prior.n_features))
    X[rng.random(X.shape) < rate] = np.nan
    X[0] = np.nan
    X[1] = np.where(np.isnan(X[1]), 0.5, X[1])
    X[2, 1:] = np.nan
    X[3, :1] = np.nan
    return condition(prior, X)[0]


def _correlated(rng, d, share=0.1):
    """A density of one component whose columns are made of few."""
    root = rng.normal(size=(d, 5))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    covariance = (1 - share) * root @ root.T + share * np.eye(d)
    return Prior(np.ones(1), np.zeros((1, d)), covariance[None])


@pytest.fixture
def in_overlaps(monkeypatch):
    """Take the path of overlaps whatever the size, and count the calls."""
    calls = force(monkeypatch, "overlaps")
    with always_compiled():
        yield calls


def _whole(P, Q, gamma, formula=oracle.expected_rbf, **options):
    rows, columns = ([row.mixture for row in rows_of(side)] for side in (P, Q))
    return np.array([[formula(p, q, gamma, **options) for q in columns] for p in rows])


KERNELS = {
    "genrbf": (GenRBF, oracle.genrbf),
    "expected": (ExpectedRBF, oracle.expected_rbf),
    "unscaled": (
        lambda gamma: ExpectedRBF(gamma, scaled=False),
        lambda p, q, gamma: oracle.expected_rbf(p, q, gamma, scaled=False),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 7), (3, 6), (1, 70)])
def test_entries_are_those_of_the_formula(k, d, name, in_overlaps):
    rng = np.random.default_rng(d)
    P = _beliefs(rng, _prior(rng, d, k), 13, 0.4)
    gamma = 0.9 / d
    make, formula = KERNELS[name]
    exact = _whole(P, P, gamma, formula)
    K = make(gamma)(P)
    off_diagonal = ~np.eye(len(P), dtype=bool)
    np.testing.assert_allclose(K[off_diagonal], exact[off_diagonal], rtol=1e-10)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(make(gamma)(P[:4], P[4:]), exact[:4, 4:], rtol=1e-10)
    assert in_overlaps


def test_more_columns_than_rows_and_many_of_them(in_overlaps):
    rng = np.random.default_rng(0)
    P = _beliefs(rng, _correlated(rng, 200), 40, 0.3)
    gamma = 1 / 200
    K = GenRBF(gamma)(P)
    rows = [row.mixture[0][1:] for row in rows_of(P)]
    # The first four are of kinds of their own, the others alike.
    exact = np.array([[overlaps.genrbf(p, q, gamma) for q in rows[:12]] for p in rows[:5]])
    np.testing.assert_allclose(K[:5, :12], exact, rtol=1e-10)


def test_widths_of_columns(in_overlaps):
    rng = np.random.default_rng(1)
    P = _beliefs(rng, _prior(rng, 6, 2), 20, 0.4)
    gammas = np.array([1e-4, 0.1, 3.0, 0.2, 1.0, 1e-2])
    exact = _whole(P, P, 1.0, M=np.diag(gammas))
    np.testing.assert_allclose(ExpectedRBF(gammas)(P), exact, rtol=1e-10)


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_columns_that_nearly_repeat_others(share, in_overlaps):
    rng = np.random.default_rng(2)
    P = _beliefs(rng, _correlated(rng, 12, share), 30, 0.5)
    # The precision of the density is itself known to that.
    tolerance = max(1e-11, 1e-14 / share)
    np.testing.assert_allclose(ExpectedRBF(0.1)(P), _whole(P, P, 0.1), rtol=tolerance)
    eigenvalues = np.linalg.eigvalsh(GenRBF(0.1)(P))
    assert eigenvalues[0] >= -50 * len(P) * np.finfo(float).eps * eigenvalues[-1]


@pytest.mark.parametrize("gamma", [1e-6, 1.0, 1e2, 4e3])
def test_wide_and_narrow_kernels_up_to_the_switch(gamma, in_overlaps):
    rng = np.random.default_rng(3)
    P = _beliefs(rng, _prior(rng, 7, 1), 30, 0.5)
    largest = np.diagonal(P.prior.covariances[0]).max() * 2 * gamma
    # Lengths are a difference of numbers larger by that much.
    tolerance = 1e-14 * max(1e2, largest)
    K, exact = ExpectedRBF(gamma)(P), _whole(P, P, gamma)
    np.testing.assert_allclose(K, exact, rtol=tolerance, atol=1e-280)


def test_far_rows_and_scales_side_by_side(in_overlaps):
    rng = np.random.default_rng(4)
    scales = np.array([1e-6, 1.0, 1e2, 1.0, 1e-3, 1.0])
    covariance = _prior(rng, 6, 1).covariances[0] * np.outer(scales, scales)
    X = rng.normal(size=(12, 6)) * scales
    X[rng.random(X.shape) < 0.3] = np.nan
    X[3:6, 1] = 1e9 + np.arange(3)
    X[6, 2] = 1e9
    P = condition(Prior(np.ones(1), np.zeros((1, 6)), covariance[None]), X)[0]
    K = ExpectedRBF(0.1)(P)
    np.testing.assert_allclose(K, _whole(P, P, 0.1), rtol=1e-10, atol=1e-280)
    assert (np.diagonal(GenRBF(0.1)(P)) == 1).all()


def test_rows_of_one_pattern_and_complete_rows(in_overlaps):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 9))
    X[:70, :3] = np.nan
    X[70:110][rng.random((40, 9)) < 0.4] = np.nan
    P = condition(_prior(rng, 9, 1), X)[0]
    K = GenRBF(0.1)(P)
    some = np.array([0, 1, 69, 70, 85, 109, 110, 149])
    exact = _whole(P[some], P[some], 0.1, oracle.genrbf)
    np.testing.assert_allclose(K[np.ix_(some, some)], exact, rtol=1e-10)


def test_blocks_of_matrices_change_no_bit(in_overlaps, monkeypatch):
    rng = np.random.default_rng(6)
    P = _beliefs(rng, _prior(rng, 20, 2), 120, 0.4)
    square, rectangle = GenRBF(0.05)(P), GenRBF(0.05)(P[::2], P)
    monkeypatch.setattr(overlap_path, "_BLOCK", 2000)
    assert np.array_equal(GenRBF(0.05)(P, n_jobs=2), square)
    assert np.array_equal(GenRBF(0.05)(P[::2], P), rectangle)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("make", [GenRBF, ExpectedRBF])
def test_the_height_of_tiles_changes_no_bit(make, k, in_overlaps):
    rng = np.random.default_rng(7)
    prior = _prior(rng, 20, k)
    P, Q = _beliefs(rng, prior, 140, 0.4), _beliefs(rng, prior, 90, 0.4)
    kernel = make(0.05)
    whole = kernel(P, Q)
    for height in (1, 7, 64):
        blocks = [block for _, block in gram_blocks(kernel, P, Q, block_rows=height)]
        np.testing.assert_array_equal(np.vstack(blocks), whole)


def test_it_is_used_where_columns_are_many_and_the_metric_is_euclidean():
    rng = np.random.default_rng(8)
    wide, narrow = (_beliefs(rng, _prior(rng, d, 1), 80, 0.3) for d in (100, 12))
    assert chosen(wide, wide, Smoothing(0.01, None, 100)) == "overlaps"
    assert chosen(wide.tile(slice(0, 1)), wide, Smoothing(0.01, None, 100)) == "overlaps"
    assert chosen(narrow, narrow, Smoothing(0.01, None, 12)) == "lanes"
    assert chosen(wide, wide, Smoothing(0.01, np.eye(100), 100)) == "lanes"
    assert chosen(wide, wide, Smoothing(1e7, None, 100)) == "explicit covariances"
