"""Guesses of how columns are read, from their values and from the rest of their table.

The guesses are cautious: in doubt, numbers stay numbers and words stay categories. A table decides
on decimal signs: ``"2,911"`` is 2911 or 2.911, and a column of nothing else does not show which;
nor does a column of ``"1.410"``. Another column with ``"5,3"`` does. For commas so does a file
whose values are separated by semicolons, which programs write where the comma is the decimal sign.
Points are decimal ones as long as no comma is; for files that commas do not separate a note says
so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns.column import Column
from absentia.tables.columns.numerals import example
from absentia.tables.columns.quantities import (
    as_dates,
    compact_dates,
    counts_of,
    dates_of_texts,
    numbers_of_texts,
    numbers_with_unit,
    typed_numbers,
    unless_useless,
    unreadable_note,
)
from absentia.tables.columns.readings import CellCounts, ColumnReading, numbers_of
from absentia.tables.phrases import overrule

if TYPE_CHECKING:
    import pandas as pd

#: Name in ``frame.attrs`` under which a reader of files keeps the separator of the values.
SEPARATOR = "separator"
_KINDS = ("number", "category", "date", "cyclic date", "left out")
#: With fewer rows a different text in each is no sign of an identifier.
_FEWEST_IDS = 20
#: Whole numbers under such a name that come again and again are keys to something.
_KEY_NAME = re.compile(r"(?i:[ _.-](id|code)$)|[a-z](I[dD]|Code)$")


def read_column(column: pd.Series | Column, *, max_categories: int = 30) -> ColumnReading:
    """Guess how a column is to be read."""
    column = Column.of(column)
    if not column.is_text:
        return _typed(column, max_categories)
    dtype = column.series.dtype
    said = _ordered(column)
    typed = hasattr(dtype, "categories")
    if said is None and typed and 2 * len(column.distinct) <= max(60, int(column.counts.sum())):
        said = _categories(column, max_categories, asked=True)  # as the type says
    return (
        said
        or _ranges(column, max_categories)
        or numbers_of_texts(column)
        or dates_of_texts(column)
        or numbers_with_unit(column)
        or _categories(column, max_categories)
    )


def read_as(column: pd.Series | Column, kind: str, *, max_categories: int = 30) -> ColumnReading:
    """Read a column as its owner says."""
    column = Column.of(column)
    if kind == "left out":
        note = "left out, as requested"
        return ColumnReading("category", note, CellCounts.of(column), left_out=True)
    if kind == "category":
        return _categories(column, max_categories, asked=True)
    if kind in ("date", "cyclic date"):
        return as_dates(column, cyclic=kind == "cyclic date")
    if kind != "number":
        raise ValueError(
            f"The kind of a column must be {', '.join(map(repr, _KINDS[:-1]))} or {_KINDS[-1]!r}, "
            f"found {kind!r} for {column.name!r}."
        )
    if column.type_kind in "mM":
        return _typed(column, max_categories)
    if not column.is_text:
        return replace(typed_numbers(column, sentinels=False), is_id=False)
    found = numbers_with_unit(column, asked=True) or numbers_of_texts(column, asked=True)
    assert found is not None  # what the owner says is not doubted
    return found


def _typed(column: Column, max_categories: int) -> ColumnReading:
    """Read a column whose type says what it holds: numbers, dates, durations."""
    if column.type_kind == "M":
        return as_dates(column)
    if column.type_kind == "m":
        note = "durations, read as numbers of days"
        reading = ColumnReading("duration", note, CellCounts.of(column))
        return unless_useless(reading, column.first_two())
    return compact_dates(column) or _keys(column, max_categories) or typed_numbers(column)


def _keys(column: Column, max_categories: int) -> ColumnReading | None:
    """Read repeated whole numbers as categories where the name says that they are keys."""
    if column.type_kind == "b" or not _KEY_NAME.search(column.name):
        return None
    values = numbers_of(column)
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    # Each key comes three times on average: not a number of the row, and enough to learn from.
    repeated = len(distinct) >= 3 and len(known) >= 3 * len(distinct)
    if not repeated or (distinct != np.round(distinct)).any():
        return None
    what = f"whole numbers in a column named like a key, read as {len(distinct)} categories"
    return replace(_categories(column, max_categories), note=what)


def _ranges(column: Column, max_categories: int) -> ColumnReading | None:
    """Read a column of ranges, such as age groups, as ordered."""
    lower, upper = column.bounds(column.decimal_sign)
    limited = np.isfinite(lower) | np.isfinite(upper)
    is_range, known = (lower < upper) & limited, (lower <= upper) & limited
    n_ranges = int(column.counts[is_range].sum())
    others = ~known & ~column.says_nothing()
    if is_range.sum() < 2 or others.any() or known.sum() > max_categories:
        return None
    if 2 * n_ranges <= int(column.counts[known].sum()):
        return None
    order = [k for k in np.lexsort((upper, lower)) if known[k]]
    # "0-9" and "10-19" leave a gap, "0-10" and "10-20" share an end.
    if any(upper[one] > lower[next_] for one, next_ in pairwise(order)):
        return None
    values = tuple(column.distinct[k] for k in order)
    counts = counts_of(column, known)
    note = _order_note("ranges of numbers", values)
    if counts.unreadable:
        note += "; " + unreadable_note(column, ~known, counts.unreadable)
    return unless_useless(ColumnReading("ordered", note, counts, values), list(values[:2]))


def _ordered(column: Column) -> ColumnReading | None:
    """Read a column of pandas' ordered categorical type."""
    if not getattr(column.series.dtype, "ordered", False):
        return None
    values = tuple(str(value).strip() for value in column.series.cat.categories)
    note = _order_note("ordered categories", values) if values else ""
    reading = ColumnReading("ordered", note, CellCounts.of(column), values)
    return unless_useless(reading, column.distinct)


