"""A pandas frame stored as arrays, in which a model file can hold it.

The state of a pandas frame goes through pickling. Here every column becomes arrays of numbers and
text, from which the same column is made again: the same type and, cell by cell, the same values.
Cells of other kinds (lists, objects of a user's own) stay as they are; they serve in memory, and
:func:`absentia.save` refuses them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables.reading import BoolArray, IntArray
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

#: Names of the types of columns: numbers and dates, with a time zone or without.
_NUMBERS = re.compile(
    r"bool|boolean|complex(64|128)|(u?int|U?Int)(8|16|32|64)|([fF]loat)(16|32|64)"
    r"|(datetime64|timedelta64)\[(s|ms|us|ns)\]"
    r"|datetime64\[(s|ms|us|ns), (?!dateutil)[A-Za-z0-9_+:/-]{1,50}\]"
)
#: Names of the types of columns that are stored cell by cell.
_OBJECTS = re.compile(
    r"object|str|string(\[(python|pyarrow)\])?"
    r"|(bool|u?int(8|16|32|64)|float|double|large_string|date32\[day\])\[pyarrow\]"
    r"|interval\[(int64|float64|datetime64\[(s|ms|us|ns)\]), (right|left|both|neither)\]"
    r"|period\[[A-Z]{1,3}(-[A-Z]{3})?\]"
    r"|Sparse\[(bool|u?int(8|16|32|64)|float(32|64)), (nan|False|True|0|0\.0)\]"
)


@dataclass(frozen=True, eq=False)
class StoredFrame(Stored):
    """The columns of a pandas frame, without its index.

    Attributes
    ----------
    names : tuple
        The names of the columns.
    columns : tuple of StoredColumn

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.stored_frames import StoredFrame
    >>> frame = pd.DataFrame({"town": ["Rome", None], "dose": ["<0.5", "2"]}, dtype=object)
    >>> StoredFrame.of(frame).frame().equals(frame)
    True
    """

    names: tuple[Any, ...]
    columns: tuple[StoredColumn, ...]

    def validate(self) -> None:
        """Raise ValueError unless there is one column per name, all of one length."""
        self._require_type("names", tuple)
        self._require_type("columns", tuple)
        for column in self.columns:
            if not isinstance(column, StoredColumn):
                raise ValueError(f"StoredFrame.columns holds a {type(column).__name__}.")
            column.validate()
        if len(self.columns) != len(self.names) or len({len(c) for c in self.columns}) > 1:
            raise ValueError("StoredFrame must have one column per name, all of one length.")

    @classmethod
    def of(cls, frame: pd.DataFrame) -> StoredFrame:
        """Store the columns of a frame."""
        columns = (_stored(frame.iloc[:, j]) for j in range(frame.shape[1]))
        return cls(tuple(frame.columns), tuple(columns))

    def frame(self) -> pd.DataFrame:
        """Return the frame, its rows numbered from 0."""
        import pandas as pd

        made = pd.DataFrame({j: column.series() for j, column in enumerate(self.columns)})
        made.columns = pd.Index(list(self.names))
        return made


class StoredColumn(Stored):
    """One column, from whose arrays the same column can be made."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def series(self) -> pd.Series:
        """Return the column."""


@dataclass(frozen=True, eq=False)
class _StoredNumbers(StoredColumn):
    """Numbers, truth values, dates and durations, of NumPy's types or of those with ``pd.NA``.

    ``dtype`` is the name of pandas' type; dates with a time zone are in universal time. ``absent``
    has the missing values of types that do not write them into the values.
    """

    dtype: str
    values: np.ndarray
    absent: BoolArray | None

    def validate(self) -> None:
        """Raise ValueError unless the values are one array that the type can be made from."""
        dtype = _require_dtype(self.dtype, _NUMBERS)
        kind = "M" if getattr(dtype, "tz", None) else getattr(dtype, "numpy_dtype", dtype).kind
        self._require_type("values", np.ndarray)
        if self.values.ndim != 1 or self.values.dtype.kind != kind:
            raise ValueError(f"A stored column must have values of {self.dtype} in one dimension.")
        if self.absent is not None:
            self._require_array("absent", bool, self.values.shape)

    def __len__(self) -> int:
        return len(self.values)

    def series(self) -> pd.Series:
        import pandas as pd

        dtype = pd.api.types.pandas_dtype(self.dtype)
        if getattr(dtype, "tz", None) is not None:
            return pd.Series(self.values).dt.tz_localize("UTC").astype(dtype)
        column = pd.Series(pd.array(self.values, dtype=dtype))
        if self.absent is not None:
            column[self.absent] = pd.NA
        return column


