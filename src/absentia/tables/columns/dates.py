"""Columns of dates: their spellings, their values in days since 1970, and the cycles they show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.engine.threads import hold_during_forks
from absentia.tables.columns.column import Column
from absentia.tables.reading import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd

SECONDS_A_DAY = 86_400.0
#: In place of a spelling: the column has a type for dates.
TYPED_DATES = "datetime"
#: Spelling of dates that are whole numbers.
COMPACT_DATE = "%Y%m%d"
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
#: No date is longer: comments are not parsed.
_LONGEST_DATE = 50
_TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
#: Tried in this order; of those that read as many values the first wins, so a day-first and a
#: month-first date that both fit are read day first. Years of two digits go by Python's rule: 69
#: to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068.
_FORMATS = (
    *("ISO8601", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%Y/%m/%d"),
    *(f"{d}/{y}{t}" for t in _TIMES for y in ("%Y", "%y") for d in ("%d/%m", "%m/%d")),
    *(f"{d}-%Y{t}" for t in _TIMES for d in ("%d-%m", "%m-%d")),
    *("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%y %H:%M", "%Y/%m/%d %H:%M"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b-%y", "%d %B %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
    *(time.strip() for time in _TIMES),
)
#: Formats of times without a date, which are parts of a day.
TIMES_OF_DAY = frozenset(time.strip() for time in _TIMES)
#: Formats that begin with the day, and the one that exchanges day and month for each.
DAY_FIRST = {
    form: re.sub("^%d(.)%m", r"%m\1%d", form)
    for form in _FORMATS
    if form.startswith(("%d/%m", "%d-%m"))
}
_MINUTES = re.compile(r"^\d{1,2}:\d\d(?!\d)")
_MONTH_CODE = re.compile(r"[A-Z]{3}-\d\d")
_LITERALS = {form: set(re.sub(r"%[a-zA-Z]", "", form)) - {" "} for form in _FORMATS[1:]}
#: Lengths of the cycles in days.
PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
#: With fewer dates a cycle is not looked for.
_FEWEST_FOR_CYCLES = 50
#: pandas has a lock of its own for the formats of dates, which it does not give back in a fork.
_parsing = RLock()
hold_during_forks(_parsing)


def possible_formats(texts: Sequence[str]) -> list[str]:
    """Return the formats whose signs (slashes, points, colons...) all occur in the texts.

    Parsing is slow: a column of names is not to be tried with every format.
    """
    signs = set("".join(text for text in texts if len(text) <= _LONGEST_DATE))
    if not any(sign.isdigit() for sign in signs):
        return []
    possible = [form for form in _FORMATS if _LITERALS.get(form, signs) <= signs]
    # In capitals they are codes: spreadsheets write "Jan-21".
    if "%b-%y" in possible and any(_MONTH_CODE.fullmatch(text) for text in texts):
        possible.remove("%b-%y")
    return possible


def date_formats(column: Column) -> tuple[tuple[str, ...], int]:
    """Return the spellings of dates, the commonest format first, and how many rows are dates.

    A column that was put together from several sources has several spellings: after the one that
    reads the most rows comes the one that reads the most of the others, and so on. Of day-first
    and month-first formats those are used that read more rows (in a tie, day-first ones): a text
    that does not fit them is not read the other way round.
    """
    read: dict[str, BoolArray] = {}
    n_present = int(column.counts.sum())
    for form in possible_formats(column.distinct):
        read[form] = np.isfinite(days_by_text(column, [form]))
        if n_present and read[form].all():  # day-first formats come first
            return (form,), n_present

    def n_rows(which: Iterable[str]) -> int:
        known = [read[form] for form in which if form in read]
        return int(column.counts[np.any(known, axis=0)].sum()) if known else 0

    day_first = n_rows(DAY_FIRST) >= n_rows(DAY_FIRST.values())
    barred = set(DAY_FIRST.values() if day_first else DAY_FIRST)
    dated = set(read) - TIMES_OF_DAY
    barred |= dated if n_rows(TIMES_OF_DAY) > n_rows(dated) else TIMES_OF_DAY
    chosen: list[str] = []
    left = column.counts.copy()
    while True:
        gains = {form: int(left[known].sum()) for form, known in read.items() if form not in barred}
        best = max(gains, key=lambda form: gains[form], default="")
        if not best or not gains[best]:
            return tuple(chosen), n_present - int(left.sum())
        chosen.append(best)
        left[read[best]] = 0


def either_way_round(column: Column, formats: Iterable[str]) -> bool:
    """Return whether day-first dates could all be month-first ones as well."""
    first = [form for form in formats if form in DAY_FIRST]
    read = np.isfinite(days_by_text(column, first))
    other = np.isfinite(days_by_text(column, [DAY_FIRST[form] for form in first]))
    return bool(read.any() and other[read].all())


def days_by_text(column: Column, formats: Sequence[str]) -> FloatArray:
    """Return the different texts as days since 1970, each by the first format that fits."""
    import pandas as pd

    texts = pd.Series(column.distinct, dtype=object)
    days = np.full(len(texts), np.nan)
    short = np.array([len(text) <= _LONGEST_DATE for text in column.distinct], dtype=bool)
    for form in formats:
        left = np.isnan(days) & short
        if form in TIMES_OF_DAY:  # "2:1" is a score
            left &= np.array([bool(_MINUTES.search(text)) for text in column.distinct], dtype=bool)
        if not left.any():
            break
        dates = parsed_dates(texts[left], format=form, errors="coerce", utc=True)
        found = days_since_1970(dates)
        days[left] = found % 1.0 if form in TIMES_OF_DAY else found
    return days


def days_of(column: Column, formats: tuple[str, ...]) -> FloatArray:
    """Return a column as days since 1970, NaN where it is missing or no date.

    Text in a column that had a type for dates in training is read by the spellings that it shows
    as a whole. ISO 8601 has one meaning: it is read in any column of dates. Of numbers only those
    such as 20240131 are dates.
    """
    if column.type_kind == "M":
        return days_since_1970(parsed_dates(column.series, errors="coerce", utc=True))
    if column.type_kind in "iuf":
        column, formats = _compact_dates(column), (COMPACT_DATE,)
    typed = TYPED_DATES in formats
    if typed:
        formats = tuple(form for form in date_formats(column)[0] if form not in TIMES_OF_DAY)
    days = days_by_text(column, formats)
    iso = np.array([bool(_ISO_DATE.match(text)) for text in column.distinct], dtype=bool)
    if (iso & np.isnan(days)).any():
        days = np.where(iso & np.isnan(days), days_by_text(column, ("ISO8601",)), days)
    if typed:  # "3750" would be a year
        days[[text.isdecimal() and len(text) != 8 for text in column.distinct]] = np.nan
    return column.by_row(days)


def _compact_dates(column: Column) -> Column:
    """Return whole numbers of eight digits as text, such as 20240131; nothing for others."""
    import pandas as pd

    values = column.series.to_numpy(dtype=np.float64, na_value=np.nan)
    written = [f"{value:.0f}" if value % 1 == 0 else "" for value in values]
    cells = [text if len(text) == 8 else None for text in written]
    return Column(pd.Series(cells, dtype=object))


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
    return seconds.to_numpy(dtype=np.float64, na_value=np.nan) / SECONDS_A_DAY


def find_cycles(days: FloatArray) -> tuple[str, ...]:
    """Return the cycles that a column of dates shows: those that it covers at least twice.

    The year from two to twenty years (longer spans are dates of birth rather than times of
    events), the day where there are times of day. The week is used on request only: it is rarely
    informative, and an uninformative column moves rows apart.
    """
    known = days[~np.isnan(days)]
    if len(known) < _FEWEST_FOR_CYCLES:
        return ()
    span = float(known.max() - known.min())
    cycles = ["year"] if 2 * 365 <= span <= 20 * 366 else []
    if span >= 2 and len(np.unique(np.floor(24 * (known % 1.0)))) > 3:
        cycles.append("day")
    return tuple(cycles)
