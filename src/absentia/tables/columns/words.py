"""The words of a column, each different one interpreted once.

A column of a hundred thousand rows often has ten different words. :class:`Words` finds them, reads
them as numbers or as dates, and gives each row the answer that belongs to its word.

The care goes into what "different" means: two values are the same word if they are written alike,
which is not what pandas takes for equal (:func:`_equal_cells` says where the two part ways).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import compress
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.engine.computed_once import computed_once
from absentia.engine.threads import hold_during_forks
from absentia.tables.columns.date_formats import DAY_FIRST, LONGEST_DATE, possible_formats
from absentia.tables.columns.number_words import (
    groups_thousands,
    in_doubt,
    limits_of_word,
    mark_of,
    number_of,
    shown_sign,
)
from absentia.tables.columns.units import singular, split_unit, without_unit
from absentia.tables.reading import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SECONDS_A_DAY", "Words", "days_since_1970", "first_two_words", "parsed_dates"]

_LIKE_THOUSANDS = re.compile(r"^-?[1-9]\d{0,2}\.\d{3}$")
#: pandas has a lock of its own for the formats of dates, which it does not give back in a fork.
_parsing = RLock()
hold_during_forks(_parsing)

SECONDS_A_DAY = 86_400.0
#: What people write for an unknown value, in lower case. In a column of numbers or dates these
#: are missing values; in a column of words they are words: "-" may be a result, and "none" too.
_NOTHING_KNOWN = frozenset({
    "-", "--", "---", "–", "—", ".", "..", "...", "*", "**", "?", "??", "/", "na", "n/a", "n.a.",
    "n.a", "nan", "null", "none", "nil", "nd", "n/d", "n.d.", "unk", "unknown", "missing",
    "not known", "not available", "not measured", "not done", "not reported", "not recorded",
    "not applicable", "no data", "n/r", "n.r.", "inf", "-inf", "infinity",
    "k.a.", "k. a.", "k.a", "keine angabe", "keine angaben", "unbekannt", "nicht bekannt",
    "nicht gemessen", "fehlt", "nc", "n/c", "n.c.", "inconnu", "inconnue", "non renseigné",
    "s/d", "s.d.", "sin dato", "sin datos", "desconocido", "desconocida", "desconhecido",
    "sem dados", "sconosciuto", "non disponibile", "onbekend",
    "#n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!",
})  # fmt: skip


class Words:
    """A column as text: its different words, in the order they appear, and which each row holds.

    Parameters
    ----------
    column : pandas.Series
    decimal_commas : bool, default=False
        Whether commas are the decimal sign of a column that does not tell ("1,234", "1.234"): what
        the rest of the table says.

    Attributes
    ----------
    distinct : list of str
        The different words, without outer blanks.
    codes : ndarray of shape (n_rows,)
        For each row the place of its word in ``distinct``, -1 where it is missing.
    counts : ndarray of shape (n_distinct,)
        In how many rows each of the different words stands.

    Examples
    --------
    >>> import pandas as pd
    >>> words = Words(pd.Series(["2", " 1,5", None, "1,5 "]))
    >>> words.distinct, words.codes.tolist(), words.counts.tolist()
    (['2', '1,5'], [0, 1, -1, 1], [1, 2])
    >>> words.by_row(words.numbers())
    array([2. , 1.5, nan, 1.5])
    """

    def __init__(self, column: pd.Series, *, decimal_commas: bool = False):
        self._decimal_commas = decimal_commas
        cells = _equal_cells(column)
        if cells is None:
            spelled = list(_spelled(column))
        else:
            # The last assignment stays, so going backwards leaves the first row of each code. One
            # missing row is among these: it decides how pandas hands out the others (categories
            # that are whole numbers come as 1.0 beside a missing one, as 1 otherwise).
            first = np.empty(int(cells.max(initial=-1)) + 1, dtype=np.intp)
            first[cells[::-1]] = np.arange(len(cells))[::-1]
            spelled = list(_spelled(column.iloc[first]))
        position: dict[str | None, int] = {None: -1}
        for word in spelled:
            position.setdefault(word, len(position) - 1)
        self.distinct: list[str] = [word for word in position if word is not None]
        codes = np.fromiter(map(position.__getitem__, spelled), np.intp, count=len(spelled))
        self.codes: IntArray = codes if cells is None else codes[cells]
        present = self.codes[self.codes >= 0]
        self.counts: IntArray = np.bincount(present, minlength=len(self.distinct))
        self._ends: dict[str, tuple[FloatArray, FloatArray]] = {}  # found once

    @computed_once
    def decimal_sign(self) -> str:
        """What separates decimals in this column, ``"."`` or ``","``."""
        return self.shown_sign or ("," if self._decimal_commas and self.in_doubt else ".")

    @computed_once
    def shown_sign(self) -> str:
        """The decimal sign that the words themselves show, empty where they show none."""
        return shown_sign(self.distinct)

    @computed_once
    def in_doubt(self) -> str:
        """A word whose comma or point may be either sign, where no word of the column decides."""
        return in_doubt(self.distinct)

    @computed_once
    def grouped_word(self) -> str:
        """The first word whose thousands are separated, empty where there is none."""
        sign = self.decimal_sign
        return next((word for word in self.distinct if groups_thousands(word, sign)), "")

    @computed_once
    def units(self) -> dict[str, int]:
        """In how many rows numbers have a unit behind them, by the unit.

        Singular and plural are one unit, as they are written more often.
        """
        spellings: dict[str, Counter[str]] = {}
        for word, count in zip(self.distinct, self.counts.tolist(), strict=True):
            unit = split_unit(word)[1]
            if unit:
                spellings.setdefault(singular(unit), Counter())[unit] += count
        return {written.most_common(1)[0][0]: written.total() for written in spellings.values()}

    def without_unit(self, unit: str) -> Words:
        """Return the same rows with "12.5" for "12.5 kg"; two of the words may then be alike."""
        if not unit:
            return self
        other = Words.__new__(Words)
        other._decimal_commas, other._ends = self._decimal_commas, {}
        other.codes, other.counts = self.codes, self.counts
        other.distinct = [without_unit(word, unit) for word in self.distinct]
        return other

    def numbers(self, decimal: str = ".") -> FloatArray:
        """Read the different words as numbers, NaN where one is none."""
        return np.array([number_of(word, decimal) for word in self.distinct], dtype=np.float64)

    def bounds(self, decimal: str = ".") -> tuple[FloatArray, FloatArray]:
        """Return where the number of each different word lies: the lower and the upper end.

        ``"3"`` lies from 3 to 3, ``"<0.5"`` from minus infinity to 0.5, ``">= 10"`` from 10 to
        infinity, ``"5-10"`` from 5 to 10, and a word that is no number anywhere.
        """
        if decimal not in self._ends:
            lower = self.numbers(decimal)
            upper = lower.copy()
            for k in np.flatnonzero(np.isnan(lower)):
                lower[k], upper[k] = limits_of_word(self.distinct[k], decimal)
            self._ends[decimal] = lower, upper
        return self._ends[decimal]

    def marks(self) -> dict[str, int]:
        """Return in how many rows numbers have a currency or percent sign, by the sign."""
        found: dict[str, int] = {}
        for word, count in zip(self.distinct, self.counts.tolist(), strict=True):
            mark = mark_of(word)
            if mark:
                found[mark] = found.get(mark, 0) + count
        return found

    def says_nothing(self) -> BoolArray:
        """Return which of the different words stand for "not known", such as ``-`` or ``n/a``."""
        return np.array([word.lower() in _NOTHING_KNOWN for word in self.distinct], dtype=bool)

    def days(self, date_formats: Sequence[str]) -> FloatArray:
        """Read the different words as dates: days since 1970, NaN where one is none.

        Each word is read by the first of the formats that fits.
        """
        import pandas as pd

        words = pd.Series(self.distinct, dtype=object)
        days = np.full(len(words), np.nan)
        short = np.array([len(word) <= LONGEST_DATE for word in self.distinct], dtype=bool)
        for date_format in date_formats:
            left = np.isnan(days) & short
            if not left.any():
                break
            dates = parsed_dates(words[left], format=date_format, errors="coerce", utc=True)
            days[left] = days_since_1970(dates)
        return days

    def date_formats(self) -> tuple[tuple[str, ...], int]:
        """Return how dates are spelled, the commonest format first, and how many rows are dates.

        A column that was put together from several sources has several spellings: after the one
        that reads the most rows comes the one that reads the most of the others, and so on. Of
        day-first and month-first formats those are used that read more rows (in a tie, day-first
        ones): a word that does not fit them is not read the other way round.
        """
        formats = possible_formats(self.distinct)
        read: dict[str, BoolArray] = {}
        n_present = int(self.counts.sum())
        for date_format in formats:
            read[date_format] = np.isfinite(self.days([date_format]))
            if n_present and read[date_format].all():  # day-first formats come first
                return (date_format,), n_present

        def n_rows(which: Iterable[str]) -> int:
            known = [read[date_format] for date_format in which if date_format in read]
            return int(self.counts[np.any(known, axis=0)].sum()) if known else 0

        day_first = n_rows(DAY_FIRST) >= n_rows(DAY_FIRST.values())
        barred = set(DAY_FIRST.values() if day_first else DAY_FIRST)
        chosen: list[str] = []
        left = self.counts.copy()
        while True:
            gains = {form: int(left[known].sum()) for form, known in read.items()}
            best = max(
                (form for form in gains if form not in barred),
                key=lambda form: gains[form],
                default="",
            )
            if not best or not gains[best]:
                return tuple(chosen), n_present - int(left.sum())
            chosen.append(best)
            left[read[best]] = 0

    def by_row(self, of_words: FloatArray) -> FloatArray:
        """Give each row the entry of its word along the first axis, NaN where it is missing."""
        missing = np.full((1, *of_words.shape[1:]), np.nan)
        # The code -1 of a missing word takes the last entry.
        taken: FloatArray = np.concatenate([of_words, missing])[self.codes]
        return taken


def first_two_words(column: pd.Series) -> list[str]:
    """Return the different words of a column, but stop at the second: numbers soon have two."""
    found: list[str] = []
    for word in _spelled(column):
        if word is not None and word not in found:
            found.append(word)
            if len(found) == 2:
                break
    return found


def parsed_dates(values: pd.Series, **how: Any) -> pd.Series:
    """Return ``pandas.to_datetime``, whose lock no forked process inherits from another thread."""
    import pandas as pd

    with _parsing:
        return pd.to_datetime(values, **how)


def days_since_1970(dates: pd.Series) -> FloatArray:
    """Return a series of dates with a time zone as days, NaN where there is none."""
    import pandas as pd

    # An epoch in seconds: one in nanoseconds would not reach 9999-12-31, which people write.
    epoch = pd.Timestamp(0, tz="UTC").as_unit("s")
    if isinstance(dates.dtype, pd.ArrowDtype):
        # Arrow's durations in nanoseconds are no floating-point numbers beyond 104 days.
        dates = dates.astype(f"datetime64[{dates.dtype.pyarrow_dtype.unit}, UTC]")
    seconds = (dates - epoch).dt.total_seconds()
    days: FloatArray = seconds.to_numpy(dtype=np.float64, na_value=np.nan) / SECONDS_A_DAY
    return days


def _spelled(column: pd.Series) -> Iterator[str | None]:
    """Yield the values of a column as text without outer blanks, None where missing."""
    missing = column.isna().to_numpy()
    # Whole numbers are 1.0 beside a missing value and 1 otherwise: the same word.
    whole = column.dtype.kind == "f" or hasattr(column.dtype, "categories")
    objects = column.dtype == object
    for value, gone in zip(column, missing, strict=True):
        if gone:
            yield None
        elif whole and isinstance(value, float) and value.is_integer():
            yield f"{value + 0.0:.0f}"
        elif objects and isinstance(value, float | Decimal) and _LIKE_THOUSANDS.match(str(value)):
            yield f"{value}0"  # "1.410" may be 1410 where it is text, and a number is what it is
        else:
            yield str(value).strip() or None


def _equal_cells(column: pd.Series) -> IntArray | None:
    """Return codes 0, 1, ... that rows with equal cells share, None if that says too little.

    Equal cells must be written alike, and Python's objects need not be: ``1``, ``1.0`` and ``True``
    are equal, so are the times of one instant in two zones, and a member of an ``Enum`` of strings
    and its value. So only categories and plain strings have codes; all else is spelled row by row.
    """
    import pandas as pd

    dtype = column.dtype
    # Missing cells get codes of their own, however many: which they are is asked later.
    if isinstance(dtype, pd.CategoricalDtype):
        # The codes of pandas again, because some categories may be in no row.
        return _codes(column.cat.codes.to_numpy())
    if isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow"):
        return _codes(column.array)
    if not isinstance(dtype, pd.StringDtype) and not pd.api.types.is_object_dtype(dtype):
        return None
    cells = list(column)
    if set(map(type, compress(cells, column.notna().tolist()))) != {str}:
        return None
    position = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}
    return np.fromiter(map(position.__getitem__, cells), np.intp, count=len(cells))


def _codes(values: object) -> IntArray:
    import pandas as pd

    codes: IntArray = pd.factorize(values, use_na_sentinel=False)[0]
    return codes
