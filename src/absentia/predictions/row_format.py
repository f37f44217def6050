"""The kind of table that a model was trained on, for tables of numbers."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables import FloatArray, IntArray, TableLike
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RowFormat", "nearest"]


@dataclass(frozen=True, eq=False)
class RowFormat(Stored):
    """The kind of table that a model was trained on: array or frame, names and types of columns.

    Attributes
    ----------
    kind : {"array", "pandas", "polars"}
    names : tuple
        Of the columns of a frame, else empty.
    dtypes : tuple
        One per column of a frame; the one type of an array.
    """

    kind: str
    names: tuple[Any, ...]
    dtypes: tuple[Any, ...]

    def validate(self) -> None:
        """Raise ValueError unless there is one type per column of a frame, or one for an array."""
        known = self.kind in ("array", "pandas", "polars")
        self._require_type("names", tuple)
        self._require_type("dtypes", tuple)
        if not known or len(self.dtypes) != (1 if self.kind == "array" else len(self.names)):
            raise ValueError(f"RowFormat of {self.kind!r} with {len(self.dtypes)} types.")

    @classmethod
    def of(cls, X: TableLike, columns: IntArray | None = None) -> RowFormat:
        """Return the format of a table, or of some of its columns."""
        if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
            single = getattr(X, "dtype", None) == np.float32
            return cls("array", (), (np.dtype(np.float32 if single else np.float64),))
        names, dtypes = list(X.columns), list(X.dtypes)
        kept = range(len(names)) if columns is None else columns
        kind = "polars" if type(X).__module__.startswith("polars") else "pandas"
        return cls(kind, tuple(names[j] for j in kept), tuple(dtypes[j] for j in kept))

    def as_array(self) -> RowFormat:
        """Return the format of the same rows as a plain array."""
        return RowFormat("array", (), (np.dtype(np.float64),))

    def rows(
        self, values: FloatArray, given: object = None, origin: object = None
    ) -> np.ndarray | pd.DataFrame:
        """Return rows of float64, NaN where missing, in this format.

        ``given`` and ``origin`` say where rows come from, which only frames with words need.

        Columns of whole numbers and of booleans get the nearest value that their type can hold;
        where a value is missing they stay float64, or null in types that have one.
        """
        if self.kind == "array":
            return values.astype(self.dtypes[0], copy=False)
        if self.kind == "polars":
            return self._polars_rows(values)
        frame = sys.modules["pandas"].DataFrame(values, columns=list(self.names))
        casts = {}
        for j, (name, dtype) in enumerate(zip(self.names, self.dtypes, strict=True)):
            kind = getattr(dtype, "kind", "O")
            nullable = not isinstance(dtype, np.dtype)
            absent = np.isnan(values[:, j]) if kind in "iub" else None
            if absent is not None and (nullable or not absent.any()):
                frame[name] = nearest(values[:, j], kind)
                casts[name] = dtype
            elif kind == "f" and dtype != np.float64:
                casts[name] = dtype
        return frame.astype(casts) if casts else frame

    def _polars_rows(self, values: FloatArray) -> Any:
        polars = sys.modules["polars"]
        frame = polars.DataFrame(values, schema=list(self.names)).fill_nan(None)
        casts = []
        for name, dtype in zip(self.names, self.dtypes, strict=True):
            column = polars.col(name)
            if dtype == polars.Boolean:
                casts.append(column.clip(0.0, 1.0).round() > 0)
            elif dtype.is_integer():
                lowest = 0.0 if dtype.is_unsigned_integer() else None
                casts.append(column.clip(lowest, None).round().cast(dtype))
            elif dtype.is_numeric():
                casts.append(column.cast(dtype))
        return frame.with_columns(casts)


def nearest(column: FloatArray, kind: str) -> FloatArray:
    """Return the nearest values that whole numbers (i, u) or booleans (b) can hold."""
    bounds = {"b": (0.0, 1.0), "u": (0.0, None), "i": (None, None)}[kind]
    rounded: FloatArray = np.round(column if bounds == (None, None) else np.clip(column, *bounds))
    return rounded