@dataclass(frozen=True, eq=False)
class _StoredCategories(StoredColumn):
    """A column of pandas' categorical type; the code of a missing value is -1."""

    codes: IntArray
    categories: StoredColumn
    ordered: bool

    def validate(self) -> None:
        """Raise ValueError unless every code has a category."""
        self._require_type("categories", StoredColumn)
        self.categories.validate()
        _require_codes(self.codes, -1, len(self.categories))

    def __len__(self) -> int:
        return len(self.codes)

    def series(self) -> pd.Series:
        import pandas as pd

        levels = pd.Index(self.categories.series())
        made = pd.Categorical.from_codes(self.codes, categories=levels, ordered=bool(self.ordered))
        return pd.Series(made)


@dataclass(frozen=True, eq=False)
class StoredCells(StoredColumn):
    """A column of text or of Python's objects, each different one stored once.

    Attributes
    ----------
    dtype : str
    codes : ndarray of int
        Which of the different objects each row has; negative for the markers of missing values.
    kinds : tuple of str
        The kinds of the parts, see ``_SPELLINGS``; ``"other"`` for objects as they are.
    parts : tuple of ndarray
        The different objects in the order of their codes: text, or objects.
    """

    dtype: str
    codes: IntArray
    kinds: tuple[str, ...]
    parts: tuple[np.ndarray, ...]

    def validate(self) -> None:
        """Raise ValueError unless every code has an object of a known kind."""
        _require_dtype(self.dtype, _OBJECTS)
        self._require_type("kinds", tuple)
        self._require_type("parts", tuple)
        if len(self.kinds) != len(self.parts):
            raise ValueError("StoredCells must have one kind per part.")
        for kind, part in zip(self.kinds, self.parts, strict=True):
            if kind not in (*_SPELLINGS, "other") or getattr(part, "ndim", 0) != 1:
                raise ValueError(f"StoredCells of the kind {kind!r}.")
            if part.dtype.kind != ("O" if kind == "other" else "U"):
                raise ValueError(f"StoredCells of {part.dtype} for {kind}.")
        _require_codes(self.codes, -len(_markers()), sum(map(len, self.parts)))

    @classmethod
    def of(cls, cells: Sequence[Any] | np.ndarray, dtype: str = "object") -> StoredCells:
        """Store objects of any kind."""
        codes = np.empty(len(cells), dtype=np.intp)
        found: dict[str, dict[Any, tuple[int, Any]]] = {}
        kinds = []
        for row, cell in enumerate(cells):
            codes[row] = marker = _marker_of(cell)
            kinds.append("" if marker < 0 else _kind_of(cell))
            if kinds[-1]:
                known = found.setdefault(kinds[-1], {})
                codes[row] = known.setdefault(_key_of(cell), (len(known), cell))[0]
        start, parts = 0, []
        for kind, known in found.items():
            codes[[own == kind for own in kinds]] += start
            start += len(known)
            distinct = [cell for _, cell in known.values()]
            texts = kind in _SPELLINGS
            part = np.empty(len(distinct), dtype=object)
            for at, cell in enumerate(distinct):  # a cell may be a list
                part[at] = _SPELLINGS[kind][1](cell) if texts else cell
            parts.append(part.astype(np.str_) if texts else part)
        return cls(dtype, codes, tuple(found), tuple(parts))

    def __len__(self) -> int:
        return len(self.codes)

    def series(self) -> pd.Series:
        import pandas as pd

        return pd.Series(self.cells(), dtype=pd.api.types.pandas_dtype(self.dtype))

    def cells(self) -> np.ndarray:
        """Return the objects, shape (n_rows,)."""
        cells: list[Any] = []
        for kind, part in zip(self.kinds, self.parts, strict=True):
            read = _SPELLINGS[kind][2] if kind in _SPELLINGS else lambda cell: cell
            cells += map(read, part.tolist())
        cells += reversed(_markers())  # negative codes count from the end
        known = np.empty(len(cells), dtype=object)
        for at, cell in enumerate(cells):
            known[at] = cell
        return known[self.codes]


