"""Outliers, and scales at the edge of double precision: right, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import (
    ExpectedDistanceRBF,
    ExpectedRBF,
    GammaRBF,
    GaussianDensity,
    GenRBF,
    LowRankDensity,
    MixtureDensity,
)
from kernels.examples import METRIC, rows_of
from kernels.gram.test_expected import _formula
from oracles import kernels as oracles

KERNELS = [GenRBF, ExpectedRBF, ExpectedDistanceRBF, GammaRBF]


def with_outliers(size, n=100, holes=False, seed=0):
    """Normal rows, two of which lie close to each other and far from the rest."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[0, 0] = size
    X[1] = X[0] + [0.0, 1.0, 0.5]
    if holes:
        X[rng.random(X.shape) < 0.25] = np.nan
        X[:3] = [[size, np.nan, 0.2], [size, 0.4, np.nan], [size, 0.3, 0.1]]
    return X


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("metric", [None, METRIC])
@pytest.mark.parametrize("size", [1e6, 1e9, 1e12, 1e60])
@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(2, random_state=0)])
def test_outliers_do_no_harm_to_complete_rows(make, metric, size, density):
    X = with_outliers(size)
    kernel = make(0.1) if metric is None else make(0.1, metric)
    differences = X[:, None] - X[None]
    M = np.eye(3) if metric is None else metric
    expected = np.exp(-0.1 * np.einsum("ijk,kl,ijl->ij", differences, M, differences))
    P = density.fit(X).condition(X)
    np.testing.assert_allclose(kernel(P), expected, atol=1e-12)
    np.testing.assert_allclose(kernel(P[:70], P), expected[:70], atol=1e-12)
    assert np.linalg.eigvalsh(kernel(P))[0] > -1e-12


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("mean", [0.0, 1e6, 1e10, 1e13])
@pytest.mark.parametrize("density", [GaussianDensity(), LowRankDensity(1)])
def test_far_means_do_no_harm_where_each_column_has_a_width(make, mean, density):
    X = np.round(np.random.default_rng(0).standard_normal((40, 3)) * 8) / 8  # exact at all means
    widths = np.array([0.3, 0.07, 0.9])
    expected = np.exp(-((X[:, None] - X) ** 2 @ widths))
    P = density.fit(X + mean).condition(X + mean)
    np.testing.assert_allclose(make(widths)(P), expected, atol=1e-14)
    np.testing.assert_allclose(make(widths)(P[:2], P), expected[:2], atol=1e-14)


