"""Cells of Python's objects written as text, from which the same object is read again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SPELLINGS", "key_of", "kind_of", "marker_of", "missing_markers", "read", "written"]


def missing_markers() -> list[Any]:
    """Return what marks missing values, for the codes -1, -2, ..."""
    import pandas as pd

    return [None, np.nan, pd.NA, pd.NaT]


def marker_of(cell: Any) -> int:
    """Return the code of a marker of missing values, else 0."""
    if isinstance(cell, float):  # np.float64 too
        return -2 if cell != cell else 0
    for code, marker in enumerate(missing_markers(), 1):
        if cell is marker:
            return -code
    return 0


def _timestamp(text: str) -> pd.Timestamp:
    import pandas as pd

    return pd.Timestamp(text)


def _write_interval(interval: Any) -> str:
    return f"{interval.closed} {float(interval.left)!r} {float(interval.right)!r}"


def _read_interval(text: str) -> pd.Interval:
    import pandas as pd

    closed, left, right = text.split()
    return pd.Interval(float(left), float(right), closed=closed)


def _write_period(period: Any) -> str:
    return f"{period.ordinal} {period.freqstr}"


def _read_period(text: str) -> pd.Period:
    import pandas as pd

    ordinal, frequency = text.split()
    return pd.Period(ordinal=int(ordinal), freq=frequency)


#: Kinds of cells that are kept as text: their type, how they are written and how they are read.
SPELLINGS: dict[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "text": ("str", str, str),
    "date": ("date", date.isoformat, date.fromisoformat),
    "moment": ("datetime", datetime.isoformat, datetime.fromisoformat),
    "timestamp": ("Timestamp", str, _timestamp),
    "decimal": ("Decimal", str, Decimal),
    "interval": ("Interval", _write_interval, _read_interval),
    "period": ("Period", _write_period, _read_period),
}


def kind_of(cell: Any) -> str:
    """Return the kind of a cell; what its text would not bring back is of the kind "other"."""
    name = type(cell).__name__
    for kind, (wanted, write, read) in SPELLINGS.items():
        if name == wanted:
            try:
                again = read(write(cell))
                exact = type(again) is type(cell) and again == cell
                # NumPy drops zero bytes at the end of text, and zones lose their names.
                exact &= not write(cell).endswith("\0") and getattr(cell, "tzinfo", None) is None
            except (TypeError, ValueError, ArithmeticError):
                exact = False
            return kind if exact else "other"
    return "other"


def key_of(cell: Any) -> Any:
    """Return what two cells that count as one have in common: 1, 1.0 and True are three."""
    try:
        hash(cell)
    except TypeError:
        return id(cell)
    return type(cell), cell, str(cell)


def written(kind: str, cells: list[Any]) -> np.ndarray:
    """Return cells of one kind as an array of text; those of the kind "other" as they are."""
    if kind in SPELLINGS:
        return np.array([SPELLINGS[kind][1](cell) for cell in cells], dtype=np.str_)
    part = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):  # a cell may be a list
        part[at] = cell
    return part


def read(kind: str, part: np.ndarray) -> list[Any]:
    """Return the cells that :func:`written` was given."""
    cells: list[Any] = part.tolist()
    return [SPELLINGS[kind][2](cell) for cell in cells] if kind in SPELLINGS else cells