def _order_note(what: str, values: tuple[str, ...]) -> str:
    return f"{what}, read as numbers from 0 ({values[0]!r}) to {len(values) - 1} ({values[-1]!r})"


def _categories(column: Column, max_categories: int, *, asked: bool = False) -> ColumnReading:
    """Read words as categories; free text, most of whose values come once, is left out."""
    counts = CellCounts.of(column)
    # The commonest first, so that of two values the rarer one gets the indicator.
    count_of = dict(zip(column.distinct, column.counts.tolist(), strict=True))
    values = sorted(column.distinct, key=lambda value: (-count_of[value], value))
    note = f"2 categories, 1 for {values[-1]!r} and 0 for {values[0]!r}" if values else ""
    if len(values) > 2:
        values = sorted(values)
        note = f"{len(values):,} categories, one indicator column for each"
    alike = case_note(values)
    said = f"; {alike}" if alike else ""
    is_id = len(values) == counts.read >= _FEWEST_IDS
    reading = ColumnReading("category", note, counts, tuple(values), is_id=is_id and not asked)
    if not asked and (is_id or (len(values) > max_categories and 2 * len(values) > counts.read)):
        what = id_note(reading) if is_id else f"left out, text with {len(values):,} values{said}"
        return replace(reading, left_out=True, note=f"{what}: {overrule(column.name, 'category')}")
    nothing = [repr(text) for text in compress(column.distinct, column.says_nothing())]
    if nothing:  # which would be missing values in a column of numbers
        *before, last = nothing
        listed = f"{', '.join(before)} and {last} count" if before else f"{last} counts"
        said += f"; {listed} as {'categories' if before else 'a category'}"
    return unless_useless(replace(reading, note=note + said), values)


def case_note(texts: Iterable[str]) -> str:
    """Return a note on texts that differ in case only, empty where there are none.

    They stay different: "m" and "M" may be milli and mega.
    """
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(text.casefold(), []).append(text)
    groups = [sorted(group) for group in alike.values() if len(group) > 1]
    if not groups:
        return ""
    *before, last = map(repr, groups[0])
    number = {2: "two", 3: "three"}.get(len(groups[0]), str(len(groups[0])))
    said = f"differ only in case: they count as {number} different words"
    more = " (and there are other such words)" * (len(groups) > 1)
    return f"{', '.join(before)} and {last} {said}{more}"


