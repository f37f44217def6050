"""A column of a user's frame, with each different text in it interpreted once.

A column of a hundred thousand rows often has ten different texts. :class:`Column` finds them, reads
them as numbers, and gives each row the value that belongs to its text. Two cells are the same text
if they are written alike, which is not the same as being equal to pandas (:func:`_equal_cells`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from absentia.engine.threads import computed_once
from absentia.tables.columns import numerals
from absentia.tables.reading import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

#: A column is read as numbers or dates when at least this share of its values is.
READABLE = 0.9
_LIKE_THOUSANDS = re.compile(r"^-?[1-9]\d{0,2}\.\d{3}$")
#: Spellings of an unknown value, in lower case. In a column of numbers or dates these are missing
#: values; among categories they are categories: "-" may be a result, and "none" too.
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


class Column:
    """A column of a frame and, found when first needed, its different texts."""

    def __init__(self, series: pd.Series):
        self.series = series
        self._decimal_commas = False
        self._ends: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._bare: dict[str, Column] = {}

    @classmethod
    def of(cls, column: pd.Series | Column) -> Column:
        """Return a series as a column; a column as it is."""
        return column if isinstance(column, Column) else cls(column)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> dict[str, Column]:
        """Return the columns of a pandas frame with unique names."""
        return {str(name): cls(frame[name]) for name in frame.columns}

    def __len__(self) -> int:
        return len(self.series)

    @property
    def name(self) -> str:
        """The name of the column."""
        return str(self.series.name)

    @property
    def type_kind(self) -> str:
        """The kind of the type, as in NumPy: numbers are "iufb", durations "m" and dates "M"."""
        return str(self.series.dtype.kind)

    @property
    def is_text(self) -> bool:
        """Whether the cells are text or objects, rather than numbers, dates or durations."""
        return self.type_kind not in "iufbmM"

    @computed_once
    def _texts(self) -> tuple[list[str], IntArray, IntArray]:
        cells = _equal_cells(self.series)
        if cells is None:
            spelled = list(_spelled(self.series))
        else:
            # The last assignment stays, so going backwards leaves the first row of each code. One
            # missing row is among these: it decides how pandas hands out the others (categories
            # that are whole numbers come as 1.0 beside a missing one, as 1 otherwise).
            first = np.empty(int(cells.max(initial=-1)) + 1, dtype=np.intp)
            first[cells[::-1]] = np.arange(len(cells))[::-1]
            spelled = list(_spelled(self.series.iloc[first]))
        position: dict[str | None, int] = {None: -1}
        for text in spelled:
            position.setdefault(text, len(position) - 1)
        distinct = [text for text in position if text is not None]
        codes = np.fromiter(map(position.__getitem__, spelled), np.intp, count=len(spelled))
        codes = codes if cells is None else codes[cells]
        return distinct, codes, np.bincount(codes[codes >= 0], minlength=len(distinct))

    @property
    def distinct(self) -> list[str]:
        """The different texts."""
        return self._texts[0]

    @property
    def codes(self) -> IntArray:
        """The place of the text of each row, -1 where it is missing."""
        return self._texts[1]

    @property
    def counts(self) -> IntArray:
        """The number of rows with each text."""
        return self._texts[2]

    @property
    def n_empty(self) -> int:
        """The number of rows without a text."""
        return len(self) - int(self.counts.sum())

    def first_two(self) -> list[str]:
        """Return the first two different texts: typed numbers soon have two."""
        return Column(self.series.dropna().drop_duplicates().head(2)).distinct

    def with_decimal_commas(self) -> Column:
        """Return the column where commas are decimal, unless its texts show otherwise."""
        other = self._copy(self.distinct)
        other._decimal_commas = True
        return other

    def _copy(self, distinct: list[str]) -> Column:
        other = Column(self.series)
        other._decimal_commas = self._decimal_commas
        other.__dict__["_texts"] = (distinct, self.codes, self.counts)
        return other

    @computed_once
    def decimal_sign(self) -> str:
        """The decimal sign of the column, ``"."`` or ``","``."""
        return self.shown_sign or ("," if self._decimal_commas and self.in_doubt else ".")

    @computed_once
    def shown_sign(self) -> str:
        """The decimal sign that the texts themselves show, empty where they show none."""
        return numerals.shown_sign(self.distinct)

    @computed_once
    def in_doubt(self) -> str:
        """A text whose comma or point may be either sign, where no text of the column decides."""
        return numerals.in_doubt(self.distinct)

    @computed_once
    def grouped_text(self) -> str:
        """The first text with separated thousands, empty where there is none."""
        sign = self.decimal_sign
        return next((text for text in self.distinct if numerals.groups_thousands(text, sign)), "")

    @computed_once
    def unit(self) -> str:
        """The one unit behind nearly all numbers, such as ``kg``; empty where there is none."""
        units: Counter[str] = Counter()
        for text, count in zip(self.distinct, self.counts.tolist(), strict=True):
            units[numerals.split_unit(text)[1]] += count
        del units[""]
        n_texts = int(self.counts[~self.says_nothing()].sum())
        return next(iter(units)) if len(units) == 1 and units.total() >= READABLE * n_texts else ""

    def without_unit(self, unit: str) -> Column:
        """Return the same rows with "12.5" for "12.5 kg"; two of the texts may then be alike."""
        if not unit:
            return self
        if unit not in self._bare:
            pairs = [(text, numerals.split_unit(text)) for text in self.distinct]
            bare = [number if found == unit else text for text, (number, found) in pairs]
            self._bare[unit] = self._copy(bare)
        return self._bare[unit]

    def numbers(self, decimal: str = ".") -> FloatArray:
        """Return the different texts as numbers, NaN where one is none."""
        lower, upper = self.bounds(decimal)
        return np.where(lower == upper, lower, np.nan)

    def bounds(self, decimal: str = ".") -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of the number of each different text.

        ``"3"`` lies from 3 to 3, ``"<0.5"`` from minus infinity to 0.5, ``">= 10"`` from 10 to
        infinity, ``"5-10"`` from 5 to 10, and a text that is no number anywhere.
        """
        if decimal not in self._ends:
            numbers = [numerals.number_of(text, decimal) for text in self.distinct]
            lower = np.array(numbers, dtype=np.float64)
            upper = lower.copy()
            for k in np.flatnonzero(np.isnan(lower)):
                lower[k], upper[k] = numerals.limits_of(self.distinct[k], decimal)
            self._ends[decimal] = lower, upper
        return self._ends[decimal]

    def errors(self, decimal: str = ".") -> FloatArray:
        """Return the error of each different text, such as 0.2 of ``"7.7 ± 0.2"``, else zero."""
        parts = (numerals.measurement(text) for text in self.distinct)
        return np.array([numerals.number_of(p[1].strip(), decimal) if p else 0.0 for p in parts])

    def marks(self) -> list[str]:
        """Return the different currency and percent signs."""
        marks = map(numerals.mark_of, self.distinct)
        return list(dict.fromkeys(filter(None, marks)))

    def says_nothing(self) -> BoolArray:
        """Return which of the different texts mean "not known", such as ``-`` or ``n/a``."""
        return np.array([text.lower() in _NOTHING_KNOWN for text in self.distinct], dtype=bool)

    def by_row(self, of_texts: FloatArray) -> FloatArray:
        """Give each row the entry of its text along the first axis, NaN where it is missing."""
        missing = np.full((1, *of_texts.shape[1:]), np.nan)
        # The code -1 of a missing text takes the last entry.
        return np.concatenate([of_texts, missing])[self.codes]


