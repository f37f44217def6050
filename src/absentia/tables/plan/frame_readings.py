"""How each column of a frame is read: decided from the training frame, then applied to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.columns.table_columns import read_columns
from absentia.tables.phrases import counted, listed
from absentia.tables.reading import FloatArray

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["fill_columns", "id_note", "plan_readings"]


def plan_readings(
    frame: pd.DataFrame,
    *,
    max_categories: int = 30,
    keep_ids: bool = False,
    kinds: Mapping[str, Any] | None = None,
) -> tuple[dict[str, ColumnReading], list[str]]:
    """Decide how each column of a pandas frame is read; columns that name rows are left out.

    ``kinds`` are readings by column that the user asked for.

    Returns
    -------
    readings : dict of str to ColumnReading
    ids : list of str
        The columns that were left out because they only name the rows.
    """
    columns = list(frame.columns)
    if not len(frame) or not columns:
        raise ValueError(
            f"A table needs at least one row and one column, found "
            f"{counted(len(frame), 'row')} and {counted(len(columns), 'column')}."
        )
    asked = kinds or {}
    unknown = [name for name in asked if name not in columns]
    if unknown:
        raise ValueError(
            f"kinds names the column {unknown[0]!r}, which the table does not have; its columns "
            f"are {listed(columns)}."
        )
    found_readings = read_columns(frame, kinds=asked, max_categories=max_categories)
    readings = dict(zip(columns, found_readings, strict=True))
    found = [name for name in columns if readings[name].is_id and name not in asked]
    ids = [] if keep_ids else found
    for name in ids:
        readings[name] = replace(readings[name], left_out=True, note=id_note(readings[name]))
    if all(reading.left_out for reading in readings.values()):
        notes = [f"{name}: {reading.note}" for name, reading in readings.items() if reading.note]
        raise ValueError("No column has anything to learn from. " + "; ".join(notes) + ".")
    return readings, ids


def id_note(reading: ColumnReading) -> str:
    """Return the note on a column that is left out because it only identifies the rows."""
    words = reading.kind == "category"
    what = "it has a different word in each row" if words else "it only numbers the rows"
    return f"left out, {what}"


def fill_columns(
    frame: pd.DataFrame,
    readings: dict[str, ColumnReading],
    absent: list[str],
    *,
    codes: bool = False,
) -> FloatArray:
    """Return the columns of a frame as numbers, NaN where missing and in columns that it lacks.

    With ``codes`` a column of words is one column of codes, otherwise indicator columns.
    """
    widths = [reading.width_of(codes) for reading in readings.values()]
    # Filled column by column: a table of words is many times its size as indicators.
    out = np.full((len(frame), sum(widths)), np.nan)
    start = 0
    for (name, reading), width in zip(readings.items(), widths, strict=True):
        if name not in absent and width:
            out[:, start : start + width] = reading.values(frame[name], codes=codes)
        start += width
    return out
