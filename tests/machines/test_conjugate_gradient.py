from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import ConjugateGradientRidge, GaussianDensity, GenRBF, KernelRidge
from absentia.machines.ridge import GramTiles, conjugate_gradients


def table(n=250, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


@parametrize_with_checks([ConjugateGradientRidge(n_landmarks=40, tol=1e-10, random_state=0)])
def test_scikit_learn_accepts_the_machine(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rule", ["kmeans++", "leverage", "uniform"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_outcome_is_that_of_kernel_ridge(rule, weighted):
    X, y = table()
    Y = np.column_stack([y, y**2, np.zeros_like(y)])
    weights = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    streamed = ConjugateGradientRidge(
        alpha=0.05, n_landmarks=60, landmarks=rule, tol=1e-10, random_state=0
    ).fit(X, Y, sample_weight=weights)
    exact = KernelRidge(alpha=0.05).fit(X, Y, sample_weight=weights)
    assert_allclose(streamed.dual_coef_, exact.dual_coef_, atol=1e-7)
    assert_allclose(streamed.predict(X), exact.predict(X), atol=1e-8)
    assert streamed.residual_ <= 1e-10


def test_landmarks_save_steps():
    X, y = table(600)

    def steps(n_landmarks):
        machine = ConjugateGradientRidge(alpha=0.1, n_landmarks=n_landmarks, random_state=0)
        return machine.fit(X, y).n_iter_

    assert steps(200) < steps(2) / 3


@pytest.mark.parametrize("cache_size", [0.0, 0.02, 1000.0])
def test_tiles_multiply_as_the_whole_matrix_does(cache_size):
    X, _ = table()
    P = GaussianDensity().fit(X).condition(X)
    kernel = GenRBF().resolve(P.prior)
    tiles = GramTiles(kernel, P, cache_size, tile_rows=40)
    V = np.random.default_rng(0).standard_normal((250, 2))
    for _ in range(2):
        assert_allclose(tiles @ V, kernel(P) @ V, atol=1e-10)
    held = sum(tile.nbytes for tile in tiles._kept.values())
    assert held <= cache_size * 1e6
    assert (held > 0) == (cache_size > 0)


def test_no_more_than_a_tile_is_computed_at_once(monkeypatch):
    X, y = table(900)
    largest = 0
    original = GenRBF.__call__

    def watched(self, *args, **kwargs):
        nonlocal largest
        K = original(self, *args, **kwargs)
        largest = max(largest, K.size)
        return K

    monkeypatch.setattr(GenRBF, "__call__", watched)
    monkeypatch.setattr("absentia.machines.ridge._TILE_ROWS", 128)
    monkeypatch.setattr("absentia.machines.gram_matrices.TILE_ROWS", 64)
    monkeypatch.setattr("absentia.machines.gram_matrices.TILE_FLOATS", 900 * 64)
    monkeypatch.setattr(GramTiles.__init__, "__defaults__", (None, 128))
    machine = ConjugateGradientRidge(n_landmarks=20, cache_size=0, random_state=0).fit(X, y)
    machine.predict(X)
    assert largest <= 900 * 64


def test_a_solved_column_does_no_harm():
    A = np.diag(np.arange(1.0, 6.0))
    B = np.column_stack([np.ones(5), np.zeros(5), np.eye(5)[0]])
    solved, n_iter, residual = conjugate_gradients(
        lambda V: A @ V, B, lambda V: V, tol=1e-12, max_iter=50
    )
    assert_allclose(solved, np.linalg.solve(A, B), atol=1e-10)
    assert residual <= 1e-12
    assert n_iter <= 6


def test_stopping_early_is_said():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="after 1 steps"):
        ConjugateGradientRidge(alpha=1e-6, n_landmarks=2, max_iter=1, random_state=0).fit(X, y)


def test_bad_parameters_are_refused():
    X, y = table(20)
    for params, match in [
        ({"alpha": 0.0}, "alpha must be a number of at least 1e-200"),
        ({"n_landmarks": 0}, "n_landmarks must be"),
        ({"landmarks": "best"}, "landmarks must be"),
        ({"tol": -1}, "tol must be"),
    ]:
        with pytest.raises(ValueError, match=match):
            ConjugateGradientRidge(**({"n_landmarks": 5} | params)).fit(X, y)


@pytest.mark.parametrize("unit", [1e-200, 1e154, 1e300])
def test_targets_of_any_unit_are_learned(unit):
    X = np.random.default_rng(0).normal(size=(60, 3))
    expected = ConjugateGradientRidge().fit(X, X[:, 0]).predict(X)
    found = ConjugateGradientRidge().fit(X, unit * X[:, 0]).predict(X)
    assert_allclose(found / unit, expected, rtol=1e-9, atol=1e-12)
