"""The expected polynomial kernels, against sums of moments by Isserlis' theorem."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel

from absentia import ExpectedPolynomial
from kernels.contract import HasATextbookForm, IsAnExpectation, KernelContract
from kernels.examples import beliefs_about, example, random_prior
from oracles import kernels as oracles

GAMMA, COEF0 = 0.7, 0.9


class TestDegreeTwo(IsAnExpectation, HasATextbookForm, KernelContract):
    degree = 2

    def make(self):
        return ExpectedPolynomial(self.degree, GAMMA, COEF0)

    def oracle(self, p, q):
        return oracles.expected_polynomial(p.mixture, q.mixture, self.degree, GAMMA, COEF0)

    def point_kernel(self, x, y):
        return (GAMMA * (x * y).sum(axis=1) + COEF0) ** self.degree

    def complete(self, X, Y):
        return polynomial_kernel(X, Y, degree=self.degree, gamma=GAMMA, coef0=COEF0)


class TestDegreeThree(TestDegreeTwo):
    degree = 3


class TestDegreeTwoOfTheSameRow(TestDegreeTwo):
    def make(self):
        return ExpectedPolynomial(self.degree, GAMMA, COEF0, diagonal="same")

    def oracle_diag(self, p):
        return oracles.polynomial_of_same_row(p.mixture, self.degree, GAMMA, COEF0)


class TestDegreeThreeOfTheSameRow(TestDegreeTwoOfTheSameRow):
    degree = 3


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_few_patterns_and_many_agree(degree, k):
    # Thirty rows of three patterns take the road with a product to each pair of patterns; one at
    # a time they take the other.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    X[:40, 1] = np.nan
    X[40:70, 2:] = np.nan
    P = beliefs_about(random_prior(4, k, rng), X)
    kernel = ExpectedPolynomial(degree, GAMMA)
    one_by_one = np.concatenate([kernel(P[i], P) for i in range(len(P))])
    np.testing.assert_allclose(kernel(P[:], P), one_by_one, rtol=1e-11)


def test_a_matrix_of_many_blocks_is_the_same(monkeypatch):
    monkeypatch.setattr("absentia.kernels.belief_moments._LARGEST_TILE", 5)
    for degree in (2, 3):
        kernel = ExpectedPolynomial(degree, GAMMA)
        small = kernel(example("mixture"))
        monkeypatch.undo()
        np.testing.assert_allclose(small, kernel(example("mixture")), rtol=1e-12)


def test_parameters_that_make_no_sense_are_refused():
    P = example("gaussian")
    with pytest.raises(ValueError, match="degree must be 2 or 3, found 4"):
        ExpectedPolynomial(4)(P)
    with pytest.raises(ValueError, match="coef0 must be a finite number"):
        ExpectedPolynomial(2, coef0=np.nan)(P)


def test_a_negative_coefficient_is_not_positive_definite_and_says_so():
    assert not ExpectedPolynomial(coef0=-1.0).positive_definite
    assert np.linalg.eigvalsh(ExpectedPolynomial(2, 1.0, -3.0)(example("gaussian")))[0] < -0.1
