"""Patterns: the distinct masks of a table, found from packed bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia import Patterns


def masks_by_sorting_whole_rows(mask):
    """Find the distinct rows the obvious way."""
    return np.unique(mask, axis=0, return_counts=True)


def assert_patterns_of(patterns, mask):
    masks, counts = masks_by_sorting_whole_rows(mask)
    np.testing.assert_array_equal(patterns.mask, mask)
    order = np.lexsort(patterns.masks.T[::-1])
    np.testing.assert_array_equal(patterns.masks[order], masks)
    np.testing.assert_array_equal(patterns.counts[order], counts)
    np.testing.assert_array_equal(
        np.bincount(patterns.pattern_of_row, minlength=len(patterns.masks)), patterns.counts
    )
    np.testing.assert_array_equal(patterns.n_missing, patterns.masks.sum(axis=1))


@given(
    n=st.integers(1, 40),
    d=st.sampled_from([1, 2, 7, 8, 9, 63, 64, 65, 128, 130, 200]),
    n_distinct=st.integers(1, 10),
    seed=st.integers(0, 2**31),
)
def test_patterns_are_the_distinct_rows_of_the_mask(n, d, n_distinct, seed):
    rng = np.random.default_rng(seed)
    mask = (rng.random((n_distinct, d)) < rng.random())[rng.integers(n_distinct, size=n)]
    assert_patterns_of(Patterns.of_mask(mask), mask)
    table = np.where(mask, np.nan, 1.0)
    assert_patterns_of(Patterns.of(table), mask)


@pytest.mark.parametrize("d", [64, 65, 192])
def test_masks_that_differ_in_the_last_word_alone_are_told_apart(d):
    mask = np.zeros((3, d), dtype=bool)
    mask[1, -1] = mask[2, 0] = True
    assert_patterns_of(Patterns.of_mask(mask), mask)


def test_complete_rows_come_first():
    mask = np.random.default_rng(0).random((50, 70)) < 0.05
    mask[17] = False
    assert not Patterns.of_mask(mask).masks[0].any()


def test_some_rows_have_only_their_own_patterns():
    mask = np.random.default_rng(0).random((60, 4)) < 0.4
    patterns = Patterns.of_mask(mask)
    for rows in (slice(5, 20), np.array([3, 3, 59, 0]), mask[:, 0]):
        assert_patterns_of(patterns[rows], mask[rows])
    assert len(patterns[:0]) == 0
    assert patterns[:0].rows_by_pattern() == []


def test_rows_by_pattern_is_a_partition_in_order():
    mask = np.random.default_rng(0).random((60, 4)) < 0.4
    patterns = Patterns.of_mask(mask)
    by_pattern = patterns.rows_by_pattern()
    for p, rows in enumerate(by_pattern):
        assert np.all(np.diff(rows) > 0)
        assert np.all(mask[rows] == patterns.masks[p])
    np.testing.assert_array_equal(np.sort(np.concatenate(by_pattern)), np.arange(60))


def test_patterns_cannot_be_written_to():
    patterns = Patterns.of([[1.0, np.nan], [2.0, 3.0]])
    arrays = patterns.masks, patterns.pattern_of_row, patterns.counts, patterns.n_missing
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_mask_of_the_caller_stays_writable():
    for n_rows in (1, 3):
        mask = np.eye(3, dtype=bool)[:n_rows]
        patterns = Patterns.of_mask(mask)
        mask[0, 0] = False
        assert patterns.masks.any()
