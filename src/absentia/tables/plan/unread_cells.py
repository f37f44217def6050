"""Cells of a later table that a column of numbers or dates cannot use: missing, and said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.columns.words import Words
from absentia.tables.phrases import count_as_missing, counted
from absentia.tables.reading import BoolArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["unread_cells"]

#: What a cell of such a column is read as.
_READ_AS = {"number": "a number", "date": "a date", "duration": "a duration"}
#: Types whose cells all have a value, unless they are missing.
_TYPES = {"number": "iufb", "date": "M", "duration": "m"}


def unread_cells(
    frame: pd.DataFrame,
    readings: Mapping[str, ColumnReading],
    absent: Sequence[str] = (),
    *,
    as_in_training: bool = True,
) -> list[str]:
    """Return a phrase per column with cells that hold something else than it is read as.

    Limits such as ``<0.5`` and codes that training had are read, and ``n/a`` says what an empty
    cell says: these do not count. With ``as_in_training=False`` columns are passed over that had
    such cells in training already, half as often or more.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.column_guesses import read_column
    >>> known = {"age": read_column(pd.Series([61, 48, 70]))}
    >>> unread_cells(pd.DataFrame({"age": ["52", "n/a", "61 yrs."]}), known)
    ["age: 1 value cannot be read as a number, such as '61 yrs.' in row 3, and counts as missing"]
    """
    found = []
    for name, reading in readings.items():
        if reading.left_out or not reading.is_quantity or name in absent:
            continue
        if frame[name].dtype.kind not in _TYPES[reading.kind]:
            counts = reading.counts
            known = counts.unreadable / max(1, counts.read + counts.bounds + counts.unreadable)
            most = 0.0 if as_in_training else 2 * known
            found += _unread(name, frame[name], reading, most)
    return found


def _unread(name: str, column: pd.Series, reading: ColumnReading, most: float) -> list[str]:
    words = Words(column)
    unread = _without_value(column, words, reading)
    unread &= ~np.append(words.says_nothing(), True)[words.codes]  # the last for an empty cell
    if unread.sum() <= most * (words.codes >= 0).sum():
        return []
    number, first = int(unread.sum()), int(np.flatnonzero(unread)[0])
    example = words.distinct[words.codes[first]]
    return [
        f"{name}: {counted(number, 'value')} cannot be read as {_READ_AS[reading.kind]}, "
        f"such as {example!r} in row {first + 1}, and {count_as_missing(number)}"
    ]


def _without_value(column: pd.Series, words: Words, reading: ColumnReading) -> BoolArray:
    """Return which cells have neither a value nor a limit."""
    if reading.kind != "number":
        return reading.missing(column)
    lower, upper = words.without_unit(reading.unit).bounds(reading.decimal)
    unread: BoolArray = np.append(~np.isfinite(lower) & ~np.isfinite(upper), True)[words.codes]
    return unread
