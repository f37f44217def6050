"""Values that can be stored in a model file: dataclasses that validate their fields, and frames.

Compiled loops trust shapes, types and indices, so a value must be consistent before they compute
with it. :func:`absentia.load` validates every :class:`Stored` value of a file, and callers of
compiled code validate again (:meth:`Stored.ensure_valid`), wherever the value came from. Values do
not change, so that costs time once for each of them.

The state of a pandas frame goes through pickling. Here a column is written as the name of its type
and an array, from which the same column is made again: the same type and, cell by cell, the same
values. Cells of other kinds (lists, objects of a user's own) serve in memory, and
:func:`absentia.save` refuses them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from importlib import import_module
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from absentia.parameters import shown

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

#: Digits of a decimal number, before or behind the point.
_MOST_DIGITS = 1000
#: Packages of frames, of the types of their columns, and of cells.
_PACKAGES = ("pandas", "polars", "datetime", "decimal")

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
        if sorted(state) != sorted(self._field_names()):
            raise ValueError(
                f"{type(self).__name__} must have the fields {', '.join(self._field_names())} and "
                f"no others, found {', '.join(state) or 'none'}."
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
    @cache
    def _field_names(cls: Any) -> list[str]:
        return [field.name for field in fields(cls)]

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


def require_cells(cells: object) -> None:
    """Raise ValueError unless a value is an array of text, numbers, dates and the like."""
    if not isinstance(cells, np.ndarray) or cells.ndim != 1:
        raise ValueError(f"Cells must be an array of one dimension, found {type(cells).__name__}.")
    for cell in cells if cells.dtype == object else ():
        known = isinstance(cell, np.generic | str | int | float | NoneType)
        if not known and (type(cell).__name__ not in CELLS or _root(cell) not in _PACKAGES):
            raise ValueError(f"Cells of the type {type(cell).__name__} are not known.")


def array_of_cells(cells: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return an array of objects, of which some may be lists."""
    out = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        out[at] = cell
    return out


def storable_type(dtype: Any, library: str) -> Any:
    """Return the type of a column as it comes back from a file.

    That of pandas is "object" and that of polars None where its name does not bring it back.
    """
    return _made_type(*_type_fields(dtype, library))


def require_types(types: tuple[Any, ...], library: str) -> None:
    """Raise ValueError unless types of columns are those of a library."""
    for dtype in types:
        plain = isinstance(dtype, np.dtype) and library == "pandas" and dtype.kind in "biufcmMO"
        if not plain and not (dtype is None and library == "polars") and _root(dtype) != library:
            raise ValueError(f"A format of {library!r} with a column of another type.")


