"""Numbers as people write them: decimal commas, thousands, money, percentages, limits, ranges.

``"1.200,50 €"`` is a number, ``"<0.5"`` says where one lies, and ``"V57"`` is neither. What a comma
or a point means is decided for a column as a whole (:func:`shown_sign`): ``"1,234"`` alone is
one thousand two hundred and thirty-four, beside ``"0,5"`` it is 1.234. No thousands begin with a
zero: ``"0,415"`` and ``"0.415"`` are 0.415 in any column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite

import numpy as np

__all__ = [
    "example",
    "groups_thousands",
    "in_doubt",
    "limits_of_word",
    "mark_of",
    "number_of",
    "shown_sign",
]

_CURRENCY = (
    r"[$€£¥₹₽₩₺₪]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|AUD|CAD|BRL|ZAR|kr\.?|zł|Kč"
)
#: Which no number with a currency begins with; "kr", "USD" and their like do.
_LETTERS = frozenset("abdfghilmnopqrtvwxyFHLMOQTVWXY")
_SPACES = " \u00a0\u202f"
#: A number with what may stand around it: a sign, money or a percent sign, accountants' brackets.
_MARKED = re.compile(
    rf"^(?P<open>\()?(?P<sign>[-+−]?)\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[-−]?)"
    rf"(?P<body>[\d.,'’{_SPACES}]*\d[.,]?(?:[eE][-+]?\d+)?)"
    rf"\s*(?P<after>{_CURRENCY}|%)?(?P<close>\))?$"
)
_THOUSANDS = {
    ".": re.compile(rf"^[1-9]\d{{0,2}}([,'’{_SPACES}]\d{{3}})+(\.\d*)?$"),
    ",": re.compile(rf"^[1-9]\d{{0,2}}([.'’{_SPACES}]\d{{3}})+(,\d*)?$"),
}
#: Also "2,50E+03", as spreadsheets write it: no thousands have an exponent.
_ONE_COMMA = re.compile(r"^(\d*,\d+|\d+,\d*)$|^\d+,\d+[eE][-+]?\d+$")
#: What can only have a decimal comma, and what can only have a decimal point.
_COMMA_SHOWS = re.compile(
    r"^(\d+,\d+[eE][-+]?\d+|0*,\d+|\d+,\d{1,2}|\d+,\d{4,}|\d{4,},\d+|"
    rf"\d{{1,3}}([.'’{_SPACES}]\d{{3}})+,\d+)$"
)
_POINT_SHOWS = re.compile(
    rf"^(0*\.\d+|\d+\.\d{{1,2}}|\d+\.\d{{4,}}|\d{{4,}}\.\d+|\d{{1,3}}([,'’{_SPACES}]\d{{3}})+\.\d+)$"
)
#: The same sign between groups of three digits more than once: no decimal sign.
_COMMA_MILLIONS = re.compile(r"^[1-9]\d{0,2}(,\d{3}){2,}$")
#: What may be a number: no "k.A.", no range.
_DIGITS_AND_SIGNS = re.compile(rf"^[\d.,'’{_SPACES}]*\d[\d.,'’{_SPACES}]*$")
#: From how many such words on "1.410" beside "950" is evidence.
_FEWEST_GROUPED = _FEWEST_HUNDREDS = 3
#: Not "192.168.178.120", which is the address of a computer.
_POINT_MILLIONS = re.compile(r"^(?!\d{2,3}(\.\d{3}){3}$)[1-9]\d{0,2}(\.\d{3}){2,}$")

#: "500,0-", as accounting programs write losses; not "12-", which is no amount, nor "5,-".
_MINUS_BEHIND = re.compile(rf"^\d[\d.,'’{_SPACES}]*[.,]\d+[-−]$")

#: What every limit has, so that one search settles most words.
_LIMIT = re.compile(
    r"[<>≤≥+\-–—\[(]|\.\.|\b(to|than|under|below|most|more|over|above|least)\b", re.I
)
_BELOW = re.compile(r"^(?:<=?|≤|less than|fewer than|under|below|at most|up to)\s*(\S.*)$", re.I)
_ABOVE = re.compile(r"^(?:>=?|≥|more than|greater than|over|above|at least)\s*(\S.*)$", re.I)
_OR_MORE = re.compile(r"^(.*\d[^\d+]*?)\s*(?:\+|or more|and more|and over|or over)$", re.I)
_BETWEEN = re.compile(
    r"^(?:between\s+)?([^-–—\s].*?)\s*(?:-|–|—|\bto\b|\band\b|\.\.)\s*([^-–—\s].*)$"
)
_BRACKETED = re.compile(r"^[\[(]\s*([^,;\s]+)\s*[,;]\s*([^,;\s]+)\s*[\])]$")


def number_of(word: str, decimal: str = ".") -> float:
    """Read a word as a number, NaN where it is none.

    Parameters
    ----------
    word : str
    decimal : {".", ","}, default="."
        The decimal sign of the column. A single comma that cannot separate thousands is taken for
        a decimal one in either case.

    Examples
    --------
    >>> [number_of(word) for word in ("1.5", "1,5", "$1,200.50", "12 %", "true", "V57")]
    [1.5, 1.5, 1200.5, 12.0, 1.0, nan]
    >>> number_of("1.200,50 €", ","), number_of("1.200", ","), number_of("1.200")
    (1200.5, 1200.0, 1.2)
    """
    if "_" in word:  # which Python takes for a separator of digits
        return np.nan
    if _MINUS_BEHIND.match(word):
        return -number_of(word[:-1], decimal)
    value = _plain(word, decimal)
    if value != value and word[:1] not in _LETTERS:
        marked = _MARKED.match(word)
        if marked and bool(marked["open"]) == bool(marked["close"]):
            value = _plain(marked["body"].strip(), decimal)
            signs = [marked["sign"] in ("-", "−"), marked["inner"] != "", bool(marked["open"])]
            if marked["open"] and not (marked["before"] or marked["after"]):
                return np.nan  # brackets mean a loss where money is meant
            if sum(signs) > 1:
                return np.nan
            value = -value if any(signs) else value
    if value != value and word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    return value


def _plain(body: str, decimal: str) -> float:
    """Read digits with their separators."""
    if decimal == "." or "." not in body:
        try:
            value = float(body)
        except ValueError:
            pass
        else:
            return value if isfinite(value) else np.nan
    sign = -1.0 if body[:1] in ("-", "−") else 1.0
    digits = body.lstrip("-+−") if len(body) - len(body.lstrip("-+−")) == 1 else body
    if _THOUSANDS[decimal].match(digits):
        return sign * float(re.sub(rf"[^\d{decimal}]", "", digits).replace(",", "."))
    if _ONE_COMMA.match(digits):
        return sign * float(digits.replace(",", "."))
    try:
        value = float(body)
    except ValueError:
        return np.nan
    return value if isfinite(value) else np.nan


def shown_sign(words: Iterable[str], *, beside_hundreds: bool = True) -> str:
    """Return the decimal sign that the words of a column show, empty where they show none.

    A point where one word can only have a decimal point (or commas between thousands), whatever
    the others are; a comma where one can only have a decimal comma (or points between thousands).
    ``beside_hundreds`` takes "950" for evidence that "1.410" beside it has a thousand.

    Examples
    --------
    >>> shown_sign(["1,234", "2,500"]), shown_sign(["1,234", "0,5"]), shown_sign(["1,234,567"])
    ('', ',', '.')
    >>> shown_sign(["1.234"]), shown_sign(["1.234", "1.234.567"])
    ('', ',')
    >>> shown_sign(["1.410", "1.385", "2.071", "950", "815", "990"])
    ','
    """
    words = list(words)
    signed = [_body(word) for word in words if "," in word or "." in word]
    if any(_POINT_SHOWS.match(body) or _COMMA_MILLIONS.match(body) for body in signed):
        return "."
    if any(_COMMA_SHOWS.match(body) or _POINT_MILLIONS.match(body) for body in signed):
        return ","
    grouped = [body for body in signed if _DIGITS_AND_SIGNS.match(body)]
    if not beside_hundreds or len(grouped) < _FEWEST_GROUPED:
        return ""
    return _sign_beside_hundreds(grouped, [_body(word) for word in words])


def _sign_beside_hundreds(grouped: list[str], bodies: list[str]) -> str:
    """Return the decimal sign of a column with "1.410" and "950", empty where these do not tell.

    Of decimals with three digits one in ten would end in a zero, which most programs do not write,
    and hardly any would be whole. So the sign separates thousands where all numbers that have it
    have three digits behind it, and the others are whole, mostly hundreds, and below a thousand.
    Eighths (1.125, 2.375) have three digits too.
    """
    if all(int(body[-3:]) % 125 == 0 for body in grouped if body[-3:].isdecimal()):
        return ""
    for decimal in ".,":
        if all(_THOUSANDS[decimal].match(body) and decimal not in body for body in grouped):
            whole = [body for body in bodies if body.isdecimal() and body != "0"]
            hundreds = [body for body in whole if len(body) == 3]
            if len(hundreds) >= _FEWEST_HUNDREDS and 2 * len(hundreds) > len(whole):
                return "" if any(len(body) > 3 for body in whole) else decimal
    return ""


def in_doubt(words: Iterable[str], *, beside_hundreds: bool = True) -> str:
    """Return the first word whose comma or point may be either sign; nothing if a word decides.

    ``beside_hundreds`` as for :func:`shown_sign`.

    Examples
    --------
    >>> in_doubt(["12", "1,234", "2,500"]), in_doubt(["1,234", "0,5"]), in_doubt(["12", "1.234"])
    ('1,234', '', '1.234')
    """
    words = list(words)
    either = (word for word in words if any(groups_thousands(word, sign) for sign in ".,"))
    doubtful = next(either, "")
    return "" if shown_sign(words, beside_hundreds=beside_hundreds) else doubtful


def groups_thousands(word: str, decimal: str) -> bool:
    """Return whether a word has thousands separated by the sign that is not the decimal one.

    Examples
    --------
    >>> groups_thousands("2,500", "."), groups_thousands("2.500", ","), groups_thousands("2,5", ".")
    (True, True, False)
    """
    other = "," if decimal == "." else "."
    return other in word and bool(_THOUSANDS[decimal].match(_body(word)))


def example(word: str, decimal: str) -> str:
    """Return what a word is read as, for a note.

    Examples
    --------
    >>> example("1,234", "."), example("<1,234", ",")
    ("'1,234' is 1234", "'<1,234' is 1.234")
    """
    return f"{word!r} is {number_of(_body(word), decimal):.15g}"


def _body(word: str) -> str:
    """Return the digits of a number or limit with their separators."""
    marked = _MARKED.match(word)
    if marked:
        return marked["body"].strip()
    return re.sub(r"^[<>=≤≥\s]+", "", word[:-1] if _MINUS_BEHIND.match(word) else word)


def mark_of(word: str) -> str:
    """Return the currency or percent sign of a number, empty where it has none.

    Examples
    --------
    >>> mark_of("$5"), mark_of("12 %"), mark_of("5")
    ('$', '%', '')
    """
    if word[-1:].isdigit() and (word[:1].isdigit() or word[:1] in "-+."):
        return ""
    marked = _MARKED.match(word)
    return (marked["before"] or marked["after"] or "") if marked else ""


def limits_of_word(word: str, decimal: str = ".") -> tuple[float, float]:
    """Return between which limits a word says that a number lies, infinite where there is none.

    Examples
    --------
    >>> limits_of_word("<0.5"), limits_of_word("80+"), limits_of_word("[70-80)")
    ((-inf, 0.5), (80.0, inf), (70.0, 80.0))
    >>> limits_of_word("20-10"), limits_of_word("B-12")  # neither says anything
    ((-inf, inf), (-inf, inf))
    """
    if not _LIMIT.search(word):
        return -np.inf, np.inf
    for pattern, is_upper in ((_BELOW, True), (_ABOVE, False), (_OR_MORE, False)):
        found = pattern.match(word)
        if found:
            end = number_of(found[1].strip(), decimal)
            if np.isfinite(end):
                return (-np.inf, end) if is_upper else (end, np.inf)
    bare = word[1:-1].strip() if word[:1] in "[(" and word[-1:] in ")]" else word
    if word[:1] == "(" and word[-1:] == ")" and np.isfinite(number_of(bare, decimal)):
        return -np.inf, np.inf  # "(1,234)" may be a loss of 1234: no interval from 1 to 234
    found = _BRACKETED.match(word) or _BETWEEN.match(bare)
    if found:
        low, high = number_of(found[1].strip(), decimal), number_of(found[2].strip(), decimal)
        if low <= high:
            return low, high
    return -np.inf, np.inf
