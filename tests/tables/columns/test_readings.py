"""How a column is read: numbers among words, bounds, and what counts as missing."""

import numpy as np
import pandas as pd
import pytest

from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import read_column
from absentia.tables.columns.readings import CellCounts, ColumnReading
from absentia.tables.encoder import TableEncoder

RNG = np.random.default_rng(0)


def measured(n: int, *others: str) -> pd.Series:
    """A column of ``n`` different numbers and some other words, as text."""
    numbers = [f"{value:.3f}" for value in RNG.normal(size=n)]
    return pd.Series([*numbers, *others], dtype=object, name="lead")


@pytest.mark.parametrize(
    ("others", "counts"),
    [
        (["<0.5"] * 10, CellCounts(90, 0, 10, 0)),
        (["-"] * 30, CellCounts(90, 0, 0, 30)),
        (["<0.5", ">= 10", "-", "n/a", "smeared"] * 4, CellCounts(90, 0, 8, 12)),
        (["not legible"] * 20, CellCounts(90, 0, 0, 20)),
        (["#DIV/0!", "inf", ""], CellCounts(90, 1, 0, 2)),
    ],
    ids=str,
)
def test_numbers_among_other_words_stay_numbers(others, counts):
    column = measured(90, *others)
    reading = read_column(column)
    assert (reading.kind, reading.left_out, reading.counts) == ("number", False, counts)
    assert reading.note.startswith("numbers written as text")
    values = reading.values(column)[:, 0]
    np.testing.assert_allclose(values[:90], [float(word) for word in column[:90]], rtol=0)
    assert np.isnan(values[90:]).all()
    np.testing.assert_array_equal(reading.missing(column), np.arange(len(column)) >= 90)
    encoder = TableEncoder().fit(column.to_frame())
    assert encoder.notes_ == [f"lead: {reading.note}"]


def test_the_note_says_what_counts_as_missing():
    note = read_column(measured(90, "<0.5", "-", "-")).note
    assert note == (
        "numbers written as text; 1 value such as '<0.5' is a limit; "
        "2 unreadable values ('-') count as missing"
    )


def test_bounds_stay_available():
    column = pd.Series(["1,5", "<0.5", "≤ 2", "> 1,234.5", ">=7", "< much", "-", None, "3"])
    lower, upper = ColumnReading("number").limits(Column(column))
    inf = np.inf
    np.testing.assert_array_equal(lower, [1.5, -inf, -inf, 1234.5, 7, -inf, -inf, -inf, 3])
    np.testing.assert_array_equal(upper, [1.5, 0.5, 2, inf, inf, inf, inf, inf, 3])
    assert ColumnReading("number").limits(Column(pd.Series([1.0, np.nan, np.inf]))) is None
    assert ColumnReading("number").limits(Column(pd.Series(["1.0", "-"]))) is None


@pytest.mark.parametrize(
    "words",
    [
        ["+", "-", "-", "+"] * 5,
        ["1-0", "0-2", "1-1"] * 7,
        ["1a", "2", "3b", "4"] * 5,
        ["none", "a"],
    ],
    ids=str,
)
def test_words_stay_words(words):
    column = pd.Series(words, dtype=object)
    reading = read_column(column)
    assert reading.kind == "category"
    assert set(reading.categories) == set(words)
    assert not reading.missing(column).any()


def test_a_column_that_is_left_out_still_knows_what_is_missing():
    column = pd.Series(["5", "-", None, "5"] * 5, dtype=object)
    reading = read_column(column)
    assert reading.left_out
    assert reading.missing(column).tolist() == [False, True, True, False] * 5
    dates = pd.Series(["2024-01-01", "unknown", "2024-01-02", None] * 5, dtype=object)
    reading = read_column(dates)
    assert reading.kind == "date"
    assert reading.counts == CellCounts(10, 5, 0, 5)
