"""A pandas frame kept as arrays, in which a model file can hold it.

A frame is an object of pandas, whose state goes through pickling. Here every column becomes arrays
of numbers and text, from which the same column is made again: the same type and, cell by cell, the
same values. Cells of other kinds (lists, objects of a user's own) stay as they are; they serve in
memory, and :func:`absentia.save` refuses them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables.kept_cells import (
    SPELLINGS,
    key_of,
    kind_of,
    marker_of,
    missing_markers,
    read,
    written,
)
from absentia.tables.reading import BoolArray, IntArray
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KeptFrame", "KeptObjects", "is_type_of_columns"]

#: Names of the types of columns: numbers and dates, with a time zone or without.
_NUMBERS = re.compile(
    r"bool|boolean|complex(64|128)|(u?int|U?Int)(8|16|32|64)|([fF]loat)(16|32|64)"
    r"|(datetime64|timedelta64)\[(s|ms|us|ns)\]"
    r"|datetime64\[(s|ms|us|ns), (?!dateutil)[A-Za-z0-9_+:/-]{1,50}\]"
)
#: Names of the types of columns that are kept cell by cell.
_OBJECTS = re.compile(
    r"object|str|string(\[(python|pyarrow)\])?"
    r"|(bool|u?int(8|16|32|64)|float|double|large_string|date32\[day\])\[pyarrow\]"
    r"|interval\[(int64|float64|datetime64\[(s|ms|us|ns)\]), (right|left|both|neither)\]"
    r"|period\[[A-Z]{1,3}(-[A-Z]{3})?\]"
    r"|Sparse\[(bool|u?int(8|16|32|64)|float(32|64)), (nan|False|True|0|0\.0)\]"
)


@dataclass(frozen=True, eq=False)
class KeptFrame(Stored):
    """The columns of a pandas frame, without its index.

    Attributes
    ----------
    names : tuple
        The names of the columns.
    columns : tuple of KeptColumn

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.kept_frames import KeptFrame
    >>> frame = pd.DataFrame({"town": ["Rome", None], "dose": ["<0.5", "2"]}, dtype=object)
    >>> KeptFrame.of(frame).frame().equals(frame)
    True
    """

    names: tuple[Any, ...]
    columns: tuple[KeptColumn, ...]

    def validate(self) -> None:
        """Raise ValueError unless there is one column per name, all of one length."""
        self._require_type("names", tuple)
        self._require_type("columns", tuple)
        for column in self.columns:
            if not isinstance(column, KeptColumn):
                raise ValueError(f"KeptFrame.columns holds a {type(column).__name__}.")
            column.validate()
        if len(self.columns) != len(self.names) or len({len(c) for c in self.columns}) > 1:
            raise ValueError("KeptFrame must have one column per name, all of one length.")

    @classmethod
    def of(cls, frame: pd.DataFrame) -> KeptFrame:
        """Take the columns of a frame."""
        columns = (_kept_column(frame.iloc[:, j]) for j in range(frame.shape[1]))
        return cls(tuple(frame.columns), tuple(columns))

    def frame(self) -> pd.DataFrame:
        """Return the frame, its rows numbered from 0."""
        import pandas as pd

        made = pd.DataFrame({j: column.series() for j, column in enumerate(self.columns)})
        made.columns = pd.Index(list(self.names))
        return made


class KeptColumn(Stored):
    """One column, from whose arrays the same column can be made."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def series(self) -> pd.Series:
        """Return the column."""


