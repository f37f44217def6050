"""The words of a column, read once each: the same numbers in every row as reading row by row."""

import datetime
import enum

import numpy as np
import pandas as pd
import pytest

from absentia.tables.columns import column as column_module
from absentia.tables.columns.column import Column
from absentia.tables.columns.dates import days_by_text, days_since_1970
from absentia.tables.encoder import TableEncoder

TEXT_DTYPES = [object, "str", "string", pd.StringDtype("python"), "category"]


class Colour(str, enum.Enum):  # noqa: UP042 - a StrEnum is written as its value, this is not
    RED = "red"


def row_by_row(column: pd.Series) -> list[str | None]:
    """What the words of the rows are, with nothing shared between rows."""
    missing = column.isna()
    whole = column.dtype == "category"  # whose whole numbers become 1.0 beside a missing value
    return [
        None if gone else str(int(v) if whole and isinstance(v, float) else v).strip() or None
        for v, gone in zip(column, missing, strict=True)
    ]


def as_rows(words: Column) -> list[str | None]:
    return [None if code < 0 else words.distinct[code] for code in words.codes]


@pytest.mark.parametrize("dtype", TEXT_DTYPES, ids=str)
def test_rows_get_the_word_they_hold(dtype):
    cells = ["b", " a", None, "a", "a ", "", "  ", "NA", "nan", "a\0b", "a\0c", "b"]
    column = pd.Series(cells, dtype=dtype)
    words = Column(column)
    assert as_rows(words) == row_by_row(column)
    assert words.distinct == ["b", "a", "NA", "nan", "a\0b", "a\0c"]
    assert words.counts.tolist() == [2, 3, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "cells",
    [
        [1, 1.0, True, "1"],
        [0.0, -0.0, None],
        [Colour.RED, "red"],
        [[1], {"a": 1}, None],
        [datetime.date(2024, 1, 2), "2024-01-02"],
        [pd.Timestamp("2024-01-01 12:00Z"), pd.Timestamp("2024-01-01 13:00+01:00")],
        [2**70, 2**53 + 1],
    ],
    ids=str,
)
def test_objects_that_are_equal_but_written_differently_stay_apart(cells):
    column = pd.Series(cells * 2, dtype=object)
    words = Column(column)
    assert as_rows(words) == row_by_row(column)
    assert len(words.distinct) == len({str(cell) for cell in cells if cell is not None})


@pytest.mark.parametrize("gone", [[], [-1]], ids=["complete", "with a hole"])
@pytest.mark.parametrize(
    "categories", [[10, 20, 30], [2**53 + 1, 2**53 + 3, 5], [True, False], ["b ", "b", 1, "1"]]
)
def test_categories_are_written_the_same_beside_a_missing_value(categories, gone):
    # The last category is in no row.
    codes = [*range(len(categories) - 1), *gone, 0]
    column = pd.Series(pd.Categorical.from_codes(codes, categories=categories))
    assert as_rows(Column(column)) == row_by_row(column)


@pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
def test_all_kinds_of_missing_are_missing(dtype):
    cells = [None, np.nan, pd.NA, pd.NaT, float("nan"), "a", "b", "a"]
    words = Column(pd.Series(cells, dtype=object).astype(dtype))
    assert words.codes.tolist() == [-1] * 5 + [0, 1, 0]
    table = pd.DataFrame({"x": pd.Series(cells, dtype=object).astype(dtype)})
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(table)[:, 0], [np.nan] * 5 + [0, 1, 0]
    )


@pytest.mark.parametrize("dtype", TEXT_DTYPES, ids=str)
@pytest.mark.parametrize("date_format", ["", "%d.%m.%Y"])
def test_a_word_is_read_once_and_means_the_same_in_all_its_rows(dtype, date_format, monkeypatch):
    asked = []
    number = column_module.numerals.number_of
    monkeypatch.setattr(
        column_module.numerals,
        "number_of",
        lambda word, decimal: asked.append(word) or number(word, decimal),
    )
    rng = np.random.default_rng(0)
    spellings = ["1,5", " 2 ", "1,234", "x", None]
    if date_format:
        spellings = ["01.02.2024", " 13.02.2024 ", "29.02.2023", None]
    rows = rng.integers(len(spellings), size=300)
    column = pd.Series([spellings[k] for k in rows], dtype=dtype)
    words = Column(column)
    if date_format:
        of_rows = words.by_row(days_by_text(words, [date_format]))
        expected = np.array([19754.0, 19766.0, np.nan, np.nan])
    else:
        of_rows = words.by_row(words.numbers())
        expected = np.array([1.5, 2.0, 1234.0, np.nan, np.nan])
        assert sorted(asked) == ["1,234", "1,5", "2", "x"]
    np.testing.assert_array_equal(of_rows, expected[rows])


