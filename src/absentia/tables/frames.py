"""Columns and cells of pandas and polars frames, written in the types that the frames have."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables.columns.dates import parsed_dates
from absentia.tables.reading import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


def is_polars(frame: Any) -> bool:
    """Return whether a frame is one of polars."""
    return type(frame).__module__.startswith("polars")


def frame_of(columns: dict[Any, Any], polars: bool) -> Any:
    """Return a frame of columns that :func:`typed_column` made."""
    return import_module("polars" if polars else "pandas").DataFrame(columns)


def typed_column(cells: np.ndarray, dtype: Any, polars: bool) -> Any:
    """Return cells as a column of a type: numbers with NaN where missing, or objects with None.

    Whole numbers, booleans and categories that are numbers get the nearest value that the type can
    hold. A type of NumPy that has no missing values stays float64 where one is missing.
    """
    make = _polars_column if polars else _pandas_column
    return make(cells, dtype)


def _pandas_column(cells: np.ndarray, dtype: Any) -> Any:
    import pandas as pd

    kind = getattr(dtype, "kind", "O")
    numbers = cells.dtype.kind == "f"
    if isinstance(dtype, pd.CategoricalDtype):
        if numbers and dtype.categories is not None and len(dtype.categories):
            return pd.Categorical.from_codes(_nearest_level(cells, dtype.categories), dtype=dtype)
        return pd.Categorical(cells, dtype=dtype)
    if numbers and kind in "iub":
        whole = not isinstance(dtype, np.dtype) or not np.isnan(cells).any()
        return pd.Series(_nearest(cells, kind)).astype(dtype) if whole else pd.Series(cells)
    if numbers:
        return pd.Series(cells, dtype=dtype if kind == "f" else np.float64)
    if kind in "iufb":  # objects that are numbers
        return pd.Series(cells).convert_dtypes().astype(dtype, errors="ignore")
    if getattr(dtype, "tz", None) is not None:
        return parsed_dates(pd.Series(cells), utc=True).astype(dtype)
    return pd.Series(cells, dtype=dtype)


def _polars_column(cells: np.ndarray, dtype: Any) -> Any:
    polars = import_module("polars")
    if cells.dtype.kind != "f":
        if dtype is not None and dtype.base_type() == polars.Enum:
            return polars.Series(list(cells), dtype=dtype)
        series = polars.Series(list(cells))
        return series if dtype is None or series.is_null().all() else series.cast(dtype)
    if dtype is None or not (dtype.is_numeric() or dtype == polars.Boolean):
        return polars.Series(cells).fill_nan(None)
    kind = "b" if dtype == polars.Boolean else "u" if dtype.is_unsigned_integer() else "i"
    whole = dtype.is_integer() or kind == "b"
    series = polars.Series(_nearest(cells, kind) if whole else cells).fill_nan(None)
    return series > 0 if kind == "b" else series.cast(dtype)


def _nearest(column: FloatArray, kind: str) -> FloatArray:
    """Return the nearest values that whole numbers (i, u) or booleans (b) can hold."""
    lowest, highest = {"b": (0.0, 1.0), "u": (0.0, np.inf), "i": (-np.inf, np.inf)}[kind]
    return np.rint(np.clip(column, lowest, highest))


def _nearest_level(numbers: FloatArray, levels: Any) -> IntArray:
    """Return which of some levels is nearest to each number, -1 where it is missing."""
    known = np.array(levels, dtype=np.float64)
    nearest_one = np.abs(np.nan_to_num(numbers)[:, None] - known).argmin(axis=1)
    return np.where(np.isnan(numbers), -1, nearest_one)


def holds_numbers_only(frame: pd.DataFrame) -> bool:
    """Return whether all columns of a pandas or polars frame are numeric."""
    if is_polars(frame):
        return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in frame.dtypes)
    return all(dtype.kind in "iufb" for dtype in frame.dtypes)


def with_cells(frame: pd.DataFrame, values: np.ndarray, filled: BoolArray) -> pd.DataFrame:
    """Return a pandas or polars frame with ``values`` in the cells that are ``filled``.

    A column keeps its type where that can hold the values.
    """
    polars, columns = is_polars(frame), {}
    for j, name in enumerate(frame.columns):
        columns[name] = column = frame[name]
        if not filled[:, j].any():
            continue
        cells = np.empty(len(column), dtype=object)
        cells[:] = list(column)
        cells[filled[:, j]] = values[filled[:, j], j]
        made = type(column)(list(cells))
        try:
            same = made.cast(column.dtype) if polars else made.astype(column.dtype)
            kept = (
                same.is_null().eq(made.is_null()).all()
                if polars
                else same.isna().equals(made.isna())
            )
            made = same if kept else made
        except Exception:  # each library has its own errors for values that a type cannot hold
            pass
        columns[name] = made if polars else made.set_axis(frame.index)
    return type(frame)(columns)


def without_cells(frame: pd.DataFrame, removed: BoolArray) -> pd.DataFrame:
    """Return a pandas or polars frame with nothing in some of its cells."""
    if is_polars(frame):
        polars = import_module("polars")
        masks = [polars.lit(polars.Series(gone)) for gone in removed.T]
        columns = map(polars.col, frame.columns)
        return frame.with_columns(
            polars.when(gone).then(None).otherwise(column).name.keep()
            for gone, column in zip(masks, columns, strict=True)
        )
    whole = {
        name: float
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind in "iub"
    }
    return frame.astype(whole).mask(removed)
