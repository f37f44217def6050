"""What a column holds: guessed from its values, or as its owner says.

:func:`read_column` looks at a column once and returns a :class:`ColumnReading` whose note says what
was guessed. The guesses are cautious: in doubt, numbers stay numbers and words stay words. The
encoder, the plan of a machine's columns and the report of missing values are built on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.tables.columns.cell_counts import counts_of, unless_useless, unreadable_note
from absentia.tables.columns.column_readings import CellCounts, ColumnReading, numbers_of
from absentia.tables.columns.date_guesses import (
    asked_dates,
    read_as_compact_dates,
    read_as_dates,
    typed_dates,
)
from absentia.tables.columns.number_guesses import (
    numbers_of_words,
    read_as_numbers,
    read_with_unit,
    typed_numbers,
    unit_of,
    units_of_most,
    with_unit,
)
from absentia.tables.columns.words import Words, first_two_words

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "case_note", "read_as", "read_column"]

#: What a user can say that a column is.
KINDS = ("number", "category", "date", "cyclic date", "left out")
#: With fewer rows a different word in each is no sign of an identifier.
_FEWEST_IDS = 20
#: More are words behind numbers, such as the streets of addresses.
_MOST_UNITS = 5
#: Whole numbers under such a name that come again and again are keys to something.
_KEY_NAME = re.compile(r"(?i:[ _.-](id|code)$)|[a-z](I[dD]|Code)$")


def read_column(
    column: pd.Series, *, max_categories: int = 30, decimal_commas: bool = False
) -> ColumnReading:
    """Find out how a column is to be read.

    Parameters
    ----------
    column : pandas.Series
    max_categories : int, default=30
        The largest number of different words that are read as categories.
    decimal_commas : bool, default=False
        What decimal signs are where the column does not tell ("1,234", "1.234").

    Returns
    -------
    ColumnReading
        ``left_out`` is set for columns without a value, with one value only, or with too many
        different words.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.column_guesses import read_column
    >>> column = pd.Series(["1.5", "<0.5", "-", None, *["2", "3"] * 8], name="lead")
    >>> reading = read_column(column)
    >>> reading.kind, reading.counts
    ('number', CellCounts(read=17, empty=1, bounds=1, unreadable=1))
    >>> lower, upper = reading.bounds(column)
    >>> lower[:3], upper[:3]
    (array([ 1.5, -inf, -inf]), array([1.5, 0.5, inf]))
    >>> read_column(pd.Series(["$1,200.50", "$990", "$15"])).note
    'numbers written as text; amounts of money in $'
    """
    if column.dtype.kind in "iufbmM":
        return _read_typed(column, max_categories)
    words = Words(column, decimal_commas=decimal_commas)
    n_empty = len(column) - int(words.counts.sum())
    said = _read_as_order(column, words, n_empty)
    if said is None and hasattr(column.dtype, "categories"):
        # The type says that these are categories, whatever they look like.
        said = _read_as_words(words, n_empty, max_categories)
        said = None if said.left_out and len(words.distinct) > max_categories else said
    found = (
        said
        or _read_as_ranges(words, n_empty, max_categories)
        or read_as_numbers(words, str(column.name), n_empty, max_categories)
        or read_as_dates(words, n_empty)
        or read_with_unit(words, str(column.name), n_empty, max_categories)
        or _read_as_words(words, n_empty, max_categories)
    )
    if found.left_out and str(column.dtype).startswith("interval"):
        note = (
            "left out, too many different intervals: bounded(X, lower, upper) uses them as limits"
        )
        return replace(found, note=note, is_id=False)
    return found


def read_as(
    column: Any, kind: str, *, max_categories: int = 30, decimal_commas: bool = False
) -> ColumnReading:
    """Read a column as its owner says.

    Parameters
    ----------
    column : pandas.Series
    kind : {"number", "category", "date", "cyclic date", "left out"}
        Numbers are taken as they are, also such as -999. A cyclic date has the time of year, of
        the week and of the day beside its days, a date has not.
    max_categories : int, default=30
    decimal_commas : bool, default=False
        As for :func:`read_column`.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.column_guesses import read_as
    >>> read_as(pd.Series([1, 2, 3, 2]), "category").categories
    ('1', '2', '3')
    """
    words = Words(column, decimal_commas=decimal_commas)
    n_empty = len(column) - int(words.counts.sum())
    if kind == "left out":
        counts = CellCounts(len(column) - n_empty, n_empty)
        return ColumnReading("category", "left out, as requested", counts, left_out=True)
    if kind == "category":
        return _read_as_words(words, n_empty, max_categories)
    if kind in ("date", "cyclic date"):
        return asked_dates(column, words, n_empty, cyclic=kind == "cyclic date")
    if kind != "number":
        raise ValueError(
            f"The kind of a column must be {', '.join(map(repr, KINDS[:-1]))} or {KINDS[-1]!r}, "
            f"found {kind!r} for {column.name!r}."
        )
    if column.dtype.kind in "mM":
        return _read_typed(column, max_categories)
    if column.dtype.kind in "iufb":
        return replace(typed_numbers(column, find_codes=False), is_id=False)
    unit = unit_of(words)
    bare = words.without_unit(unit)
    lower, upper = bare.bounds(bare.decimal_sign)
    reading = numbers_of_words(bare, lower, upper, "", n_empty, find_codes=False)
    return with_unit(reading, words, unit)


def _read_typed(column: pd.Series, max_categories: int) -> ColumnReading:
    """Read a column whose type says what it holds: numbers, dates, durations."""
    n_empty = int(column.isna().sum())
    counts = CellCounts(len(column) - n_empty, n_empty)
    if column.dtype.kind == "M":
        return typed_dates(column, counts)
    if column.dtype.kind == "m":
        reading = ColumnReading("duration", "durations, read as numbers of days", counts)
        return unless_useless(reading, first_two_words(column))
    return (
        read_as_compact_dates(column, counts)
        or _read_as_keys(column, n_empty, max_categories)
        or typed_numbers(column)
    )


def _read_as_keys(column: pd.Series, n_empty: int, max_categories: int) -> ColumnReading | None:
    """Read repeated whole numbers as categories where the name says that they are keys."""
    if column.dtype.kind == "b" or not _KEY_NAME.search(str(column.name)):
        return None
    values = numbers_of(column)
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if (distinct != np.round(distinct)).any():
        return None
    # Each key comes three times on average: not a number of the row, and enough to learn from.
    if len(distinct) < 3 or len(known) < 3 * len(distinct):
        return None
    if len(distinct) > max_categories:
        # Codes of places or times often have an order, so that as numbers they are not lost.
        found = typed_numbers(column)
        what = (
            f"{len(distinct):,} different whole numbers in a column named like a key, too many for "
            "categories: used as numbers"
        )
        return replace(found, note=f"{what}; {found.note}" if found.note else what)
    reading = _read_as_words(Words(column), n_empty, max_categories)
    what = (
        f"whole numbers in a column named like a key, read as {len(reading.categories)} categories"
    )
    return replace(reading, note=what)


def _read_as_ranges(words: Words, n_empty: int, max_categories: int) -> ColumnReading | None:
    """Read a column of ranges, such as age groups, as ordered words."""
    lower, upper = words.bounds(words.decimal_sign)
    is_range = (lower < upper) & (np.isfinite(lower) | np.isfinite(upper))
    known = lower <= upper
    known &= np.isfinite(lower) | np.isfinite(upper)
    n_ranges = int(words.counts[is_range].sum())
    nothing = words.says_nothing()
    if is_range.sum() < 2 or not (known | nothing).all() or known.sum() > max_categories:
        return None
    if 2 * n_ranges <= int(words.counts[known].sum()):
        return None
    order = [k for k in np.lexsort((upper, lower)) if known[k]]
    # "0-9" and "10-19" leave a gap, "0-10" and "10-20" share an end.
    if any(upper[one] > lower[next_] for one, next_ in pairwise(order)):
        return None
    values = tuple(words.distinct[k] for k in order)
    counts = counts_of(words, known, n_empty)
    note = _order_note("ranges of numbers", values)
    if counts.unreadable:
        note += "; " + unreadable_note(words, ~known, counts.unreadable)
    return unless_useless(ColumnReading("ordered", note, counts, values), list(values[:2]))


def _read_as_order(column: pd.Series, words: Words, n_empty: int) -> ColumnReading | None:
    if not getattr(column.dtype, "ordered", False):
        return None
    values = tuple(str(value).strip() for value in column.cat.categories)
    if not values:
        return unless_useless(ColumnReading("ordered", "", CellCounts(0, n_empty)), [])
    counts = CellCounts(int(words.counts.sum()), n_empty)
    reading = ColumnReading("ordered", _order_note("ordered categories", values), counts, values)
    return unless_useless(reading, words.distinct)


def _order_note(what: str, values: tuple[str, ...]) -> str:
    return f"{what}, read as numbers from 0 ({values[0]!r}) to {len(values) - 1} ({values[-1]!r})"


def _read_as_words(words: Words, n_empty: int, max_categories: int) -> ColumnReading:
    counts = CellCounts(int(words.counts.sum()), n_empty)
    # The commonest first, so that of two values the rarer one gets the indicator.
    count_of = dict(zip(words.distinct, words.counts.tolist(), strict=True))
    values = sorted(words.distinct, key=lambda value: (-count_of[value], value))
    if len(values) > 2:
        values = sorted(values)
        note = f"{len(values)} categories, one indicator column for each"
    else:
        note = f"2 categories, 1 for {values[-1]!r} and 0 for {values[0]!r}" if values else ""
    notes = [case_note(values), _units_note(words)]
    said = "".join(f"; {other}" for other in notes if other)
    is_id = len(values) == counts.read >= _FEWEST_IDS
    if len(values) > max_categories:
        note = f"left out, text with {len(values):,} different values{said}"
        return ColumnReading("category", note, counts, is_id=is_id, left_out=True)
    said += _nothing_note(words)
    reading = ColumnReading("category", note + said, counts, tuple(values), is_id=is_id)
    return unless_useless(reading, values)


def _nothing_note(words: Words) -> str:
    """Return a note on categories that would be missing values in a column of numbers."""
    found = [
        word for word, nothing in zip(words.distinct, words.says_nothing(), strict=True) if nothing
    ]
    if not found:
        return ""
    *before, last = map(repr, found)
    if not before:
        return f"; {last} counts as a category"
    return f"; {', '.join(before)} and {last} count as categories"


def case_note(words: Iterable[str]) -> str:
    """Return a note on words that differ in case only, empty where there are none.

    They stay different: "m" and "M" may be milli and mega.

    Examples
    --------
    >>> case_note(["no", "Yes", "yes"])
    "'Yes' and 'yes' differ only in case: they count as two different words"
    """
    alike: dict[str, list[str]] = {}
    for word in words:
        alike.setdefault(word.casefold(), []).append(word)
    groups = [sorted(group) for group in alike.values() if len(group) > 1]
    if not groups:
        return ""
    *before, last = map(repr, groups[0])
    number = {2: "two", 3: "three"}.get(len(groups[0]), str(len(groups[0])))
    said = f"differ only in case: they count as {number} different words"
    more = " (and there are other such words)" * (len(groups) > 1)
    return f"{', '.join(before)} and {last} {said}{more}"


def _units_note(words: Words) -> str:
    """Return a note on numbers with several units, of which none is converted."""
    units = units_of_most(words)
    if not 2 <= len(units) <= _MOST_UNITS:
        return ""
    return f"numbers with different units ({', '.join(map(repr, units))}) are not converted"