@pytest.mark.parametrize("kind", [GenRBF, ExpectedRBF, ExpectedDistanceRBF, GammaRBF])
@pytest.mark.parametrize("mean", [1.7e9, 1e12])
def test_an_outlier_in_a_far_column_does_no_harm_where_each_column_has_a_width(kind, mean):
    """It moves the mean and the deviation of its column, by which alone zero is not far away."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    far = X + np.array([mean, 0.0, 0.0])
    near = far - np.array([mean, 0.0, 0.0])  # with the digits that the far rows have left
    far[0, 0] = 1e6 * mean
    P = GaussianDensity().fit(far).condition(far)
    gammas = np.array([0.3, 0.07, 0.9])
    squares = ((near[1:, None] - near[1:]) ** 2) @ gammas
    np.testing.assert_allclose(kind(gammas)(P)[1:, 1:], np.exp(-squares), rtol=1e-12)


@pytest.mark.parametrize("make", [GenRBF, ExpectedRBF])
@pytest.mark.parametrize(
    "parameters", [{"gamma": np.array([0.3, 0.07, 0.9])}, {"gamma": 0.1, "metric": METRIC}]
)
def test_far_means_do_no_harm_to_gradients(make, parameters):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((40, 3)) * 8) / 8
    weights = rng.standard_normal((40, 40))
    near, far = (
        make(**parameters).gradient(GaussianDensity().fit(table).condition(table), weights)["gamma"]
        for table in (X, X + 1e10)
    )
    np.testing.assert_allclose(far, near, rtol=1e-12)


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("size", [1e6, 1e12])
def test_outliers_do_no_harm_where_each_column_has_a_width(make, size):
    X = with_outliers(size)
    widths = np.array([0.3, 0.07, 0.9])
    expected = np.exp(-((X[:, None] - X) ** 2 @ widths))
    P = GaussianDensity().fit(X).condition(X)
    np.testing.assert_allclose(make(widths)(P), expected, atol=1e-12)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("n", [60, 300])
def test_outliers_do_no_harm_to_incomplete_rows(size, n):
    X = with_outliers(size, n, holes=True)
    usual = GaussianDensity().fit(with_outliers(0.0, n, holes=True))
    for density in (GaussianDensity().fit(X), usual):  # which expects outliers, and which does not
        P = density.condition(X)
        expected = _formula(P, P, 0.1)
        # The formula itself solves with matrices whose entries are as far apart as size squared.
        np.testing.assert_allclose(ExpectedRBF(0.1)(P), expected, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(ExpectedRBF(0.1)(P[:9], P), expected[:9], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("size", [1e3, 1e7])
def test_outliers_do_no_harm_to_kernels_of_the_distance(independent, size):
    usual = MixtureDensity(2, random_state=0).fit(with_outliers(0.0, 60, holes=True))
    P = usual.condition(with_outliers(size, 60, holes=True)[:20])
    rows = [row.mixture for row in rows_of(P)]
    variance = "independent" if independent else "exact"
    egk = GammaRBF(0.1, variance=variance, diagonal="independent")
    expected = [[oracles.egk(p, q, 0.1, independent=independent) for q in rows] for p in rows]
    # A conditional mean far from a component has an error of 1e-16 of its distance.
    np.testing.assert_allclose(egk(P), expected, rtol=1e-7, atol=1e-12)
    esd = ExpectedDistanceRBF(0.1, diagonal="independent")
    expected = [[oracles.esd(p, q, 0.1) for q in rows] for p in rows]
    np.testing.assert_allclose(esd(P), expected, rtol=1e-7, atol=1e-12)


def test_clusters_that_lie_far_apart():
    rng = np.random.default_rng(0)
    near = rng.standard_normal((150, 3))
    X = np.vstack([near, near + 2.0**40])
    P = GaussianDensity().fit(X).condition(X)
    for make in KERNELS:
        K = make(0.3)(P)
        # Rounding of the shifted rows themselves: 2**40 has twelve digits before the point.
        np.testing.assert_allclose(K[:150, :150], K[150:, 150:], atol=1e-3)
        D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(K, np.exp(-0.3 * D), atol=1e-12)


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("scale", [1e-130, 1e-75, 1e-40, 1e40, 1e75, 1e130])
def test_units_do_not_matter(make, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    K, again = (make()(GaussianDensity().fit(Y).condition(Y)) for Y in (X, X * scale))
    np.testing.assert_allclose(again, K, atol=1e-10)


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(2, random_state=0)])
def test_a_tiny_constant_column_beside_large_ones_in_the_mahalanobis_metric(make, density):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    X[:, 3] = 1.0
    X[rng.random(X.shape) < 0.2] = np.nan
    K = make(metric="mahalanobis")(density.fit(X).condition(X))
    scaled = X * [1e8, 1e8, 1e8, 1e-8, 1.0]
    again = make(metric="mahalanobis")(density.fit(scaled).condition(scaled))
    np.testing.assert_allclose(again, K, atol=1e-6)
    assert np.linalg.eigvalsh(again)[0] > -1e-6


@pytest.mark.parametrize("make", KERNELS)
def test_what_is_too_far_for_double_precision_is_refused_by_name(make):
    X = np.random.default_rng(0).standard_normal((20, 3))
    P = GaussianDensity().fit(X).condition(X)
    X[7, 2] = 1e120
    far = GaussianDensity().fit(X).condition(X)
    kernel = make(1e60)
    with pytest.raises(ValueError, match=r"Row 7 is more than .* in column 2.*smaller gamma"):
        kernel(far)
    with pytest.raises(ValueError, match=r"Row 7 is more than .* in column 2"):
        kernel(P, far)
    with pytest.raises(ValueError, match=r"Column 2 has a standard deviation of more than"):
        kernel(far[:5])


def test_a_metric_of_very_different_units_is_as_good_as_any():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    units = np.array([1e20, 1.0, 1e-20])
    P, Q = (GaussianDensity().fit(Y).condition(Y) for Y in (X, X * units))
    K = GenRBF(0.5, METRIC)(P)
    np.testing.assert_allclose(GenRBF(0.5, METRIC / units / units[:, None])(Q), K, atol=1e-12)
    for wrong, sentence in (
        (np.diag([1.0, 0.0, 1.0]), "smallest diagonal entry is 0"),
        (np.ones((3, 3)) - 2 * np.eye(3), "smallest diagonal entry is -1"),
        (np.eye(3) + 5 * np.eye(3)[::-1], "smallest eigenvalue is -"),
        (np.triu(np.ones((3, 3))), "finite, symmetric"),
        (np.full((3, 3), np.nan), "finite, symmetric"),
    ):
        with pytest.raises(ValueError, match=sentence):
            GenRBF(0.5, wrong)(P)
