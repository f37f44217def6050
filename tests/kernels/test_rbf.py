"""The expected RBF and genRBF, against explicit inverses and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from absentia import Beliefs, ExpectedRBF, GenRBF
from kernels.contract import (
    HasATextbookForm,
    IgnoresTranslation,
    IsAnExpectation,
    KernelContract,
)
from kernels.examples import example, rows_of
from oracles import kernels as oracles

GAMMA = 0.4


class TestExpectedRBF(IsAnExpectation, HasATextbookForm, IgnoresTranslation, KernelContract):
    def make(self):
        return ExpectedRBF(GAMMA)

    def oracle(self, p, q):
        return oracles.expected_rbf(p.mixture, q.mixture, GAMMA)

    def point_kernel(self, x, y):
        return np.exp(-GAMMA * ((x - y) ** 2).sum(axis=1))

    def complete(self, X, Y):
        return rbf_kernel(X, Y, gamma=GAMMA)


class TestExpectedRBFOfTheSameRow(TestExpectedRBF):
    def make(self):
        return ExpectedRBF(GAMMA, diagonal="same")

    def oracle_diag(self, p):
        return 1.0


class TestUnscaledExpectedRBF(HasATextbookForm, IgnoresTranslation, KernelContract):
    def make(self):
        return ExpectedRBF(GAMMA, scaled=False)

    def oracle(self, p, q):
        return oracles.expected_rbf(p.mixture, q.mixture, GAMMA, scaled=False)

    def complete(self, X, Y):
        return rbf_kernel(X, Y, gamma=GAMMA)


class TestGenRBF(HasATextbookForm, IgnoresTranslation, KernelContract):
    def make(self):
        return GenRBF(GAMMA)

    def oracle(self, p, q):
        return oracles.genrbf(p.mixture, q.mixture, GAMMA)

    def complete(self, X, Y):
        return rbf_kernel(X, Y, gamma=GAMMA)


def own_metric(P):
    return np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])


def whitening(P):
    return np.linalg.inv(P.prior.covariance())


@pytest.mark.parametrize("family", ["gaussian", "mixture", "moments"])
@pytest.mark.parametrize("metric", ["mahalanobis", own_metric])
@pytest.mark.parametrize(
    ("make", "oracle"), [(ExpectedRBF, oracles.expected_rbf), (GenRBF, oracles.genrbf)]
)
def test_a_metric_is_the_oracle_in_that_metric(make, oracle, metric, family):
    P = example(family)
    M = (whitening if metric == "mahalanobis" else metric)(P)
    rows = rows_of(P)
    expected = [[oracle(p.mixture, q.mixture, GAMMA, M) for q in rows] for p in rows]
    kernel = make(GAMMA, metric if isinstance(metric, str) else M)
    np.testing.assert_allclose(kernel(P), expected, rtol=1e-10)


@pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
def test_a_metric_is_a_map_before_the_euclidean_kernel(make):
    P = example("mixture")
    M = own_metric(P)
    mapped = P.transform(np.linalg.cholesky(M).T)
    np.testing.assert_allclose(make(GAMMA, M)(P), make(GAMMA)(mapped), rtol=1e-10)


def test_scale_is_one_over_the_total_variance_of_the_density():
    P = example("mixture")
    assert ExpectedRBF().resolve(P.prior).gamma == 1 / np.trace(P.prior.covariance())


def test_the_unscaled_kernel_is_not_positive_definite_and_says_so():
    assert not ExpectedRBF(scaled=False).positive_definite
    assert ExpectedRBF().positive_definite
    rng = np.random.default_rng(0)
    smallest = 0.0
    for _ in range(200):
        means, variances = 3 * rng.normal(size=(11, 1)), rng.uniform(0, 30, size=(11, 1))
        K = ExpectedRBF(1.0, scaled=False)(Beliefs.from_moments(means, variances))
        smallest = min(smallest, np.linalg.eigvalsh(K)[0])
    assert smallest < -0.1


@pytest.mark.parametrize("make", [ExpectedRBF, GenRBF])
@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "automatic", None])
def test_a_gamma_that_makes_no_sense_is_refused(make, gamma):
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        make(gamma)(example("gaussian"))


@pytest.mark.parametrize("metric", ["manhattan", -np.eye(3), np.eye(2), np.triu(np.ones((3, 3)))])
def test_a_metric_that_makes_no_sense_is_refused(metric):
    with pytest.raises(ValueError, match="metric"):
        GenRBF(GAMMA, metric)(example("gaussian"))
