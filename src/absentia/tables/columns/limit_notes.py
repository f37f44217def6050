"""What a note on a column says about limits: a reading alone counts them as missing."""

from __future__ import annotations

import re

from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.phrases import count_as_missing

__all__ = ["LIMITS", "LIMITS_OF_MODELS", "note_on_limits"]

#: Where a model is made of the column: for one value, and for several.
LIMITS = ("is used as a limit", "are used as limits")
#: Where values are counted, and a model would take the same cells for more.
LIMITS_OF_MODELS = (
    "counts as missing here, but a model uses it as a limit",
    "count as missing here, but a model uses them as limits",
)


def note_on_limits(reading: ColumnReading, said: tuple[str, str]) -> str:
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
    "numbers written as text; 1 value such as '<0.5' is used as a limit"
    """
    if not reading.counts.bounds:
        return reading.note
    one, several = said
    verb = one if reading.counts.bounds == 1 else several
    missing = re.escape(count_as_missing(reading.counts.bounds))  # as the reading wrote it
    return re.sub(rf"(such as [^;]*?) {missing}", rf"\1 {verb}", reading.note, count=1)
