"""Columns of a user's table ranked by what measuring them gains."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.decisions.measurements import (
    Measurements,
    per_cost,
    rank_source_columns,
    read_costs,
)

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


def test_gains_per_cost_in_numbers():
    gain = np.array([[0.5, 0.5, 0.0, -0.1, np.nan, 0.0]])
    found = per_cost(gain, np.array([0.25, 0.0, 0.0, 0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(found, [[2.0, np.inf, 0.0, -np.inf, np.nan, 0.0]])


def test_costs_below_one_and_of_nothing_are_kept():
    np.testing.assert_array_equal(read_costs([0.5, 0.0], ["a", "b"]), [0.5, 0.0])
    np.testing.assert_array_equal(read_costs({"b": 0.25}, ["a", "b"]), [1.0, 0.25])
    np.testing.assert_array_equal(read_costs({"b": 0.25}, ["a", "b"], missing=3.0), [3.0, 0.25])


def test_what_pays_by_a_limit_of_its_own():
    """A gain equal to the limit does not pay; one that costs nothing pays whatever the limit."""
    gain = np.array([[0.2, 0.1], [np.nan, 0.1], [np.nan, np.nan], [0.1, 0.2], [0.9, np.nan]])
    found = Measurements(("a", "b"), gain, np.array([2.0, 1.0]), np.ones(5), gain, 0.1)
    np.testing.assert_array_equal(found.best_column, [-1, -1, -1, 1, 0])
    assert found.best == ["stop", "stop", "stop", "b", "a"]
    assert repr(found) == (
        "Measurements for 5 rows of 2 columns, 3 rows with nothing worth measuring"
    )
    frame = found.to_frame()
    assert frame["row"].tolist() == [0, 0, 1, 3, 3, 4]
    assert frame["column"].tolist() == ["a", "b", "b", "b", "a", "a"]
    assert frame["cost"].tolist() == [2.0, 1.0, 1.0, 1.0, 2.0, 2.0]
