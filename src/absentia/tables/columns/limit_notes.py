"""What a note on a column says about limits: a reading alone counts them as missing."""

from __future__ import annotations

import re

from absentia.tables.columns.column_readings import ColumnReading

__all__ = ["LIMITS", "LIMITS_OF_MODELS", "note_on_limits"]

#: Where a model is made of the column.
LIMITS = "taken as limits"
#: Where values are counted, and a model would take the same cells for more.
LIMITS_OF_MODELS = "count as missing here, and are limits to a model"


def note_on_limits(reading: ColumnReading, said: str) -> str:
    """Return the note of a reading, with other words on what becomes of ``<0.5``.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.limit_notes import LIMITS, note_on_limits
    >>> from absentia.tables.columns.column_guesses import read_column
    >>> reading = read_column(pd.Series(["1.5", "<0.5", *["2", "3"] * 8]))
    >>> reading.note
    "numbers written as text; 1 value such as '<0.5' counts as missing"
    >>> note_on_limits(reading, LIMITS)
    "numbers written as text; 1 value such as '<0.5' taken as a limit"
    """
    if not reading.counts.bounds:
        return reading.note
    if reading.counts.bounds == 1:
        said = said.replace("count as", "counts as").replace("are limits", "is a limit")
        said = said.replace("as limits", "as a limit")
    return re.sub(r"(such as [^;]*?) counts? as missing", rf"\1 {said}", reading.note, count=1)
