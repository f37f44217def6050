"""Columns of training that a later table lacks: missing in every row, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.phrases import listed
from absentia.tables.reading import FloatArray

__all__ = ["absent_columns", "absent_names", "warn_of_absent_columns", "with_absent"]


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
