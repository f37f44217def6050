"""What of the rows to predict a model cannot use, or has never seen the like of, in sentences.

Nothing of this is an error: an absent column, a new word and a cell that cannot be read are missing
values, which a model answers. But whoever reads the answer must know that they went missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.columns.table_columns import SEPARATOR
from absentia.tables.columns.words import Words
from absentia.tables.encoder import TableEncoder
from absentia.tables.phrases import counted
from absentia.tables.plan.plan_warnings import OTHER_SIGNS, new_words, other_signs
from absentia.tables.plan.unread_cells import unread_cells
from absentia.tables.reading import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["row_notes", "with_words_as_written"]

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
