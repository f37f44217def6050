"""Columns of numbers: typed ones, and those written as text, with limits, money and codes."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns.cell_counts import (
    READABLE,
    READABLE_OR_LOST,
    counts_of,
    unless_useless,
    unreadable_note,
)
from absentia.tables.columns.column_readings import CellCounts, ColumnReading, numbers_of
from absentia.tables.columns.number_words import example
from absentia.tables.columns.sentinels import find_sentinels, sentinel_note, without_sentinels
from absentia.tables.columns.words import Words, first_two_words
from absentia.tables.phrases import count_as_missing, counted, infinite_note
from absentia.tables.reading import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "number_notes",
    "numbers_of_words",
    "read_as_numbers",
    "read_with_unit",
    "typed_numbers",
    "unit_of",
    "units_of_most",
    "with_unit",
]

#: How the note on a column of text begins; a unit is named behind it.
_AS_TEXT = "numbers written as text"
#: A column with fewer rows is not taken for a list of identifiers.
_FEWEST_IDS = 20
_ID_NAME = re.compile(
    r"^(?i:id|nr|index|key|rowid|unnamed: 0)$|(?i:^id[ _.-]|[ _.-]id$)|[a-z]I[dD]$"
)
#: As a whole name, or as its last part: "Fall_Nr", "case_no", "CaseNumber", "Kundennummer". A
#: "platelet number" is a quantity: numbers of cases lie closer together.
_NUMBER_NAME = re.compile(
    r"^(?i:nr\.|num\.?|number|lfdnr\.?)$"
    r"|^(no|No)\.?$"  # "NO" may be nitric oxide
    r"|(?i:[ _.-]((nr|no|num)\.?|number)$|nummer$)"
    r"|[a-z](Nr|No|Num|Number)$"
)
_WIDEST_COUNT = 100
#: Numbers of cases or customers that do not begin at 1 begin here or later: before are years, and
#: grids that somebody designed.
_FIRST_OF_MANY = 3000
#: The days of 1998 to 2031 in a spreadsheet, which counts them from 1900.
_SPREADSHEET_DAYS = (36_000, 48_000)
#: The largest number behind a year in a calendar of weeks or months, of days, of months and days.
_BEHIND_YEAR = {100: 53, 1000: 366, 10_000: 1231}


def typed_numbers(column: pd.Series, *, find_codes: bool = True) -> ColumnReading:
    values = numbers_of(column)
    n_empty = int(column.isna().sum())
    n_infinite = int(np.isnan(values).sum()) - n_empty
    reading = _coded(values, str(column.name), n_empty, n_infinite, find_codes)
    distinct = first_two_words(column)
    if reading.counts.unreadable:
        kept = without_sentinels(values, reading.sentinels)
        distinct = [f"{value:g}" for value in np.unique(kept[~np.isnan(kept)])[:2]]
    return unless_useless(reading, distinct)


def _coded(
    values: FloatArray, name: str, n_empty: int, n_infinite: int, find_codes: bool
) -> ColumnReading:
    """Return the reading of numbers that were typed, codes for missing values found."""
    sentinels = find_sentinels(values) if find_codes else ()
    notes = number_notes(values, sentinels, n_infinite)
    n_lost = n_infinite + int(np.isin(values, sentinels).sum())
    counts = CellCounts(len(values) - n_empty - n_lost, n_empty, unreadable=n_lost)
    is_id = _numbers_the_rows(values, name)
    shown = "." if (values % 1.0 > 0).any() else ""
    return ColumnReading(
        "number",
        "; ".join(notes),
        counts,
        sentinels=sentinels,
        is_id=is_id,
        shown=shown,
        typed=True,
    )


def number_notes(values: FloatArray, sentinels: tuple[float, ...], n_infinite: int) -> list[str]:
    """Return what is to be said about numbers: infinities, and codes for missing values."""
    notes = [infinite_note(n_infinite)] if n_infinite else []
    return [*notes, sentinel_note(values, sentinels)] if sentinels else notes


def read_as_numbers(
    words: Words, name: str, n_empty: int, max_categories: int
) -> ColumnReading | None:
    lower, upper = words.bounds(words.decimal_sign)
    is_number = lower == upper
    is_bound = ~is_number & (np.isfinite(lower) | np.isfinite(upper))
    counts = counts_of(words, is_number, n_empty, is_bound)
    n_words = counts.read + counts.bounds + counts.unreadable
    n_words -= int(words.counts[words.says_nothing() & ~is_number].sum())
    needed = READABLE if len(words.distinct) <= max_categories else READABLE_OR_LOST
    if not counts.read or counts.read + counts.bounds < needed * n_words:
        return None
    between = np.isfinite(lower) & np.isfinite(upper) & is_bound
    if int(words.counts[between].sum()) > counts.read:
        return None  # as many ranges are telephone numbers or scores rather than measurements
    return numbers_of_words(words, lower, upper, name, n_empty)


def numbers_of_words(
    words: Words,
    lower: FloatArray,
    upper: FloatArray,
    name: str,
    n_empty: int,
    *,
    find_codes: bool = True,
) -> ColumnReading:
    """Return the reading of numbers that are written as text."""
    is_number = lower == upper
    is_bound = ~is_number & (np.isfinite(lower) | np.isfinite(upper))
    values = words.by_row(np.where(is_number, lower, np.nan))
    sentinels = find_sentinels(values) if find_codes else ()
    is_code = is_number & np.isin(lower, sentinels)
    counts = counts_of(words, is_number & ~is_code, n_empty, is_bound)
    decimal = words.decimal_sign
    notes = [_AS_TEXT + _comma_note(words)]
    notes += _mark_notes(words.marks())
    if counts.bounds:
        limit = next(word for word, bound in zip(words.distinct, is_bound, strict=True) if bound)
        such = f"{counted(counts.bounds, 'value')} such as {limit!r}"
        notes.append(f"{such} {count_as_missing(counts.bounds)}")
    if sentinels:
        notes.append(sentinel_note(values, sentinels))
    n_unreadable = counts.unreadable - int(words.counts[is_code].sum())
    if n_unreadable:
        notes.append(unreadable_note(words, ~is_number & ~is_bound, n_unreadable))
    is_id = bool(name) and _numbers_the_rows(values, name)
    reading = ColumnReading(
        "number",
        "; ".join(notes),
        counts,
        decimal=decimal,
        sentinels=sentinels,
        is_id=is_id,
        shown=words.shown_sign,
        grouped=bool(words.grouped_word),
    )
    if words.distinct and not is_number.any() and not is_bound.any():
        note = f"left out, none of its values, such as {words.distinct[0]!r}, is a number"
        return replace(reading, left_out=True, note=note)
    used = compress(words.distinct, is_number & ~is_code)
    return unless_useless(reading, list(dict.fromkeys(used)))


def read_with_unit(
    words: Words, name: str, n_empty: int, max_categories: int
) -> ColumnReading | None:
    """Read numbers with one and the same unit behind them, such as "12.5 kg"."""
    unit = unit_of(words)
    if not unit:
        return None
    reading = read_as_numbers(words.without_unit(unit), name, n_empty, max_categories)
    return None if reading is None else with_unit(reading, words, unit)


def with_unit(reading: ColumnReading, words: Words, unit: str) -> ColumnReading:
    """Return the reading of the bare numbers of a column as one that knows their unit."""
    if reading.left_out or not unit:
        return reading
    said = f"{_AS_TEXT} with the unit {unit!r}"
    n_without = int(words.counts[np.isfinite(words.numbers(reading.decimal))].sum())
    if n_without:
        said += f" (also assumed for {counted(n_without, 'value')} without a unit)"
    note = reading.note.replace(_AS_TEXT, said, 1)
    return replace(reading, note=note, unit=unit)


def unit_of(words: Words) -> str:
    """Return the unit that nearly all cells of a column have, empty where a cell has another."""
    units = units_of_most(words)
    return units[0] if len(units) == 1 else ""


def units_of_most(words: Words) -> list[str]:
    """Return the units of a column where nearly all of its cells have one, else none."""
    n_words = int(words.counts[~words.says_nothing()].sum())
    return sorted(words.units) if sum(words.units.values()) >= READABLE * n_words else []


def _comma_note(words: Words) -> str:
    """Return what commas and points are taken for, with an example where that is a guess."""
    decimal, doubtful = words.decimal_sign, words.in_doubt
    if doubtful and decimal == ",":
        return f", with decimal commas as in the rest of the table: {example(doubtful, decimal)}"
    if words.grouped_word and not any(decimal in word for word in words.distinct):
        sign = "points" if decimal == "," else "commas"
        return f"; {sign} read as thousands separators: {example(words.grouped_word, decimal)}"
    return ", with decimal commas" * (decimal == ",")


#: Signs that stand for one currency alone; "$" and "¥" do not, and "kr" is none of its codes.
_SAME_CURRENCY = {"kr.": "kr", "EUR": "€", "GBP": "£", "INR": "₹", "PLN": "zł", "CZK": "Kč"}


def _mark_notes(marks: dict[str, int]) -> list[str]:
    """Return notes on money and percentages."""
    # One currency can be written in two ways: what is written most often names it.
    ranked = sorted((mark for mark in marks if mark != "%"), key=lambda mark: -marks[mark])
    money = list({_SAME_CURRENCY.get(mark, mark): mark for mark in reversed(ranked)}.values())[::-1]
    notes = []
    if len(money) == 1:
        notes.append(f"amounts of money in {money[0]}")
    elif money:
        notes.append(f"amounts of money in {', '.join(money)}, not converted")
    if "%" in marks:
        notes.append("percentages, 12 % read as 12")
    return notes


def _numbers_the_rows(values: FloatArray, name: str) -> bool:
    """Return whether numbers only identify rows: whole, all different, and one after another.

    They count from 0 or 1, or from a large number on (10001, 10002...) that is not of a calendar.
    With a name such as ``patient_id`` they may be any, with one such as ``Fall_Nr`` they may begin
    anywhere. Some of the rows may have been left out, so that a count has gaps: half of its
    numbers, or all but one in a hundred with such a name.
    """
    n = len(values)
    if n < _FEWEST_IDS or np.isnan(values).any() or (values != np.round(values)).any():
        return False
    if len(np.unique(values)) < n:
        return False
    first, last = float(values.min()), float(values.max())
    if _ID_NAME.search(name.strip()):
        return True
    if _NUMBER_NAME.search(name.strip()):
        return last - first < _WIDEST_COUNT * n
    if first in (0, 1):
        return last <= 2 * n
    steps = np.unique(np.diff(np.sort(values)))
    if len(steps) == 1 and steps[0] > 1:  # a grid that somebody designed
        return False
    return first >= _FIRST_OF_MANY and last - first < 2 * n and not _may_be_calendar(values)


def _may_be_calendar(values: FloatArray) -> bool:
    """Return whether whole numbers may be days of a spreadsheet, or 202431, 2024214, 20240801."""
    first, last = _SPREADSHEET_DAYS
    if first <= values.min() and values.max() <= last:
        return True
    for unit, most in _BEHIND_YEAR.items():
        year, behind = np.divmod(values, unit)
        if ((year >= 1900) & (year <= 2100) & (behind >= 1) & (behind <= most)).all():
            return True
    return False