@dataclass(frozen=True, eq=False)
class KeptNumbers(KeptColumn):
    """Numbers, truth values, dates and durations, of NumPy's types or of those with ``pd.NA``.

    Attributes
    ----------
    dtype : str
        The type that pandas gives the column.
    values : ndarray
        Dates with a time zone are in universal time.
    absent : ndarray of bool or None
        Which values are missing, for types that do not write it into the values.
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
            raise ValueError(f"KeptNumbers.values must be {self.dtype} in one dimension.")
        if self.absent is not None:
            self._require_array("absent", bool, self.values.shape)

    def __len__(self) -> int:
        return len(self.values)

    def series(self) -> pd.Series:
        """Return the column."""
        import pandas as pd

        dtype = pd.api.types.pandas_dtype(self.dtype)
        if getattr(dtype, "tz", None) is not None:
            return pd.Series(self.values).dt.tz_localize("UTC").astype(dtype)
        column = pd.Series(pd.array(self.values, dtype=dtype))
        if self.absent is not None:
            column[self.absent] = pd.NA
        return column


@dataclass(frozen=True, eq=False)
class KeptCategories(KeptColumn):
    """A column of pandas' categorical type.

    Attributes
    ----------
    codes : ndarray of int
        -1 where missing.
    categories : KeptColumn
    ordered : bool
    """

    codes: IntArray
    categories: KeptColumn
    ordered: bool

    def validate(self) -> None:
        """Raise ValueError unless every code has a category."""
        self._require_type("categories", KeptColumn)
        self.categories.validate()
        _require_codes(self.codes, -1, len(self.categories))

    def __len__(self) -> int:
        return len(self.codes)

    def series(self) -> pd.Series:
        """Return the column."""
        import pandas as pd

        levels = pd.Index(self.categories.series())
        made = pd.Categorical.from_codes(self.codes, categories=levels, ordered=bool(self.ordered))
        return pd.Series(made)


@dataclass(frozen=True, eq=False)
class KeptObjects(KeptColumn):
    """A column of text or of Python's objects, each different one kept once.

    Attributes
    ----------
    dtype : str
    codes : ndarray of int
        Which of the different objects each row has; negative for the markers of missing values.
    kinds : tuple of str
        The kinds of the parts, see ``kept_cells.SPELLINGS``; ``"other"`` for what is kept as it is.
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
            raise ValueError("KeptObjects must have one kind per part.")
        for kind, part in zip(self.kinds, self.parts, strict=True):
            wanted = "O" if kind == "other" else "U"
            if kind not in (*SPELLINGS, "other") or getattr(part, "ndim", 0) != 1:
                raise ValueError(f"KeptObjects of the kind {kind!r}.")
            if part.dtype.kind != wanted:
                raise ValueError(f"KeptObjects of {part.dtype} for {kind}.")
        _require_codes(self.codes, -len(missing_markers()), sum(map(len, self.parts)))

    @classmethod
    def of(cls, column: pd.Series) -> KeptObjects:
        """Take a column of any type, cell by cell."""
        return cls.of_cells(column.to_numpy(dtype=object), _dtype_name(column.dtype))

    @classmethod
    def of_cells(cls, cells: Sequence[Any] | np.ndarray, dtype: str = "object") -> KeptObjects:
        """Take objects of any kind."""
        codes = np.empty(len(cells), dtype=np.intp)
        found: dict[str, dict[Any, tuple[int, Any]]] = {}
        kinds = []
        for row, cell in enumerate(cells):
            codes[row] = marker = marker_of(cell)
            kind = "" if marker < 0 else kind_of(cell)
            kinds.append(kind)
            if kind:
                known = found.setdefault(kind, {})
                codes[row] = known.setdefault(key_of(cell), (len(known), cell))[0]
        start = 0
        for kind, known in found.items():
            codes[[own == kind for own in kinds]] += start
            start += len(known)
        parts = [
            written(kind, [cell for _, cell in known.values()]) for kind, known in found.items()
        ]
        return cls(dtype, codes, tuple(found), tuple(parts))

    def __len__(self) -> int:
        return len(self.codes)

    def series(self) -> pd.Series:
        """Return the column."""
        import pandas as pd

        return pd.Series(self.cells(), dtype=pd.api.types.pandas_dtype(self.dtype))

    def cells(self) -> np.ndarray:
        """Return the objects, shape (n_rows,)."""
        markers = missing_markers()
        cells: list[Any] = []
        for kind, part in zip(self.kinds, self.parts, strict=True):
            cells += read(kind, part)
        # Negative codes count from the end, where the markers stand.
        known = np.empty(len(cells) + len(markers), dtype=object)
        for at, cell in enumerate([*cells, *reversed(markers)]):
            known[at] = cell
        return known[self.codes]


def _kept_column(column: pd.Series) -> KeptColumn:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.intp)
        levels = _kept_column(column.cat.categories.to_series())
        return KeptCategories(codes, levels, bool(dtype.ordered))
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcmM":
        return KeptNumbers(str(dtype), column.to_numpy().copy(), None)
    if isinstance(dtype, pd.DatetimeTZDtype):
        universal = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return KeptNumbers(str(dtype), universal.to_numpy().copy(), None)
    # Int64, Float32, boolean: an array of NumPy beside a mask.
    inner = getattr(dtype, "numpy_dtype", None)
    if hasattr(column.array, "_mask") and inner is not None and inner.kind in "biuf":
        absent = column.isna().to_numpy()
        filled = column.to_numpy(dtype=inner, na_value=inner.type(0))
        return KeptNumbers(str(dtype), filled, absent)
    return KeptObjects.of(column)


def _dtype_name(dtype: Any) -> str:
    """Return a name from which pandas makes the type again."""
    import pandas as pd

    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return f"string[{dtype.storage}]"
    return str(dtype)


def _require_dtype(name: object, known: re.Pattern[str]) -> Any:
    """Return the type that pandas means by a name, one of those that columns are kept with.

    Others are not looked up: a name can ask for gigabytes ("S100000000") or a file ("dateutil/").
    """
    import pandas as pd

    try:
        if not (isinstance(name, str) and known.fullmatch(name)):
            raise TypeError("no type that columns are kept with")
        return pd.api.types.pandas_dtype(name)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"A column of the type {name!r}: {error}") from error


def is_type_of_columns(name: object) -> bool:
    """Return whether pandas may be asked for the type of this name, which a file brought."""
    known = isinstance(name, str) and (_NUMBERS.fullmatch(name) or _OBJECTS.fullmatch(name))
    return bool(known) or name == "category"


def _require_codes(codes: object, lowest: int, size: int) -> None:
    if not (isinstance(codes, np.ndarray) and codes.ndim == 1 and codes.dtype == np.intp):
        raise ValueError("Codes of a kept column must be whole numbers in one dimension.")
    if codes.size and not lowest <= codes.min() <= codes.max() < size:
        raise ValueError(f"Codes of a kept column must lie between {lowest} and {size - 1}.")
