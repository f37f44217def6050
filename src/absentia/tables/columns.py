"""How one column of a user's table is read: as numbers, dates, durations, ordered or plain words.

:func:`read_column` looks at a column once and returns a :class:`ColumnReading`, a small value that
says what the column holds, how many of its cells could not be used, and how later columns of the
same name are to be read. The encoder and the report of missing values are built on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from absentia.tables.phrases import count_as_missing, counted, infinite_note
from absentia.tables.reading import BoolArray, FloatArray
from absentia.tables.stored import Stored
from absentia.tables.words import SECONDS_A_DAY, Words, days_since_1970, first_two_words

__all__ = [
    "CellCounts",
    "ColumnReading",
    "read_as",
    "read_column",
]

Kind = Literal["number", "date", "duration", "ordered", "category"]

#: A column is read as numbers or dates when at least this share of its values is.
_READABLE = 0.95
#: Enough where the column would be lost otherwise, since it has too many different words.
_READABLE_OR_LOST = 0.75
#: A column with fewer rows is not taken for a list of identifiers.
_FEWEST_IDS = 20
_ID_NAME = re.compile(
    r"^(?i:id|nr|index|key|rowid|unnamed: 0)$|(?i:^id[ _.-]|[ _.-]id$)|[a-z]I[dD]$"
)


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
        Cells of a column of numbers that say only where the number lies, such as ``<0.5``; they
        count as missing.
    unreadable : int
        Cells of a column of numbers or dates that hold something else, such as ``-`` or an
        infinity; they count as missing.
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
    date_format : str
        The spelling of dates that are written as text.
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
    date_format: str = ""
    is_id: bool = False
    left_out: bool = False

    def validate(self) -> None:
        """Raise ValueError unless the kind is known and categories are different words."""
        words = self.categories
        if self.kind not in get_args(Kind) or not isinstance(words, tuple):
            raise ValueError(f"ColumnReading.kind {self.kind!r} is not known.")
        if len(set(words)) != len(words) or not all(isinstance(word, str) for word in words):
            raise ValueError("ColumnReading.categories must be different words.")
        for name in ("note", "date_format"):
            self._require_type(name, str)
        self._require_type("counts", CellCounts)

    @property
    def width(self) -> int:
        """How many columns of numbers :meth:`values` returns."""
        return self.width_of(codes=False)

    def width_of(self, codes: bool) -> int:
        """How many columns of numbers :meth:`values` returns, of codes or of indicators."""
        if self.left_out:
            return 0
        n_words = len(self.categories)
        return n_words if self.kind == "category" and n_words != 2 and not codes else 1

    def names(self, name: str, codes: bool = False) -> list[str]:
        """Return the names of those columns: ``name``, or ``name=word``."""
        if self.left_out:
            return []
        if self.kind == "category" and not codes:
            return [f"{name}={word}" for word in self.categories[-self.width :]]
        return [name]

    def values(self, column: Any, *, codes: bool = False) -> FloatArray:
        """Read a column as numbers, shape (n_rows, width), NaN where nothing is known.

        With ``codes`` a category is its place among the categories, otherwise indicators.
        """
        if self.left_out:
            return np.empty((len(column), 0))
        if self.kind == "category" and not codes:
            return _indicators(column, self.categories)
        return self._one_number(column)[:, None]

    def bounds(self, column: Any) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of where the number of each row lies.

        Both are the number itself where it was read; ``<0.5`` lies from minus infinity to 0.5, and
        a missing number anywhere.
        """
        if column.dtype.kind in "iufb":
            values = _numbers(column)
            lower = upper = values
        else:
            words = Words(column)
            lower, upper = (words.by_row(ends) for ends in words.bounds())
        return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)

    def restored(self, numbers: FloatArray) -> Any:
        """Return numbers (and codes of categories) as what the column held: words, dates."""
        import pandas as pd

        if self.categories:
            places = np.clip(np.round(numbers), 0, len(self.categories) - 1).astype(np.intp)
            return np.array(self.categories, dtype=object)[places]
        if self.kind == "date":
            return pd.Timestamp(0) + pd.to_timedelta(numbers, unit="D")
        return pd.to_timedelta(numbers, unit="D") if self.kind == "duration" else numbers

    def missing(self, column: Any) -> BoolArray:
        """Return which rows have no usable value."""
        if self.kind == "category":
            # A word that was not seen in training is a word all the same.
            gone: BoolArray = Words(column).codes < 0
            return gone
        return np.isnan(self._one_number(column))

    def _one_number(self, column: Any) -> FloatArray:
        if self.kind == "number":
            return _numbers(column)
        if self.kind == "date":
            return _days(column, self.date_format)
        if self.kind == "duration":
            return _durations(column)
        position = {word: float(k) for k, word in enumerate(self.categories)}
        words = Words(column)
        return words.by_row(np.array([position.get(word, np.nan) for word in words.distinct]))