def _spelled(series: pd.Series) -> Iterator[str | None]:
    """Yield the cells as text without outer blanks, None where missing."""
    missing = series.isna().to_numpy()
    # Whole numbers are 1.0 beside a missing value and 1 otherwise: the same text.
    whole = series.dtype.kind == "f" or hasattr(series.dtype, "categories")
    objects = series.dtype == object
    for value, gone in zip(series, missing, strict=True):
        if gone:
            yield None
        elif whole and isinstance(value, float) and value.is_integer():
            yield f"{value + 0.0:.0f}"
        elif objects and isinstance(value, float | Decimal) and _LIKE_THOUSANDS.match(str(value)):
            yield f"{value}0"  # "1.410" may be 1410 where it is text, but a number is itself
        else:
            yield str(value).strip() or None


def _equal_cells(series: pd.Series) -> IntArray | None:
    """Return codes 0, 1, ... that rows with equal cells share, None if that says too little.

    Equal cells must be written alike, and Python's objects need not be: ``1``, ``1.0`` and ``True``
    are equal, so are the times of one instant in two zones, and a member of an ``Enum`` of strings
    and its value. So only categories and plain strings have codes; all else is spelled row by row.
    """
    import pandas as pd

    dtype, values = series.dtype, series.array
    if isinstance(dtype, pd.CategoricalDtype):
        # The codes of pandas again, because some categories may be in no row.
        values = series.cat.codes.to_numpy()
    elif not isinstance(dtype, pd.StringDtype) or not dtype.storage.startswith("pyarrow"):
        words = isinstance(dtype, pd.StringDtype) or pd.api.types.is_object_dtype(dtype)
        if not words or set(map(type, values[series.notna().to_numpy()])) != {str}:
            return None
    # Missing cells get codes of their own, however many: they are found later.
    return pd.factorize(values, use_na_sentinel=False)[0]
