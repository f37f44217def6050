"""Which spellings of dates a column has, and which of day and month comes first."""

import numpy as np
import pandas as pd
import pytest

from absentia import TableEncoder, describe_missingness
from absentia.tables.columns.dates import _FORMATS, possible_formats
from absentia.tables.columns.guesses import read_as, read_column

DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(0, 1000, 5), "D")


def spelled(*formats, dates=DAYS):
    return pd.Series(
        [f"{date:{formats[k % len(formats)]}}" for k, date in enumerate(dates)], name="when"
    )


@pytest.mark.parametrize(
    "formats",
    [
        ("%Y-%m-%d",) * 7 + ("%m/%d/%Y",),
        ("%Y-%m-%d",) * 7 + ("%d/%m/%Y",),
        ("%m-%d-%Y",),
        ("%d-%m-%Y", "%d-%m-%Y %H:%M"),
        ("%m-%d-%Y %I:%M %p",),
        ("%m/%d/%Y", "%b %d, %Y", "%Y-%m-%d"),
        ("%d/%m/%Y", "%b %d, %Y", "%Y-%m-%d"),
        ("%m/%d/%Y", "%m/%d/%y", "%m/%d/%Y %I:%M %p"),
        ("%m/%d/%y",),
        ("%d/%m/%y",),
        ("%d-%b-%y",),
        ("%m/%d/%Y %I:%M %p",),
        ("%d/%m/%Y %I:%M:%S %p",),
        ("%m/%d/%y %H:%M",),
        ("%Y-%m-%dT%H:%M:%SZ",),
        ("%d.%m.%y", "%d.%m.%Y"),
    ],
    ids=" ".join,
)
def test_every_date_is_the_day_that_was_written(formats):
    column = spelled(*formats)
    reading = read_column(column)
    days = reading.values(column)[:, 0]
    np.testing.assert_array_equal(days, (DAYS - pd.Timestamp(0)) / pd.Timedelta("1D"))
    assert reading.counts.unreadable == 0
    assert "could come first" not in reading.note


def test_single_digits_months_and_two_digit_years():
    column = pd.Series(["1/5/21", "2/25/21", "12/31/68", "1/1/69"] * 5)
    reading = read_column(column)
    dates = pd.Timestamp(0) + pd.to_timedelta(reading.values(column)[:4, 0], "D")
    assert [str(d.date()) for d in dates] == [
        "2021-01-05",
        "2021-02-25",
        "2068-12-31",
        "1969-01-01",
    ]
    assert "two-digit years read as 1969 to 2068" in reading.note
    months = pd.Series(["Jan-21", "Feb-21", "Dec-22"] * 5)
    reading = read_column(months)
    assert "months without a day read as their first day" in reading.note
    assert reading.restored(reading.values(months)[:2, 0])[1] == pd.Timestamp("2021-02-01")


@pytest.mark.parametrize("date_format", ["%m/%d/%Y", "%m/%d/%y", "%d/%m/%Y %I:%M %p"])
def test_a_day_that_may_be_a_month_is_said(date_format):
    column = spelled(date_format, dates=[day for day in DAYS if day.day <= 12])
    reading = read_column(column)
    assert reading.kind == "date"
    assert "either the day or the month could come first, read as day first" in reading.note
    beside = pd.concat([column, spelled("%Y-%m-%d")])
    assert "either the day or the month could come first" in read_column(beside).note


def test_dates_that_are_asked_for_and_none():
    words = pd.Series(["week 3", "week 4", None] * 5, name="when")
    said = "left out, none of its values, such as 'week 3', is in a known date format"
    assert read_as(words, "date").note == said
    assert "such as '17'" in read_as(pd.Series([17, 18, 19]), "date").note
    frame = pd.DataFrame({"when": words, "x": range(15)})
    assert f"when: {said}" in TableEncoder(kinds={"when": "date"}).fit(frame).notes_
    assert f"when: {said}." in describe_missingness(frame, kinds={"when": "date"}).notes
    assert read_as(pd.Series([None, None], dtype=object), "date").note.endswith("it has no values")


@pytest.mark.parametrize(
    "words", [["1/5", "2/5", "3/5"], ["120/80", "130/85"], ["A-21", "B-22"], ["10-20-30", "1-2-3"]]
)
def test_what_is_no_date(words):
    assert read_column(pd.Series(words * 5)).kind != "date"


def test_words_are_not_tried_with_every_format():
    assert possible_formats(["red", "green", "blue/white"]) == []
    assert len(possible_formats(["1/5/2021"])) < len(_FORMATS) / 2


def test_codes_in_capitals_are_no_months():
    codes = pd.DataFrame({"code": ["MAR-05", "SEP-12", "DEC-01", "MAR-05"] * 10})
    assert TableEncoder().fit(codes).kinds_ == ["category"]
    months = pd.DataFrame({"month": ["Jan-21", "Feb-21", "Mar-22", "Apr-22"] * 10})
    assert TableEncoder().fit(months).kinds_ == ["date"]
