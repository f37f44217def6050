"""All columns of a table, read with what each says about the others: the meaning of commas.

``"2,911"`` is 2911 or 2.911, and a column of nothing else does not tell which. The rest of its
table does, where another column has ``"5,3"``; so does a file whose values are separated by
semicolons, which programs write where the comma is the decimal sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from absentia.tables.columns.column_guesses import read_as, read_column
from absentia.tables.columns.column_readings import ColumnReading

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEPARATOR", "read_columns", "read_in_table"]

#: Under which name of ``frame.attrs`` a reader of files says what separates the values.
SEPARATOR = "separator"


def read_columns(
    frame: pd.DataFrame, *, kinds: Mapping[str, str] | None = None, max_categories: int = 30
) -> list[ColumnReading]:
    """Find out how the columns of a pandas frame are to be read, one reading for each.

    Commas that may be decimal ones or separate thousands are decimal ones if another column, or
    the separator of the file, says so, and no column has a decimal point.

    Parameters
    ----------
    frame : pandas.DataFrame
    kinds : dict of str to {"number", "category", "date", "cyclic date", "left out"}, optional
        What some columns are, as their owner says.
    max_categories : int, default=30

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.table_columns import read_columns
    >>> table = pd.DataFrame({"density": ["2,911", "1,050"], "ph": ["5,3", "8,1"]})
    >>> [reading.decimal for reading in read_columns(table)]
    [',', ',']
    >>> read_columns(table[["density"]])[0].note
    "numbers written as text; commas taken as thousands: '2,911' is 2911"
    """
    asked = kinds or {}

    def read(j: int, *, decimal_commas: bool = False) -> ColumnReading:
        column, name = frame.iloc[:, j], frame.columns[j]
        how: dict[str, Any] = {"max_categories": max_categories, "decimal_commas": decimal_commas}
        return read_as(column, asked[name], **how) if name in asked else read_column(column, **how)

    readings = [read(j) for j in range(frame.shape[1])]
    doubtful = [j for j, reading in enumerate(readings) if reading.in_doubt]
    if doubtful and _has_decimal_commas(frame, readings):
        for j in doubtful:
            readings[j] = read(j, decimal_commas=True)
    return readings


def read_in_table(frame: pd.DataFrame, name: str) -> ColumnReading:
    """Find out how one column of a pandas frame is to be read; the others only where needed."""
    reading = read_column(frame[name])
    if not reading.in_doubt:
        return reading
    return read_columns(frame)[list(frame.columns).index(name)]


def _has_decimal_commas(frame: pd.DataFrame, readings: list[ColumnReading]) -> bool:
    shown = {reading.shown for reading in readings if reading.kind == "number"}
    return "." not in shown and ("," in shown or frame.attrs.get(SEPARATOR) == ";")
