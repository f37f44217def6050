"""Readings of single columns: as numbers, dates, durations, ordered or plain categories.

A :class:`ColumnReading` is a small value that says what a column holds, how many of its cells could
not be used, and how later columns of the same name are to be read. It is made by
:func:`absentia.tables.columns.guesses.read_column`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from absentia.tables.columns.column import Column
from absentia.tables.columns.dates import PERIODS, SECONDS_A_DAY, days_of
from absentia.tables.columns.numerals import number_of
from absentia.tables.columns.supports import Support
from absentia.tables.reading import BoolArray, FloatArray, IntArray
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "date", "duration", "ordered", "category"]


@dataclass(frozen=True)
class CellCounts(Stored):
    """Numbers of cells of a column: with a value, and with nothing in them (``empty``).

    ``bounds`` are cells of numbers that only limit the number, such as ``<0.5``; ``unreadable``
    are cells of numbers or dates that hold something else, such as ``-``, an infinity or -999.
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

    @classmethod
    def of(cls, column: Column) -> CellCounts:
        """Count the cells of a column in which every cell with something in it is read."""
        n_empty = column.n_empty if column.is_text else int(column.series.isna().sum())
        return cls(len(column) - n_empty, n_empty)


@dataclass(frozen=True)
class ColumnReading(Stored):
    """Reading of a column, made from training and applied to later columns of the same name.

    ``note`` is for the user, empty for plain numbers. ``categories`` are in their order,
    ``date_formats`` the spellings of dates, the commonest first, ``cycles`` the parts of a date
    that are columns of their own, as sine and cosine. ``decimal`` is the decimal sign of numbers
    written as text, ``shown`` the one that the values show themselves (typed fractions show a
    point), ``grouped`` says that thousands are separated, ``unit`` stands behind every number.
    ``sentinels`` such as -999 are missing values. ``is_id``: the column may only identify rows;
    ``left_out``: there is nothing to learn from it. ``typed``: the numbers had a type, so that
    their spelling is unknown; where they come as text, the table that they come in decides.
    ``support`` are the values that numbers can have. ``encoding`` has the numbers that stand for
    each of many categories, one category after the other: what it says about the target.
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
    support: Support = field(default_factory=Support)
    encoding: tuple[float, ...] = ()

    def validate(self) -> None:
        """Raise ValueError unless the fields have known values of their types."""
        if self.kind not in get_args(Kind):
            raise ValueError(f"ColumnReading.kind {self.kind!r} is not known.")
        self._require_types(str, "note", "unit")
        self._require_types(bool, "is_id", "left_out", "grouped", "typed")
        self._require_types(tuple, "categories", "date_formats", "cycles", entries=str)
        self._require_types(tuple, "sentinels", "encoding", entries=float)
        self._require_types(CellCounts, "counts")
        self._require_types(Support, "support")
        self.support.ensure_valid()
        if len(set(self.categories)) != len(self.categories):
            raise ValueError("ColumnReading.categories must be different.")
        if self.encoding and (
            not np.isfinite(self.encoding).all()
            or not self.categories
            or len(self.encoding) % len(self.categories)
        ):
            raise ValueError("ColumnReading.encoding must have as many numbers per category.")
        if not set(self.cycles) <= set(PERIODS):
            raise ValueError("ColumnReading.cycles must be known ones.")
        if self.decimal not in (".", ",") or self.shown not in ("", ".", ","):
            raise ValueError("ColumnReading.decimal and shown must be decimal signs.")

    @property
    def is_quantity(self) -> bool:
        """Whether the column holds numbers, dates or durations."""
        return self.kind in ("number", "date", "duration")

    @property
    def in_doubt(self) -> bool:
        """Whether the rest of a table may show that the decimal sign is a comma after all."""
        return self.kind == "number" and self.decimal == "." and not self.shown

    def width(self, codes: bool = False) -> int:
        """Return the number of columns of :meth:`values`, with codes or with indicators."""
        if self.left_out:
            return 0
        if self.encoding and not codes:
            return len(self.encoding) // len(self.categories)
        if self.kind == "category" and len(self.categories) != 2 and not codes:
            return len(self.categories)
        return 1 + 2 * len(self.cycles)

    def names(self, name: str, codes: bool = False) -> list[str]:
        """Return the names of those columns: ``name``, or ``name=category``."""
        if self.left_out:
            return []
        if self.encoding and not codes:
            width = self.width()
            return [name] if width == 1 else [f"{name} ({k + 1} of {width})" for k in range(width)]
        if self.kind == "category" and not codes:
            return [f"{name}={value}" for value in self.categories[-self.width() :]]
        return [name, *part_names(name, self.cycles)]

    def values(self, column: pd.Series | Column, *, codes: bool = False) -> FloatArray:
        """Read a column as numbers, shape (n_rows, width), NaN where nothing is known.

        With ``codes`` a category is its place among the categories, otherwise indicators.
        """
        column = Column.of(column)
        if self.left_out:
            return np.empty((len(column), 0))
        if self.encoding and not codes:
            encoded = np.reshape(self.encoding, (len(self.categories), -1))
            return _of_categories(column, self.categories, encoded)
        if self.kind == "category" and not codes:
            indicators = np.eye(len(self.categories))
            only = indicators[:, 1:] if len(self.categories) == 2 else indicators
            return _of_categories(column, self.categories, only)
        numbers = self._one_number(column)
        if self.cycles:
            return np.column_stack([numbers, cyclic_parts(numbers, self.cycles)])
        return numbers[:, None]

    def limits(self, column: Column) -> tuple[FloatArray, FloatArray] | None:
        """Return the ends between which the number of each row lies; None if no cell sets any.

        Both are the number itself where it was read; ``<0.5`` lies from the lower end of the
        support to 0.5, and a missing number anywhere.
        """
        if self.kind != "number" or not column.is_text:
            return None
        bare = column.without_unit(self.unit)
        lower, upper = bare.bounds(self.decimal)
        if not ((lower != upper) & (np.isfinite(lower) | np.isfinite(upper))).any():
            return None
        coded = (lower == upper) & np.isin(lower, self.sentinels)
        ends = (bare.by_row(np.where(coded, np.nan, end)) for end in (lower, upper))
        lower, upper = self.support.within(*ends)
        return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)

    def errors(self, column: Column) -> FloatArray | None:
        """Return the standard deviation of each measurement with an error; None without any."""
        if self.kind != "number" or not column.is_text:
            return None
        bare = column.without_unit(self.unit)
        errors = np.nan_to_num(bare.by_row(bare.errors(self.decimal)))
        return errors if errors.any() else None

    def restored(self, numbers: FloatArray) -> Any:
        """Return numbers (and codes of categories) as the column held them: text, dates."""
        import pandas as pd

        if self.categories:
            return np.array(self.categories, dtype=object)[self.nearest_code(numbers[:, None])]
        if self.kind == "date":
            # Days since 1970 in double precision are right to a microsecond; the years 1 to 9999.
            days = np.clip(numbers, -719162.0, 2932896.0)
            return pd.DatetimeIndex(_whole(days * 86_400e3, "datetime64[ms]"))
        if self.kind == "duration":
            return pd.TimedeltaIndex(_whole(numbers * 86_400e6, "timedelta64[us]"))
        return numbers

    def nearest_code(self, numbers: FloatArray) -> IntArray:
        """Return the nearest categories of codes, indicators or encodings (0 where missing)."""
        if self.encoding:
            encoded = np.reshape(self.encoding, (len(self.categories), -1))
            return np.array(
                [((row - encoded) ** 2).sum(axis=1).argmin() for row in np.nan_to_num(numbers)],
                dtype=np.intp,
            )
        if numbers.shape[1] > 1:
            return np.nan_to_num(numbers).argmax(axis=1)
        last = len(self.categories) - 1
        return np.clip(np.round(np.nan_to_num(numbers[:, 0])), 0, last).astype(np.intp)

    def missing(self, column: pd.Series | Column) -> BoolArray:
        """Return which rows have no usable value."""
        column = Column.of(column)
        if self.kind == "category":
            return column.codes < 0  # a category that training had not is there
        return np.isnan(self._one_number(column))

    def _one_number(self, column: Column) -> FloatArray:
        if self.kind == "number":
            return without_sentinels(numbers_of(column, self.decimal, self.unit), self.sentinels)
        if self.kind == "date":
            return days_of(column, self.date_formats)
        if self.kind == "duration":
            return _durations(column)
        position = {value: float(k) for k, value in enumerate(self.categories)}
        places = [position.get(text, np.nan) for text in column.distinct]
        return column.by_row(np.array(places, dtype=np.float64))


def _whole(numbers: FloatArray, kind: str) -> np.ndarray:
    """Return the nearest whole numbers as dates or durations, no time for NaN."""
    absent = np.isnan(numbers)
    found = np.round(np.where(absent, 0.0, numbers)).astype(np.int64).astype(kind)
    found[absent] = np.array("NaT", dtype=kind)
    return found


def without_sentinels(values: FloatArray, sentinels: tuple[float, ...]) -> FloatArray:
    """Return numbers with NaN for sentinels, the array itself where it has none."""
    coded = np.isin(values, sentinels) if sentinels else np.zeros(0, dtype=bool)
    return np.where(coded, np.nan, values) if coded.any() else values


def numbers_of(column: pd.Series | Column, decimal: str = ".", unit: str = "") -> FloatArray:
    """Return a column as numbers, NaN where it is missing, infinite or no number."""
    column = Column.of(column)
    if column.type_kind in "iufb":
        values: FloatArray = column.series.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isinf(values), np.nan, values)
    bare = column.without_unit(unit)
    return bare.by_row(bare.numbers(decimal))


def _durations(column: Column) -> FloatArray:
    """Return a column as numbers of days, NaN where it is missing or no duration.

    Numbers are none: nothing says whether they count days or seconds.
    """
    import pandas as pd

    if column.type_kind in "iufbM":
        return np.full(len(column), np.nan)
    series = column.series
    if column.type_kind != "m":
        series = series.map(lambda cell: cell if _is_duration(cell) else None).astype(object)
    seconds = pd.to_timedelta(series, errors="coerce").dt.total_seconds()
    return seconds.to_numpy(dtype=np.float64, na_value=np.nan) / SECONDS_A_DAY


def _is_duration(cell: object) -> bool:
    """Return whether a cell is a duration, or text that has more to it than a number."""
    text = isinstance(cell, str) and np.isnan(number_of(cell.strip()))
    return text or isinstance(cell, timedelta | np.timedelta64)


def _of_categories(column: Column, categories: tuple[str, ...], numbers: FloatArray) -> FloatArray:
    """Return the numbers of each row's category; NaN in all of them where it is missing or new."""
    position = {value: k for k, value in enumerate(categories)}
    rows = np.vstack([numbers, np.full(numbers.shape[1], np.nan)])
    return column.by_row(rows[[position.get(text, -1) for text in column.distinct]])


