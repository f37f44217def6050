"""Guesses of columns of numbers and dates: their spelling, sentinels, identifiers and cycles."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import compress

import numpy as np

from absentia.tables.columns import dates
from absentia.tables.columns.column import READABLE, Column
from absentia.tables.columns.numerals import example, measurement
from absentia.tables.columns.readings import (
    CellCounts,
    ColumnReading,
    numbers_of,
    without_sentinels,
)
from absentia.tables.phrases import count_as_missing, counted, infinite_note, overrule
from absentia.tables.reading import BoolArray, FloatArray

#: Different words that may stand among numbers, whatever their share, and how many different
#: numbers these stand among.
_MOST_WORDS = 3
_FEWEST_NUMBERS = 10
#: Beginning of the note on a column of text, followed by a unit.
_AS_TEXT = "numbers written as text"
_TYPED_DATES = "dates, read as days since 1970"
_NEGATIVE = (-99.0, -999.0, -9999.0, -99999.0, -999999.0)
_POSITIVE = (999.0, 9999.0, 99999.0, 999999.0, 9999999.0)
#: A sentinel in fewer rows may be an outlier.
_FEWEST_SENTINELS = 2
#: Least gap to a positive sentinel, in ranges of all other values. Top codes, such as 99999 for
#: incomes over some limit, are nearer to the rest.
_POSITIVE_GAP = 2.0
#: A column with fewer rows is not taken for a list of identifiers.
_FEWEST_IDS = 20
#: As a whole name, or as its last part: "patient_id", "Fall_Nr", "case_no", "CaseNumber". A
#: "platelet number" is a quantity: numbers of cases lie closer together. "NO" may be nitric oxide.
_ID_NAME = re.compile(
    r"(?P<id>^(?i:id|index|key|rowid|unnamed: 0)$|(?i:^id[ _.-]|[ _.-]id$)|[a-z]I[dD]$)"
    r"|^(?i:nr|num|number|lfdnr)\.?$|^(no|No)\.?$"
    r"|(?i:[ _.-](nr|no|num|number)\.?$|nummer$)|[a-z](Nr|No|Num|Number)$"
)
_WIDEST_COUNT = 100


def unless_useless(reading: ColumnReading, distinct: list[str]) -> ColumnReading:
    """Leave out a column that has fewer than two different values."""
    if len(distinct) > 1:
        return reading
    what = f"its only value is {distinct[0]!r}" if distinct else "it has no values"
    return replace(reading, left_out=True, note=f"left out, {what}")


def counts_of(column: Column, read: BoolArray, bound: BoolArray | None = None) -> CellCounts:
    """Return the counts of cells of a column of text, given which of its texts are read."""
    n_read = int(column.counts[read].sum())
    n_bounds = 0 if bound is None else int(column.counts[bound].sum())
    n_other = int(column.counts.sum()) - n_read - n_bounds
    return CellCounts(n_read, column.n_empty, n_bounds, n_other)


def unreadable_note(column: Column, unread: BoolArray, number: int) -> str:
    """Return a note on cells that cannot be read."""
    shown = list(compress(column.distinct, unread))
    listed = ", ".join(repr(text) for text in shown[:3]) + ", ..." * (len(shown) > 3)
    return f"{counted(number, 'unreadable value')} ({listed}) {count_as_missing(number)}"


def find_sentinels(values: FloatArray) -> tuple[float, ...]:
    """Return the sentinels for missing values in a column (NaN where missing), none in doubt.

    A sentinel has nines only and stands in two rows at least. A negative one counts if no other
    value is negative, or if its distance to the others exceeds their range; a positive one if its
    distance exceeds twice their range.
    """
    known = values[~np.isnan(values)]
    # Sentinels lie at the ends, and most columns have none: two passes settle these.
    if not len(known) or (known.min() not in _NEGATIVE and known.max() not in _POSITIVE):
        return ()
    codes = np.array([code for code in (*_NEGATIVE, *_POSITIVE) if (known == code).any()])
    rest = known[~np.isin(known, codes)]
    if len(np.unique(rest)) < 2:
        return ()
    low, high = rest.min(), rest.max()
    found = []
    for code in codes:
        if (known == code).sum() < _FEWEST_SENTINELS:
            continue
        if code < 0 and code < low and (low >= 0 or low - code > high - low):
            found.append(float(code))
        if code > 0 and code - high > _POSITIVE_GAP * (high - low):
            found.append(float(code))
    return tuple(found)


def sentinel_note(values: FloatArray, sentinels: tuple[float, ...]) -> str:
    """Return a note on how many values are sentinels, and how far they are from the others."""
    coded = np.isin(values, sentinels)
    rest = values[~coded & ~np.isnan(values)]
    codes = " and ".join(f"{code:.0f}" for code in sentinels)
    return (
        f"{counted(int(coded.sum()), 'value')} of {codes}, far from the others ({rest.min():g} to "
        f"{rest.max():g}), count as missing"
    )


def number_notes(values: FloatArray, sentinels: tuple[float, ...], n_infinite: int) -> list[str]:
    """Return notes on infinities and sentinels among numbers."""
    notes = [infinite_note(n_infinite)] if n_infinite else []
    return [*notes, sentinel_note(values, sentinels)] if sentinels else notes


def typed_numbers(column: Column, *, sentinels: bool = True) -> ColumnReading:
    """Return the reading of a column with a type for numbers."""
    values = numbers_of(column)
    n_empty = int(column.series.isna().sum())
    n_infinite = int(np.isnan(values).sum()) - n_empty
    found = find_sentinels(values) if sentinels else ()
    n_lost = n_infinite + int(np.isin(values, found).sum())
    reading = ColumnReading(
        "number",
        "; ".join(number_notes(values, found, n_infinite)),
        CellCounts(len(values) - n_empty - n_lost, n_empty, unreadable=n_lost),
        sentinels=found,
        is_id=_numbers_the_rows(values, column.name),
        shown="." if (values % 1.0 > 0).any() else "",
        typed=True,
    )
    distinct = column.first_two()
    if n_lost:
        rest = without_sentinels(values, found)
        distinct = [f"{value:g}" for value in np.unique(rest[~np.isnan(rest)])[:2]]
    return unless_useless(reading, distinct)


def numbers_with_unit(column: Column, *, asked: bool = False) -> ColumnReading | None:
    """Read numbers with one and the same unit behind them, such as "12.5 kg"."""
    unit = column.unit
    found = numbers_of_texts(column.without_unit(unit), asked=asked) if unit else None
    if found is None or found.left_out:
        return found
    said = f"{_AS_TEXT} with the unit {unit!r}"
    n_without = int(column.counts[np.isfinite(column.numbers(found.decimal))].sum())
    if n_without:
        said += f" (also assumed for {counted(n_without, 'value')} without a unit)"
    return replace(found, note=found.note.replace(_AS_TEXT, said, 1), unit=unit)


def numbers_of_texts(column: Column, *, asked: bool = False) -> ColumnReading | None:
    """Read text as numbers where enough of it are.

    Numbers that the owner of the column asked for are taken as they are, also such as -999.
    """
    lower, upper = column.bounds(column.decimal_sign)
    is_number = lower == upper
    is_bound = ~is_number & (np.isfinite(lower) | np.isfinite(upper))
    between = is_bound & np.isfinite(lower) & np.isfinite(upper)
    if not asked and not _mostly_numbers(column, is_number, is_bound, between):
        return None
    values = column.by_row(np.where(is_number, lower, np.nan))
    found = () if asked else find_sentinels(values)
    is_code = is_number & np.isin(lower, found)
    counts = counts_of(column, is_number & ~is_code, is_bound)
    notes = [_AS_TEXT + _comma_note(column), *_mark_notes(column.marks())]
    if counts.bounds:
        limit = next(compress(column.distinct, is_bound))
        verb = "is a limit" if counts.bounds == 1 else "are limits"
        notes.append(f"{counted(counts.bounds, 'value')} such as {limit!r} {verb}")
    if found:
        notes.append(sentinel_note(values, found))
    measured = [text for text in compress(column.distinct, is_number) if measurement(text)]
    if measured:
        notes.append(f"measurements such as {measured[0]!r} have their error as standard deviation")
    n_unreadable = counts.unreadable - int(column.counts[is_code].sum())
    if n_unreadable:
        notes.append(unreadable_note(column, ~is_number & ~is_bound, n_unreadable))
        words = int(column.counts[~is_number & ~is_bound & ~column.says_nothing()].sum())
        if not asked and READABLE * words > (1 - READABLE) * (counts.read + counts.bounds):
            notes[-1] += f": {overrule(column.name, 'category').replace('uses it', 'keeps words')}"
    reading = ColumnReading(
        "number",
        "; ".join(notes),
        counts,
        decimal=column.decimal_sign,
        sentinels=found,
        is_id=not asked and _numbers_the_rows(values, column.name),
        shown=column.shown_sign,
        grouped=bool(column.grouped_text),
    )
    if column.distinct and not is_number.any() and not is_bound.any():
        note = f"left out, none of its values, such as {column.distinct[0]!r}, is a number"
        return replace(reading, left_out=True, note=note)
    used = compress(column.distinct, is_number & ~is_code)
    return unless_useless(reading, list(dict.fromkeys(used)))


def _mostly_numbers(
    column: Column, is_number: BoolArray, is_bound: BoolArray, between: BoolArray
) -> bool:
    """Return whether text is numbers: nearly all of it, or all but a few words that are repeated.

    Words such as "n.b." are few beside many different numbers, whatever their share.
    """
    counts = counts_of(column, is_number, is_bound)
    # As many ranges are telephone numbers or scores rather than measurements.
    if not counts.read or int(column.counts[between].sum()) > counts.read:
        return False
    words = ~is_number & ~is_bound & ~column.says_nothing()
    n_words = int(column.counts[words].sum())
    if counts.read + counts.bounds >= READABLE * (counts.read + counts.bounds + n_words):
        return True
    few = int(words.sum()) <= _MOST_WORDS and n_words >= 2 * int(words.sum())
    return few and int(is_number.sum()) >= _FEWEST_NUMBERS


def _comma_note(column: Column) -> str:
    """Return the meaning of commas and points, with an example where that is a guess."""
    decimal, doubtful = column.decimal_sign, column.in_doubt
    if doubtful and decimal == ",":
        return f", with decimal commas as in the rest of the table: {example(doubtful, decimal)}"
    if column.grouped_text and not any(decimal in text for text in column.distinct):
        sign = "points" if decimal == "," else "commas"
        return f"; {sign} read as thousands separators: {example(column.grouped_text, decimal)}"
    return ", with decimal commas" * (decimal == ",")


def _mark_notes(marks: list[str]) -> list[str]:
    """Return notes on money and percentages."""
    money = [mark for mark in marks if mark != "%"]
    several = ", not converted" * (len(money) > 1)
    notes = [f"amounts of money in {', '.join(money)}{several}"] if money else []
    return [*notes, "percentages, 12 % read as 12"] if "%" in marks else notes


def _numbers_the_rows(values: FloatArray, name: str) -> bool:
    """Return whether numbers may only identify rows: whole, all different, one after another.

    They count from 0 or 1, or have a name such as ``patient_id``. Some of the rows may have been
    left out, so that a count has gaps: half of its numbers, or all but one in a hundred with a name
    such as ``case_no``.
    """
    n = len(values)
    if n < _FEWEST_IDS or np.isnan(values).any() or (values != np.round(values)).any():
        return False
    if len(np.unique(values)) < n:
        return False
    first, last = float(values.min()), float(values.max())
    if named := _ID_NAME.search(name.strip()):
        return named["id"] is not None or last - first < _WIDEST_COUNT * n
    return first in (0, 1) and last <= 2 * n


def compact_dates(column: Column) -> ColumnReading | None:
    """Read whole numbers such as 20240131 as dates, where all of them are."""
    values = numbers_of(column)
    known = np.unique(values[~np.isnan(values)])
    if len(known) < 10 or known[0] < 19000101 or known[-1] > 21001231:
        return None
    if np.isnan(dates.days_of(column, (dates.COMPACT_DATE,))).sum() > np.isnan(values).sum():
        return None
    found = as_dates(column)
    said = f"whole numbers such as {known[0]:.0f}, read as dates (year, month, day)"
    return replace(found, note=found.note.replace(_TYPED_DATES, said))


def dates_of_texts(column: Column) -> ColumnReading | None:
    """Read text as dates where enough of it are."""
    formats, n_dates = dates.date_formats(column)
    enough = READABLE * int(column.counts[~column.says_nothing()].sum())
    return _dates(column, formats, None) if n_dates and n_dates >= enough else None


def as_dates(column: Column, *, cyclic: bool | None = None) -> ColumnReading:
    """Read a column as dates, whatever it looks like; ``cyclic`` by default as the dates show."""
    if column.is_text:
        return _dates(column, dates.date_formats(column)[0], cyclic)
    formats = (dates.TYPED_DATES if column.type_kind == "M" else dates.COMPACT_DATE,)
    days = dates.days_of(column, formats)
    cycles = _cycles(days, cyclic)
    note = _TYPED_DATES + _cycle_note(cycles)
    reading = ColumnReading("date", note, CellCounts.of(column), (), formats, cycles)
    distinct = column.first_two()
    if distinct and np.isnan(days).all():
        return _no_dates(reading, distinct[0])
    return unless_useless(reading, distinct)


def _dates(column: Column, formats: tuple[str, ...], cyclic: bool | None) -> ColumnReading:
    days = dates.days_by_text(column, formats)
    is_date = np.isfinite(days)
    counts = counts_of(column, is_date)
    timed = bool(formats) and dates.TIMES_OF_DAY.issuperset(formats)
    cycles = ("day",) if timed and cyclic is not False else _cycles(column.by_row(days), cyclic)
    note = "dates written as text, read as days since 1970"
    if timed:
        note = "times of day written as text, read as parts of a day"
    if len(formats) > 1:
        note += f" ({len(formats)} date formats)"
    if any("%y" in form for form in formats):
        note += ", two-digit years read as 1969 to 2068"
    if any("%b" in form and "%d" not in form for form in formats):
        note += ", months without a day read as their first day"
    note += _cycle_note(cycles)
    if dates.either_way_round(column, formats):
        note += "; either the day or the month could come first, read as day first"
    if counts.unreadable:
        note += "; " + unreadable_note(column, ~is_date, counts.unreadable)
    reading = ColumnReading("date", note, counts, (), formats, cycles)
    if column.distinct and not is_date.any():
        return _no_dates(reading, column.distinct[0])
    return unless_useless(reading, list(compress(column.distinct, is_date)))


def _no_dates(reading: ColumnReading, text: str) -> ColumnReading:
    note = f"left out, none of its values, such as {text!r}, is in a known date format"
    return replace(reading, left_out=True, note=note)


def _cycles(days: FloatArray, cyclic: bool | None) -> tuple[str, ...]:
    """Return the cycles to use: all of them (that of the day where there are times), or none."""
    if cyclic is None:
        return dates.find_cycles(days)
    timed = bool((days[~np.isnan(days)] % 1.0).any())
    return ("year", "week", *(("day",) if timed else ())) if cyclic else ()


def _cycle_note(cycles: tuple[str, ...]) -> str:
    *before, last = (f"the time of {cycle}" for cycle in cycles or ("",))
    listed = f"{', '.join(before)} and {last}" if before else last
    return f", with {listed} as sine and cosine" if cycles else ""
