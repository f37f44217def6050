"""The side on which the columns of a Gram matrix are computed."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.kernels.gram.lane_pairs import LaneColumns
from absentia.kernels.gram.sides import Side


def _observed(rate, root=None, rows_are_conditioned=True):
    rng = np.random.default_rng(0)
    d = 34
    root = rng.normal(size=(d, d)) if root is None else root
    prior = Prior(np.ones(1), np.zeros((1, d)), (root @ root.T / d + 0.3 * np.eye(d))[None])
    holed = np.where(rng.random((200, d)) < rate, np.nan, rng.normal(size=(200, d)))
    beliefs = condition(prior, holed)[0]
    sides = Side.of_components(beliefs, np.zeros(200))
    columns = LaneColumns.of(sides[0], 0, rows_are_conditioned, True)
    return columns.observed, beliefs.patterns.mask.sum(axis=1)


def test_where_little_is_missing_nothing_is_computed_on_the_observed_side():
    assert not _observed(0.3)[0].any()


def test_few_columns_that_miss_less_do_not_bring_their_products_to_all_others():
    """A column that misses less than half would be cheaper on the missing side, alone."""
    observed, n_missing = _observed(0.6)
    assert (n_missing < 14).any()
    assert observed.all()


def test_sides_are_mixed_where_that_is_cheaper():
    observed, _ = _observed(0.5)
    assert observed.any()
    assert not observed.all()


@pytest.mark.parametrize("rate", [0.6, 0.9])
def test_a_density_that_loses_digits_there_stays_on_the_missing_side(rate):
    rng = np.random.default_rng(1)
    assert not _observed(rate, 1e4 * rng.normal(size=(34, 3)))[0].any()
