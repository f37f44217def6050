"""Notes and warnings on later tables: absent columns, new categories, unreadable cells, signs.

None of this is an error: an absent column, a new category and a cell that cannot be read are
missing values, which a model accepts. But the reader of a prediction must know that they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns import dates
from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import SEPARATOR
from absentia.tables.columns.numerals import example, groups_thousands, shown_sign
from absentia.tables.columns.readings import ColumnReading
from absentia.tables.phrases import count_as_missing, counted, frames_of_absentia, listed
from absentia.tables.reading import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from absentia.tables.encoder import TableEncoder

#: The number of phrases in a note.
_NAMED = 5
_READ_AS = {"number": "a number", "date": "a date", "duration": "a duration"}
#: Types whose cells all have a value, unless they are missing.
_TYPES = {"number": "iufb", "date": "M", "duration": "m"}


def plan_lines(readings: Mapping[str, ColumnReading], codes: bool) -> list[tuple[str, str, str]]:
    """Return the lines of a plan: each column, what it is used as, and the note on it."""
    lines = []
    for name, reading in readings.items():
        kind, note, support = str(reading.kind), reading.note, str(reading.support)
        if reading.left_out:
            kind, note = "left out", note.removeprefix("left out, ")
        elif codes and kind == "category":
            _, semicolon, more = note.partition(";")  # the part that is not on indicators
            note = f"{len(reading.categories)} categories{semicolon}{more}"
        lines.append((name, kind, f"{note}; {support}" if note and support else note or support))
    return lines


def _absent_columns(
    found: Mapping[str, Column], readings: Mapping[str, ColumnReading]
) -> list[str]:
    """Return the columns that are read and absent from a table; ValueError where all are."""
    needed = [name for name, reading in readings.items() if reading.width()]
    absent = [name for name in needed if name not in found]
    if len(absent) == len(needed):
        raise ValueError(
            f"The table has none of the columns that the model was trained on, "
            f"{listed(needed)}; it has {listed(sorted(found))}."
        )
    return absent


def absent_names(found: list[str] | None, known: list[str] | None) -> list[str]:
    """Return the columns of training that a frame of numbers lacks, none if it is another frame.

    Columns in another order or of other names are left to scikit-learn's check, which refuses them.
    """
    if not found or not known or len(found) >= len(known):
        return []
    absent = [name for name in known if name not in found]
    return absent if [name for name in known if name in found] == found else []


def absent_note(absent: list[str]) -> list[str]:
    """Return a sentence on columns of training that a table lacks, if there are any."""
    counts = "it counts" if len(absent) == 1 else "they count"
    note = f"The table lacks {listed(absent)}, which the model was trained on: {counts} as missing"
    return [f"{note} in every row."] if absent else []


def warn(sentences: Iterable[str]) -> None:
    """Warn of what sentences say, at the line of the user."""
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=frames_of_absentia())


def later_notes(
    columns: Mapping[str, Column], readings: Mapping[str, ColumnReading], *, new_only: bool
) -> list[str]:
    """Return sentences on absent columns, cells that are not used, and other decimal signs.

    With ``new_only`` columns are passed over that had such cells in training already, half as often
    or more.
    """
    found = absent_note(_absent_columns(columns, readings))
    for said, cells, between in _other_words(columns, readings):
        found.append(f"{said}: {_some(cells, between)}.")
    unread = _unread_cells(columns, readings, new_only)
    if new_only and unread:  # one warning for all columns
        unread = [f"Cells that cannot be read: {_some(unread, '; ')}"]
    return found + [f"{phrase}." for phrase in unread]


def _other_words(
    columns: Mapping[str, Column], readings: Mapping[str, ColumnReading]
) -> Iterator[tuple[str, list[str], str]]:
    """Yield what is said of new words and other signs, where there are any."""
    new = []
    for name, reading in readings.items():
        if reading.categories and not reading.left_out and name in columns:
            known = set(reading.categories)
            words = [text for text in columns[name].distinct if text not in known]
            more = f" and {len(words) - 1} more" * (len(words) > 1)
            new += [f"{words[0]!r} in {name!r}{more}"] if words else []
    if new:
        yield "Words that did not occur in training count as missing", new, ", "
    if signs := other_signs(columns, readings):
        yield "Some values are written differently from those in training", signs, "; "


def _no_number(column: Column, reading: ColumnReading) -> BoolArray:
    """Return which texts are neither a number, nor a limit, nor a spelling of "not known"."""
    lower, upper = column.without_unit(reading.unit).bounds(reading.decimal)
    return ~np.isfinite(lower) & ~np.isfinite(upper) & ~column.says_nothing()


def _unread_cells(
    columns: Mapping[str, Column], readings: Mapping[str, ColumnReading], new_only: bool
) -> list[str]:
    """Return a phrase per column with cells that hold something else than it is read as.

    Limits such as ``<0.5`` and sentinels of training are read, and ``n/a`` is an empty cell: these
    do not count.
    """
    found = []
    for name, reading in readings.items():
        if reading.left_out or not reading.is_quantity or name not in columns:
            continue
        column, counts = columns[name], reading.counts
        if column.type_kind in _TYPES[reading.kind]:
            continue
        if reading.kind == "number":
            unread = np.append(_no_number(column, reading), False)[column.codes]
        else:
            known = np.append(column.says_nothing(), True)[column.codes]  # the last is empty
            unread = reading.missing(column) & ~known
        before = counts.unreadable / max(1, counts.read + counts.bounds + counts.unreadable)
        number, n_filled = int(unread.sum()), int((column.codes >= 0).sum())
        if number > (2 * before * n_filled if new_only else 0):
            first = int(np.flatnonzero(unread)[0])
            found.append(
                f"{name}: {counted(number, 'value')} cannot be read as {_READ_AS[reading.kind]}, "
                f"such as {column.distinct[column.codes[first]]!r} in row {first + 1}, and "
                f"{count_as_missing(number)}"
            )
    return found


def other_signs(columns: Mapping[str, Column], readings: Mapping[str, ColumnReading]) -> list[str]:
    """Return phrases on numbers and dates of a later frame that are not written as in training.

    ``"0.4"`` in a column with decimal commas is 0.4, since it can be nothing else. ``"2.500"`` is
    2500 there.
    """
    found = []
    for name, reading in readings.items():
        column = columns.get(name)
        if column is None or reading.left_out or not column.is_text:
            continue
        if reading.kind == "number":
            text = _spelled_otherwise(column.without_unit(reading.unit), reading)
            found += [f"in {name!r}, {example(text, reading.decimal)}"] if text else []
        elif reading.kind == "date" and dates.TYPED_DATES in reading.date_formats:
            formats = dates.date_formats(column)[0]
            if dates.either_way_round(column, formats):
                day_first = [form for form in formats if form in dates.DAY_FIRST]
                days = dates.days_by_text(column, day_first)
                text = next(compress(column.distinct, np.isfinite(days)))
                found.append(f"in {name!r}, {text!r} is read as day first")
    return found


def _spelled_otherwise(column: Column, reading: ColumnReading) -> str:
    """Return the first text whose decimal sign or thousands training did not have, or nothing."""
    if reading.typed and column.in_doubt:
        return column.in_doubt
    sign, other = reading.decimal, ""
    if reading.shown or sign == ",":
        other = next((t for t in column.distinct if shown_sign([t]) not in ("", sign)), "")
    if other or reading.grouped:
        return other
    return next((text for text in column.distinct if groups_thousands(text, sign)), "")


def far_notes(
    columns: Mapping[str, Column],
    readings: Mapping[str, ColumnReading],
    own: Mapping[str, FloatArray],
    ranges: Mapping[str, FloatArray],
) -> list[str]:
    """Return a sentence on values that lie far beyond those of training, if there are any.

    ``own`` are the values of each column that is read, ``ranges`` the smallest and the largest of
    training.
    """
    far = [
        note
        for name, values in own.items()
        if name in columns and (note := _far(columns[name], readings[name], values, ranges[name]))
    ]
    return [f"Far beyond the range of training: {_some(far, '; ')}."] if far else []


def _some(found: list[str], separator: str) -> str:
    more = f" and in {len(found) - _NAMED} more columns" * (len(found) > _NAMED)
    return separator.join(found[:_NAMED]) + more


def _far(column: Column, reading: ColumnReading, values: FloatArray, ends: FloatArray) -> str:
    """Name the value that lies farthest outside, by more than the whole range of training.

    No value of training is named, whatever the tails of its column. Dates go on: they are named
    where they are ten ranges away.
    """
    low, high = ends
    if not low < high:
        return ""
    beyond = np.fmax(low - values, values - high)
    far = beyond > (high - low) * (10 if reading.kind == "date" else 1)
    if not far.any():
        return ""
    row, others = int(np.nanargmax(beyond)), int(far.sum()) - 1
    shown = [str(value).removesuffix(" 00:00:00") for value in reading.restored(ends)]
    if reading.kind == "number":
        shown = [f"{end:.6g}" for end in ends]
    more = f" and {counted(others, 'more value')}" * (others > 0)
    cell = str(column.series.iloc[row]).strip()
    return f"{cell} in {column.name!r}, row {row + 1}{more} (training: {shown[0]} to {shown[1]})"


def as_written(
    encoder: TableEncoder, frame: pd.DataFrame, cells: Callable[[], pd.DataFrame]
) -> pd.DataFrame:
    """Return a table with the cells of its file where its reader saw other numbers than training.

    "01" is a category beside "A1"; in a file without "A1" it is read as 1, which training never
    saw. "1.410" is 1410 in a column with decimal commas, and 1.41 to the reader of a file without
    them.
    """
    out, cells = frame, cache(cells)
    for name, reading in encoder.plan_.by_name.items():
        if name not in frame or frame[name].dtype.kind not in "iufb":
            continue
        with_points = frame[name].dtype.kind == "f" and SEPARATOR in frame.attrs
        if not reading.categories and not (reading.decimal == "," and with_points):
            continue
        known = set(reading.categories)
        written = cells()[name].where(frame[name].notna())
        n_typed, n_written = (
            sum(column.counts[[text in known for text in column.distinct]])
            for column in (Column(frame[name]), Column(written))
        )
        if n_written > n_typed or not known:
            out = out.assign(**{name: written})
    return out
