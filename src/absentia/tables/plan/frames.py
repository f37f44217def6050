"""Data frames before their columns are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from absentia.optional_imports import optional_import
from absentia.tables.reading import BoolArray, TableLike, check_collected

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_frame", "holds_numbers_only", "with_cells", "without_cells"]


def as_frame(X: TableLike) -> pd.DataFrame:
    """Return a copy of a table as a pandas frame, with text for column names."""
    pd = optional_import("pandas", "tables", "A table of words or dates")
    check_collected(X, any_dask=True)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    try:
        frame = X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    except ValueError as error:
        raise ValueError(
            f"Expected a table (a frame, or an array of rows and columns), found a "
            f"{type(X).__name__}: {error}"
        ) from error
    frame.columns = [str(name) for name in frame.columns]
    if not frame.columns.is_unique:
        repeated = min(frame.columns[frame.columns.duplicated()])
        raise ValueError(
            f"Column names must be unique, but {repeated!r} appears more than once: rename one of "
            "them."
        )
    return frame


def holds_numbers_only(frame: pd.DataFrame) -> bool:
    """Return whether all columns of a pandas or polars frame are numeric."""
    if type(frame).__module__.startswith("polars"):
        return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in frame.dtypes)
    return all(dtype.kind in "iufb" for dtype in frame.dtypes)


def with_cells(frame: pd.DataFrame, values: np.ndarray, filled: BoolArray) -> pd.DataFrame:
    """Return a pandas or polars frame with other values in some of its cells.

    Parameters
    ----------
    frame : pandas.DataFrame or polars.DataFrame
    values : ndarray of objects, shape of the frame
    filled : ndarray of bool, shape of the frame
        Which cells get their value from ``values``. A column keeps its type where that can hold
        the values.
    """
    polars = type(frame).__module__.startswith("polars")
    columns = {}
    for j, name in enumerate(frame.columns):
        column = frame[name]
        if not filled[:, j].any():
            columns[name] = column
            continue
        cells = list(column)
        for row in np.flatnonzero(filled[:, j]):
            cells[row] = values[row, j]
        made = type(column)(cells) if polars else type(column)(cells, index=frame.index)
        try:
            same = made.cast(column.dtype) if polars else made.astype(column.dtype)
            kept = (
                same.null_count() == made.null_count()
                if polars
                else same.equals(made) or (same.isna().equals(made.isna()))
            )
            columns[name] = same if kept else made
        except Exception:  # each library has its own errors for values that a type cannot hold
            columns[name] = made
    return type(frame)(columns)


def without_cells(frame: pd.DataFrame, removed: BoolArray) -> pd.DataFrame:
    """Return a pandas or polars frame with nothing in some of its cells."""
    if type(frame).__module__.startswith("polars"):
        columns = {
            name: [None if gone else value for value, gone in zip(frame[name], mask, strict=True)]
            for name, mask in zip(frame.columns, removed.T, strict=True)
        }
        return type(frame)(columns, schema=frame.schema)
    whole = {name: float for name, dtype in frame.dtypes.items() if dtype.kind in "iub"}
    return frame.astype(whole).mask(removed)