def read_column(column: Any, *, max_categories: int = 30) -> ColumnReading:
    """Find out how a column is to be read.

    Parameters
    ----------
    column : pandas.Series
    max_categories : int, default=30
        The largest number of different words that are read as categories.

    Returns
    -------
    ColumnReading
        ``left_out`` is set for columns without a value, with one value only, or with too many
        different words.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns import read_column
    >>> column = pd.Series(["1.5", "<0.5", "-", None, *["2", "3"] * 8], name="lead")
    >>> reading = read_column(column)
    >>> reading.kind, reading.counts
    ('number', CellCounts(read=17, empty=1, bounds=1, unreadable=1))
    >>> lower, upper = reading.bounds(column)
    >>> lower[:3], upper[:3]
    (array([ 1.5, -inf, -inf]), array([1.5, 0.5, inf]))
    """
    if column.dtype.kind in "iufbmM":
        return _read_typed(column)
    words = Words(column)
    n_present = int(words.counts.sum())
    n_empty = len(column) - n_present
    return (
        _read_as_numbers(words, str(column.name), n_empty, max_categories)
        or _read_as_dates(words, n_empty)
        or _read_as_order(column, words, n_empty)
        or _read_as_words(words, n_empty, max_categories)
    )


def read_as(column: Any, kind: str, *, max_categories: int = 30) -> ColumnReading:
    """Read a column as its owner says: ``"number"``, ``"category"`` or ``"left out"``.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns import read_as
    >>> read_as(pd.Series([1, 2, 3, 2]), "category").categories
    ('1', '2', '3')
    """
    words = Words(column)
    n_empty = len(column) - int(words.counts.sum())
    if kind == "left out":
        counts = CellCounts(len(column) - n_empty, n_empty)
        return ColumnReading("category", "left out, as asked", counts, left_out=True)
    if kind == "category":
        return _read_as_words(words, n_empty, max_categories)
    if kind != "number":
        raise ValueError(
            f"A column is read as 'number', 'category' or 'left out', found {kind!r} for "
            f"{column.name!r}."
        )
    values = _numbers(column)
    n_read = int(np.isfinite(values).sum())
    counts = CellCounts(n_read, n_empty, unreadable=len(column) - n_empty - n_read)
    lost = _unreadable_note(words, np.isnan(words.numbers()), counts.unreadable)
    reading = ColumnReading("number", lost if counts.unreadable else "", counts)
    return _unless_useless(reading, [f"{v:g}" for v in np.unique(values[np.isfinite(values)])[:2]])


def _read_typed(column: Any) -> ColumnReading:
    """Read a column whose type says what it holds: numbers, dates, durations."""
    distinct = first_two_words(column)
    n_empty = int(column.isna().sum())
    counts = CellCounts(len(column) - n_empty, n_empty)
    if column.dtype.kind == "M":
        note = "dates, taken as days since 1970"
        reading = ColumnReading("date", note, counts, date_format="datetime")
    elif column.dtype.kind == "m":
        reading = ColumnReading("duration", "durations, taken as numbers of days", counts)
    else:
        values = _numbers(column)
        n_infinite = int(np.isnan(values).sum()) - n_empty
        note = infinite_note(n_infinite)
        counts = CellCounts(counts.read - n_infinite, n_empty, unreadable=n_infinite)
        is_id = _numbers_the_rows(values, str(column.name))
        reading = ColumnReading("number", note if n_infinite else "", counts, is_id=is_id)
        if n_infinite:
            distinct = [f"{value:g}" for value in np.unique(values[np.isfinite(values)])[:2]]
    return _unless_useless(reading, distinct)


def _read_as_numbers(
    words: Words, name: str, n_empty: int, max_categories: int
) -> ColumnReading | None:
    lower, upper = words.bounds()
    is_number = lower == upper
    is_bound = ~is_number & (np.isfinite(lower) | np.isfinite(upper))
    counts = _counts(words, is_number, n_empty, is_bound)
    n_words = counts.read + counts.bounds + counts.unreadable
    n_words -= int(words.counts[words.says_nothing() & ~is_number].sum())
    needed = _READABLE if len(words.distinct) <= max_categories else _READABLE_OR_LOST
    if not counts.read or counts.read + counts.bounds < needed * n_words:
        return None
    notes = ["numbers written as text"]
    if counts.bounds:
        example = next(word for word, bound in zip(words.distinct, is_bound, strict=True) if bound)
        such = f"{counted(counts.bounds, 'value')} such as {example!r}"
        notes.append(f"{such} {count_as_missing(counts.bounds)}")
    if counts.unreadable:
        notes.append(_unreadable_note(words, ~is_number & ~is_bound, counts.unreadable))
    values = words.by_row(np.where(is_number, lower, np.nan))
    reading = ColumnReading(
        "number", "; ".join(notes), counts, is_id=_numbers_the_rows(values, name)
    )
    return _unless_useless(
        reading, [word for word, read in zip(words.distinct, is_number, strict=True) if read]
    )


