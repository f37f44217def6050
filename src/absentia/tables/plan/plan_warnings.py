"""What a user is told when a frame is read: guesses that change values, words that are new."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns.column_readings import TYPED_DATES, ColumnReading, numbers_of
from absentia.tables.columns.date_formats import DAY_FIRST
from absentia.tables.columns.date_guesses import either_way_round
from absentia.tables.columns.number_words import (
    example,
    groups_thousands,
    in_doubt,
    shown_sign,
)
from absentia.tables.columns.table_columns import SEPARATOR
from absentia.tables.columns.words import Words
from absentia.tables.phrases import counted
from absentia.tables.plan.unread_cells import unread_cells

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["OTHER_SIGNS", "new_words", "other_signs", "warn_of_codes", "warn_of_new_words"]

#: What is said before the phrases of :func:`other_signs`.
OTHER_SIGNS = "Some values are written differently from those in training"


def warn_of_codes(readings: dict[str, ColumnReading]) -> None:
    """Warn of numbers that are taken for codes of missing values: a guess that changes values."""
    found = [f"{name!r} has {r.note}" for name, r in readings.items() if r.sentinels]
    if found:
        some = "; ".join(found[:5]) + f"; and {len(found) - 5} more columns" * (len(found) > 5)
        warnings.warn(
            f"Codes for missing values: {some}. To keep them as numbers, use "
            "ColumnPlan.of(X, kinds={column: 'number'}).read(X), or pass an array.",
            stacklevel=4,
        )


def new_words(
    frame: pd.DataFrame, readings: Mapping[str, ColumnReading], absent: Sequence[str] = ()
) -> list[str]:
    """Return the words of a later frame that did not occur in training: ``'violet' in 'colour'``.

    Words of categories, and words in columns where training had numbers alone; both count as
    missing.
    """
    found = []
    for name, reading in readings.items():
        if reading.left_out or name in absent:
            continue
        # Where training had words, numbers are none of them.
        if frame[name].dtype.kind in "iufbmM" and not reading.categories:
            continue
        words = Words(frame[name])
        if reading.categories:
            new = [word for word in words.distinct if word not in reading.categories]
        elif reading.kind == "number" and not reading.counts.unreadable:
            lower, upper = words.without_unit(reading.unit).bounds(reading.decimal)
            unread = ~np.isfinite(lower) & ~np.isfinite(upper) & ~words.says_nothing()
            new = [word for word, other in zip(words.distinct, unread, strict=True) if other]
        else:
            continue
        if new:
            found.append(f"{new[0]!r} in {name!r}" + f" and {len(new) - 1} more" * (len(new) > 1))
    return found


def other_signs(
    frame: pd.DataFrame, readings: Mapping[str, ColumnReading], absent: Sequence[str] = ()
) -> list[str]:
    """Return which numbers of a later frame are written differently from those in training.

    And which are text where training had typed numbers, or typed dates, if that leaves a doubt.

    ``"0.4"`` in a column with decimal commas is 0.4, since it can be nothing else. ``"2.500"`` is
    2500 there: a phrase says so where training had no thousands, or other values of the column
    have the other sign.
    """
    found = []
    for name, reading in readings.items():
        if reading.left_out or name in absent or reading.kind not in ("number", "date"):
            continue
        if reading.kind == "date":
            found += _day_first(name, frame[name], reading)
            continue
        if frame[name].dtype.kind in "iufbmM":
            # Of a file it is known that they were written with a point.
            if reading.decimal == "," and SEPARATOR in frame.attrs and _has_fractions(frame[name]):
                said = "numbers have a decimal point, where training has a decimal comma"
                found.append(f"in {name!r}, {said}")
            continue
        words = reading.words_of(frame[name])
        doubtful = in_doubt(words.distinct, beside_hundreds=False) if reading.typed else ""
        if doubtful:
            shown = example(doubtful, reading.decimal)
            found.append(f"in {name!r}, {shown}, where training has numbers that are not text")
        sign, known = reading.decimal, reading.shown or reading.decimal == ","
        other = [bool(known) and shown_sign([word]) not in ("", sign) for word in words.distinct]
        grouped = [
            shown_sign([word]) == "" and groups_thousands(word, sign) for word in words.distinct
        ]
        whose = "the column" if reading.typed else "training"
        separated = "with a thousands separator"
        separated += ", which training does not have" * (not reading.grouped)
        for which, said in (
            (other, f"where {whose} has a decimal {'comma' if sign == ',' else 'point'}"),
            (grouped, separated),
        ):
            if any(which) and (which is other or any(other) or not reading.grouped):
                first = words.distinct[which.index(True)]
                number = int(words.counts[np.array(which)].sum())
                shown = f"{example(first, sign)}, {said}"
                if number > 1:
                    shown += f" ({counted(number, 'value')} like this)"
                found.append(f"in {name!r}, {shown}")
    return found


def _day_first(name: str, column: pd.Series, reading: ColumnReading) -> list[str]:
    """Say which order of day and month was taken for text that could have either."""
    if TYPED_DATES not in reading.date_formats or column.dtype.kind in "iufbmM":
        return []
    words = Words(column)
    formats = words.date_formats()[0]
    if not either_way_round(words, formats):
        return []
    slashed = np.isfinite(words.days([form for form in formats if form in DAY_FIRST]))
    word = words.distinct[int(np.flatnonzero(slashed)[0])]
    return [f"in {name!r}, {word!r} is read as day first, where training has dates, not text"]


def _has_fractions(column: pd.Series) -> bool:
    return column.dtype.kind == "f" and bool((numbers_of(column) % 1.0 > 0).any())


def warn_of_new_words(
    frame: pd.DataFrame, readings: dict[str, ColumnReading], absent: list[str]
) -> None:
    """Warn of what in a later frame is missing because it cannot be used, and of other signs."""
    # Of numbers, dates and durations all cells that cannot be read are named, new or not.
    words = {name: reading for name, reading in readings.items() if not reading.is_quantity}
    found = new_words(frame, words, absent)
    unread = unread_cells(frame, readings, absent, as_in_training=False)
    if unread:
        warnings.warn(f"Cells that cannot be read: {'; '.join(unread[:8])}.", stacklevel=4)
    if found:
        warnings.warn(
            f"Words that did not occur in training count as missing: {', '.join(found[:8])}.",
            stacklevel=4,
        )
    signs = other_signs(frame, readings, absent)
    if signs:
        warnings.warn(
            f"{OTHER_SIGNS}: {'; '.join(signs[:8])}.",
            stacklevel=4,
        )
