"""Kernels on top of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import (
    Beliefs,
    EmbeddingRBF,
    ExpectedDistanceRBF,
    ExpectedLinear,
    ExpectedRBF,
    GammaRBF,
    GenRBF,
    MaskKernel,
)
from kernels.contract import IgnoresTranslation, KernelContract
from kernels.examples import example
from oracles import kernels as oracles

GAMMA, THETA = 0.4, 1.3


class TestOnExpectedRBF(IgnoresTranslation, KernelContract):
    def make(self):
        # The inner diagonal must not matter.
        return EmbeddingRBF(ExpectedRBF(GAMMA, diagonal="same"), THETA)

    def oracle(self, p, q):
        def k(a, b):
            return oracles.expected_rbf(a.mixture, b.mixture, GAMMA)

        return np.exp(-THETA * (k(p, p) + k(q, q) - 2 * k(p, q)))


def test_on_the_linear_kernel_it_is_the_rbf_of_the_means_and_scale_is_gammas():
    P = example("mixture")
    means = P.mean()
    squares = ((means[:, None] - means) ** 2).sum(axis=2)
    gamma = ExpectedRBF().resolve(P.prior).gamma
    K = EmbeddingRBF(ExpectedLinear())(P)
    np.testing.assert_allclose(K, np.exp(-gamma * squares), rtol=1e-10)


def test_on_a_sum_or_product_the_choice_of_diagonal_reaches_inside():
    P = example("gaussian")
    same = 0.5 * ExpectedDistanceRBF(GAMMA) * MaskKernel(0.1) + ExpectedLinear(diagonal="same")
    apart = 0.5 * ExpectedDistanceRBF(GAMMA, diagonal="independent") * MaskKernel(
        0.1
    ) + ExpectedLinear(diagonal="independent")
    np.testing.assert_array_equal(EmbeddingRBF(same, 1.0)(P), EmbeddingRBF(apart, 1.0)(P))


def test_scale_on_a_kernel_of_unit_length_is_one():
    assert EmbeddingRBF(GenRBF()).resolve(example("gaussian").prior).theta == 1.0


def test_positive_definite_where_the_inner_kernel_is():
    assert EmbeddingRBF(GenRBF()).positive_definite
    assert not EmbeddingRBF(GammaRBF()).positive_definite


@pytest.mark.parametrize("theta", [0, -1.0, np.inf, "median", None])
def test_a_theta_that_makes_no_sense_is_refused(theta):
    with pytest.raises(ValueError, match="theta must be a positive number or 'scale'"):
        EmbeddingRBF(GenRBF(), theta)(example("gaussian"))


@pytest.mark.parametrize("outlier", [1e9, 1e12])
@pytest.mark.parametrize("rows", [100, 3])
def test_an_outlier_costs_the_linear_kernel_no_digits(outlier, rows):
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:2, 0] = outlier, outlier + 1.0
    P = Beliefs.from_moments(X, np.zeros_like(X))
    squares = ((X[:rows, None] - X) ** 2).sum(axis=2)
    inner = 0.5 * (ExpectedLinear() + 2.0 * ExpectedLinear())
    for kernel, theta in ((ExpectedLinear(), 0.1), (inner, 0.15)):
        K = EmbeddingRBF(kernel, 0.1)(P[:rows], P)
        np.testing.assert_allclose(K, np.exp(-theta * squares), atol=1e-11)
    whole = EmbeddingRBF(ExpectedLinear(), 0.1)(P)
    np.testing.assert_array_equal(whole, whole.T)
    assert np.linalg.eigvalsh(whole).min() > -1e-11


@pytest.mark.parametrize("gamma", [1e-11, 1e-14, 1e-18])
@pytest.mark.parametrize("theta", ["scale", 1e12])
def test_a_kernel_that_tells_no_rows_apart_is_refused(gamma, theta):
    with pytest.raises(ValueError, match="Take a narrower kernel"):
        EmbeddingRBF(ExpectedRBF(gamma), theta)(example("gaussian"))


def test_a_wide_kernel_gives_the_rbf_of_the_means():
    P = example("gaussian")
    limit = EmbeddingRBF(ExpectedLinear())(P)
    np.testing.assert_allclose(EmbeddingRBF(ExpectedRBF(1e-7))(P), limit, atol=1e-5)
