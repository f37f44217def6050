"""Columns of a user's table ranked by what measuring them gains."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.decisions.measurements import rank_source_columns

GAINS = np.array([[0.4, 0.1, np.nan], [np.nan, np.nan, 0.0], [np.nan] * 3])


def test_the_best_encoded_column_counts_and_what_is_known_is_left_out():
    first, second, third = rank_source_columns(GAINS, ["a", "b", "b"])
    assert [(c.name, c.gain) for c in first] == [("a", 0.4), ("b", 0.1)]
    assert [(c.name, c.gain) for c in second] == [("b", 0.0)]
    assert third == []


def test_a_column_without_cost_comes_first_where_it_gains_anything():
    first, second, _ = rank_source_columns(GAINS, ["a", "b", "b"], {"b": 0})
    assert [c.name for c in first] == ["b", "a"]
    assert first[0].gain_per_cost == np.inf
    assert second[0].gain_per_cost == 0.0


def test_unknown_columns_have_no_cost():
    with pytest.raises(ValueError, match="costs name the column 'c'"):
        rank_source_columns(GAINS, ["a", "b", "b"], {"c": 1})