@pytest.mark.parametrize("dtype", TEXT_DTYPES, ids=str)
def test_later_tables_may_be_kept_in_another_way(dtype):
    training = pd.DataFrame(
        {
            "ward": ["a", "b", "c", None] * 5,
            "when": ["2024-01-02", None, "2024-01-01T12:00", "2024-01-03"] * 5,
            "size": ["1", "2,5", "3", "-"] + ["4"] * 16,  # decimal commas
        }
    )
    encoder = TableEncoder().fit(training)
    assert encoder.kinds_ == ["category", "date", "number"]
    later = pd.DataFrame(
        {
            "ward": ["c ", "never seen", None, "a"],
            "when": ["1970-01-02", "soon", None, " 1970-01-01T06:00 "],
            "size": ["7,5", "some", None, "1,000"],
        }
    ).astype(dtype)
    expected = [[0, 0, 1, 1, 7.5], [np.nan] * 5, [np.nan] * 5, [1, 0, 0, 0.25, 1]]
    with (
        pytest.warns(UserWarning, match="'never seen' in 'ward'"),
        pytest.warns(UserWarning, match="when: 1 value .* 'soon' .* size: 1 value .* 'some'"),
    ):
        np.testing.assert_array_equal(encoder.transform(later), expected)
    with (
        pytest.warns(UserWarning, match="'never seen' in 'ward'"),
        pytest.warns(UserWarning, match="'soon' in row 3"),
    ):
        np.testing.assert_array_equal(encoder.transform(later.iloc[::-1]), expected[::-1])
    assert encoder.transform(later.iloc[:0]).shape == (0, 5)
    assert np.isnan(encoder.transform(later.iloc[[2]])).all()


def test_of_two_values_the_rarer_one_gets_the_indicator():
    # Counted in rows, after the blanks are gone; the first in the alphabet wins a tie.
    table = pd.DataFrame(
        {"x": ["b", "a", "a ", "b", " a"], "y": ["b", "a", "b", "b", None], "z": [*"baba", None]}
    )
    encoder = TableEncoder().fit(table)
    assert list(encoder.get_feature_names_out()) == ["x=b", "y=a", "z=b"]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Series([np.nan, 0.0, -0.0, 5.0]), ["0", "5"]),
        (pd.Series([3, None, 3], dtype="Int64"), ["3"]),
        (pd.Series([True, True]), ["True"]),
        (pd.Series([pd.NaT, pd.NaT]), []),
        (pd.Series([pd.Timestamp("2024-01-02"), pd.NaT]), ["2024-01-02 00:00:00"]),
        (pd.Series([np.inf, np.inf]), ["inf"]),
    ],
    ids=str,
)
def test_constant_columns_of_numbers_and_dates_are_found(column, words):
    assert Column(column).first_two() == words


def test_the_result_is_one_block_in_the_order_of_rows():
    table = pd.DataFrame({"x": [1.0, 2.0], "w": ["a", "b"], "y": [3, 4]})
    out = TableEncoder().fit_transform(table)
    assert out.flags.c_contiguous
    np.testing.assert_array_equal(out, [[1, 0, 3], [2, 1, 4]])


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_dates_of_arrow_are_days(unit):
    dates = pd.to_datetime(["2020-01-01", None, "2024-02-29 12:00"], format="ISO8601", utc=True)
    column = pd.Series(pd.array(dates, dtype=f"timestamp[{unit}, UTC][pyarrow]"))
    np.testing.assert_array_equal(days_since_1970(column), [18262.0, np.nan, 19782.5])
