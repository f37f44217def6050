"""The kind of table that a model was trained on, and rows of numbers written back as such a table.

:class:`RowFormat` is for tables of numbers, :class:`PlannedFormat` for frames with words: a model
that was trained on a frame (a pipeline with encoders, boosting with categories) is called with
frames of the same columns, types and spellings, made from rows of numbers and codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables import FloatArray, IntArray, TableLike
from absentia.tables.column_plan import ColumnPlan, ReadFrame
from absentia.tables.columns.column import Column
from absentia.tables.columns.readings import ColumnReading
from absentia.tables.frames import (
    frame_of,
    is_polars,
    own_words,
    spelled_numbers,
    typed_column,
    written_cells,
)
from absentia.tables.reading import as_frame
from absentia.tables.stored import Stored, StoredCells, StoredType

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RowFormat(Stored):
    """The kind of table that a model was trained on: array or frame, names and types of columns.

    ``kind`` is "array", "pandas" or "polars", ``names`` are the columns of a frame, ``single`` says
    that an array is float32.
    """

    kind: str
    names: tuple[Any, ...] = ()
    types: tuple[StoredType, ...] = ()
    single: bool = False

    def validate(self) -> None:
        """Raise ValueError unless there is one type per column of a frame."""
        self._require_type("names", tuple)
        self._require_type("types", tuple)
        _require_types(self.types, self.kind)
        known = self.kind in ("array", "pandas", "polars")
        if not known or len(self.types) != len(self.names):
            raise ValueError(f"RowFormat of {self.kind!r} with {len(self.types)} types.")

    @classmethod
    def of(cls, X: TableLike, columns: IntArray | None = None) -> RowFormat:
        """Return the format of a table, or of some of its columns."""
        if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
            return cls("array", single=getattr(X, "dtype", None) == np.float32)
        kind = "polars" if is_polars(X) else "pandas"
        names, dtypes = list(X.columns), list(X.dtypes)
        kept = range(len(names)) if columns is None else columns
        types = (StoredType.of(dtypes[j], kind) for j in kept)
        return cls(kind, tuple(names[j] for j in kept), tuple(types))

    def rows(
        self, values: FloatArray, given: object = None, origin: object = None
    ) -> np.ndarray | pd.DataFrame:
        """Return rows of float64, NaN where missing, in this format.

        ``given`` and ``origin`` are for frames with words. Columns of whole numbers and of booleans
        get the nearest value that their type can hold; where a value is missing they stay float64,
        or null in types that have one.
        """
        if self.kind == "array":
            return values.astype(np.float32 if self.single else np.float64, copy=False)
        return _frame(self.kind, self.names, self.types, list(values.T))


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array or of a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _require_types(types: tuple[StoredType, ...], kind: str) -> None:
    for stored in types:
        if not isinstance(stored, StoredType) or stored.library != kind:
            raise ValueError(f"A format of {kind!r} with a column of another type.")
        stored.validate()


def _frame(
    kind: str, names: tuple[Any, ...], types: tuple[StoredType, ...], cells: list[np.ndarray]
) -> Any:
    polars = kind == "polars"
    made = [typed_column(c, t.dtype(), polars) for c, t in zip(cells, types, strict=True)]
    return frame_of(dict(zip(names, made, strict=True)), polars)


@dataclass(frozen=True, eq=False)
class PlannedFormat(Stored):
    """The kind of frame that a model was trained on, and how numbers and codes become one.

    ``words`` has, for each column of words, the user's own value for each category of the plan, and
    ``constants`` the only value of each column that is left out because it has no other.
    """

    kind: str
    plan: ColumnPlan
    types: tuple[StoredType, ...]
    words: tuple[StoredCells, ...]
    constants: StoredCells

    def validate(self) -> None:
        """Raise ValueError unless there is one entry per column everywhere."""
        self._require_type("plan", ColumnPlan)
        self.plan.validate()
        for name in ("types", "words", "constants"):
            self._require_type(name, StoredCells if name == "constants" else tuple)
            if len(getattr(self, name)) != len(self.plan.names):
                raise ValueError(f"PlannedFormat.{name} must have one entry per column.")
        if self.kind not in ("pandas", "polars"):
            raise ValueError(f"PlannedFormat of {self.kind!r}.")
        _require_types(self.types, self.kind)
        for kept in (*self.words, self.constants):
            if not isinstance(kept, StoredCells):
                raise ValueError(f"PlannedFormat with a {type(kept).__name__} for values.")
            kept.validate()
        for reading, words in zip(self.plan.readings, self.words, strict=True):
            if len(words) and len(words) != len(reading.categories):
                raise ValueError("PlannedFormat.words must be one per category.")

    @classmethod
    def of(cls, X: Any, plan: ColumnPlan) -> PlannedFormat:
        """Return the format of a pandas or polars frame that a plan reads."""
        kind = "polars" if is_polars(X) else "pandas"
        frame = as_frame(X)
        given = {str(name): X[name].dtype for name in X.columns} if hasattr(X, "columns") else {}
        types = (StoredType.of(given.get(name, np.dtype(object)), kind) for name in plan.names)
        words = (StoredCells.of(_own_words(frame, *item)) for item in plan.by_name.items())
        constants = [
            _only_value(frame, name) if reading.left_out else None
            for name, reading in plan.by_name.items()
        ]
        return cls(kind, plan, tuple(types), tuple(words), StoredCells.of(constants))

    def rows(
        self, values: FloatArray, given: ReadFrame | None = None, origin: IntArray | None = None
    ) -> pd.DataFrame:
        """Return rows behind the plan (numbers, codes and indicators) as a frame of this format.

        ``origin`` is the row of the frame ``given`` that each comes from: observed values, and
        columns that the plan leaves out, are written as they were.
        """
        numbers = values * self.plan.scales + self.plan.centres
        if given is not None and origin is not None:
            observed = ~np.isnan(given.own[origin])
            numbers = np.where(observed, given.own[origin], numbers)
        known = {} if given is None else self.plan.later(given.frame)[1]
        cells = []
        for j, (name, places, _) in enumerate(self.plan.groups()):
            own = None
            if given is not None and origin is not None and name in given.frame:
                own = given.frame[name]
            if not places:
                cells.append(self._left_out(j, own, origin, len(values)))
                continue
            words = self.words[j].cells() if len(self.words[j]) else None
            reading = self.plan.readings[j]
            cells.append(written_cells(reading, numbers[:, list(places)], words=words))
            if own is not None and origin is not None:
                cells[-1] = _with_limits(cells[-1], own, origin, known[name])
        return _frame(self.kind, self.plan.names, self.types, cells)

    def _left_out(
        self, j: int, own: pd.Series | None, origin: IntArray | None, n_rows: int
    ) -> np.ndarray:
        import pandas as pd

        cells = np.full(n_rows, None, dtype=object)
        if own is not None:
            cells = own.to_numpy(dtype=object)[origin]
        (constant,) = self.constants.cells()[j : j + 1]  # None where there is no such value
        for row in np.flatnonzero(pd.isna(cells)):
            cells[row] = constant
        return cells


def _own_words(frame: pd.DataFrame, name: str, reading: ColumnReading) -> Any:
    if reading.left_out or name not in frame:
        return [] if reading.left_out else reading.categories
    return own_words(Column(frame[name]), reading)


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
    written = spelled_numbers(cells, reading)
    return np.where(np.isnan(cells), np.where(text, own, None)[origin], written)


def _only_value(frame: pd.DataFrame, name: str) -> Any:
    values = frame[name].dropna().unique() if name in frame else []
    return values[0] if len(values) == 1 else None
