"""Frames with words, written back for a model: from numbers behind a plan to the user's own values.

A model that was trained on a frame (a pipeline with encoders, boosting with categories) is asked
about frames of the same kind: the same columns, types and spellings. :class:`PlannedFormat` makes
them from rows of numbers and codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.predictions.row_format import nearest, polars_type, require_type_name
from absentia.tables import FloatArray, IntArray, Table, TableLike
from absentia.tables.column_plan import ColumnPlan, fill_columns
from absentia.tables.columns.column_readings import TYPED_DATES, ColumnReading
from absentia.tables.columns.words import Words, parsed_dates
from absentia.tables.kept_frames import KeptObjects
from absentia.tables.reading import as_frame
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FrameRows", "PlannedFormat"]


@dataclass(frozen=True, eq=False)
class FrameRows:
    """A frame that was read by a plan.

    Attributes
    ----------
    frame : pandas.DataFrame
        As it was given.
    table : Table
        What it became.
    own : ndarray of shape (n_samples, n_features)
        The same before standard units: observed numbers to the last bit.
    """

    frame: pd.DataFrame
    table: Table
    own: FloatArray

    @classmethod
    def of(cls, X: TableLike, plan: ColumnPlan, *, new: bool = True) -> FrameRows:
        """Read a frame; ``new`` says that it is not the frame of training."""
        frame = as_frame(X)
        if not hasattr(X, "columns") and frame.shape[1] == len(plan.names):
            frame.columns = list(plan.names)  # an array of the same columns
        table = plan.read(X, new=new)
        readings = plan.readings_of(frame)
        absent = [name for name in plan.names if name not in frame.columns]
        return cls(frame, table, fill_columns(frame, readings, absent, codes=plan.codes))


@dataclass(frozen=True, eq=False)
class PlannedFormat(Stored):
    """The kind of frame that a model was trained on, and how numbers and codes become one.

    Attributes
    ----------
    kind : {"pandas", "polars"}
    plan : ColumnPlan
    dtypes : tuple of str
        The type of each column of the frame.
    levels : tuple of KeptObjects
        The categories of a column of categorical type, in their order; empty for other types.
    ordered : tuple of bool
        Whether these have an order.
    words : tuple of KeptObjects
        For a column of words, the user's own value for each category of the plan.
    constants : KeptObjects
        The only value of each column that is left out because it has no other; None elsewhere.
    """

    kind: str
    plan: ColumnPlan
    dtypes: tuple[str, ...]
    levels: tuple[KeptObjects, ...]
    ordered: tuple[bool, ...]
    words: tuple[KeptObjects, ...]
    constants: KeptObjects

    def validate(self) -> None:
        """Raise ValueError unless there is one entry per column everywhere."""
        self._require_type("plan", ColumnPlan)
        self.plan.validate()
        n = len(self.plan.names)
        for name in ("dtypes", "levels", "ordered", "words", "constants"):
            self._require_type(name, KeptObjects if name == "constants" else tuple)
            if len(getattr(self, name)) != n:
                raise ValueError(f"PlannedFormat.{name} must have one entry per column.")
        if self.kind not in ("pandas", "polars"):
            raise ValueError(f"PlannedFormat of {self.kind!r}.")
        for dtype in self.dtypes:
            require_type_name(self.kind, dtype)
        for kept in (*self.levels, *self.words, self.constants):
            if not isinstance(kept, KeptObjects):
                raise ValueError(f"PlannedFormat with a {type(kept).__name__} for values.")
            kept.validate()
        for reading, words in zip(self.plan.readings, self.words, strict=True):
            if len(words) and len(words) != len(reading.categories):
                raise ValueError("PlannedFormat.words must be one per category.")

    @classmethod
    def of(cls, X: Any, plan: ColumnPlan) -> PlannedFormat:
        """Return the format of a pandas or polars frame that a plan reads."""
        kind = "polars" if type(X).__module__.startswith("polars") else "pandas"
        frame = as_frame(X)
        given = {str(name): X[name].dtype for name in X.columns} if hasattr(X, "columns") else {}
        dtypes, levels, ordered, words, constants = [], [], [], [], []
        for name, reading in zip(plan.names, plan.readings, strict=True):
            dtype = given.get(name, np.dtype(object))
            known = getattr(dtype, "categories", None)
            dtypes.append(type(dtype).__name__ if kind == "polars" else str(dtype))
            levels.append(KeptObjects.of_cells([] if known is None else list(known)))
            ordered.append(bool(getattr(dtype, "ordered", False)))
            words.append(KeptObjects.of_cells(_own_words(frame, name, reading)))
            constants.append(_only_value(frame, name) if reading.left_out else None)
        return cls(
            kind,
            plan,
            tuple(dtypes),
            tuple(levels),
            tuple(ordered),
            tuple(words),
            KeptObjects.of_cells(constants),
        )

    def rows(
        self, values: FloatArray, given: FrameRows | None = None, origin: IntArray | None = None
    ) -> pd.DataFrame:
        """Return rows behind the plan as a frame of this format.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_features)
            Numbers in standard units and codes or indicators, NaN where missing.
        given : FrameRows, optional
            The frame that the rows come from; what was observed there is written as it was, and so
            are columns that the plan leaves out.
        origin : ndarray of int, shape (n_rows,), optional
            Which of its rows each comes from.
        """
        import pandas as pd

        numbers = values * self.plan.scales + self.plan.centres
        if given is not None and origin is not None:
            observed = ~np.isnan(given.own[origin])
            numbers = np.where(observed, given.own[origin], numbers)
        known = {} if given is None else self.plan.readings_of(given.frame)
        columns = {}
        for j, (name, places, _) in enumerate(self.plan.groups()):
            reading = self.plan.readings[j]
            if places:
                columns[name] = self._written(j, reading, numbers[:, list(places)])
                if given is not None and origin is not None and name in given.frame:
                    own = known[name]
                    columns[name] = _with_limits(columns[name], given.frame[name], origin, own)
            else:
                columns[name] = self._left_out(j, name, given, origin, len(values))
        if self.kind == "polars":
            polars = import_module("polars")
            made = [
                self._polars_column(j, name, cells)
                for j, (name, cells) in enumerate(columns.items())
            ]
            return polars.DataFrame(made)
        typed = {
            name: self._pandas_column(j, cells) for j, (name, cells) in enumerate(columns.items())
        }
        return pd.DataFrame(typed)

    def _written(self, j: int, reading: ColumnReading, numbers: FloatArray) -> np.ndarray:
        """Return the cells of a column as the user writes them."""
        missing = np.atleast_1d(np.isnan(numbers).any(axis=1))
        if reading.categories:
            if numbers.shape[1] > 1:
                codes = np.where(missing[:, None], 0.0, numbers).argmax(axis=1)
            else:
                last = len(reading.categories) - 1
                codes = np.clip(np.round(np.nan_to_num(numbers[:, 0])), 0, last).astype(np.intp)
            own = np.empty(len(reading.categories) + 1, dtype=object)
            own[:-1] = self.words[j].cells()
            own[-1] = None
            cells: np.ndarray = own[np.where(missing, len(own) - 1, codes)]
            return cells
        return numbers[:, 0] if reading.kind == "number" else _dates(reading, numbers[:, 0])

    def _left_out(
        self, j: int, name: str, given: FrameRows | None, origin: IntArray | None, n_rows: int
    ) -> np.ndarray:
        import pandas as pd

        cells = np.full(n_rows, None, dtype=object)
        if given is not None and origin is not None and name in given.frame:
            cells = given.frame[name].to_numpy(dtype=object)[origin]
        (constant,) = self.constants.cells()[j : j + 1]  # None where there is no such value
        for row in np.flatnonzero(pd.isna(cells)):
            cells[row] = constant
        return cells

    def _pandas_column(self, j: int, cells: np.ndarray) -> pd.Series:
        import pandas as pd

        name = self.dtypes[j]
        if name == "category":
            levels = self.levels[j].cells().tolist() or None
            if cells.dtype.kind == "f" and levels is not None:  # categories that are numbers
                return pd.Categorical.from_codes(
                    _nearest_level(cells, levels), categories=levels, ordered=self.ordered[j]
                )
            return pd.Categorical(cells, categories=levels, ordered=self.ordered[j])
        dtype = pd.api.types.pandas_dtype(name)
        if cells.dtype.kind != "f":
            if getattr(dtype, "kind", "O") in "iufb":  # left out, or words that are numbers
                return pd.Series(cells).convert_dtypes().astype(dtype, errors="ignore")
            if getattr(dtype, "tz", None) is not None:
                return parsed_dates(pd.Series(cells)).dt.tz_localize("UTC").astype(dtype)
            return pd.Series(cells, dtype=dtype)
        kind = getattr(dtype, "kind", "O")
        if kind in "iub":
            whole = not isinstance(dtype, np.dtype) or not np.isnan(cells).any()
            return pd.Series(nearest(cells, kind)).astype(dtype) if whole else cells
        return pd.Series(cells, dtype=dtype if kind == "f" else np.float64)

    def _polars_column(self, j: int, name: str, cells: np.ndarray) -> Any:
        polars = import_module("polars")
        dtype = self.dtypes[j]
        if dtype == "Enum":
            return polars.Series(
                name, list(cells), dtype=polars.Enum(self.levels[j].cells().tolist())
            )
        wanted = polars_type(dtype)
        if cells.dtype.kind != "f":
            series = polars.Series(name, list(cells))
            return series if wanted is None or series.is_null().all() else series.cast(wanted)
        series = polars.Series(name, cells).fill_nan(None)
        if wanted is not None and wanted.is_integer():
            lowest = 0.0 if wanted.is_unsigned_integer() else None
            return series.clip(lowest, None).round().cast(wanted)
        return series.cast(wanted) if wanted is not None and wanted.is_numeric() else series


def _nearest_level(numbers: FloatArray, levels: list[Any]) -> IntArray:
    """Return which of some levels is nearest to each number, -1 where it is missing."""
    known = np.array(levels, dtype=np.float64)
    nearest_one = np.abs(np.nan_to_num(numbers)[:, None] - known).argmin(axis=1)
    return np.where(np.isnan(numbers), -1, nearest_one)


def _own_words(frame: pd.DataFrame, name: str, reading: ColumnReading) -> tuple[Any, ...]:
    """Return how the user writes each category: as in the frame, else as the plan has it."""
    if reading.left_out or not reading.categories:
        return ()
    found: dict[str, Any] = {}
    if name in frame:
        words = Words(frame[name])
        cells = frame[name].to_numpy(dtype=object)
        seen, first = np.unique(words.codes, return_index=True)
        found = {
            words.distinct[code]: cells[at]
            for code, at in zip(seen, first, strict=True)
            if code >= 0
        }
    return tuple(found.get(word, word) for word in reading.categories)


def _with_limits(
    cells: np.ndarray, given: Any, origin: IntArray, reading: ColumnReading
) -> np.ndarray:
    """Return numbers of a column of text as text; a limit such as ``<0.5`` stays where it was.

    They have the decimal sign and the unit of the column: the model also sees complete rows, which
    are written as the user does.
    """
    if cells.dtype.kind != "f" or given.dtype.kind in "iufb" or hasattr(given, "cat"):
        return cells
    own = given.to_numpy(dtype=object)
    text = np.array([isinstance(value, str) for value in own])
    if not text.any():
        return cells
    unit = f" {reading.unit}" if reading.unit else ""
    written = np.array(
        [repr(float(cell)).replace(".", reading.decimal) + unit for cell in cells], dtype=object
    )
    return np.where(np.isnan(cells), np.where(text, own, None)[origin], written)


def _only_value(frame: pd.DataFrame, name: str) -> Any:
    values = frame[name].dropna().unique() if name in frame else []
    return values[0] if len(values) == 1 else None


def _dates(reading: ColumnReading, days: FloatArray) -> np.ndarray:
    """Return days as dates or durations, written as text where they were text."""
    import pandas as pd

    moments = pd.Series(reading.restored(days))
    if reading.kind == "date" and reading.date_formats and TYPED_DATES not in reading.date_formats:
        first = reading.date_formats[0]
        spelling = first if first.startswith("%") else "%Y-%m-%d"
        written = moments.dt.strftime(spelling)
        return written.where(moments.notna(), None).to_numpy(dtype=object)
    # As objects: a column of dates would keep NaT, which polars does not take.
    return moments.astype(object).where(moments.notna(), None).to_numpy(dtype=object)