def _stored(column: pd.Series) -> StoredColumn:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.intp)
        levels = _stored(column.cat.categories.to_series())
        return _StoredCategories(codes, levels, bool(dtype.ordered))
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcmM":
        return _StoredNumbers(str(dtype), column.to_numpy().copy(), None)
    if isinstance(dtype, pd.DatetimeTZDtype):
        universal = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _StoredNumbers(str(dtype), universal.to_numpy().copy(), None)
    # Int64, Float32, boolean: an array of NumPy beside a mask.
    inner = getattr(dtype, "numpy_dtype", None)
    if hasattr(column.array, "_mask") and inner is not None and inner.kind in "biuf":
        filled = column.to_numpy(dtype=inner, na_value=inner.type(0))
        return _StoredNumbers(str(dtype), filled, column.isna().to_numpy())
    # A name from which pandas makes the type again.
    name = str(dtype)
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        name = f"string[{dtype.storage}]"
    return StoredCells.of(column.to_numpy(dtype=object), name)


def _require_dtype(name: object, known: re.Pattern[str]) -> Any:
    """Return the type that pandas means by a name, one of those that columns are stored with.

    Others are not looked up: a name can ask for gigabytes ("S100000000") or a file ("dateutil/").
    """
    import pandas as pd

    try:
        if not (isinstance(name, str) and known.fullmatch(name)):
            raise TypeError("no type that columns are stored with")
        return pd.api.types.pandas_dtype(name)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"A column of the type {name!r}: {error}") from error


def is_type_of_columns(name: object) -> bool:
    """Return whether pandas may be asked for the type of this name, which a file brought."""
    known = isinstance(name, str) and (_NUMBERS.fullmatch(name) or _OBJECTS.fullmatch(name))
    return bool(known) or name == "category"


def _require_codes(codes: object, lowest: int, size: int) -> None:
    if not (isinstance(codes, np.ndarray) and codes.ndim == 1 and codes.dtype == np.intp):
        raise ValueError("Codes of a stored column must be whole numbers in one dimension.")
    if codes.size and not lowest <= codes.min() <= codes.max() < size:
        raise ValueError(f"Codes of a stored column must lie between {lowest} and {size - 1}.")


def _markers() -> list[Any]:
    """Return the markers of missing values, for the codes -1, -2, ..."""
    import pandas as pd

    return [None, np.nan, pd.NA, pd.NaT]


def _marker_of(cell: Any) -> int:
    """Return the code of a marker of missing values, else 0."""
    if isinstance(cell, float):  # np.float64 too
        return -2 if cell != cell else 0
    return next((-code for code, marker in enumerate(_markers(), 1) if cell is marker), 0)


def _read_timestamp(text: str) -> pd.Timestamp:
    import pandas as pd

    return pd.Timestamp(text)


def _read_interval(text: str) -> pd.Interval:
    import pandas as pd

    closed, left, right = text.split()
    return pd.Interval(float(left), float(right), closed=closed)


def _read_period(text: str) -> pd.Period:
    import pandas as pd

    ordinal, frequency = text.split()
    return pd.Period(ordinal=int(ordinal), freq=frequency)


#: Kinds of cells that are stored as text: their type, how they are written and how they are read.
_SPELLINGS: dict[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "text": ("str", str, str),
    "date": ("date", date.isoformat, date.fromisoformat),
    "moment": ("datetime", datetime.isoformat, datetime.fromisoformat),
    "timestamp": ("Timestamp", str, _read_timestamp),
    "decimal": ("Decimal", str, Decimal),
    "interval": (
        "Interval",
        lambda cell: f"{cell.closed} {float(cell.left)!r} {float(cell.right)!r}",
        _read_interval,
    ),
    "period": ("Period", lambda cell: f"{cell.ordinal} {cell.freqstr}", _read_period),
}
_KINDS = {name: kind for kind, (name, _, _) in _SPELLINGS.items()}


def _kind_of(cell: Any) -> str:
    """Return the kind of a cell; "other" if its text would not bring it back."""
    kind = _KINDS.get(type(cell).__name__, "other")
    if kind == "other":
        return kind
    _, write, read = _SPELLINGS[kind]
    try:
        again = read(write(cell))
        exact = type(again) is type(cell) and again == cell
        # NumPy drops zero bytes at the end of text, and zones lose their names.
        exact &= not write(cell).endswith("\0") and getattr(cell, "tzinfo", None) is None
    except (TypeError, ValueError, ArithmeticError):
        exact = False
    return kind if exact else "other"


def _key_of(cell: Any) -> Any:
    """Return a key that two cells share if they count as one: 1, 1.0 and True are three."""
    try:
        hash(cell)
    except TypeError:
        return id(cell)
    return type(cell), cell, str(cell)
