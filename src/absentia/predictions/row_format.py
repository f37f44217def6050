"""The kind of table that a model was trained on, for tables of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.parameters import shown
from absentia.tables import FloatArray, IntArray, TableLike
from absentia.tables.kept_frames import is_type_of_columns
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RowFormat", "nearest"]


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
        Of the columns of a frame, else empty.
    dtypes : tuple of str
        One per column of a frame; the one type of an array.
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

    def as_array(self) -> RowFormat:
        """Return the format of the same rows as a plain array."""
        return RowFormat("array", (), ("float64",))

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
        pandas = import_module("pandas")
        frame = pandas.DataFrame(values, columns=list(self.names))
        casts = {}
        for j, (name, dtype_name) in enumerate(zip(self.names, self.dtypes, strict=True)):
            dtype = pandas.api.types.pandas_dtype(dtype_name)
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


def require_type_name(kind: str, name: object) -> None:
    """Raise ValueError for the name of a type that nobody should be asked to look up."""
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


def nearest(column: FloatArray, kind: str) -> FloatArray:
    """Return the nearest values that whole numbers (i, u) or booleans (b) can hold."""
    bounds = {"b": (0.0, 1.0), "u": (0.0, None), "i": (None, None)}[kind]
    rounded: FloatArray = np.round(column if bounds == (None, None) else np.clip(column, *bounds))
    return rounded
