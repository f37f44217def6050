"""Conditioning against explicit inverses, on either side of every pattern."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition, group_rows, joint_log_densities
from absentia.missingness import Patterns
from densities.examples import random_prior, tables, with_holes
from oracles import densities as oracles
from oracles import exact

pytestmark = pytest.mark.usefixtures("either_road")


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("d", [1, 5, 8])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.8])
def test_agrees_with_explicit_inverses(k, d, rate):
    rng = np.random.default_rng(k + d)
    prior = random_prior(rng, k, d)
    X = with_holes(rng, rng.standard_normal((30, d)), rate)
    X[7] = np.nan
    X[8:20] = np.where(np.isnan(X[8]), np.nan, X[8:20])  # many rows to a pattern
    beliefs, scores = condition(prior, X)
    covariances = beliefs.covariances.dense(beliefs.group_of_row)
    for i, x in enumerate(X):
        total, weights, means, spreads = oracles.mixture_given(
            x, prior.weights, prior.means, prior.covariances
        )
        assert scores[i] == pytest.approx(total, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(np.exp(beliefs.log_weights[i]), weights, atol=1e-10)
        np.testing.assert_allclose(beliefs.means[i], means, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(covariances[i], spreads, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        joint_log_densities(prior, X), beliefs.log_weights + scores[:, None], atol=1e-10
    )


@given(tables(), st.integers(1, 3))
def test_what_was_observed_comes_back_to_the_last_bit(X, k):
    prior = random_prior(np.random.default_rng(0), k, X.shape[1])
    beliefs, _ = condition(prior, X)
    seen = ~np.isnan(X)
    for c in range(k):
        assert np.array_equal(beliefs.means[:, c][seen], X[seen])
    assert np.array_equal(beliefs.mean()[seen], X[seen])
    assert np.array_equal(beliefs.sample(random_state=0)[seen], X[seen])
    assert np.array_equal(beliefs.patterns.mask, np.isnan(X))


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(X, random):
    n, d = X.shape
    prior = random_prior(np.random.default_rng(0), 2, d)
    rows, columns = random.sample(range(n), n), random.sample(range(d), d)
    moved = Prior(
        prior.weights,
        prior.means[:, columns],
        np.ascontiguousarray(prior.covariances[:, columns][:, :, columns]),
    )
    beliefs, scores = condition(prior, X)
    shuffled, shuffled_scores = condition(moved, X[rows][:, columns])
    largest = 1 + np.abs(np.nan_to_num(X)).max()  # means far from a constant column's 1e8
    np.testing.assert_allclose(shuffled_scores, scores[rows], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        shuffled.means, beliefs.means[rows][:, :, columns], rtol=1e-10, atol=1e-10 * largest
    )


def test_a_row_with_nothing_observed_is_the_density_itself():
    prior = random_prior(np.random.default_rng(1), 3, 4)
    beliefs, scores = condition(prior, np.full((1, 4), np.nan))
    assert scores[0] == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(beliefs.means[0], prior.means)
    assert np.array_equal(beliefs.covariances.dense()[0], prior.covariances)
    np.testing.assert_allclose(beliefs.weights()[0], prior.weights, rtol=1e-12)
    np.testing.assert_allclose(beliefs.covariance()[0], prior.covariance(), rtol=1e-10)


def test_complete_rows_are_certain_and_not_copied_for_every_component():
    prior = random_prior(np.random.default_rng(1), 5, 3)
    X = np.random.default_rng(2).standard_normal((6, 3))
    beliefs, _ = condition(prior, X)
    assert np.shares_memory(beliefs.means[:, 0], beliefs.means[:, 4])
    assert not beliefs.covariance().any()
    assert beliefs.covariances.is_zero().all()


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_a_table_that_changes_later_changes_no_beliefs(rate):
    rng = np.random.default_rng(2)
    X = with_holes(rng, rng.standard_normal((6, 3)), rate)
    beliefs, _ = condition(random_prior(rng, 2, 3), X)
    before = beliefs.mean()
    X[:] = 7.0
    assert np.array_equal(beliefs.mean(), before)


def test_far_from_all_components_weights_still_sum_to_one():
    prior = Prior(np.array([0.2, 0.8]), np.zeros((2, 2)), np.repeat(np.eye(2)[None], 2, axis=0))
    beliefs, scores = condition(prior, np.array([[1e12, np.nan], [1e12, 1e9]]))
    np.testing.assert_allclose(np.exp(beliefs.log_weights).sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(scores).all()


def test_columns_of_very_different_scales():
    rng = np.random.default_rng(3)
    prior = random_prior(rng, 1, 6)
    X = with_holes(rng, rng.standard_normal((20, 6)), 0.5)
    scale = np.array([1e-8, 1e8, 1.0, 1e-8, 1e8, 1e3])
    scaled = Prior(prior.weights, prior.means * scale, prior.covariances * scale[:, None] * scale)
    beliefs, scores = condition(prior, X)
    again, again_scores = condition(scaled, X * scale)
    np.testing.assert_allclose(again.means / scale, beliefs.means, rtol=1e-10, atol=1e-10)
    jacobian = (~np.isnan(X)) @ np.log(scale)
    np.testing.assert_allclose(again_scores + jacobian, scores, rtol=1e-10, atol=1e-9)
    spread = again.covariances.dense()[:, 0] / scale[:, None] / scale
    np.testing.assert_allclose(spread, beliefs.covariances.dense()[:, 0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("rate", [0.15, 0.5])
def test_log_densities_lose_digits_with_the_inflation_and_not_with_its_square(share, rate):
    rng = np.random.default_rng(0)
    d = 5
    loadings = rng.standard_normal((d, d - 1))  # four factors: one column is redundant
    S = loadings @ loadings.T
    S /= np.sqrt(np.outer(np.diagonal(S), np.diagonal(S)))
    S += share * np.eye(d)
    prior = Prior(np.ones(1), np.zeros((1, d)), (S + S.T)[None] / 2)
    X = with_holes(rng, rng.multivariate_normal(np.zeros(d), S, size=60), rate)
    expected = [exact.log_density(x, prior.means[0], prior.covariances[0]) for x in X]
    inflation = np.max(np.diagonal(S) * np.diagonal(prior.precisions[0]))
    assert prior.inflation == inflation
    # The promise of RowsGiven.of with a margin; it used to grow with the square of the inflation.
    error = np.abs(joint_log_densities(prior, X)[:, 0] - expected)
    assert error.max() < 3e-15 * max(inflation, 100)


def test_a_singular_prior_is_refused_with_advice():
    prior = Prior(np.ones(1), np.zeros((1, 2)), np.ones((1, 2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="reg_covar"):
        condition(prior, np.array([[1.0, np.nan]]))


@given(tables(), st.integers(1, 7))
def test_blocks_hold_every_row_once_under_its_own_pattern(X, rows_per_block):
    mask = np.isnan(X)
    blocks = group_rows(Patterns.of_mask(mask), rows_per_block)
    assert sorted(np.concatenate([block.rows for block in blocks])) == list(range(len(X)))
    for block in blocks:
        assert len(block.rows) <= rows_per_block
        for row, p in zip(block.rows, block.pattern_of_row, strict=True):
            members = block.members[p, : block.sizes[p]]
            expected = mask[row] if block.members_are_missing else ~mask[row]
            assert list(members) == list(np.flatnonzero(expected))
            assert 2 * len(members) <= X.shape[1]


@pytest.mark.parametrize("k", [1, 3])
def test_values_as_far_away_as_there_are_numbers_are_right_or_refused_by_name(k):
    prior = random_prior(np.random.default_rng(0), k, 3)
    rows = np.array([[1e100, np.nan, 0.0], [np.nan, -1e120, 1e120], [0.0, 0.0, 1e125]])
    beliefs, scores = condition(prior, rows)
    assert np.isfinite(scores).all()
    assert np.isfinite(beliefs.mean()).all()
    assert np.array_equal(beliefs.mean()[~np.isnan(rows)], rows[~np.isnan(rows)])
    for value in (1e154, -1e200, 1.7e308):
        rows[1, 2] = value
        for score in (condition, joint_log_densities):
            with pytest.raises(ValueError, match=r"Row 1 has .* in column x2, more than 1e"):
                score(prior, rows)
            with pytest.raises(ValueError, match=r"Row 1 has .* in column weight, more than"):
                score(prior, rows, ["age", "height", "weight"])
