"""Notes and warnings on later tables: absent columns, new categories, unreadable cells, signs.

None of this is an error: an absent column, a new word and a cell that cannot be read are missing
values, which a model accepts. But the reader of a prediction must know that they went missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
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
from absentia.tables.phrases import count_as_missing, counted, listed
from absentia.tables.reading import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from absentia.tables.encoder import TableEncoder

__all__ = [
    "absent_columns",
    "absent_names",
    "new_words",
    "other_signs",
    "row_notes",
    "unread_cells",
    "warn_of_absent_columns",
    "warn_of_codes",
    "warn_of_new_words",
    "with_absent",
    "with_words_as_written",
]


def absent_columns(found: set[str], readings: Mapping[str, ColumnReading]) -> list[str]:
    """Return which columns that are read a table lacks; where it lacks all it is another table."""
    needed = [name for name, reading in readings.items() if reading.width]
    absent = [name for name in needed if name not in found]
    if len(absent) == len(needed):
        raise ValueError(
            f"The table has none of the columns that the model was trained on, "
            f"{listed(needed)}; it has {listed(sorted(found))}."
        )
    return absent


def absent_names(found: list[str] | None, known: list[str] | None) -> list[str]:
    """Return which columns of training a frame of numbers lacks, none if it is another frame.

    Columns in another order or of other names are left to scikit-learn's check, which refuses them.

    Examples
    --------
    >>> absent_names(["a", "c"], ["a", "b", "c"]), absent_names(["c", "a"], ["a", "b", "c"])
    (['b'], [])
    """
    if not found or not known or len(found) >= len(known):
        return []
    absent = [name for name in known if name not in found]
    return absent if [name for name in known if name in found] == found else []


def with_absent(array: FloatArray, known: list[str], absent: list[str]) -> FloatArray:
    """Return an array with columns of NaN where those of training are absent."""
    whole = np.full((len(array), len(known)), np.nan)
    whole[:, [name not in absent for name in known]] = array
    return whole


def warn_of_absent_columns(absent: list[str]) -> None:
    """Warn of columns of training that a table lacks."""
    if absent:
        warnings.warn(
            f"The table lacks {listed(absent)}, which the model was trained on: "
            f"{'it counts' if len(absent) == 1 else 'they count'} as missing in every row.",
            stacklevel=4,
        )


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


_NAMED = 5


def row_notes(encoder: TableEncoder, frame: pd.DataFrame, source: str) -> list[str]:
    """Return sentences on what of a table is not used: absent columns, new words, unread cells.

    And on values farther from those of training than these from each other.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted; one of before ranges were kept knows nothing of the last of these.
    frame : pandas.DataFrame
    source : str
        What the table is called.
    """
    absent = encoder.absent_columns(frame)
    readings = encoder.plan_.readings_of(frame)
    used = {n: r for n, r in readings.items() if not r.left_out and n not in absent}
    notes = []
    if absent:
        notes.append(
            f"Columns that {source} lacks count as missing in every row: {', '.join(absent)}."
        )
    new = new_words(frame, {name: r for name, r in used.items() if not r.is_quantity})
    if new:
        notes.append(f"Words that did not occur in training count as missing: {_some(new, ', ')}.")
    signs = other_signs(frame, readings, absent)
    if signs:
        notes.append(f"{OTHER_SIGNS}: {_some(signs, '; ')}.")
    notes += [f"{phrase}." for phrase in unread_cells(frame, used)]
    ranges = getattr(encoder, "ranges_", None)
    if ranges is not None and len(ranges) == len(encoder.columns_):
        ends = dict(zip(encoder.columns_, ranges, strict=True))
        far = [note for n, r in used.items() if (note := _far(frame[n], r, ends[n]))]
        if far:
            notes.append(f"Far beyond the range of training: {_some(far, '; ')}.")
    return notes


def with_words_as_written(
    encoder: TableEncoder, frame: pd.DataFrame, cells: Callable[[], pd.DataFrame]
) -> pd.DataFrame:
    """Return a table with what training would have seen where a file's reader saw numbers.

    "01" is a word beside "A1"; in a file without "A1" it is read as 1, which training never saw.
    "1.410" is 1410 in a column with decimal commas, and 1.41 to the reader of a file without them.
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
            sum(words.counts[[word in known for word in words.distinct]])
            for words in (Words(frame[name]), Words(written))
        )
        if n_written > n_typed or not known:
            out = out.assign(**{name: written})
    return out


def _some(found: list[str], separator: str) -> str:
    more = f" and in {len(found) - _NAMED} more columns" * (len(found) > _NAMED)
    return separator.join(found[:_NAMED]) + more


def _far(column: pd.Series, reading: ColumnReading, ends: FloatArray) -> str:
    """Name the value that lies farthest outside, by more than the whole range of training.

    No value of training is named, whatever the tails of its column. Dates go on: they are named
    where they are ten ranges away.
    """
    low, high = ends
    if not low < high:
        return ""
    values = reading.values(column)[:, 0]
    beyond = np.fmax(low - values, values - high)
    far = beyond > (high - low) * (10 if reading.kind == "date" else 1)
    if not far.any():
        return ""
    row, others = int(np.nanargmax(beyond)), int(far.sum()) - 1
    shown = [str(value).removesuffix(" 00:00:00") for value in reading.restored(ends)]
    if reading.kind == "number":
        shown = [f"{end:.6g}" for end in ends]
    more = f" and {counted(others, 'more value')}" * (others > 0)
    cell = str(column.iloc[row]).strip()
    return f"{cell} in {column.name!r}, row {row + 1}{more} (training: {shown[0]} to {shown[1]})"
