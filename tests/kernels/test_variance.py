"""The variance of a kernel, against moments and against draws."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import ExpectedLinear, ExpectedRBF, GaussianDensity, GenRBF, kernel_variance
from absentia.kernels import kernel_variance_diag, variance
from kernels.examples import FAMILIES, METRIC, example, rows_of
from oracles import kernels as oracles

GAMMA = 0.4


def linear_oracle(p, q):
    return oracles.inner_product_moment(p, q, 2) - oracles.inner_product_moment(p, q, 1) ** 2


def linear_oracle_of_same_row(p):
    return oracles.square_norm_moment(p, 2) - oracles.square_norm_moment(p, 1) ** 2


def rbf_oracle(p, q):
    return oracles.expected_rbf(p, q, 2 * GAMMA) - oracles.expected_rbf(p, q, GAMMA) ** 2


CASES = [
    (ExpectedLinear(), linear_oracle, linear_oracle_of_same_row),
    (ExpectedRBF(GAMMA), rbf_oracle, lambda p: 0.0),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("kernel", "oracle", "oracle_of_same_row"), CASES)
def test_variance_is_the_oracle(kernel, oracle, oracle_of_same_row, family):
    P = example(family)
    rows = [row.mixture for row in rows_of(P)]
    expected = np.array([[oracle(p, q) for q in rows] for p in rows])
    # The oracles subtract, so they are exact to the size of what they subtract.
    tolerance = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(kernel_variance(kernel, P[:3], P), expected[:3], **tolerance)
    apart = kernel_variance(kernel, P, diagonal="independent")
    np.testing.assert_allclose(apart, expected, **tolerance)
    np.testing.assert_allclose(
        kernel_variance_diag(kernel, P, diagonal="independent"), np.diagonal(apart), rtol=1e-13
    )
    np.fill_diagonal(expected, [oracle_of_same_row(p) for p in rows])
    V = kernel_variance(kernel, P)
    np.testing.assert_allclose(V, expected, **tolerance)
    np.testing.assert_array_equal(kernel_variance_diag(kernel, P), np.diagonal(V))
    np.testing.assert_array_equal(V, V.T)
    assert (V >= 0).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("metric", [None, METRIC])
def test_small_variances_have_their_digits(family, metric):
    """As gamma vanishes, the RBF is ``1 - gamma z``, and its variance ``gamma² var z``."""
    P = example(family)
    root = None if metric is None else np.linalg.cholesky(metric).T
    rows = [row.mixture for row in rows_of(P)]
    moments = [[oracles.squared_distance_moments(p, q, root) for q in rows] for p in rows]
    variances = np.array([[variance for _, variance in row] for row in moments])
    for gamma in (1e-8, 1e-12, 1e-60):
        kernel = ExpectedRBF(gamma) if metric is None else ExpectedRBF(gamma, metric)
        V = kernel_variance(kernel, P, diagonal="independent")
        # The next term of the series is 1e-8 times a squared distance.
        np.testing.assert_allclose(V / gamma**2, variances, rtol=1e-5, atol=1e-10)
        np.testing.assert_allclose(kernel_variance(kernel, P[:3], P), V[:3], rtol=1e-12)
        np.testing.assert_array_equal(V, V.T)


def test_both_ways_to_a_variance_agree(monkeypatch):
    P = example("mixture")
    kernel = ExpectedRBF(0.1)
    monkeypatch.setattr(variance, "_SMALL", 0.0)
    subtracted = kernel_variance(kernel, P, diagonal="independent")
    monkeypatch.setattr(variance, "_SMALL", np.inf)
    direct = kernel_variance(kernel, P, diagonal="independent")
    np.testing.assert_allclose(direct, subtracted, rtol=1e-10, atol=1e-15)


def test_complete_rows_have_no_variance_at_all():
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[:5, 0] = np.nan
    P = GaussianDensity().fit(X).condition(X)
    V = kernel_variance(ExpectedRBF(0.3), P, diagonal="independent")
    assert not V[5:, 5:].any()
    assert (V[:5] > 0).all()
    assert not kernel_variance_diag(ExpectedRBF(0.3), P[5:], diagonal="independent").any()


@pytest.mark.parametrize("family", ["gaussian", "mixture"])
def test_variance_is_that_of_many_draws(family):
    P = example(family)
    rows = [row.mixture for row in rows_of(P)]
    rng = np.random.default_rng(0)
    points = {
        ExpectedLinear(): lambda x, y: (x * y).sum(axis=1),
        ExpectedRBF(GAMMA): lambda x, y: np.exp(-GAMMA * ((x - y) ** 2).sum(axis=1)),
    }
    for kernel, of_points in points.items():
        V, K = kernel_variance(kernel, P), kernel(P)
        for i, j in [(1, 6), (3, 5), (7, 2)]:
            x, y = (oracles.draws(rows[row], 50_000, rng) for row in (i, j))
            squares = (of_points(x, y) - K[i, j]) ** 2
            assert abs(oracles.z_score(squares, V[i, j])) < 5
        x = oracles.draws(rows[7], 50_000, rng)
        squares = (of_points(x, x) - of_points(x, x).mean()) ** 2
        assert abs(oracles.z_score(squares, V[7, 7])) < 5


def test_complete_rows_are_certain():
    P = example("gaussian")[[0, 8]]
    assert not P.patterns.mask.any()
    np.testing.assert_array_equal(kernel_variance(ExpectedLinear(), P), np.zeros((2, 2)))
    np.testing.assert_allclose(kernel_variance(ExpectedRBF(), P), np.zeros((2, 2)), atol=1e-15)


def test_kernels_without_a_variance_are_refused():
    P = example("gaussian")
    with pytest.raises(TypeError, match="known for ExpectedLinear and ExpectedRBF"):
        kernel_variance(GenRBF(), P)
    with pytest.raises(ValueError, match="scaled=True"):
        kernel_variance(ExpectedRBF(scaled=False), P)
    with pytest.raises(ValueError, match="diagonal must be"):
        kernel_variance_diag(ExpectedLinear(), P, diagonal="both")
