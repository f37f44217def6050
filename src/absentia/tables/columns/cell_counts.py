"""What readings of columns share: counts of cells, notes on those that were not read."""

from __future__ import annotations

from dataclasses import replace

from absentia.tables.columns.column_readings import CellCounts, ColumnReading
from absentia.tables.columns.words import Words
from absentia.tables.phrases import count_as_missing, counted
from absentia.tables.reading import BoolArray

__all__ = ["READABLE", "READABLE_OR_LOST", "counts_of", "unless_useless", "unreadable_note"]

#: A column is read as numbers or dates when at least this share of its values is.
READABLE = 0.9
#: Enough where the column would be lost otherwise, since it has too many different words.
READABLE_OR_LOST = 0.75


def unless_useless(reading: ColumnReading, distinct: list[str]) -> ColumnReading:
    """Leave out a column that has fewer than two different values."""
    if not distinct:
        return replace(reading, left_out=True, note="left out, it has no values")
    if len(distinct) == 1:
        note = f"left out, its only value is {distinct[0]!r}"
        return replace(reading, left_out=True, note=note)
    return reading


def counts_of(
    words: Words, read: BoolArray, n_empty: int, bound: BoolArray | None = None
) -> CellCounts:
    n_read = int(words.counts[read].sum())
    n_bounds = 0 if bound is None else int(words.counts[bound].sum())
    return CellCounts(n_read, n_empty, n_bounds, int(words.counts.sum()) - n_read - n_bounds)


def unreadable_note(words: Words, unread: BoolArray, number: int) -> str:
    shown = [word for word, other in zip(words.distinct, unread, strict=True) if other]
    listed = ", ".join(repr(word) for word in shown[:3]) + ", ..." * (len(shown) > 3)
    return f"{counted(number, 'unreadable value')} ({listed}) {count_as_missing(number)}"
