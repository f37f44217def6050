"""The kind of table that a model was trained on, and rows of numbers written back as such a table.

:class:`RowFormat` is for tables of numbers, :class:`PlannedFormat` for frames with words: a model
that was trained on a frame (a pipeline with encoders, boosting with categories) is called with
frames of the same columns, types and spellings, made from rows of numbers and codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.parameters import shown
from absentia.tables import FloatArray, IntArray, TableLike
from absentia.tables.column_plan import ColumnPlan, ReadFrame
from absentia.tables.columns.column import Column
from absentia.tables.columns.dates import TYPED_DATES, parsed_dates
from absentia.tables.columns.readings import ColumnReading
from absentia.tables.reading import as_frame
from absentia.tables.stored import Stored
from absentia.tables.stored_frames import StoredCells, is_type_of_columns

if TYPE_CHECKING:
    import pandas as pd

#: Names of polars' types; an attribute of another name may be anything.
_POLARS_TYPES = frozenset(
    [f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64, 128)]
    + ["Boolean", "Categorical", "Date", "Datetime", "Decimal", "Duration", "Object", "String"]
    + ["Time", "Utf8"]
)


@dataclass(frozen=True, eq=False)
class RowFormat(Stored):
    """The kind of table that a model was trained on: array or frame, names and types of columns.

    Attributes
    ----------
    kind : {"array", "pandas", "polars"}
    names : tuple
        The columns of a frame; empty for an array.
    dtypes : tuple of str
        One per column of a frame, one for an array.
    """

    kind: str
    names: tuple[Any, ...]
    dtypes: tuple[str, ...]

    def validate(self) -> None:
        """Raise ValueError unless there is one type per column of a frame, or one for an array."""
        known = self.kind in ("array", "pandas", "polars")
        self._require_type("names", tuple)
        self._require_type("dtypes", tuple)
        for name in self.dtypes:
            require_type_name(self.kind, name)
        if not known or len(self.dtypes) != (1 if self.kind == "array" else len(self.names)):
            raise ValueError(f"RowFormat of {self.kind!r} with {len(self.dtypes)} types.")

    @classmethod
    def of(cls, X: TableLike, columns: IntArray | None = None) -> RowFormat:
        """Return the format of a table, or of some of its columns."""
        if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
            single = getattr(X, "dtype", None) == np.float32
            return cls("array", (), ("float32" if single else "float64",))
        kind = "polars" if type(X).__module__.startswith("polars") else "pandas"
        # Names and not the types themselves, which a model file could not hold.
        written = str if kind == "polars" else _pandas_name
        names, dtypes = list(X.columns), [written(dtype) for dtype in X.dtypes]
        kept = range(len(names)) if columns is None else columns
        return cls(kind, tuple(names[j] for j in kept), tuple(dtypes[j] for j in kept))

    def rows(
        self, values: FloatArray, given: object = None, origin: object = None
    ) -> np.ndarray | pd.DataFrame:
        """Return rows of float64, NaN where missing, in this format.

        ``given`` and ``origin`` are for frames with words. Columns of whole numbers and of booleans
        get the nearest value that their type can hold; where a value is missing they stay float64,
        or null in types that have one.
        """
        if self.kind == "array":
            return values.astype(self.dtypes[0], copy=False)
        if self.kind == "polars":
            return self._polars_rows(values)
        pandas = import_module("pandas")
        frame = pandas.DataFrame(values, columns=list(self.names))
        casts = {}
        for j, (name, dtype_name) in enumerate(zip(self.names, self.dtypes, strict=True)):
            dtype = pandas.api.types.pandas_dtype(dtype_name)
            kind = getattr(dtype, "kind", "O")
            nullable = not isinstance(dtype, np.dtype)
            absent = np.isnan(values[:, j]) if kind in "iub" else None
            if absent is not None and (nullable or not absent.any()):
                frame[name] = _nearest(values[:, j], kind)
                casts[name] = dtype
            elif kind == "f" and dtype != np.float64:
                casts[name] = dtype
        return frame.astype(casts) if casts else frame

    def _polars_rows(self, values: FloatArray) -> Any:
        polars = import_module("polars")
        frame = polars.DataFrame(values, schema=list(self.names)).fill_nan(None)
        casts = []
        for name, dtype_name in zip(self.names, self.dtypes, strict=True):
            column, dtype = polars.col(name), polars_type(dtype_name)
            if dtype is None:
                continue
            if dtype == polars.Boolean:
                casts.append(column.clip(0.0, 1.0).round() > 0)
            elif dtype.is_integer():
                lowest = 0.0 if dtype.is_unsigned_integer() else None
                casts.append(column.clip(lowest, None).round().cast(dtype))
            elif dtype.is_numeric():
                casts.append(column.cast(dtype))
        return frame.with_columns(casts)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array or of a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def require_type_name(kind: str, name: object) -> None:
    """Raise ValueError for the name of a type that is not in the known list."""
    if kind == "array":
        known = name in ("float32", "float64")
    else:
        known = is_type_of_columns(name) if kind == "pandas" else isinstance(name, str)
    if not known:
        raise ValueError(f"The type {shown(name)} of a column is not known.")


def polars_type(name: str) -> Any:
    """Return the type of polars of that name; None for one with arguments, or not of polars."""
    return getattr(import_module("polars"), name, None) if name in _POLARS_TYPES else None


def _pandas_name(dtype: Any) -> str:
    """Return the name of a type of pandas; "float64" for one that its name does not bring back."""
    name = str(dtype)
    try:
        same = import_module("pandas").api.types.pandas_dtype(name) == dtype
    except TypeError:
        same = False
    return name if same or name == "category" else "float64"


def _nearest(column: FloatArray, kind: str) -> FloatArray:
    """Return the nearest values that whole numbers (i, u) or booleans (b) can hold."""
    bounds = {"b": (0.0, 1.0), "u": (0.0, None), "i": (None, None)}[kind]
    rounded: FloatArray = np.round(column if bounds == (None, None) else np.clip(column, *bounds))
    return rounded


@dataclass(frozen=True, eq=False)
class PlannedFormat(Stored):
    """The kind of frame that a model was trained on, and how numbers and codes become one.

    Attributes
    ----------
    kind : {"pandas", "polars"}
    plan : ColumnPlan
    dtypes : tuple of str
        The type of each column of the frame.
    levels : tuple of StoredCells
        The categories of a column of categorical type, in their order; empty for other types.
    ordered : tuple of bool
        Whether these have an order.
    words : tuple of StoredCells
        For a column of words, the user's own value for each category of the plan.
    constants : StoredCells
        The only value of each column that is left out because it has no other; None elsewhere.
    """

    kind: str
    plan: ColumnPlan
    dtypes: tuple[str, ...]
    levels: tuple[StoredCells, ...]
    ordered: tuple[bool, ...]
    words: tuple[StoredCells, ...]
    constants: StoredCells

    def validate(self) -> None:
        """Raise ValueError unless there is one entry per column everywhere."""
        self._require_type("plan", ColumnPlan)
        self.plan.validate()
        n = len(self.plan.names)
        for name in ("dtypes", "levels", "ordered", "words", "constants"):
            self._require_type(name, StoredCells if name == "constants" else tuple)
            if len(getattr(self, name)) != n:
                raise ValueError(f"PlannedFormat.{name} must have one entry per column.")
        if self.kind not in ("pandas", "polars"):
            raise ValueError(f"PlannedFormat of {self.kind!r}.")
        for dtype in self.dtypes:
            require_type_name(self.kind, dtype)
        for kept in (*self.levels, *self.words, self.constants):
            if not isinstance(kept, StoredCells):
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
            levels.append(StoredCells.of([] if known is None else list(known)))
            ordered.append(bool(getattr(dtype, "ordered", False)))
            words.append(StoredCells.of(_own_words(frame, name, reading)))
            constants.append(_only_value(frame, name) if reading.left_out else None)
        return cls(
            kind,
            plan,
            tuple(dtypes),
            tuple(levels),
            tuple(ordered),
            tuple(words),
            StoredCells.of(constants),
        )

    def rows(
        self, values: FloatArray, given: ReadFrame | None = None, origin: IntArray | None = None
    ) -> pd.DataFrame:
        """Return rows behind the plan (numbers, codes and indicators) as a frame of this format.

        ``origin`` is the row of the frame ``given`` that each comes from: observed values, and
        columns that the plan leaves out, are written as they were.
        """
        import pandas as pd

        numbers = values * self.plan.scales + self.plan.centres
        if given is not None and origin is not None:
            observed = ~np.isnan(given.own[origin])
            numbers = np.where(observed, given.own[origin], numbers)
        known = {} if given is None else self.plan.later(given.frame)[1]
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
            return polars.DataFrame(
                [self._polars_column(j, *column) for j, column in enumerate(columns.items())]
            )
        named = enumerate(columns.items())
        return pd.DataFrame({name: self._pandas_column(j, cells) for j, (name, cells) in named})

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
        self, j: int, name: str, given: ReadFrame | None, origin: IntArray | None, n_rows: int
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
            return pd.Series(_nearest(cells, kind)).astype(dtype) if whole else cells
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
        column = Column(frame[name])
        cells = frame[name].to_numpy(dtype=object)
        seen, first = np.unique(column.codes, return_index=True)
        found = {
            column.distinct[code]: cells[at]
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
