"""Values that can be stored in a model file: dataclasses that validate their fields, and frames.

Compiled loops trust shapes, types and indices, so a value must be consistent before they compute
with it. :func:`absentia.load` validates every :class:`Stored` value of a file, and callers of
compiled code validate again (:meth:`Stored.ensure_valid`), wherever the value came from. Values do
not change, so that costs time once for each of them.

The state of a pandas frame goes through pickling. Here every column becomes arrays of numbers and
text, from which the same column is made again: the same type and, cell by cell, the same values.
Cells of other kinds (lists, objects of a user's own) stay as they are; they serve in memory, and
:func:`absentia.save` refuses them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from absentia.parameters import shown
from absentia.tables.reading import IntArray

if TYPE_CHECKING:
    import pandas as pd

#: Attribute of a value that is known to be valid: no field, so that no file can set it.
_VALID = "_is_valid"


#: Names of NumPy's types of numbers and dates, with a time zone or without.
_NUMBERS = re.compile(
    r"bool|complex(64|128)|u?int(8|16|32|64)|float(16|32|64)|(datetime64|timedelta64)\[(s|ms|us|ns)\]"
    r"|datetime64\[(s|ms|us|ns), (?!dateutil)[A-Za-z0-9_+:/-]{1,50}\]"
)
#: Names of the types of columns that are stored cell by cell.
_OBJECTS = re.compile(
    r"object|str|string(\[(python|pyarrow)\])?|boolean|U?Int(8|16|32|64)|Float(32|64)"
    r"|(bool|u?int(8|16|32|64)|float|double|large_string|date32\[day\])\[pyarrow\]"
    r"|interval\[(int64|float64|datetime64\[(s|ms|us|ns)\]), (right|left|both|neither)\]"
    r"|period\[[A-Z]{1,3}(-[A-Z]{3})?\]"
    r"|Sparse\[(bool|u?int(8|16|32|64)|float(32|64)), (nan|False|True|0|0\.0)\]"
)
#: Names of polars' types; an attribute of another name may be anything.
_POLARS_TYPES = frozenset(
    [f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64, 128)]
    + ["Boolean", "Categorical", "Date", "Datetime", "Decimal", "Duration", "Object", "String"]
    + ["Time", "Utf8"]
)

Value = TypeVar("Value", bound="Stored")


class InconsistentError(ValueError):
    """Fitted attributes of a model that are inconsistent with each other, whatever the rows."""


class Stored(ABC):
    """Base of the dataclasses that fitted models carry."""

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: what was computed from them is computed again."""
        return {name: getattr(self, name) for name in self._field_names()}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the fields; anything else might pass for a value that was computed from them."""
        expected = {field.name for field in fields(self)}  # type: ignore[arg-type]
        if not isinstance(state, dict) or set(state) != expected:
            raise ValueError(
                f"{type(self).__name__} must have the fields {', '.join(sorted(expected))} and no "
                f"others, found {', '.join(sorted(state)) or 'none'}."
            )
        self.__dict__.update(state)

    @abstractmethod
    def validate(self) -> None:
        """Raise ValueError unless the fields have the right types, shapes and ranges."""

    def ensure_valid(self) -> None:
        """Raise what :meth:`validate` raises, unless this value is known to be valid.

        Called before compiled code. A value is known to be valid when it was validated before, or
        was made from valid values in a way that keeps them so (:func:`assume_valid`).
        """
        if _VALID not in self.__dict__:
            self.validate()
            self.__dict__[_VALID] = True

    @classmethod
    def _field_names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    def _require_array(
        self, name: str, dtype: np.typing.DTypeLike, shape: tuple[int | None, ...]
    ) -> None:
        require_array(f"{type(self).__name__}.{name}", getattr(self, name), dtype, shape)

    def _require_indices(self, name: str, size: int) -> None:
        indices = getattr(self, name)
        if indices.size and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(
                f"{type(self).__name__}.{name} must lie between 0 and {size - 1}, found "
                f"{indices.min()} to {indices.max()}."
            )

    def _require_finite(self, name: str) -> None:
        if not np.isfinite(getattr(self, name)).all():
            raise ValueError(f"{type(self).__name__}.{name} must be finite, found NaN or infinity.")

    def _require_type(self, name: str, kind: type) -> None:
        self._require_types(kind, name)

    def _require_types(self, kind: type, *names: str, entries: type = object) -> None:
        """Raise ValueError unless fields are of a type, and entries of a tuple of another."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ValueError(
                    f"{type(self).__name__}.{name} must be a {kind.__name__}, found "
                    f"{type(value).__name__}."
                )
            for entry in getattr(self, name) if kind is tuple else ():
                if not isinstance(entry, entries):
                    raise ValueError(
                        f"{type(self).__name__}.{name} must hold values of {entries.__name__}, "
                        f"found {type(entry).__name__}."
                    )
                if isinstance(entry, Stored):
                    entry.ensure_valid()


