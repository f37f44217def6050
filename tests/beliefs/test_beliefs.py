"""Beliefs as values: what they hold, how they are cut, joined, moved and drawn from."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia import Beliefs
from absentia.beliefs import CovarianceTable
from absentia.beliefs.conditioning import condition
from densities.examples import random_prior, tables, with_holes
from oracles import densities as oracles


def example(n_components=2, n=12, d=4, seed=0):
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, n_components, d)
    X = with_holes(rng, rng.standard_normal((n, d)), 0.4)
    X[0], X[1] = np.nan, 1.0
    return condition(prior, X)[0], X


def assert_same(left, right):
    assert np.array_equal(left.log_weights, right.log_weights)
    assert np.array_equal(left.means, right.means)
    assert np.array_equal(left.patterns.mask, right.patterns.mask)
    assert np.array_equal(
        left.covariances.dense(left.group_of_row), right.covariances.dense(right.group_of_row)
    )


@pytest.mark.parametrize("k", [1, 3])
def test_moments_of_each_row(k):
    beliefs, X = example(k)
    for i, x in enumerate(X):
        prior = beliefs.prior
        _, weights, means, spreads = oracles.mixture_given(
            x, prior.weights, prior.means, prior.covariances
        )
        mean = weights @ means
        second = np.einsum("c,cij->ij", weights, spreads + means[:, :, None] * means[:, None])
        np.testing.assert_allclose(beliefs.mean()[i], mean, atol=1e-10)
        np.testing.assert_allclose(
            beliefs.covariance()[i], second - np.outer(mean, mean), atol=1e-10
        )
    seen = ~np.isnan(X)
    covariance = beliefs.covariance()
    assert not covariance[seen].any()  # rows of what was observed
    assert np.array_equal(covariance, covariance.transpose(0, 2, 1))
    assert np.array_equal(beliefs.mean()[seen], X[seen])


def test_nobody_writes_to_beliefs():
    beliefs, _ = example()
    joined = Beliefs.concatenate([beliefs[:5], beliefs[5:]])
    for some in (beliefs, beliefs[2:4], joined, beliefs.transform(np.eye(4)[:2])):
        for field in (some.log_weights, some.means, some.group_of_row):
            with pytest.raises(ValueError, match="read-only"):
                field[0] = 0
    beliefs.mean()[:] = 0  # what is asked for belongs to the one who asked
    assert beliefs.mean().any()


@given(tables(), st.integers(1, 2), st.data())
def test_slices_are_the_beliefs_about_those_rows(X, k, data):
    prior = random_prior(np.random.default_rng(0), k, X.shape[1])
    beliefs = condition(prior, X)[0]
    rows = np.array(data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=8)))
    assert_same(beliefs[rows], _taken(beliefs, rows))
    mask = np.zeros(len(X), dtype=bool)
    mask[rows] = True
    assert_same(beliefs[mask], _taken(beliefs, np.flatnonzero(mask)))
    assert_same(beliefs[1:], _taken(beliefs, np.arange(1, len(X)))) if len(X) > 1 else None
    assert_same(beliefs[-1], _taken(beliefs, np.array([len(X) - 1])))
    assert beliefs[rows].covariances.n_groups == len(np.unique(beliefs.group_of_row[rows]))


def _taken(beliefs, rows):
    return Beliefs(
        beliefs.log_weights[rows],
        beliefs.means[rows],
        CovarianceTable.of_matrices(beliefs.covariances.dense(beliefs.group_of_row[rows])),
        np.arange(len(rows)),
        type(beliefs.patterns).of_mask(beliefs.patterns.mask[rows]),
        beliefs.prior,
    )


def test_a_row_that_is_not_there():
    beliefs, _ = example()
    with pytest.raises(IndexError, match="row 12 of beliefs about 12 rows"):
        beliefs[12]
    assert len(list(beliefs)) == 12


@pytest.mark.parametrize("explicit", [False, True])
def test_parts_join_to_the_whole(explicit):
    beliefs, _ = example()
    if explicit:
        beliefs = beliefs.transform(np.random.default_rng(0).normal(size=(3, 4)))
    parts = [beliefs[:5], beliefs[5:6], beliefs[6:]]
    whole = Beliefs.concatenate(parts)
    assert_same(whole, beliefs)
    assert (whole.covariances.prior is None) == explicit


def test_only_beliefs_under_one_density_join():
    with pytest.raises(ValueError, match="same density"):
        Beliefs.concatenate([example(seed=0)[0], example(seed=1)[0]])
    with pytest.raises(ValueError, match="at least one"):
        Beliefs.concatenate([])


@pytest.mark.parametrize("k", [1, 3])
def test_samples_have_the_moments_of_the_rows(k):
    beliefs, X = example(k, n=5)
    size = 20_000
    draws = beliefs.sample(size, random_state=0)
    assert draws.shape == (size, 5, 4)
    seen = ~np.isnan(X)
    assert np.array_equal(draws[:, seen], np.broadcast_to(X[seen], (size, seen.sum())))
    mean, covariance = beliefs.mean(), beliefs.covariance()
    centred = draws - mean
    z = centred.mean(axis=0)[~seen] / (centred.std(axis=0)[~seen] / np.sqrt(size))
    assert np.abs(z).max() < 5
    products = centred[:, :, :, None] * centred[:, :, None, :]
    spread = products.std(axis=0)
    random = spread > 0
    z = (products.mean(axis=0) - covariance)[random] / (spread[random] / np.sqrt(size))
    assert np.abs(z).max() < 5
    assert beliefs.sample(random_state=0).shape == (5, 4)
    assert np.array_equal(beliefs.sample(2, random_state=1), beliefs.sample(2, random_state=1))


@pytest.mark.parametrize("k", [1, 2])
def test_an_affine_map_moves_the_moments(k):
    beliefs, _ = example(k)
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(3, 4)), rng.normal(size=3)
    moved = beliefs.transform(A, b)
    np.testing.assert_allclose(moved.mean(), beliefs.mean() @ A.T + b, atol=1e-10)
    np.testing.assert_allclose(moved.covariance(), A @ beliefs.covariance() @ A.T, atol=1e-10)
    assert not moved.patterns.masks.any()
    assert moved.shape == (12, 3)
    twice = moved.transform(np.eye(3), -b)
    np.testing.assert_allclose(twice.mean(), beliefs.mean() @ A.T, atol=1e-10)
    with pytest.raises(ValueError, match="4 features"):
        beliefs.transform(np.eye(3))


def test_scaled_columns_stay_conditioned_on_their_density():
    beliefs, X = example()
    scale, shift = np.array([0.1, 2.0, -3.0, 1e4]), np.arange(4.0)
    moved = beliefs.transform(np.diag(scale), shift)
    assert moved.covariances.is_conditioned
    again = condition(moved.prior, X * scale + shift)[0]
    np.testing.assert_allclose(moved.means, again.means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moved.log_weights, again.log_weights, atol=1e-9)
    expected = beliefs.covariance() * scale[:, None] * scale
    np.testing.assert_allclose(moved.covariance(), expected, rtol=1e-9, atol=1e-9)
    assert np.array_equal(moved.patterns.mask, np.isnan(X))
    gone = beliefs.transform(np.diag([1.0, 0.0, 1.0, 1.0]))  # a column mapped to nothing
    assert not gone.covariance()[:, 1].any()


@pytest.mark.parametrize(
    ("A", "b", "words"),
    [
        (np.eye(3), 0.0, "one column for each of the 4 features"),
        (np.eye(4), [1.0, 2.0], "one for each of the 4 rows"),
        (np.full((2, 4), np.nan), 0.0, "finite"),
        (np.eye(4), np.inf, "finite"),
    ],
)
def test_maps_that_do_not_fit(A, b, words):
    beliefs, _ = example()
    with pytest.raises(ValueError, match=words):
        beliefs.transform(A, b)


class TestFromMoments:
    means = np.arange(6.0).reshape(3, 2)
    matrix = np.array([[0.2, 0.1], [0.1, 0.3]])

    def test_a_matrix_for_each_row(self):
        matrices = np.stack([self.matrix, 2 * self.matrix, 0 * self.matrix])
        beliefs = Beliefs.from_moments(self.means, matrices)
        assert np.array_equal(beliefs.covariance(), matrices)
        assert np.array_equal(beliefs.mean(), self.means)
        assert list(beliefs.covariances.is_zero()) == [False, False, True]
        expected = np.cov(self.means, rowvar=False, bias=True) + self.matrix
        np.testing.assert_allclose(beliefs.prior.covariance(), expected)

    @pytest.mark.parametrize("shape", [(2, 2), (1, 2, 2)])
    def test_one_matrix_for_all(self, shape):
        beliefs = Beliefs.from_moments(self.means, self.matrix.reshape(shape))
        assert beliefs.covariances.n_groups == 1
        assert np.array_equal(beliefs.covariance(), np.stack([self.matrix] * 3))

    @pytest.mark.parametrize(
        "variances", [0.5, [0.5, 0.1], [[0.5], [0.1], [0.0]], np.arange(6.0).reshape(3, 2)]
    )
    def test_variances(self, variances):
        beliefs = Beliefs.from_moments(self.means, variances=variances)
        whole = np.broadcast_to(variances, (3, 2))
        assert np.array_equal(beliefs.covariance(), whole[:, :, None] * np.eye(2))

    def test_two_by_two_is_never_guessed(self):
        with pytest.raises(ValueError, match="could be one matrix"):
            Beliefs.from_moments(np.zeros((2, 2)), self.matrix)
        shared = Beliefs.from_moments(np.zeros((2, 2)), self.matrix[None])
        assert np.array_equal(shared.covariance()[1], self.matrix)
        each = Beliefs.from_moments(np.zeros((2, 2)), variances=self.matrix)
        assert np.array_equal(each.covariance()[1], np.diag([0.1, 0.3]))
        assert not Beliefs.from_moments(np.zeros((2, 2)), np.zeros((2, 2))).covariance().any()

    def test_new_rows_refer_to_the_density_of_training(self):
        train = Beliefs.from_moments(self.means, self.matrix)
        new = Beliefs.from_moments([[9.0, 9.0]], variances=0.1, prior=train.prior)
        both = Beliefs.concatenate([train, new])
        assert len(both) == 4
        assert np.array_equal(both.covariance()[3], 0.1 * np.eye(2))
        with pytest.raises(ValueError, match="2 columns"):
            Beliefs.from_moments([[1.0, 2.0, 3.0]], variances=1.0, prior=train.prior)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({}, "either covariances or variances"),
            ({"covariances": np.eye(2), "variances": 1.0}, "either"),
            ({"covariances": np.ones((4, 4))}, "found \\(4, 4\\)"),
            ({"variances": np.ones(4)}, "broadcast"),
            ({"covariances": [[1.0, 0.5], [0.0, 1.0]]}, "symmetric"),
            ({"covariances": [[1.0, 2.0], [2.0, 1.0]]}, "positive semidefinite"),
            ({"variances": -1.0}, "positive semidefinite"),
            ({"variances": np.inf}, "finite"),
        ],
    )
    def test_bad_errors_of_measurement(self, arguments, words):
        with pytest.raises(ValueError, match=words):
            Beliefs.from_moments(self.means, **arguments)

    def test_means_with_holes_are_sent_to_a_density(self):
        with pytest.raises(ValueError, match=r"density.condition"):
            Beliefs.from_moments([[np.nan, 1.0]], variances=1.0)

    def test_no_rows_have_no_moments(self):
        with pytest.raises(ValueError, match=r"found shape \(0, 2\)"):
            Beliefs.from_moments(np.zeros((0, 2)), variances=1.0)


def test_words_about_itself():
    beliefs, _ = example(2)
    assert repr(beliefs).startswith("Beliefs of 12 rows in 4 columns, 2 components, ")
    assert repr(beliefs[0]) == "Beliefs of 1 row in 4 columns, 2 components, 1 pattern"
    assert repr(Beliefs.from_moments([[1.0]], [[[0.1]]])).endswith("from moments")


def test_pickles():
    beliefs, _ = example()
    assert_same(pickle.loads(pickle.dumps(beliefs)), beliefs)


@pytest.mark.parametrize("column", ["town", 0.0, None, True])
def test_a_column_of_categories_is_asked_for_by_its_number(column):
    beliefs = Beliefs.from_moments(np.zeros((2, 1)), variances=0.1)
    with pytest.raises(TypeError, match="column must be a number, 0 for the first of the 0"):
        beliefs.probabilities(column)
