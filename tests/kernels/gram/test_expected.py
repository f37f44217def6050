"""The engine's regimes against the formula: every mixture of them gives the same matrix."""

import numpy as np
import pytest

from absentia import Beliefs, ExpectedRBF, GenRBF
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.kernels.gram.sides import FREQUENT, Ordering


def _formula(P, Q, gamma, metric=None, scaled=True):
    """E[k] by explicit inverses, all pairs of rows and components at once."""
    d = P.n_features
    C0 = np.linalg.inv(2 * gamma * (np.eye(d) if metric is None else metric))
    A = P.covariances.dense()[P.group_of_row]
    B = Q.covariances.dense()[Q.group_of_row]
    K = np.zeros((len(P), len(Q)))
    for a in range(P.n_components):
        for b in range(Q.n_components):
            C = C0 + A[:, None, a] + B[None, :, b]
            delta = P.means[:, None, a] - Q.means[None, :, b]
            quad = np.einsum("ijk,ijk->ij", delta, np.linalg.solve(C, delta[..., None])[..., 0])
            log_ratio = np.linalg.slogdet(C)[1] - np.linalg.slogdet(C0)[1] if scaled else 0.0
            weights = P.log_weights[:, None, a] + Q.log_weights[None, :, b]
            K += np.exp(weights - 0.5 * (quad + log_ratio))
    return K


def _prior(rng, d, k):
    roots = rng.normal(size=(k, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) / d + 0.3 * np.eye(d)
    return Prior(rng.dirichlet(np.ones(k) * 3), rng.normal(size=(k, d)), covariances)


def _table(rng, n, d, kind):
    X = rng.normal(size=(n, d))
    if kind == "scattered":
        X[rng.random(X.shape) < 0.35] = np.nan
    elif kind == "mostly missing":
        X[rng.random(X.shape) < 0.8] = np.nan
    elif kind == "few patterns":
        masks = rng.random((3, d)) < 0.4
        masks[0] = False
        X[masks[rng.integers(3, size=n)]] = np.nan
    elif kind == "both":
        X[: n // 3][rng.random((n // 3, d)) < 0.4] = np.nan
        X[n // 3 : 2 * n // 3, :2] = np.nan
        X = X[rng.permutation(n)]
    return X


KINDS = ["complete", "scattered", "mostly missing", "few patterns", "both"]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_square_and_rectangular_match_the_formula(kind, k):
    rng = np.random.default_rng(0)
    d, gamma = 6, 0.2
    prior = _prior(rng, d, k)
    n = 4 * FREQUENT if kind in ("complete", "few patterns", "both") else 70
    P = condition(prior, _table(rng, n, d, kind))[0]
    Q = condition(prior, _table(rng, 90, d, "both"))[0]
    K = ExpectedRBF(gamma)(P)
    np.testing.assert_allclose(K, _formula(P, P, gamma), rtol=1e-10)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(ExpectedRBF(gamma)(P, Q), _formula(P, Q, gamma), rtol=1e-10)
    np.testing.assert_allclose(ExpectedRBF(gamma)(Q, P), _formula(Q, P, gamma), rtol=1e-10)
    unscaled = ExpectedRBF(gamma, scaled=False)(P, Q)
    np.testing.assert_allclose(unscaled, _formula(P, Q, gamma, scaled=False), rtol=1e-10)


def test_the_popular_and_the_rare_are_both_met():
    rng = np.random.default_rng(0)
    prior = _prior(rng, 6, 1)
    ordering = Ordering.of(condition(prior, _table(rng, 4 * FREQUENT, 6, "both"))[0])
    assert 0 < ordering.n_frequent < 4 * FREQUENT
    assert not ordering.identity


@pytest.mark.parametrize("kind", ["scattered", "both"])
def test_a_general_metric_and_explicit_covariances_match_the_formula(kind):
    rng = np.random.default_rng(1)
    d, gamma = 5, 0.3
    prior = _prior(rng, d, 1)
    root = rng.normal(size=(d, d))
    M = root @ root.T / d + np.eye(d)
    P = condition(prior, _table(rng, 3 * FREQUENT, d, kind))[0]
    roots = rng.normal(size=(40, d, d)) * 0.4
    E = Beliefs.from_moments(rng.normal(size=(40, d)), covariances=roots @ roots.transpose(0, 2, 1))
    for metric in (None, M):
        kernel = ExpectedRBF(gamma, "euclidean" if metric is None else metric)
        np.testing.assert_allclose(kernel(P), _formula(P, P, gamma, metric), rtol=1e-10)
        np.testing.assert_allclose(kernel(E), _formula(E, E, gamma, metric), rtol=1e-10)
        np.testing.assert_allclose(kernel(P, E), _formula(P, E, gamma, metric), rtol=1e-10)
        np.testing.assert_allclose(kernel(E, P), _formula(E, P, gamma, metric), rtol=1e-10)


def test_two_densities_can_be_compared():
    rng = np.random.default_rng(2)
    P = condition(_prior(rng, 4, 2), _table(rng, 30, 4, "scattered"))[0]
    Q = condition(_prior(rng, 4, 1), _table(rng, 30, 4, "scattered"))[0]
    np.testing.assert_allclose(ExpectedRBF(0.4)(P, Q), _formula(P, Q, 0.4), rtol=1e-10)


@pytest.mark.parametrize("gamma", [1e-8, 1e8])
@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_extreme_widths_in_500_columns_stay_finite(gamma, rate):
    rng = np.random.default_rng(3)
    d = 500
    prior = Prior(np.ones(1), np.zeros((1, d)), np.eye(d)[None] + 0.5)
    X = rng.normal(size=(6, d))
    X[rng.random(X.shape) < rate] = np.nan
    X[0] = np.nan
    P = condition(prior, X)[0]
    for kernel in (GenRBF(gamma), ExpectedRBF(gamma)):
        K = kernel(P)
        assert np.isfinite(K).all()
        assert (K <= 1 + 1e-9).all()
        assert isinstance(kernel, ExpectedRBF) or (np.diagonal(K) == 1).all()


def test_threads_change_nothing():
    rng = np.random.default_rng(4)
    P = condition(_prior(rng, 8, 1), _table(rng, 500, 8, "both"))[0]
    one, two = GenRBF(0.1)(P, n_jobs=1), GenRBF(0.1)(P, n_jobs=2)
    np.testing.assert_allclose(one, two, rtol=1e-13)
    assert np.array_equal(two, two.T)