def _root(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def parts_of_frame(value: Any) -> tuple[str, Any] | None:
    """Return how a frame, a column, its type or a cell is written, None for other values.

    The first is a name in :data:`FRAME_PARTS`, and the second what this makes the value from.
    """
    if _root(value) not in _PACKAGES:
        return None
    import pandas as pd

    kind = type(value)
    if kind is pd.DataFrame:
        return "frame", [list(value.columns), [value.iloc[:, j] for j in range(value.shape[1])]]
    if kind is pd.Series:
        return "column", _column_fields(value)
    if hasattr(value, "base_type") or isinstance(value, pd.api.extensions.ExtensionDtype):
        return "column type", list(_type_fields(value, _root(value)))
    if kind.__name__ not in CELLS:
        return None
    write, read = _spellings()[kind.__name__]
    text = write(value)
    again = read(text)
    # Zones lose their names.
    exact = type(again) is kind and repr(again) == repr(value)
    return (kind.__name__, text) if exact and getattr(value, "tzinfo", None) is None else None


def _type_fields(dtype: Any, library: str) -> tuple[str, str, pd.Series | None, bool]:
    """Return the library, name, categories and their order of the type of a column."""
    pandas = import_module("pandas")
    name, levels = str(dtype), getattr(dtype, "categories", None)
    if library == "polars":
        levels = None if levels is None else pandas.Series(list(levels))
        return library, type(dtype).__name__, levels, False
    if isinstance(dtype, pandas.CategoricalDtype):
        return library, "category", None if levels is None else levels.to_series(), dtype.ordered
    if isinstance(dtype, pandas.StringDtype) and dtype.na_value is pandas.NA:
        name = f"string[{dtype.storage}]"
    try:
        same = pandas.api.types.pandas_dtype(name) == dtype and bool(_known_name(name))
    except TypeError:
        same = False
    return library, name if same else "object", None, False


def _known_name(name: object) -> bool:
    """Return whether a name is that of a type of pandas.

    Others are not looked up: a name can ask for gigabytes ("S100000000") or a file ("dateutil/").
    """
    return isinstance(name, str) and bool(_NUMBERS.fullmatch(name) or _OBJECTS.fullmatch(name))


def _made_type(library: Any, name: Any, levels: Any, ordered: Any) -> Any:
    if levels is not None and type(levels).__name__ != "Series":
        raise ValueError(f"Categories must be a column, found {type(levels).__name__}.")
    if library == "polars" and isinstance(name, str):
        polars = import_module(library)
        if name == "Enum" and levels is not None:
            return polars.Enum(levels.tolist())
        return getattr(polars, name)() if name in _POLARS_TYPES else None
    if library != "pandas" or not (name == "category" or _known_name(name)):
        raise ValueError(f"The type {shown(name)} of a column is not known.")
    pandas = import_module(library)
    if name == "category":
        return pandas.CategoricalDtype(levels, bool(ordered))
    return pandas.api.types.pandas_dtype(name)


def _column_fields(column: pd.Series) -> list[Any]:
    """Return the type and the values of a column.

    Dates with a time zone are in universal time; the code of a missing category is -1.
    """
    library, name, levels, ordered = _type_fields(column.dtype, "pandas")
    if name == "category":
        values = column.cat.codes.to_numpy().astype(np.intp)
    elif not _NUMBERS.fullmatch(name):
        values = column.to_numpy(dtype=object)
    elif hasattr(column.dtype, "tz"):
        values = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    else:
        values = column.to_numpy()
    return [library, name, levels, ordered, values]


def _made_column(library: Any, name: Any, levels: Any, ordered: Any, values: Any) -> pd.Series:
    import pandas as pd

    dtype = _made_type(library, name, levels, ordered)
    require_cells(values)
    zoned = getattr(dtype, "tz", None) is not None
    kind = "i" if name == "category" else "M" if zoned else dtype.kind
    if values.dtype.kind != (kind if name == "category" or _NUMBERS.fullmatch(name) else "O"):
        raise ValueError(f"A column of {dtype} must have other values than {values.dtype}.")
    if name == "category":
        return pd.Series(pd.Categorical.from_codes(values, dtype=dtype))
    if zoned:
        return pd.Series(values).dt.tz_localize("UTC").astype(dtype)
    return pd.Series(values, dtype=dtype)


def _made_frame(names: Any, columns: Any) -> pd.DataFrame:
    import pandas as pd

    if len(names) != len(columns) or len({len(column) for column in columns}) > 1:
        raise ValueError("A frame must have one column per name, all of one length.")
    made = pd.DataFrame(dict(enumerate(columns)))
    made.columns = pd.Index(names)
    return made


#: Types of cells that are written as text, by their names.
CELLS = ("NAType", "NaTType", "date", "datetime", "Timestamp", "Decimal", "Interval", "Period")
#: Functions that make the parts of frames that :func:`parts_of_frame` writes.
FRAME_PARTS: dict[str, Callable[..., Any]] = {
    "frame": _made_frame,
    "column": _made_column,
    "column type": _made_type,
}


def made_cell(kind: str, text: str) -> Any:
    """Return a cell of a type of :data:`CELLS`."""
    return _spellings()[kind][1](text)


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

    def read_decimal(text: str) -> Decimal:
        number = Decimal(text)
        if abs(number.adjusted()) > _MOST_DIGITS:  # as an integer it would fill the memory
            raise ValueError(f"A decimal number of more than {_MOST_DIGITS:,} digits.")
        return number

    return {
        "NAType": (repr, lambda text: pd.NA),
        "NaTType": (repr, lambda text: pd.NaT),
        "date": (date.isoformat, date.fromisoformat),
        "datetime": (datetime.isoformat, datetime.fromisoformat),
        "Timestamp": (str, pd.Timestamp),
        "Decimal": (str, read_decimal),
        "Interval": (lambda c: f"{c.closed} {float(c.left)!r} {float(c.right)!r}", read_interval),
        "Period": (lambda cell: f"{cell.ordinal} {cell.freqstr}", read_period),
    }