def _read_as_dates(words: Words, n_empty: int) -> ColumnReading | None:
    date_format, n_dates = words.best_date_format()
    nothing = words.says_nothing()
    if not n_dates or n_dates < _READABLE * int(words.counts[~nothing].sum()):
        return None
    is_date = np.isfinite(words.days(date_format))
    counts = _counts(words, is_date, n_empty)
    note = "dates written as text, taken as days since 1970"
    if counts.unreadable:
        note += "; " + _unreadable_note(words, ~is_date, counts.unreadable)
    reading = ColumnReading("date", note, counts, date_format=date_format)
    return _unless_useless(
        reading, [word for word, read in zip(words.distinct, is_date, strict=True) if read]
    )


def _read_as_order(column: Any, words: Words, n_empty: int) -> ColumnReading | None:
    if not getattr(column.dtype, "ordered", False):
        return None
    values = [str(value).strip() for value in column.cat.categories]
    note = f"ordered words, taken as numbers from 0 ({values[0]!r}) to {len(values) - 1} "
    counts = CellCounts(int(words.counts.sum()), n_empty)
    reading = ColumnReading("ordered", f"{note}({values[-1]!r})", counts, tuple(values))
    return _unless_useless(reading, words.distinct)


def _read_as_words(words: Words, n_empty: int, max_categories: int) -> ColumnReading:
    counts = CellCounts(int(words.counts.sum()), n_empty)
    # The commonest first, so that of two values the rarer one gets the indicator.
    count_of = dict(zip(words.distinct, words.counts.tolist(), strict=True))
    values = sorted(words.distinct, key=lambda value: (-count_of[value], value))
    if len(values) > 2:
        values = sorted(values)
        note = f"words, one indicator column for each of the {len(values)}"
    else:
        note = f"words, 1 for {values[-1]!r} and 0 for {values[0]!r}" if values else ""
    is_id = len(values) == counts.read >= _FEWEST_IDS
    if len(values) > max_categories:
        note = f"left out, text with {len(values)} different values"
        return ColumnReading("category", note, counts, is_id=is_id, left_out=True)
    reading = ColumnReading("category", note, counts, tuple(values), is_id=is_id)
    return _unless_useless(reading, values)


def _unless_useless(reading: ColumnReading, distinct: list[str]) -> ColumnReading:
    """Leave out a column that has fewer than two different values."""
    if not distinct:
        return replace(reading, left_out=True, note="left out, it has no value at all")
    if len(distinct) == 1:
        note = f"left out, its only value is {distinct[0]!r}"
        return replace(reading, left_out=True, note=note)
    return reading


def _counts(
    words: Words, read: BoolArray, n_empty: int, bound: BoolArray | None = None
) -> CellCounts:
    n_read = int(words.counts[read].sum())
    n_bounds = 0 if bound is None else int(words.counts[bound].sum())
    return CellCounts(n_read, n_empty, n_bounds, int(words.counts.sum()) - n_read - n_bounds)


def _unreadable_note(words: Words, unread: BoolArray, number: int) -> str:
    shown = [word for word, other in zip(words.distinct, unread, strict=True) if other]
    listed = ", ".join(repr(word) for word in shown[:3]) + ", ..." * (len(shown) > 3)
    return f"{counted(number, 'unreadable value')} ({listed}) {count_as_missing(number)}"


def _numbers_the_rows(values: FloatArray, name: str) -> bool:
    """Return whether numbers only identify rows: whole, all different, counting from 0 or 1.

    With a name such as ``patient_id`` they may start anywhere. Some of the rows may have been left
    out, so that a count has gaps.
    """
    n = len(values)
    if n < _FEWEST_IDS or np.isnan(values).any() or (values != np.round(values)).any():
        return False
    if len(np.unique(values)) < n:
        return False
    return bool(_ID_NAME.search(name)) or bool(values.min() in (0, 1) and values.max() <= 2 * n)


def _numbers(column: Any) -> FloatArray:
    """Read a column as numbers, NaN where it is missing, infinite or no number."""
    if column.dtype.kind in "iufb":
        values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isinf(values), np.nan, values)
    words = Words(column)
    return words.by_row(words.numbers())


def _days(column: Any, date_format: str) -> FloatArray:
    """Read a column as dates: days since 1970, NaN where it is missing or no date."""
    import pandas as pd

    if column.dtype.kind == "M" or date_format == "datetime":
        return days_since_1970(pd.to_datetime(column, errors="coerce", utc=True))
    words = Words(column)
    return words.by_row(words.days(date_format))


def _durations(column: Any) -> FloatArray:
    """Read a column as durations: numbers of days, NaN where it is missing or no duration."""
    import pandas as pd

    seconds = pd.to_timedelta(column, errors="coerce").dt.total_seconds()
    days: FloatArray = seconds.to_numpy(dtype=np.float64, na_value=np.nan) / SECONDS_A_DAY
    return days


def _indicators(column: Any, values: tuple[str, ...]) -> FloatArray:
    """Return one 0/1 column per value; NaN in all of them where it is missing or new."""
    words = Words(column)
    position = {value: k for k, value in enumerate(values)}
    rows = np.vstack([np.eye(len(values)), np.full(len(values), np.nan)])
    of_words = rows[[position.get(word, -1) for word in words.distinct]]
    return words.by_row(of_words[:, 1:] if len(values) == 2 else of_words)
