"""One gamma per column, against the diagonal metric that it is."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import (
    ExpectedDistanceRBF,
    ExpectedPolynomial,
    ExpectedRBF,
    FourierFeatures,
    GammaRBF,
    GenRBF,
    kernel_variance,
)
from kernels.examples import FAMILIES, METRIC, example

GAMMAS = np.array([0.4, 1.3, 0.05])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("make", [ExpectedRBF, GenRBF, ExpectedDistanceRBF, GammaRBF])
def test_one_gamma_per_column_is_a_diagonal_metric(make, family):
    P = example(family)
    own, metric = make(GAMMAS), make(1.0, np.diag(GAMMAS))
    np.testing.assert_allclose(own(P), metric(P), rtol=1e-10)
    np.testing.assert_allclose(own(P[:2], P), metric(P[:2], P), rtol=1e-10)
    np.testing.assert_allclose(own.diag(P), metric.diag(P), rtol=1e-10)
    np.testing.assert_allclose(make([0.4] * 3)(P), make(0.4)(P), rtol=1e-10)


@pytest.mark.parametrize("mean", [0.0, 50.0])
def test_the_polynomial_kernel_weighs_columns(mean):
    P = example("mixture")
    P = P.transform(np.eye(P.n_features), np.full(P.n_features, mean))
    scaled = P.transform(np.diag(np.sqrt(GAMMAS)))
    for degree in (2, 3):
        expected = ExpectedPolynomial(degree, gamma=1.0)(scaled)
        ExpectedRBF(GAMMAS)(P[:2], P)  # which keeps rows in its own units
        kernel = ExpectedPolynomial(degree, gamma=GAMMAS)
        np.testing.assert_allclose(kernel(P), expected, rtol=1e-10)
        np.testing.assert_allclose(kernel(P[:3], P), expected[:3], rtol=1e-10)


def test_variances_know_it_too():
    P = example("gaussian")
    np.testing.assert_allclose(
        kernel_variance(ExpectedRBF(GAMMAS), P),
        kernel_variance(ExpectedRBF(1.0, np.diag(GAMMAS)), P),
        rtol=1e-8,  # a difference of two numbers that are close
        atol=1e-14,
    )


def test_fourier_features_draw_wider_frequencies():
    X = np.random.default_rng(0).normal(size=(30, 3))
    own = FourierFeatures(16, gamma=GAMMAS, random_state=0).fit_transform(X)
    metric = FourierFeatures(16, gamma=1.0, metric=np.diag(GAMMAS), random_state=0)
    np.testing.assert_allclose(own, metric.fit_transform(X), rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (GenRBF([0.1, 0.2]), "one for each of the 3 columns, found 2"),
        (GenRBF([0.1, -0.2, 1.0]), "one per column"),
        (GenRBF([[0.1, 0.2, 0.3]]), "one per column"),
        (GenRBF([0.1, 0.2, 0.3], METRIC), "a metric of its own"),
    ],
)
def test_gammas_that_make_no_sense(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel(example("gaussian"))
