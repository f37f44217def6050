"""Columns and cells of pandas and polars frames, written in the types that the frames have."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables.columns.column import Column
from absentia.tables.columns.dates import TYPED_DATES, parsed_dates
from absentia.tables.columns.readings import ColumnReading
from absentia.tables.phrases import frames_of_absentia, listed
from absentia.tables.reading import BoolArray, FloatArray, IntArray, is_polars

if TYPE_CHECKING:
    import pandas as pd


def frame_of(columns: dict[Any, Any], polars: bool = False) -> Any:
    """Return a pandas or polars frame of columns."""
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
        series = polars.Series(cells if cells.dtype.kind in "mM" else list(cells))
        if dtype is None or series.is_null().all():
            return series
        if getattr(dtype, "time_zone", None) is not None:
            series = series.cast(polars.Datetime(dtype.time_unit)).dt.replace_time_zone("UTC")
        return series.cast(dtype)
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


def written_cells(
    reading: ColumnReading,
    numbers: FloatArray,
    as_numbers: bool = True,
    words: np.ndarray | None = None,
) -> np.ndarray:
    """Return encoded rows of a column, (n_rows, width), as the user's cells.

    Numbers with NaN where missing, otherwise objects with None: the words of categories (by default
    as the plan has them), dates and durations, dates that were text as text. Without ``as_numbers``
    numbers are values of the support of their column.
    """
    import pandas as pd

    if reading.kind == "number":
        return numbers[:, 0] if as_numbers else reading.support.nearest(numbers[:, 0])
    missing = np.isnan(numbers).any(axis=1)
    if reading.categories:
        words = np.array(reading.categories, dtype=object) if words is None else words
        cells = words[reading.nearest_code(numbers)]
    else:
        moments = pd.Series(reading.restored(numbers[:, 0]))
        spelling = reading.date_formats[0] if reading.date_formats else TYPED_DATES
        if reading.kind == "date" and spelling != TYPED_DATES:
            moments = moments.dt.strftime(spelling if spelling.startswith("%") else "%Y-%m-%d")
        elif not missing.any():
            return moments.to_numpy()
        # As objects: a column of dates would keep NaT, which polars does not take.
        cells = moments.astype(object).to_numpy(copy=True)
    cells[missing] = None
    return cells


def own_words(column: Column, reading: ColumnReading) -> np.ndarray:
    """Return how the user writes each category: as in the column, else as the plan has it."""
    cells = column.series.to_numpy(dtype=object)
    seen, first = np.unique(column.codes, return_index=True)
    places = zip(seen, first, strict=True)
    found = {column.distinct[code]: cells[at] for code, at in places if code >= 0}
    out = np.empty(len(reading.categories), dtype=object)
    out[:] = [found.get(word, word) for word in reading.categories]
    return out


def completed_frames(
    given: Any,
    frame: pd.DataFrame,
    columns: Mapping[str, Column],
    readings: Mapping[str, ColumnReading],
    numbers: Mapping[str, FloatArray],
    as_numbers: bool,
) -> list[Any]:
    """Return copies of a frame whose missing values are replaced by encoded numbers.

    ``frame`` is the frame in pandas, ``columns`` and ``readings`` are its columns and how they are
    read, ``numbers`` the values of each column that is read, (n_tables, n_rows, width). Columns
    that the frame lacks are added.
    """
    polars = is_polars(given)
    names = {str(name): name for name in given.columns}
    absent = [name for name in numbers if name not in names]
    if absent:
        names = {n: names.get(n, n) for n in readings if n in names or n in absent} | names
    out: list[dict[Any, Any]] = [{} for _ in next(iter(numbers.values()))]
    unread = [n for n in columns if n not in numbers and frame[n].isna().any()]
    for name, own in names.items():
        if name not in numbers:
            for table in out:
                table[own] = given[own]
            continue
        reading = readings[name]
        column = columns.get(name)
        words = own_words(column, reading) if column is not None and reading.categories else None
        missing = np.ones(len(frame), dtype=bool) if column is None else reading.missing(column)
        if column is not None and reading.categories:
            missing |= np.isnan(reading.values(column, codes=True)[:, 0])
        for table, values in zip(out, numbers[name], strict=True):
            cells = written_cells(reading, values, as_numbers, words)
            if column is None:
                table[own] = cells if polars else type(frame[frame.columns[0]])(cells, frame.index)
            else:
                table[own] = _filled_column(given[own], column, reading, cells, missing, as_numbers)
    if unread:
        warnings.warn(
            f"Columns that the density does not use come back as they were: {listed(unread)}.",
            stacklevel=frames_of_absentia(),
        )
    if polars:
        return [type(given)(table) for table in out]
    return [type(given)(table).rename_axis(columns=given.columns.name) for table in out]


def _filled_column(
    given: Any,
    column: Column,
    reading: ColumnReading,
    cells: np.ndarray,
    missing: BoolArray,
    as_numbers: bool,
) -> Any:
    """Return a column with some of its cells replaced, in its own type."""
    polars = is_polars(given)
    if as_numbers and reading.kind == "number":
        read = reading.values(column)[:, 0]
        filled = np.where(missing, cells, read)
        return type(given)(filled) if polars else type(given)(filled, index=given.index)
    if not missing.any():
        return given
    typed = reading.kind != "number" or not column.is_text or hasattr(column.series, "cat")
    if not typed and any(isinstance(cell, str) for cell in column.series):
        cells = spelled_numbers(cells, reading)
    new = typed_column(cells[missing], given.dtype, polars)
    if polars:
        if new.dtype != given.dtype:
            new = new.cast(given.dtype)
        return given.scatter(np.flatnonzero(missing), new)
    filled = given.copy()
    filled.iloc[np.flatnonzero(missing)] = np.asarray(new) if filled.dtype == object else new
    return filled


def spelled_numbers(numbers: FloatArray, reading: ColumnReading) -> np.ndarray:
    """Return numbers as text with the decimal sign and the unit of their column."""
    unit = f" {reading.unit}" if reading.unit else ""
    texts = [repr(float(number)).replace(".", reading.decimal) + unit for number in numbers]
    return np.array(texts, dtype=object)


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
        gone = "is_null" if polars else "isna"
        with suppress(Exception):  # each library has its own errors for what a type cannot hold
            same = made.cast(column.dtype) if polars else made.astype(column.dtype)
            made = same if (getattr(same, gone)() == getattr(made, gone)()).all() else made
        columns[name] = made if polars else made.set_axis(frame.index)
    return type(frame)(columns)


def without_cells(frame: pd.DataFrame, removed: BoolArray) -> pd.DataFrame:
    """Return a pandas or polars frame with nothing in some of its cells."""
    if is_polars(frame):
        polars = import_module("polars")
        return frame.with_columns(
            polars.when(polars.lit(polars.Series(kept))).then(column)
            for kept, column in zip(~removed.T, map(polars.col, frame.columns), strict=True)
        )
    whole = {
        name: float
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind in "iub"
    }
    return frame.astype(whole).mask(removed)
