from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from absentia import (
    ExpectedLinear,
    ExpectedRBF,
    GaussianDensity,
    GenRBF,
    MaskKernel,
    Nystroem,
    Patterns,
)
from absentia.features.nystroem import (
    candidate_rows,
    choose_landmarks,
    inverse_root,
)


def table(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X[rng.random(X.shape) < 0.25] = np.nan
    return X


@pytest.mark.parametrize("rule", ["kmeans++", "leverage", "uniform"])
@pytest.mark.parametrize("kernel", [GenRBF(), ExpectedRBF(0.5), GenRBF(0.3) * MaskKernel(0.5)])
def test_with_every_row_a_landmark_the_kernel_is_exact(kernel, rule):
    X = table(40)
    P = GaussianDensity().fit(X).condition(X)
    Z = Nystroem(40, kernel=kernel, landmarks=rule, random_state=0).fit_transform(X)
    assert_allclose(Z @ Z.T, kernel(P, P), atol=1e-6)


@pytest.mark.parametrize("rule", ["kmeans++", "leverage", "uniform"])
def test_between_landmarks_the_kernel_is_exact_and_elsewhere_close(rule):
    X = table()
    features = Nystroem(40, landmarks=rule, random_state=0).fit(X)
    L = features.landmarks_
    Z = features.transform(L)
    assert_allclose(Z @ Z.T, GenRBF()(L), atol=1e-6)
    P = GaussianDensity().fit(X).condition(X)
    Z = features.transform(X)
    residual = GenRBF()(P) - Z @ Z.T
    assert np.abs(residual).mean() < 0.02
    # What landmarks leave over is a Schur complement, hence positive semidefinite.
    assert np.linalg.eigvalsh(residual)[0] > -1e-6


def test_a_kernel_of_low_rank_needs_as_many_landmarks_as_its_rank():
    X = table()
    Z = Nystroem(10, kernel=ExpectedLinear(), random_state=0).fit_transform(X)
    P = GaussianDensity().fit(X).condition(X)
    assert_allclose(Z @ Z.T, ExpectedLinear()(P, P), atol=1e-6)


def test_landmarks_are_looked_for_among_the_rows_that_miss_least():
    rng = np.random.RandomState(0)
    mask = np.zeros((1000, 4), dtype=bool)
    mask[:600, 0] = True
    mask[:300, 1] = True
    patterns = Patterns.of_mask(mask)
    rows = candidate_rows(patterns, 20, True, rng)
    assert len(rows) == 400
    assert rows.min() == 600
    assert candidate_rows(patterns, 20, False, rng).min() < 300
    assert len(candidate_rows(patterns, 500, True, rng)) == 1000


@pytest.mark.parametrize("mean", [1e8, 1e12])
def test_kmeans_landmarks_are_the_same_wherever_the_columns_lie(mean):
    X = np.round(np.random.default_rng(0).standard_normal((100, 3)) * 64) / 64
    chosen = [
        choose_landmarks(
            "kmeans++",
            GenRBF(),
            GaussianDensity().fit(Y).condition(Y),
            20,
            np.random.RandomState(0),
        )
        for Y in (X, X + mean)
    ]
    np.testing.assert_array_equal(*chosen)


def test_leverage_finds_the_few_rows_that_are_unlike_all_others():
    rng = np.random.RandomState(0)
    X = np.concatenate(
        [0.01 * rng.standard_normal((990, 2)), 5 * np.arange(10)[:, None] + [[9, 0]]]
    )
    P = GaussianDensity().fit(X).condition(X)
    kernel = GenRBF(1.0)
    chosen = choose_landmarks("leverage", kernel, P, 40, rng)
    assert len(np.unique(chosen)) == 40
    assert (chosen >= 990).sum() >= 8
    assert (choose_landmarks("kmeans++", kernel, P, 40, rng) >= 990).sum() == 10


def test_more_features_than_rows_and_duplicate_rows_are_no_trouble():
    X = np.repeat(table(10), 3, axis=0)
    features = Nystroem(100, random_state=0).fit(X)
    Z = features.transform(X)
    assert Z.shape == (30, 30)
    assert np.isfinite(Z).all()
    assert_allclose(np.linalg.norm(Z, axis=1), 1.0, atol=1e-6)


def test_the_inverse_root_leaves_out_what_is_not_there():
    K = np.diag([4.0, 1.0, 0.0, -1.0])
    assert_allclose(inverse_root(K), np.diag([0.5, 1.0, 0.0, 0.0]))


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="landmarks must be"):
        Nystroem(5, landmarks="best").fit(table())
    with pytest.raises(ValueError, match="n_components must be an integer from 1"):
        Nystroem(0).fit(table())
    with pytest.raises(ValueError, match="gamma="):
        Nystroem(5, kernel=GenRBF(), gamma=0.1).fit(table())


@pytest.mark.parametrize("shape", ["outlier", "two clusters"])
def test_landmarks_where_inner_products_lose_all_distances(shape):
    X = np.random.default_rng(0).normal(size=(200, 2))
    near = X.copy()
    if shape == "outlier":
        X += 1.7e9
        near = X - 1.7e9
        X[0, 0] = 1e13
        near[0, 0] = 1e13
    else:  # dates with zero for "not known"
        X[::2, 0] += 1.7e9
        near = X
    squares = ((near[:, None] - near) ** 2).sum(axis=2)
    features = Nystroem(60, gamma=0.5, random_state=0).fit(X)
    Z = features.transform(X)
    assert len(np.unique(features.landmarks_.mean(), axis=0)) == 60
    # As far off as without the shift; by inner products by one, and 0.1 on average.
    errors = np.abs(Z @ Z.T - np.exp(-0.5 * squares))[1:, 1:]
    assert errors.max() < 0.3
    assert errors.mean() < 1e-3
