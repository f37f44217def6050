"""The contract of every kernel of beliefs. A new kernel supplies two methods and inherits the rest.

    class TestMyKernel(KernelContract):
        def make(self):
            return MyKernel(gamma=0.4)

        def oracle(self, p, q):
            ...  # the kernel of two rows, drawn independently, as slowly and plainly as you like

and ``oracle_diag(p)``, if the diagonal is not two independent draws. What only some kernels do is
in three more classes, to be named before ``KernelContract``: :class:`IsAnExpectation` (supply
``point_kernel(x, y)``; checked by Monte Carlo), :class:`HasATextbookForm` (supply
``complete(X, Y)``, the kernel of complete rows) and :class:`IgnoresTranslation`.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.base import clone

from absentia import Beliefs
from absentia.beliefs import Prior
from absentia.kernels import gram_blocks
from absentia.kernels.base import with_params
from kernels.examples import (
    FAMILIES,
    beliefs_about,
    cases,
    example,
    random_prior,
    rows_of,
)
from oracles.kernels import draws, z_score

SAME_FORMULA = 1e-10
# Hypothesis minds a test that several classes inherit, which is what a contract is for.
FEW = settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)


class KernelContract:
    columns_exchangeable = True

    def make(self):
        raise TypeError("a kernel's contract needs make()")

    def oracle(self, p, q):
        raise TypeError("a kernel's contract needs oracle()")

    def oracle_diag(self, p):
        return self.oracle(p, p)

    # The formula ---------------------------------------------------------------------------

    @pytest.mark.parametrize("family", FAMILIES)
    def test_gram_is_the_oracle(self, family):
        P = example(family)
        rows = rows_of(P)
        expected = np.array([[self.oracle(p, q) for q in rows] for p in rows])
        rectangle = self.make()(P[: len(P) - 1], P[1:])
        np.testing.assert_allclose(rectangle, expected[:-1, 1:], rtol=SAME_FORMULA, atol=1e-13)
        np.fill_diagonal(expected, [self.oracle_diag(p) for p in rows])
        np.testing.assert_allclose(self.make()(P), expected, rtol=SAME_FORMULA, atol=1e-13)

    def test_gaussians_and_mixtures_can_be_compared(self):
        P, Q = example("mixture")[[1, 5, 7]], example("moments")
        expected = [[self.oracle(p, q) for q in rows_of(Q)] for p in rows_of(P)]
        K = self.make()(P, Q)
        np.testing.assert_allclose(K, expected, rtol=SAME_FORMULA, atol=1e-13)

    # Limits --------------------------------------------------------------------------------

    def test_a_mixture_of_equal_components_is_the_gaussian(self):
        one = example("gaussian")
        prior = one.prior
        twice = Prior(
            np.array([0.3, 0.7]), prior.means.repeat(2, 0), prior.covariances.repeat(2, 0)
        )
        X = np.where(one.patterns.mask, np.nan, one.means[:, 0])
        kernel = self.make().resolve(prior)
        np.testing.assert_allclose(kernel(beliefs_about(twice, X)), kernel(one), rtol=1e-10)

    def test_a_vanishing_covariance_leaves_the_kernel_of_points(self):
        means = np.random.default_rng(3).normal(size=(5, 3))
        points = Beliefs.from_moments(means, np.zeros((3, 3)))
        nearly = Beliefs.from_moments(means, 1e-12 * np.eye(3))
        kernel = self.make().resolve(points.prior)
        np.testing.assert_allclose(kernel(nearly), kernel(points), rtol=1e-9)

    def test_rows_without_any_value_are_finite(self):
        prior = random_prior(4, 2, np.random.default_rng(4))
        K = self.make()(beliefs_about(prior, np.full((3, 4), np.nan)))
        assert np.isfinite(K).all()
        assert (np.diagonal(K) > 0).all()

    def test_extreme_parameters_and_scales_are_finite(self):
        rng = np.random.default_rng(5)
        prior = random_prior(3, 2, rng)
        X = rng.normal(size=(6, 3))
        X[rng.uniform(size=X.shape) < 0.4] = np.nan
        P = beliefs_about(prior, X)
        scales = np.array([1e-8, 1.0, 1e8])
        kernels = [self.make()]
        if "gamma" in self.make().get_params():
            kernels += [with_params(self.make(), gamma=g) for g in (1e-8, 1e8, "scale")]
        for kernel in kernels:
            for beliefs in (P, beliefs_about(prior.transform(np.diag(scales), 0), X * scales)):
                assert np.isfinite(kernel(beliefs)).all()
                assert (kernel.diag(beliefs) >= 0).all()

    # Properties ----------------------------------------------------------------------------

    @FEW
    @given(case=cases())
    def test_symmetric_to_the_last_bit_and_positive_semidefinite(self, case):
        P, kernel = case.beliefs, self.make()
        K = kernel(P)
        assert np.isfinite(K).all()
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(kernel.diag(P), np.diagonal(K), rtol=1e-13)
        if kernel.positive_definite:
            n, eps = len(K), np.finfo(np.float64).eps
            assert np.linalg.eigvalsh(K)[0] >= -50 * n * eps * np.linalg.norm(K, 2)

    @FEW
    @given(case=cases())
    def test_order_of_rows_and_columns_does_not_matter(self, case):
        kernel = self.make()
        K = kernel(case.beliefs)
        n, d = case.X.shape
        order = case.rng.permutation(n)
        close(kernel(case.beliefs[order]), K[np.ix_(order, order)])
        if self.columns_exchangeable:
            turned = case.rng.permutation(d)
            prior = case.prior.transform(np.eye(d)[turned], np.zeros(d))
            close(kernel(beliefs_about(prior, case.X[:, turned])), K)

    @FEW
    @given(case=cases())
    def test_batches_give_the_same_matrix(self, case):
        kernel, P = self.make(), case.beliefs
        K, cut = kernel(P), len(P) // 2
        if cut:
            close(kernel(P[cut:], P[:cut]), K[cut:, :cut])
            close(kernel(P[:cut]), K[:cut, :cut])
        streamed = [block for _, block in gram_blocks(kernel, P, block_rows=3)]
        close(np.concatenate(streamed), K)

    # The object ----------------------------------------------------------------------------

    def test_copies_are_equal_and_threads_change_nothing(self):
        kernel, P = self.make(), example("mixture")
        for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
            assert copy == kernel
            assert hash(copy) == hash(kernel)
            assert repr(copy) == repr(kernel)
            np.testing.assert_array_equal(copy(P), kernel(P))
        assert kernel != 2 * kernel
        np.testing.assert_array_equal(kernel(P, n_jobs=2), kernel(P))
        np.testing.assert_array_equal((0.5 * kernel + kernel)(P), 0.5 * kernel(P) + kernel(P))

    def test_what_is_no_belief_is_refused(self):
        P = example("gaussian")
        with pytest.raises(TypeError, match="must be Beliefs"):
            self.make()(P.mean())
        with pytest.raises(ValueError, match="same columns"):
            self.make()(P, Beliefs.from_moments([[0.0, 1.0]], [[0.1, 0.1]]))


class IsAnExpectation:
    @pytest.mark.parametrize("family", ["gaussian", "mixture"])
    def test_gram_is_the_mean_of_many_draws(self, family):
        P = example(family)
        rows, K = rows_of(P), self.make()(P)
        rng = np.random.default_rng(1)
        for i, j in [(0, 7), (1, 6), (3, 5), (7, 2)]:
            x = draws(rows[i].mixture, 20_000, rng)
            y = draws(rows[j].mixture, 20_000, rng)
            assert abs(z_score(self.point_kernel(x, y), K[i, j])) < 5


class HasATextbookForm:
    def test_complete_rows_have_the_textbook_kernel(self):
        rng = np.random.default_rng(2)
        X, Y = rng.normal(size=(2, 7, 4))
        prior = random_prior(4, 1, rng)
        P, Q = beliefs_about(prior, X), beliefs_about(prior, Y)
        np.testing.assert_allclose(self.make()(P, Q), self.complete(X, Y), rtol=SAME_FORMULA)
        np.testing.assert_allclose(self.make()(P), self.complete(X, X), rtol=SAME_FORMULA)


class IgnoresTranslation:
    @FEW
    @given(case=cases())
    def test_translation_does_not_matter(self, case):
        shift = 10 * case.rng.normal(size=case.X.shape[1])
        prior = Prior(case.prior.weights, case.prior.means + shift, case.prior.covariances)
        kernel = self.make()
        moved = kernel(beliefs_about(prior, case.X + shift))
        np.testing.assert_allclose(moved, kernel(case.beliefs), rtol=1e-8, atol=1e-12)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
