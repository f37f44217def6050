"""The expected inner product."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel

from absentia import ExpectedLinear
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
