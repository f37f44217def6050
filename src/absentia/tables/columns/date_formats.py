"""The spellings of dates that are known, and which of them a column can have."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["DATE_FORMATS", "DAY_FIRST", "LONGEST_DATE", "possible_formats"]

#: No date has more letters: comments are not parsed.
LONGEST_DATE = 50

_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
#: Tried in this order; of those that read as many values the first wins, so a day-first and a
#: month-first date that both fit are read day first. Years of two digits go by Python's rule: 69
#: to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068.
DATE_FORMATS = (
    "ISO8601",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%Y/%m/%d",
    *(
        f"{order}/{year}{time}"
        for time in _TIMES[1:]
        for year in ("%Y", "%y")
        for order in ("%d/%m", "%m/%d")
    ),
    *(f"{order}-%Y{time}" for time in _TIMES[1:] for order in ("%d-%m", "%m-%d")),
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%y %H:%M",
    "%Y/%m/%d %H:%M",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b-%y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
)
#: Formats that begin with the day, and the one that exchanges day and month for each.
DAY_FIRST = {
    date_format: re.sub("^%d(.)%m", r"%m\1%d", date_format)
    for date_format in DATE_FORMATS
    if date_format.startswith(("%d/%m", "%d-%m"))
}
_MONTH_CODE = re.compile(r"[A-Z]{3}-\d\d")
_LITERALS = {form: set(re.sub(r"%[a-zA-Z]", "", form)) - {" "} for form in DATE_FORMATS[1:]}


def possible_formats(words: Sequence[str]) -> list[str]:
    """Return the formats whose signs (slashes, points, colons...) all occur in the words.

    Parsing is slow: a column of names is not to be tried with every format.

    Examples
    --------
    >>> possible_formats(["Jan-21", "Feb-21"])  # doctest: +NORMALIZE_WHITESPACE
    ['ISO8601', '%d-%m-%Y', '%m-%d-%Y', '%d %b %Y', '%d-%b-%Y', '%d-%b-%y', '%b-%y', '%d %B %Y',
     '%b %d %Y']
    >>> possible_formats(["red", "green"])
    []
    """
    signs = set("".join(word for word in words if len(word) <= LONGEST_DATE))
    if not any(sign.isdigit() for sign in signs):
        return []
    possible = [form for form in DATE_FORMATS if _LITERALS.get(form, signs) <= signs]
    # In capitals they are codes: spreadsheets write "Jan-21".
    if "%b-%y" in possible and any(_MONTH_CODE.fullmatch(word) for word in words):
        possible.remove("%b-%y")
    return possible