def guess_columns(
    columns: Mapping[str, Column],
    *,
    separator: str = ",",
    kinds: Mapping[str, str] | None = None,
    max_categories: int = 30,
) -> dict[str, ColumnReading]:
    """Guess how the columns of a frame are to be read, with the table as evidence.

    Commas that may be decimal ones or separate thousands are decimal ones if another column, or
    the separator of the file, says so, and no column has a decimal point. Points that may be either
    separate thousands if another column has decimal commas, and none a decimal point.

    ``separator`` separates the values in the file that the frame comes from; ``kinds`` are those
    of some columns, as their owner says.
    """
    asked = kinds or {}

    def guess(name: str, column: Column) -> ColumnReading:
        if name in asked:
            return read_as(column, asked[name], max_categories=max_categories)
        return read_column(column, max_categories=max_categories)

    readings = {name: guess(name, column) for name, column in columns.items()}
    doubtful = {name: _in_doubt(columns[name], reading) for name, reading in readings.items()}
    doubtful = {name: text for name, text in doubtful.items() if text}
    shown = {reading.shown for reading in readings.values() if reading.kind == "number"}
    commas = "," in shown or (separator == ";" and any(readings[n].grouped for n in doubtful))
    for name, text in doubtful.items():
        if commas and "." not in shown:
            readings[name] = guess(name, columns[name].with_decimal_commas())
        elif separator != "," and not readings[name].grouped:
            note = f"{readings[name].note}; points read as decimal points: {example(text, '.')}"
            readings[name] = replace(readings[name], note=note)
    return readings


def id_note(reading: ColumnReading) -> str:
    """Return the note on a column that is left out because it only identifies the rows."""
    words = reading.kind == "category"
    return (
        f"left out, it {'has a different word in each row' if words else 'only numbers the rows'}"
    )


def read_columns(
    frame: pd.DataFrame, *, kinds: Mapping[str, str] | None = None
) -> tuple[dict[str, Column], dict[str, ColumnReading]]:
    """Return the columns of a pandas frame, and guesses of how they are to be read."""
    columns = Column.of_frame(frame)
    separator = frame.attrs.get(SEPARATOR, ",")
    return columns, guess_columns(columns, separator=separator, kinds=kinds)


def read_in_table(frame: pd.DataFrame, name: str) -> ColumnReading:
    """Guess how one column of a pandas frame is to be read; the others only where needed."""
    column = Column(frame[name])
    reading = read_column(column)
    if not _in_doubt(column, reading):
        return reading
    return read_columns(frame)[1][name]


def later_readings(
    columns: Mapping[str, Column],
    readings: Mapping[str, ColumnReading],
    written: Sequence[str],
    separator: str,
) -> dict[str, ColumnReading]:
    """Return how the columns of a later frame are read, where some were typed in training.

    The ``written`` columns are text now, and nothing is known of how their numbers were spelled.
    So this frame decides on their decimal sign, one for each column, by the rules of
    :func:`guess_columns`; but in a table whose other columns had decimal commas, fractions of
    training had points all the same.
    """
    commas = any(r.kind == "number" and r.decimal == "," for r in readings.values())
    found = guess_columns(columns, separator=separator, kinds=dict.fromkeys(written, "number"))
    decided = dict(readings)
    for name in written:
        decimal, shown = found[name].decimal, found[name].shown
        if commas and readings[name].shown == "." and not shown:
            decimal = "."
        # Whether thousands were separated in training is unknown: no note on them.
        decided[name] = replace(readings[name], decimal=decimal, shown=shown, grouped=True)
    return decided


def _in_doubt(column: Column, reading: ColumnReading) -> str:
    """Return a text of a column whose decimal sign the rest of its table decides, or nothing."""
    written = reading.in_doubt and column.is_text
    return column.without_unit(reading.unit).in_doubt if written else ""