def assume_valid(value: Value, *sources: Stored) -> Value:
    """Return a value, known to be valid if all that it was made from are.

    For values that are consistent by the way they are made: checking one new row again would take
    as long as comparing it with hundreds of others.
    """
    if all(_VALID in source.__dict__ for source in sources):
        value.__dict__[_VALID] = True
    return value


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the same array, no longer to be written to."""
    array.setflags(write=False)
    return array


def require_array(
    name: str, value: object, dtype: np.typing.DTypeLike, shape: tuple[int | None, ...]
) -> None:
    """Raise ValueError unless a value is an array of that type and shape; None fits any length."""
    if isinstance(value, np.ndarray):
        fits = len(shape) == value.ndim
        for wanted, length in zip(shape, value.shape, strict=False):
            fits &= wanted is None or wanted == length
        # joblib maps the arrays of a model into memory; a masked array hides what it holds.
        is_plain = type(value) in (np.ndarray, np.memmap)
        if fits and value.dtype == np.dtype(dtype) and is_plain:
            return
        plain = "" if is_plain else f"{type(value).__name__} of "
        found = f"{plain}{value.dtype} of shape {value.shape}"
    else:
        found = type(value).__name__
    wanted_shape = str(shape).replace("None", "any")
    raise ValueError(
        f"{name} must be a {np.dtype(dtype)} array of shape {wanted_shape}, found {found}."
    )


@dataclass(frozen=True, eq=False)
class StoredCells(Stored):
    """Text or Python's objects, each different one stored once.

    ``codes`` say which of the different objects each row has. ``kinds`` are their types, and
    ``texts`` how they are written (:func:`_spellings`), or the objects themselves where the kind is
    ``"other"``.
    """

    codes: IntArray
    kinds: np.ndarray
    texts: np.ndarray

    def validate(self) -> None:
        """Raise ValueError unless every code has an object of a known kind."""
        for part, types in ((self.kinds, "U"), (self.texts, "UO")):
            if not (isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in types):
                raise ValueError("StoredCells must have text in one dimension.")
        if not set(self.kinds.tolist()) <= {*_spellings(), "other"}:
            raise ValueError("StoredCells of a kind that is not known.")
        if len(self.kinds) != len(self.texts) or not all(
            isinstance(text, str) for text in self.texts[self.kinds != "other"]
        ):
            raise ValueError("StoredCells must have one text per kind.")
        _require_codes(self.codes, 0, len(self.texts))

    @classmethod
    def of(cls, cells: Sequence[Any] | np.ndarray) -> StoredCells:
        """Store objects of any kind."""
        codes, found = np.empty(len(cells), dtype=np.intp), dict[Any, tuple[int, str, Any]]()
        for row, cell in enumerate(cells):
            kind, written = _written(cell)
            key = kind, written if kind != "other" else id(cell)
            codes[row] = found.setdefault(key, (len(found), kind, written))[0]
        kinds = np.array([kind for _, kind, _ in found.values()], dtype=np.str_)
        texts = _objects([written for _, _, written in found.values()])
        return cls(codes, kinds, texts if (kinds == "other").any() else texts.astype(np.str_))

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> np.ndarray:
        """Return the objects, shape (n_rows,)."""
        pairs = zip(self.kinds.tolist(), self.texts.tolist(), strict=True)
        cells = [text if kind == "other" else _spellings()[kind][1](text) for kind, text in pairs]
        found: np.ndarray = _objects(cells)[self.codes]
        return found


@dataclass(frozen=True, eq=False)
class StoredType(Stored):
    """The type of a column of pandas or polars, by its name and the levels of categories."""

    library: str
    name: str
    levels: StoredColumn | None = None
    ordered: bool = False

    def validate(self) -> None:
        """Raise ValueError for a name that is not in the known list.

        Others are not looked up: a name can ask for gigabytes ("S100000000") or a file
        ("dateutil/").
        """
        known = isinstance(self.name, str) and self.library == "polars"
        if self.library == "pandas" and isinstance(self.name, str):
            known = self.name == "category" or bool(
                _NUMBERS.fullmatch(self.name) or _OBJECTS.fullmatch(self.name)
            )
        if not known:
            raise ValueError(f"The type {shown(self.name)} of a column is not known.")
        if self.levels is not None:
            self._require_type("levels", StoredColumn)
            self.levels.ensure_valid()
        try:
            self.dtype()
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"A column of the type {self.name!r}: {error}") from error

    @classmethod
    def of(cls, dtype: Any, library: str) -> StoredType:
        """Store a type; one that its name does not bring back is "object"."""
        pandas = import_module("pandas")
        name, levels = str(dtype), getattr(dtype, "categories", None)
        stored = None if levels is None else StoredColumn.of(pandas.Series(list(levels)))
        if library == "polars":
            return cls(library, type(dtype).__name__, stored)
        if isinstance(dtype, pandas.CategoricalDtype):
            if levels is not None:
                stored = StoredColumn.of(levels.to_series())
            return cls(library, "category", stored, bool(dtype.ordered))
        if isinstance(dtype, pandas.StringDtype) and dtype.na_value is pandas.NA:
            name = f"string[{dtype.storage}]"
        try:
            same = pandas.api.types.pandas_dtype(name) == dtype
        except TypeError:
            same = False
        return cls(library, name if same else "object")

    def dtype(self) -> Any:
        """Return the type; None for one of polars that needs arguments."""
        library = import_module(self.library)
        levels = None if self.levels is None else self.levels.series()
        if self.library == "polars":
            if self.name == "Enum" and levels is not None:
                return library.Enum(levels.tolist())
            return getattr(library, self.name)() if self.name in _POLARS_TYPES else None
        if self.name == "category":
            return library.CategoricalDtype(levels, bool(self.ordered))
        return library.api.types.pandas_dtype(self.name)


@dataclass(frozen=True, eq=False)
class StoredColumn(Stored):
    """A column of pandas: numbers and dates of NumPy, codes of categories, or cells.

    Dates with a time zone are in universal time; the code of a missing category is -1.
    """

    type: StoredType
    values: np.ndarray | StoredCells

    def validate(self) -> None:
        """Raise ValueError unless the type can be made from the values."""
        self._require_type("type", StoredType)
        self.type.ensure_valid()
        if self.type.name == "category":
            _require_codes(self.values, -1, len(self.type.levels or ()))
            return
        if isinstance(self.values, StoredCells) and not _NUMBERS.fullmatch(self.type.name):
            self.values.ensure_valid()
            return
        dtype = self.type.dtype()
        kind = "M" if getattr(dtype, "tz", None) else dtype.kind
        self._require_type("values", np.ndarray)
        if self.values.ndim != 1 or self.values.dtype.kind != kind:  # type: ignore[union-attr]
            raise ValueError(f"A stored column must have values of {dtype} in one dimension.")

    @classmethod
    def of(cls, column: pd.Series) -> StoredColumn:
        """Store a column."""
        stored = StoredType.of(column.dtype, "pandas")
        if stored.name == "category":
            return cls(stored, column.cat.codes.to_numpy().astype(np.intp))
        if not _NUMBERS.fullmatch(stored.name):
            return cls(stored, StoredCells.of(column.to_numpy(dtype=object)))
        if hasattr(column.dtype, "tz"):
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return cls(stored, column.to_numpy().copy())

    def __len__(self) -> int:
        return len(self.values)

    def series(self) -> pd.Series:
        """Return the column."""
        import pandas as pd

        dtype = self.type.dtype()
        if isinstance(self.values, StoredCells):
            return pd.Series(self.values.cells(), dtype=dtype)
        if self.type.name == "category":
            return pd.Series(pd.Categorical.from_codes(self.values, dtype=dtype))
        if getattr(dtype, "tz", None) is not None:
            return pd.Series(self.values).dt.tz_localize("UTC").astype(dtype)
        return pd.Series(self.values, dtype=dtype)


@dataclass(frozen=True, eq=False)
class StoredFrame(Stored):
    """The columns of a pandas frame and their names, without its index."""

    names: tuple[Any, ...]
    columns: tuple[StoredColumn, ...]

    def validate(self) -> None:
        """Raise ValueError unless there is one column per name, all of one length."""
        self._require_type("names", tuple)
        self._require_types(tuple, "columns", entries=StoredColumn)
        if len(self.columns) != len(self.names) or len({len(c) for c in self.columns}) > 1:
            raise ValueError("StoredFrame must have one column per name, all of one length.")

    @classmethod
    def of(cls, frame: pd.DataFrame) -> StoredFrame:
        """Store the columns of a frame."""
        columns = (StoredColumn.of(frame.iloc[:, j]) for j in range(frame.shape[1]))
        return cls(tuple(frame.columns), tuple(columns))

    def frame(self) -> pd.DataFrame:
        """Return the frame, its rows numbered from 0."""
        import pandas as pd

        made = pd.DataFrame({j: column.series() for j, column in enumerate(self.columns)})
        made.columns = pd.Index(list(self.names))
        return made


def _require_codes(codes: object, lowest: int, size: int) -> None:
    if not (isinstance(codes, np.ndarray) and codes.ndim == 1 and codes.dtype == np.intp):
        raise ValueError("Codes of a stored column must be whole numbers in one dimension.")
    if codes.size and not lowest <= codes.min() <= codes.max() < size:
        raise ValueError(f"Codes of a stored column must lie between {lowest} and {size - 1}.")


def _objects(cells: list[Any]) -> np.ndarray:
    """Return an array of objects, of which some may be lists."""
    out = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        out[at] = cell
    return out


@cache
def _spellings() -> dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]]:
    """Return how cells of some types are written as text, and how that is read."""
    import pandas as pd

    def read_interval(text: str) -> pd.Interval:
        closed, left, right = text.split()
        return pd.Interval(float(left), float(right), closed=closed)

    def read_period(text: str) -> pd.Period:
        ordinal, frequency = text.split()
        return pd.Period(ordinal=int(ordinal), freq=frequency)

    return {
        "str": (str, str),
        "int": (repr, int),
        "float": (repr, float),
        "bool": (repr, "True".__eq__),
        "NoneType": (repr, lambda text: None),
        "NAType": (repr, lambda text: pd.NA),
        "NaTType": (repr, lambda text: pd.NaT),
        "date": (date.isoformat, date.fromisoformat),
        "datetime": (datetime.isoformat, datetime.fromisoformat),
        "Timestamp": (str, pd.Timestamp),
        "Decimal": (str, Decimal),
        "Interval": (lambda c: f"{c.closed} {float(c.left)!r} {float(c.right)!r}", read_interval),
        "Period": (lambda cell: f"{cell.ordinal} {cell.freqstr}", read_period),
    }


def _written(cell: Any) -> tuple[str, Any]:
    """Return the kind of a cell and its text; "other" and the cell if text loses something."""
    kind = type(cell).__name__
    if kind in _spellings():
        write, read = _spellings()[kind]
        try:
            text = write(cell)
            again = read(text)
            exact = type(again) is type(cell) and repr(again) == repr(cell)
            # NumPy drops zero bytes at the end of text, and zones lose their names.
            if exact and text[-1:] != "\0" and getattr(cell, "tzinfo", None) is None:
                return kind, text
        except (TypeError, ValueError, ArithmeticError):
            pass
    return "other", cell
