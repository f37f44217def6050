"""Priors and tables of covariances."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.beliefs import CovarianceTable, Prior
from absentia.beliefs.conditioning import condition
from absentia.beliefs.prior import inverse_and_log_determinant
from absentia.engine.threads import bounded_slices
from densities.examples import random_prior
from oracles import densities as oracles

pytestmark = pytest.mark.usefixtures("either_road")


def every_mask(d):
    return (np.arange(2**d)[:, None] >> np.arange(d)) % 2 == 1


def test_conditional_covariances_of_every_pattern():
    prior = random_prior(np.random.default_rng(0), 2, 4)
    masks = every_mask(4)
    table = CovarianceTable.conditioned(prior, masks)
    dense = table.dense()
    for mask, found in zip(masks, dense, strict=True):
        for c in range(2):
            x = np.where(mask, np.nan, 0.0)
            _, expected = oracles.conditional(x, prior.means[c], prior.covariances[c])
            np.testing.assert_allclose(found[c], expected, rtol=1e-10, atol=1e-12)
    assert np.array_equal(dense, dense.transpose(0, 1, 3, 2))
    assert np.array_equal(table.is_zero(), ~masks.any(axis=1))
    assert np.array_equal(table.diagonals(), np.diagonal(dense, axis1=2, axis2=3))


def test_tables_select_and_slice():
    prior = random_prior(np.random.default_rng(1), 2, 3)
    conditional = CovarianceTable.conditioned(prior, every_mask(3))
    explicit = CovarianceTable.of_matrices(conditional.dense())
    chosen = np.array([5, 0, 5])
    for table in (conditional, explicit):
        assert (table.n_groups, table.n_components, table.n_features) == (8, 2, 3)
        assert np.array_equal(table.dense(slice(2, 4)), explicit.explicit[2:4])
        assert np.array_equal(table.dense(chosen), explicit.explicit[chosen])
        assert list(table.is_zero()) == [True] + [False] * 7
        np.testing.assert_array_equal(table.diagonals(), explicit.diagonals())


def test_a_singular_prior_has_no_conditional_covariances():
    prior = Prior(np.ones(1), np.zeros((1, 2)), np.ones((1, 2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        CovarianceTable.conditioned(prior, np.array([[True, False]])).dense()
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverse_and_log_determinant(np.diag([1.0, 0.0]))


def test_inverses_do_not_mind_the_units_of_columns():
    prior = random_prior(np.random.default_rng(2), 1, 4)
    scale = np.array([1e-8, 1e8, 1.0, 1e4])
    S = prior.covariances[0] * scale[:, None] * scale
    inverse, log_determinant = inverse_and_log_determinant(S)
    expected = np.linalg.inv(prior.covariances[0])
    np.testing.assert_allclose(inverse * scale[:, None] * scale, expected, rtol=1e-10)
    assert np.array_equal(inverse, inverse.T)
    plain = np.linalg.slogdet(prior.covariances[0])[1] + 2 * np.log(scale).sum()
    assert log_determinant == pytest.approx(plain, rel=1e-10)
    moved = Prior(prior.weights, prior.means, S[None])
    assert np.array_equal(moved.precisions[0], inverse)
    assert moved.log_determinants[0] == log_determinant


def test_overall_moments_of_a_mixture():
    prior = random_prior(np.random.default_rng(3), 3, 2)
    second = sum(
        w * (S + np.outer(m, m))
        for w, m, S in zip(prior.weights, prior.means, prior.covariances, strict=True)
    )
    mean = sum(w * m for w, m in zip(prior.weights, prior.means, strict=True))
    np.testing.assert_allclose(prior.mean(), mean, rtol=1e-12)
    np.testing.assert_allclose(prior.covariance(), second - np.outer(mean, mean), rtol=1e-10)


def test_transform_and_equality():
    prior = random_prior(np.random.default_rng(4), 2, 3)
    A, b = np.random.default_rng(5).normal(size=(2, 3)), np.array([1.0, -1.0])
    moved = prior.transform(A, b)
    np.testing.assert_allclose(moved.mean(), A @ prior.mean() + b, rtol=1e-10)
    np.testing.assert_allclose(moved.covariance(), A @ prior.covariance() @ A.T, rtol=1e-10)
    assert prior.equals(Prior(prior.weights.copy(), prior.means.copy(), prior.covariances.copy()))
    assert not prior.equals(Prior(prior.weights, prior.means + 1e-15, prior.covariances))


@pytest.mark.parametrize(("n", "floats", "budget"), [(10, 3, 7), (1, 100, 7), (0, 1, 5), (8, 1, 4)])
def test_bounded_slices_cover_all_rows_once_within_budget(n, floats, budget):
    blocks = bounded_slices(n, floats, budget)
    covered = [i for block in blocks for i in range(n)[block]]
    assert covered == list(range(n))
    assert all((block.stop - block.start) * floats <= max(budget, floats) for block in blocks)


@pytest.mark.parametrize(("left", "expected"), [(1e-3, True), (1e-14, False), (0.0, False)])
def test_conditioning_is_judged_by_what_the_other_columns_leave(left, expected):
    """The second column is the first, up to a share ``left`` of its variance."""
    correlation = np.sqrt(1 - left)
    S = np.array([[1.0, correlation], [correlation, 1.0]]) * np.outer([1e-8, 1e8], [1e-8, 1e8])
    prior = Prior(np.ones(1), np.zeros((1, 2)), S[None])
    assert prior.well_conditioned is expected


def test_badly_conditioned_priors_are_factored_with_care():
    """Where eight at once would not notice a failure, one by one still conditions."""
    S = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-13, 0.0], [0.0, 0.0, 2.0]])
    prior = Prior(np.ones(1), np.zeros((1, 3)), S[None])
    assert not prior.well_conditioned
    X = np.array([[0.5, np.nan, np.nan], [0.5, np.nan, 1.0], [np.nan, np.nan, 1.0]])
    beliefs, scores = condition(prior, X)
    # The first column leaves 1e-13 of the second's variance: all but two digits may be rounding.
    np.testing.assert_allclose(beliefs.mean()[:, 1], [0.5, 0.5, 0.0], atol=1e-2)
    assert np.isfinite(scores).all()


def test_overall_covariances_are_symmetric_to_the_last_bit():
    prior = random_prior(np.random.default_rng(0), 5, 7)
    A = np.random.default_rng(1).standard_normal((6, 7))
    moved = prior.transform(A, np.zeros(6))
    assert np.array_equal(prior.covariance(), prior.covariance().T)
    assert np.array_equal(moved.covariances, moved.covariances.transpose(0, 2, 1))
    np.testing.assert_allclose(moved.covariance(), A @ prior.covariance() @ A.T, rtol=1e-10)
