"""The corrections on the page of errata, each against a direct computation."""

import numpy as np
import pytest

from absentia import Beliefs, ExpectedRBF, GenRBF, kernel_variance
from absentia.densities import GaussianDensity


def normal(x, mean, covariance):
    difference = x - mean
    exponent = difference @ np.linalg.solve(covariance, difference)
    return np.exp(-exponent / 2) / np.sqrt(np.linalg.det(2 * np.pi * covariance))


def test_equation_7_of_anderson_needs_another_factor():
    a, b, gamma, d = np.array([0.0, 0.5]), np.array([1.0, 0.0]), 0.7, 2
    A, B = np.array([[0.5, 0.2], [0.2, 0.4]]), np.diag([0.3, 0.6])
    identity = np.eye(d) / gamma
    S = A + B + identity
    second = (np.pi / gamma) ** (d / 2) * normal(a, b, A + B + identity / 2)
    square = normal(a, b, S / 2) / np.sqrt(np.linalg.det(4 * np.pi * S))
    right = second - (2 * np.pi / gamma) ** d * square
    printed = second - gamma ** (d / 2) * square

    rng = np.random.default_rng(0)
    x, y = rng.multivariate_normal(a, A, 400_000), rng.multivariate_normal(b, B, 400_000)
    drawn = np.exp(-gamma / 2 * ((x - y) ** 2).sum(axis=1))
    P = Beliefs.from_moments(np.stack([a, b]), np.stack([A, B]))
    ours = kernel_variance(ExpectedRBF(gamma / 2), P, diagonal="independent")[0, 1]
    assert right == pytest.approx(ours, rel=1e-12)
    assert right == pytest.approx(drawn.var(), rel=0.01)  # 400 000 draws
    np.testing.assert_allclose([right, printed], [0.07535, 0.28348], atol=1e-5)


def test_the_unscaled_rbf_of_anderson_is_not_positive_definite():
    """Ten complete rows far apart, and one that could be anywhere: eigenvalues 1 +- sqrt(10)."""
    means = np.concatenate([[0.0], 1000.0 * np.arange(10)])[:, None]
    variances = np.array([1e12] + [0.0] * 10)[:, None]
    K = ExpectedRBF(0.5, scaled=False)(Beliefs.from_moments(means, variances))
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(1 - np.sqrt(10), abs=1e-4)
    scaled = ExpectedRBF(0.5)(Beliefs.from_moments(means, variances))
    assert np.linalg.eigvalsh(scaled)[0] > -1e-12


def by_appendix_d(rows, missing, G, gamma, sign):
    """The kernel matrix by (D.17) to (D.25); ``sign`` is that of w'Rw for different patterns."""

    def projection(S, columns):
        return np.linalg.solve(G[np.ix_(S, S)], G[np.ix_(S, columns)])

    everything = np.arange(rows.shape[1])
    K = np.empty((len(rows), len(rows)))
    for i, j in np.ndindex(K.shape):
        difference = rows[i] - rows[j]
        plain = difference @ G @ difference
        Ji, Jj = np.flatnonzero(missing[i]), np.flatnonzero(missing[j])
        U = np.union1d(Ji, Jj)
        if not len(U):
            K[i, j] = np.exp(-gamma * plain)
            continue
        # One formula serves all three cases: Q is a multiple of the identity on equal patterns.
        Q = np.eye(len(U))
        for J in (Ji, Jj):
            if len(J):
                Q[np.isin(U, J)] += 2 * gamma * projection(J, U)
        R = G[np.ix_(U, U)] @ (np.linalg.inv(Q) - np.eye(len(U)))
        w = projection(U, everything) @ difference
        Z = (1 + 4 * gamma) ** ((len(Ji) + len(Jj)) / 4) / np.sqrt(np.linalg.det(Q))
        simple = not len(Ji) or not len(Jj) or np.array_equal(Ji, Jj)
        K[i, j] = Z * np.exp(-gamma * (plain + (1 if simple else sign) * (w @ R @ w)))
    return K


def test_equation_25_of_appendix_d_has_a_plus():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    X[rng.random(X.shape) < 0.4] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    density = GaussianDensity().fit(X)
    prior = density.condition(X).prior
    expected = GenRBF(0.5, metric="mahalanobis")(density.condition(X))
    rows, G = density.impute(X), np.linalg.inv(prior.covariances[0])
    plus = by_appendix_d(rows, np.isnan(X), G, 0.5, 1)
    minus = by_appendix_d(rows, np.isnan(X), G, 0.5, -1)
    np.testing.assert_allclose(plus, expected, rtol=0, atol=1e-10)
    assert np.linalg.eigvalsh(plus)[0] > -1e-10
    print(np.abs(minus - expected).max(), np.linalg.eigvalsh(minus)[0])
    for i, j in np.ndindex(expected.shape):
        J, other = np.isnan(X[i]), np.isnan(X[j])
        if not J.any() or not other.any() or (other == J).all():
            assert minus[i, j] == pytest.approx(expected[i, j], abs=1e-10)


def test_step_e_of_williams_conditions_the_component_of_row_i():
    """N(x_j^mi | mu, K + S_i) factors with G = K + S_i on what i misses and j has."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    C, mu, x = 0.5 * np.eye(3) + root @ root.T, rng.normal(size=3), rng.normal(size=3)
    both, only_i = [0, 1], [2]
    G, F = C[np.ix_(only_i, only_i)], C[np.ix_(both, both)]
    gain = C[np.ix_(both, only_i)] @ np.linalg.inv(G)
    f = mu[both] + gain @ (x[only_i] - mu[only_i])
    F = F - gain @ C[np.ix_(only_i, both)]
    product = normal(x[both], f, F) * normal(x[only_i], mu[only_i], G)
    assert product == pytest.approx(normal(x, mu, C), rel=1e-12)
