"""The expected inner product."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel

from absentia import (
    Beliefs,
    EmbeddingRBF,
    ExpectedLinear,
    GaussianDensity,
    GenRBF,
    kernel_variance,
)
from kernels.contract import HasATextbookForm, IsAnExpectation, KernelContract
from kernels.examples import example
from oracles import kernels as oracles


class TestExpectedLinear(IsAnExpectation, HasATextbookForm, KernelContract):
    def make(self):
        return ExpectedLinear()

    def oracle(self, p, q):
        return oracles.expected_linear(p.mixture, q.mixture)

    def point_kernel(self, x, y):
        return (x * y).sum(axis=1)

    def complete(self, X, Y):
        return linear_kernel(X, Y)


class TestExpectedLinearOfTheSameRow(TestExpectedLinear):
    def make(self):
        return ExpectedLinear(diagonal="same")

    def oracle_diag(self, p):
        return oracles.square_norm_moment(p.mixture, 1)


def test_an_unknown_diagonal_is_refused():
    with pytest.raises(ValueError, match=r"'independent'.*'same'.*found 'both'"):
        ExpectedLinear(diagonal="both")(example("gaussian"))


def test_the_same_row_adds_its_trace():
    P = example("mixture")
    added = ExpectedLinear(diagonal="same").diag(P) - ExpectedLinear().diag(P)
    np.testing.assert_allclose(added, np.trace(P.covariance(), axis1=1, axis2=2), rtol=1e-10)


@pytest.mark.parametrize("diagonal", ["independent", "same"])
def test_a_centre_is_taken_off_the_rows(diagonal):
    P, Q = example("mixture"), example("gaussian")
    centre = np.linspace(-1.0, 2.0, P.n_features)
    kernel = ExpectedLinear(diagonal=diagonal, centre=centre)
    plain = ExpectedLinear(diagonal=diagonal)
    P_moved, Q_moved = (B.transform(np.eye(P.n_features), -centre) for B in (P, Q))
    np.testing.assert_allclose(kernel(P), plain(P_moved), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(P, Q), plain(P_moved, Q_moved), rtol=0, atol=1e-10)
    for same in ("independent", "same"):
        np.testing.assert_allclose(
            kernel_variance(kernel, P, diagonal=same),
            kernel_variance(plain, P_moved, diagonal=same),
            rtol=1e-10,
            atol=1e-10,
        )


def test_the_automatic_centre_is_the_mean_of_columns_that_are_far_from_zero():
    near, far = np.random.default_rng(0).normal(size=(30, 2)), np.array([1e5, 0.0])
    assert ExpectedLinear(centre="auto").resolve(GaussianDensity().fit(near).prior_).centre is None
    prior = GaussianDensity().fit(near + far).prior_
    centre = ExpectedLinear(centre="auto").resolve(prior).centre
    np.testing.assert_array_equal(centre, prior.mean())


@pytest.mark.parametrize("centre", [[1.0], [np.nan, 0.0, 0.0], "mean", 3.0, [["a"]]])
def test_a_centre_that_is_none_is_refused(centre):
    with pytest.raises((ValueError, TypeError), match="centre must"):
        ExpectedLinear(centre=centre)(example("gaussian"))


def test_distances_of_embeddings_do_not_depend_on_a_shift():
    X = np.random.default_rng(0).normal(size=(20, 3))
    near, far = (Beliefs.from_moments(X + s, variances=0.1) for s in (0.0, 1e7))
    for theta in (0.3, "scale"):
        kernel = EmbeddingRBF(ExpectedLinear(), theta)
        # The rows themselves have nine digits left after the point.
        np.testing.assert_allclose(kernel(far), kernel(near), rtol=0, atol=1e-7)


def test_linear_terms_of_sums_and_multiples_get_a_centre():
    kernel = 2.0 * ExpectedLinear() + GenRBF(0.5)
    assert (
        repr(kernel.centred_at("auto")) == "2 * ExpectedLinear(centre='auto') + GenRBF(gamma=0.5)"
    )
    given = ExpectedLinear(centre=[1.0])
    assert given.centred_at("auto") is given
    product = ExpectedLinear() * GenRBF(0.5)
    assert product.centred_at("auto") is product