def cyclic_parts(days: FloatArray, cycles: tuple[str, ...]) -> FloatArray:
    """Return sine and cosine of each cycle, shape (n_rows, 2 * n_cycles)."""
    parts = []
    for cycle in cycles:
        angle = 2 * np.pi * (days % PERIODS[cycle]) / PERIODS[cycle]
        parts += [np.sin(angle), np.cos(angle)]
    return np.column_stack(parts) if parts else np.empty((len(days), 0))


def part_names(name: str, cycles: tuple[str, ...]) -> list[str]:
    """Return the names of the columns of :func:`cyclic_parts`."""
    return [f"{name} ({part} of {cycle})" for cycle in cycles for part in ("sine", "cosine")]


def filled(
    columns: Mapping[str, Column], readings: Mapping[str, ColumnReading], n_rows: int, codes: bool
) -> FloatArray:
    """Return the columns of a frame as numbers, NaN where missing and in absent columns."""
    places = places_of(readings, codes)
    # Filled column by column: a table of words is many times its size as indicators.
    out = np.full((n_rows, sum(r.width(codes) for r in readings.values())), np.nan)
    for name, place in places.items():
        if name in columns:
            out[:, place] = readings[name].values(columns[name], codes=codes)
    return out


def places_of(readings: Mapping[str, ColumnReading], codes: bool) -> dict[str, slice]:
    """Return where the numbers of each column are that is not left out."""
    widths = [reading.width(codes) for reading in readings.values()]
    ends = np.cumsum(widths, dtype=int).tolist()
    found = zip(readings, widths, ends, strict=True)
    return {name: slice(end - width, end) for name, width, end in found if width}
