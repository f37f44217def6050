"""Columns of dates: which spellings they have, and which cycles they show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns.cell_counts import READABLE, counts_of, unless_useless, unreadable_note
from absentia.tables.columns.column_readings import (
    COMPACT_DATE,
    TYPED_DATES,
    CellCounts,
    ColumnReading,
    days_of,
    numbers_of,
)
from absentia.tables.columns.date_formats import DAY_FIRST
from absentia.tables.columns.date_parts import find_cycles
from absentia.tables.columns.words import Words, first_two_words
from absentia.tables.reading import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "asked_dates",
    "either_way_round",
    "read_as_compact_dates",
    "read_as_dates",
    "typed_dates",
]


def typed_dates(column: pd.Series, counts: CellCounts) -> ColumnReading:
    """Read a column whose type says that it holds dates."""
    reading = _with_cycles(ColumnReading("date", "", counts, (), (TYPED_DATES,)), column)
    note = f"dates, read as days since 1970{_cycle_note(reading.cycles)}"
    return unless_useless(replace(reading, note=note), first_two_words(column))


def read_as_compact_dates(column: pd.Series, counts: CellCounts) -> ColumnReading | None:
    """Read whole numbers such as 20240131 as dates, where all of them are."""
    values = numbers_of(column)
    known = np.unique(values[~np.isnan(values)])
    if len(known) < 10 or known[0] < 19000101 or known[-1] > 21001231:
        return None
    reading = ColumnReading("date", "", counts, date_formats=(COMPACT_DATE,))
    if np.isnan(days_of(column, reading.date_formats)).sum() > counts.empty:
        return None
    reading = _with_cycles(reading, column)
    note = f"whole numbers such as {known[0]:.0f}, read as dates (year, month, day)"
    return replace(reading, note=note + _cycle_note(reading.cycles))


def read_as_dates(words: Words, n_empty: int) -> ColumnReading | None:
    date_formats, n_dates = words.date_formats()
    nothing = words.says_nothing()
    if not n_dates or n_dates < READABLE * int(words.counts[~nothing].sum()):
        return None
    return _dates_of_words(words, date_formats, n_empty)


def _dates_of_words(
    words: Words, date_formats: tuple[str, ...], n_empty: int, cyclic: bool | None = None
) -> ColumnReading:
    days = words.days(date_formats)
    is_date = np.isfinite(days)
    counts = counts_of(words, is_date, n_empty)
    by_row = words.by_row(days)
    cycles = find_cycles(by_row) if cyclic is None else _asked_cycles(by_row, cyclic)
    note = "dates written as text, read as days since 1970"
    if len(date_formats) > 1:
        note += f" ({len(date_formats)} date formats)"
    if any("%y" in date_format for date_format in date_formats):
        note += ", two-digit years read as 1969 to 2068"
    if any("%d" not in form and "%" in form for form in date_formats):
        note += ", months without a day read as their first day"
    note += _cycle_note(cycles)
    if either_way_round(words, date_formats):
        note += "; either the day or the month could come first, read as day first"
    if counts.unreadable:
        note += "; " + unreadable_note(words, ~is_date, counts.unreadable)
    reading = ColumnReading("date", note, counts, date_formats=date_formats, cycles=cycles)
    if words.distinct and not is_date.any():
        return _no_dates(reading, words.distinct[0])
    return unless_useless(
        reading, [word for word, read in zip(words.distinct, is_date, strict=True) if read]
    )


def asked_dates(column: pd.Series, words: Words, n_empty: int, *, cyclic: bool) -> ColumnReading:
    """Read a column as dates because its owner says so."""
    counts = CellCounts(len(column) - n_empty, n_empty)
    if column.dtype.kind == "M":
        date_formats: tuple[str, ...] = (TYPED_DATES,)
    elif column.dtype.kind in "iuf":
        date_formats = (COMPACT_DATE,)
    else:
        return _dates_of_words(words, words.date_formats()[0], n_empty, cyclic)
    days = days_of(column, date_formats)
    cycles = _asked_cycles(days, cyclic)
    note = "dates, read as days since 1970" + _cycle_note(cycles)
    reading = ColumnReading("date", note, counts, date_formats=date_formats, cycles=cycles)
    if words.distinct and np.isnan(days).all():
        return _no_dates(reading, words.distinct[0])
    return unless_useless(reading, [f"{day:g}" for day in np.unique(days[~np.isnan(days)])[:2]])


def _no_dates(reading: ColumnReading, word: str) -> ColumnReading:
    """Leave out a column that its owner takes for dates, and no format reads."""
    note = f"left out, none of its values, such as {word!r}, is in a known date format"
    return replace(reading, left_out=True, note=note)


def _asked_cycles(days: FloatArray, cyclic: bool) -> tuple[str, ...]:
    """Return all cycles, that of the day where there are times of day; none unless asked for."""
    if not cyclic:
        return ()
    timed = bool((days[~np.isnan(days)] % 1.0).any())
    return ("year", "week", "day") if timed else ("year", "week")


def _with_cycles(reading: ColumnReading, column: pd.Series) -> ColumnReading:
    return replace(reading, cycles=find_cycles(days_of(column, reading.date_formats)))


def _cycle_note(cycles: tuple[str, ...]) -> str:
    *before, last = (f"the time of {cycle}" for cycle in cycles or ("",))
    listed = f"{', '.join(before)} and {last}" if before else last
    return f", with {listed} as sine and cosine" if cycles else ""


def either_way_round(words: Words, date_formats: Iterable[str]) -> bool:
    """Return whether day-first dates could all be month-first ones as well."""
    first = [form for form in date_formats if form in DAY_FIRST]
    read = np.isfinite(words.days(first))
    other = np.isfinite(words.days([DAY_FIRST[form] for form in first]))
    return bool(read.any() and other[read].all())
