"""How one column of a user's table is read: as numbers, dates, durations, ordered or plain words.

A :class:`ColumnReading` is a small value that says what a column holds, how many of its cells could
not be used, and how later columns of the same name are to be read. It is made by
:func:`absentia.tables.columns.column_guesses.read_column`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from absentia.tables.columns.date_parts import PERIODS, cyclic_parts, part_names
from absentia.tables.columns.number_words import number_of
from absentia.tables.columns.sentinels import without_sentinels
from absentia.tables.columns.words import SECONDS_A_DAY, Words, days_since_1970, parsed_dates
from absentia.tables.reading import BoolArray, FloatArray
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COMPACT_DATE",
    "TYPED_DATES",
    "CellCounts",
    "ColumnReading",
    "days_of",
    "numbers_of",
]

Kind = Literal["number", "date", "duration", "ordered", "category"]
#: In place of a spelling: the column has a type for dates.
TYPED_DATES = "datetime"
#: How dates are written as whole numbers.
COMPACT_DATE = "%Y%m%d"
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


@dataclass(frozen=True)
class CellCounts(Stored):
    """How many cells of a column were read as what.

    Attributes
    ----------
    read : int
        Cells with a value.
    empty : int
        Cells with nothing in them.
    bounds : int
        Cells of a column of numbers that say only where the number lies, such as ``<0.5``.
    unreadable : int
        Cells of a column of numbers or dates that hold something else, such as ``-``, an infinity
        or -999; they count as missing.
    """

    read: int = 0
    empty: int = 0
    bounds: int = 0
    unreadable: int = 0

    def validate(self) -> None:
        """Raise ValueError unless these are counts."""
        counts = (self.read, self.empty, self.bounds, self.unreadable)
        if not all(isinstance(count, int) and count >= 0 for count in counts):
            raise ValueError("CellCounts must be whole numbers that are not negative.")


@dataclass(frozen=True)
class ColumnReading(Stored):
    """How a column is read.

    Attributes
    ----------
    kind : {"number", "date", "duration", "ordered", "category"}
    note : str
        What was done, for the user; empty for a column of plain numbers.
    counts : CellCounts
    categories : tuple of str
        The words of an ordered or a plain category, in their order.
    date_formats : tuple of str
        The spellings of dates that are written as text, the commonest first.
    cycles : tuple of {"year", "week", "day"}
        Cyclic parts of a date that are columns of their own, as sine and cosine.
    decimal : {".", ","}
        What separates the decimals of numbers that are written as text.
    shown : {"", ".", ","}
        Which decimal sign the values themselves show; numbers that are typed as fractions show a
        point.
    grouped : bool
        Whether numbers that are written as text have thousands separated.
    unit : str
        The unit behind every number, such as ``kg``; empty where there is none.
    typed : bool
        Whether the numbers had a type, so that nothing is known of how they are written: where
        they come as text, the table that they come in decides.
    sentinels : tuple of float
        Numbers that stand for a missing value, such as -999.
    is_id : bool
        Whether the column only names the rows: a different word in each, or whole numbers that
        count them.
    left_out : bool
        Whether there is nothing to learn from it: no value, one value only, or too many words.
    """

    kind: Kind
    note: str = ""
    counts: CellCounts = field(default_factory=CellCounts)
    categories: tuple[str, ...] = ()
    date_formats: tuple[str, ...] = ()
    cycles: tuple[str, ...] = ()
    decimal: str = "."
    sentinels: tuple[float, ...] = ()
    is_id: bool = False
    left_out: bool = False
    shown: str = ""
    grouped: bool = False
    unit: str = ""
    typed: bool = False

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the fields; of readings that were kept before they had the last ones, those too."""
        since = {"shown": "", "grouped": True, "unit": "", "typed": False}
        super().__setstate__(since | state)

    def validate(self) -> None:
        """Raise ValueError unless the kind is known and categories are different words."""
        words = self.categories
        if self.kind not in get_args(Kind) or not isinstance(words, tuple):
            raise ValueError(f"ColumnReading.kind {self.kind!r} is not known.")
        if len(set(words)) != len(words) or not all(isinstance(word, str) for word in words):
            raise ValueError("ColumnReading.categories must be different words.")
        self._require_type("note", str)
        self._require_type("counts", CellCounts)
        for name in ("date_formats", "cycles", "sentinels"):
            self._require_type(name, tuple)
        if not all(isinstance(text, str) for text in self.date_formats):
            raise ValueError("ColumnReading.date_formats must be texts.")
        if not set(self.cycles) <= set(PERIODS) or self.decimal not in (".", ","):
            raise ValueError("ColumnReading.cycles and decimal must be known ones.")
        if not all(isinstance(code, float) for code in self.sentinels):
            raise ValueError("ColumnReading.sentinels must be numbers.")
        self._require_type("grouped", bool)
        self._require_type("typed", bool)
        self._require_type("unit", str)
        if self.shown not in ("", ".", ","):
            raise ValueError("ColumnReading.shown must be a decimal sign.")

    @property
    def is_quantity(self) -> bool:
        """Whether the column holds numbers, dates or durations."""
        return self.kind in ("number", "date", "duration")

    @property
    def in_doubt(self) -> bool:
        """Whether the rest of a table may show that the decimal sign is a comma after all."""
        return self.kind == "number" and self.decimal == "." and not self.shown

    @property
    def width(self) -> int:
        """How many columns of numbers :meth:`values` returns."""
        return self.width_of(codes=False)

    def width_of(self, codes: bool) -> int:
        """How many columns of numbers :meth:`values` returns, of codes or of indicators."""
        if self.left_out:
            return 0
        n_words = len(self.categories)
        if self.kind == "category" and n_words != 2 and not codes:
            return n_words
        return 1 + 2 * len(self.cycles)

    def names(self, name: str, codes: bool = False) -> list[str]:
        """Return the names of those columns: ``name``, or ``name=word``."""
        if self.left_out:
            return []
        if self.kind == "category" and not codes:
            return [f"{name}={word}" for word in self.categories[-self.width :]]
        return [name, *part_names(name, self.cycles)]

    def values(self, column: pd.Series, *, codes: bool = False) -> FloatArray:
        """Read a column as numbers, shape (n_rows, width), NaN where nothing is known.

        With ``codes`` a category is its place among the categories, otherwise indicators.
        """
        if self.left_out:
            return np.empty((len(column), 0))
        if self.kind == "category" and not codes:
            return _indicators(column, self.categories)
        numbers = self._one_number(column)
        if self.cycles:
            return np.column_stack([numbers, cyclic_parts(numbers, self.cycles)])
        return numbers[:, None]

    def bounds(self, column: pd.Series) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of where the number of each row lies.

        Both are the number itself where it was read; ``<0.5`` lies from minus infinity to 0.5, and
        a missing number anywhere.
        """
        if column.dtype.kind in "iufb":
            lower = upper = without_sentinels(numbers_of(column), self.sentinels)
        else:
            words = self.words_of(column)
            lower, upper = (words.by_row(ends) for ends in words.bounds(self.decimal))
            coded = (lower == upper) & np.isin(lower, self.sentinels)
            lower, upper = np.where(coded, np.nan, lower), np.where(coded, np.nan, upper)
        return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)

    def words_of(self, column: pd.Series) -> Words:
        """Return the words of a column of numbers, without the unit behind them."""
        return Words(column).without_unit(self.unit)

    def restored(self, numbers: FloatArray) -> Any:
        """Return numbers (and codes of categories) as what the column held: words, dates."""
        import pandas as pd

        if self.categories:
            places = np.clip(np.round(numbers), 0, len(self.categories) - 1).astype(np.intp)
            return np.array(self.categories, dtype=object)[places]
        if self.kind == "date":
            # Days since 1970 in double precision are right to a microsecond; the years 1 to 9999.
            days = np.clip(numbers, -719162.0, 2932896.0)
            return pd.DatetimeIndex(_whole(days * 86_400e3, "datetime64[ms]"))
        if self.kind == "duration":
            return pd.TimedeltaIndex(_whole(numbers * 86_400e6, "timedelta64[us]"))
        return numbers

    def missing(self, column: pd.Series) -> BoolArray:
        """Return which rows have no usable value."""
        if self.kind == "category":
            # A word that was not seen in training is a word all the same.
            gone: BoolArray = Words(column).codes < 0
            return gone
        return np.isnan(self._one_number(column))

    def _one_number(self, column: pd.Series) -> FloatArray:
        if self.kind == "number":
            return without_sentinels(numbers_of(column, self.decimal, self.unit), self.sentinels)
        if self.kind == "date":
            return days_of(column, self.date_formats)
        if self.kind == "duration":
            return _durations(column)
        position = {word: float(k) for k, word in enumerate(self.categories)}
        words = Words(column)
        return words.by_row(np.array([position.get(word, np.nan) for word in words.distinct]))


def _whole(numbers: FloatArray, kind: str) -> np.ndarray:
    """Return the nearest whole numbers as dates or durations, no time for NaN."""
    absent = np.isnan(numbers)
    found = np.round(np.where(absent, 0.0, numbers)).astype(np.int64).astype(kind)
    found[absent] = np.array("NaT", dtype=kind)
    return found


def numbers_of(column: pd.Series, decimal: str = ".", unit: str = "") -> FloatArray:
    """Read a column as numbers, NaN where it is missing, infinite or no number."""
    if column.dtype.kind in "iufb":
        values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isinf(values), np.nan, values)
    words = Words(column).without_unit(unit)
    return words.by_row(words.numbers(decimal))


def days_of(column: pd.Series, date_formats: tuple[str, ...]) -> FloatArray:
    """Read a column as dates: days since 1970, NaN where it is missing or no date.

    Text in a column that had a type for dates before is read by the spellings that it shows as a
    whole, as in training. ISO 8601 has one meaning: it is read in any column of dates. Of numbers
    only those such as 20240131 are dates.
    """
    if column.dtype.kind == "M":
        return days_since_1970(parsed_dates(column, errors="coerce", utc=True))
    if column.dtype.kind in "iuf":
        column, date_formats = _compact_dates(column), (COMPACT_DATE,)
    words = Words(column)
    typed = TYPED_DATES in date_formats
    days = words.days(words.date_formats()[0] if typed else date_formats)
    iso = np.array([bool(_ISO_DATE.match(word)) for word in words.distinct], dtype=bool)
    if (iso & np.isnan(days)).any():
        days = np.where(iso & np.isnan(days), words.days(("ISO8601",)), days)
    if typed:  # "3750" would be a year
        days[[word.isdecimal() and len(word) != 8 for word in words.distinct]] = np.nan
    return words.by_row(days)


def _compact_dates(column: pd.Series) -> pd.Series:
    """Return whole numbers of eight digits as text, such as 20240131; nothing for others."""
    import pandas as pd

    values = numbers_of(column)
    written = [f"{value:.0f}" if value % 1 == 0 else None for value in values]
    cells = [word if word and len(word) == 8 else None for word in written]
    return pd.Series(cells, index=column.index, dtype=object)


def _durations(column: pd.Series) -> FloatArray:
    """Read a column as durations: numbers of days, NaN where it is missing or no duration.

    Numbers are none: nothing says whether they count days or seconds.
    """
    import pandas as pd

    if column.dtype.kind in "iufbM":
        return np.full(len(column), np.nan)
    if column.dtype.kind != "m":
        column = column.map(lambda cell: cell if _is_duration(cell) else None).astype(object)
    seconds = pd.to_timedelta(column, errors="coerce").dt.total_seconds()
    days: FloatArray = seconds.to_numpy(dtype=np.float64, na_value=np.nan) / SECONDS_A_DAY
    return days


def _is_duration(cell: object) -> bool:
    """Return whether a cell is a duration, or text that has more to it than a number."""
    text = isinstance(cell, str) and np.isnan(number_of(cell.strip()))
    return text or isinstance(cell, timedelta | np.timedelta64)


def _indicators(column: pd.Series, values: tuple[str, ...]) -> FloatArray:
    """Return one 0/1 column per value; NaN in all of them where it is missing or new."""
    words = Words(column)
    position = {value: k for k, value in enumerate(values)}
    rows = np.vstack([np.eye(len(values)), np.full(len(values), np.nan)])
    of_words = rows[[position.get(word, -1) for word in words.distinct]]
    return words.by_row(of_words[:, 1:] if len(values) == 2 else of_words)
