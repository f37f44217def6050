"""Numbers as people write them: decimal signs, thousands, money, percentages, units and limits.

``"1.200,50 €"`` is a number, ``"<0.5"`` limits one, and ``"V57"`` is neither. The meaning of
commas and points is decided for a column as a whole (:func:`shown_sign`): ``"1,234"`` alone is
1234, beside ``"0,5"`` it is 1.234. No thousands begin with a zero: ``"0,415"`` and ``"0.415"`` are
0.415 in any column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite

import numpy as np

_CURRENCY = (
    r"[$€£¥₹₽₩₺₪]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|AUD|CAD|BRL|ZAR|kr\.?|zł|Kč"
)
#: First letters of no currency, so that most words need no regular expression.
_LETTERS = frozenset("abdfghilmnopqrtvwxyFHLMOQTVWXY")
_SPACES = " \u00a0\u202f"
#: A number with a sign, and a currency or percent sign around it.
_MARKED = re.compile(
    rf"^(?P<sign>[-+−]?)\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[-−]?)"
    rf"(?P<body>[\d.,'’{_SPACES}]*\d[.,]?)\s*(?P<after>{_CURRENCY}|%)?$"
)
_THOUSANDS = {
    ".": re.compile(rf"^[1-9]\d{{0,2}}([,'’{_SPACES}]\d{{3}})+(\.\d*)?$"),
    ",": re.compile(rf"^[1-9]\d{{0,2}}([.'’{_SPACES}]\d{{3}})+(,\d*)?$"),
}
_ONE_COMMA = re.compile(r"^(\d*,\d+|\d+,\d*)$")
#: Spellings that allow only a decimal comma, and only a decimal point.
_COMMA_SHOWS = re.compile(
    rf"^(0*,\d+|\d+,\d{{1,2}}|\d+,\d{{4,}}|\d{{4,}},\d+|\d{{1,3}}([.'’{_SPACES}]\d{{3}})+,\d+)$"
)
_POINT_SHOWS = re.compile(
    rf"^(0*\.\d+|\d+\.\d{{1,2}}|\d+\.\d{{4,}}|\d{{4,}}\.\d+|\d{{1,3}}([,'’{_SPACES}]\d{{3}})+\.\d+)$"
)
#: The same sign between groups of three digits more than once is no decimal sign. Not
#: "192.168.178.120", which is the address of a computer.
_MILLIONS = {
    ".": re.compile(r"^(?!\d{2,3}(\.\d{3}){3}$)[1-9]\d{0,2}(\.\d{3}){2,}$"),
    ",": re.compile(r"^[1-9]\d{0,2}(,\d{3}){2,}$"),
}
_DIGITS_AND_SIGNS = re.compile(rf"^[\d.,'’{_SPACES}]*\d[\d.,'’{_SPACES}]*$")
#: Number of such texts from which "1.410" beside "950" is evidence of thousands.
_FEWEST_GROUPED = 3

#: Part of every limit, so that one search settles most texts.
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
#: A number, and one word of letters such as kg, mg/dl, km/h, m² or °C.
_WITH_UNIT = re.compile(
    r"^(?P<number>[-+−–—<>=≤≥±/\d.,'’\s]*[\d.+])(?P<blank>\s*)"
    r"(?P<unit>(?:°|[^\W\d_])[^\W_]*(?:[/·*][^\W_]+)*\.?)$"
)
#: Longest number with a unit: a search through long texts would take long.
_LONGEST = 60
#: A measurement and its error.
_WITH_ERROR = re.compile(r"^([^±]*\d[^±]*?)\s*(?:±|\+/-|\+-)\s*([^±]*\d[^±]*)$")
_NO_UNITS = frozenset({"am", "pm", "st", "nd", "rd", "th"})


def number_of(text: str, decimal: str = ".") -> float:
    """Return a text as a number, NaN where it is none.

    ``decimal`` is the decimal sign of the column. A single comma that cannot separate thousands is
    a decimal comma in either case.
    """
    if "_" in text:  # Python takes it for a separator of digits
        return np.nan
    value = np.nan if decimal == "," and "." in text else _float(text)
    if value == value:
        return value
    marked = None if text[:1] in _LETTERS else _MARKED.match(text)
    if not marked and (parts := measurement(text)):
        value, error = (number_of(part.strip(), decimal) for part in parts)
        return value if error >= 0 else np.nan
    if not marked:
        return float(text.lower() == "true") if text.lower() in ("true", "false") else _float(text)
    minus = [marked["sign"] in ("-", "−"), marked["inner"] != ""]
    value = _unsigned(marked["body"].strip(), decimal)
    return np.nan if all(minus) else -value if any(minus) else value


def measurement(text: str) -> tuple[str, str] | None:
    """Return the parts of a measurement with its error, such as "7.7 ± 0.2"; None for others."""
    found = _WITH_ERROR.match(text) if "±" in text or "+" in text[1:] else None
    return (found[1], found[2]) if found else None


def _float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if isfinite(value) else np.nan


def _unsigned(digits: str, decimal: str) -> float:
    if _THOUSANDS[decimal].match(digits):
        return float(re.sub(rf"[^\d{decimal}]", "", digits).replace(",", "."))
    return float(digits.replace(",", ".")) if _ONE_COMMA.match(digits) else _float(digits)


def shown_sign(texts: Iterable[str]) -> str:
    """Return the decimal sign that the texts of a column show, empty where they show none.

    A point where one text can only have a decimal point (or commas between thousands), whatever
    the others are; a comma where one can only have a decimal comma (or points between thousands).
    "950" is evidence that "1.410" beside it has a thousand.
    """
    texts = list(texts)
    signed = [_body(text) for text in texts if "," in text or "." in text]
    if any(_POINT_SHOWS.match(body) or _MILLIONS[","].match(body) for body in signed):
        return "."
    if any(_COMMA_SHOWS.match(body) or _MILLIONS["."].match(body) for body in signed):
        return ","
    grouped = [body for body in signed if _DIGITS_AND_SIGNS.match(body)]
    if len(grouped) < _FEWEST_GROUPED:
        return ""
    return _sign_beside_hundreds(grouped, [_body(text) for text in texts])


def _sign_beside_hundreds(grouped: list[str], bodies: list[str]) -> str:
    """Return the decimal sign of a column with "1.410" and "950", empty in doubt.

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
            if len(hundreds) >= _FEWEST_GROUPED and 2 * len(hundreds) > len(whole):
                return "" if any(len(body) > 3 for body in whole) else decimal
    return ""


def in_doubt(texts: Iterable[str]) -> str:
    """Return the first text whose comma or point may be either sign, empty if one text decides."""
    texts = list(texts)
    doubtful = next((text for text in texts if any(groups_thousands(text, s) for s in ".,")), "")
    return "" if shown_sign(texts) else doubtful


def groups_thousands(text: str, decimal: str) -> bool:
    """Return whether the sign that is not the decimal one separates thousands in a text."""
    other = "," if decimal == "." else "."
    return other in text and bool(_THOUSANDS[decimal].match(_body(text)))


def example(text: str, decimal: str) -> str:
    """Return a phrase on how a text is read: ``'1,234' is 1234``."""
    return f"{text!r} is {number_of(_body(text), decimal):.15g}"


def _body(text: str) -> str:
    """Return the digits of a number or limit with their separators."""
    parts = measurement(text)
    text = parts[0].strip() if parts else text
    marked = _MARKED.match(text)
    return marked["body"].strip() if marked else re.sub(r"^[<>=≤≥\s]+", "", text)


def mark_of(text: str) -> str:
    """Return the currency or percent sign of a number, empty where it has none."""
    if text[-1:].isdigit() and (text[:1].isdigit() or text[:1] in "-+."):
        return ""
    marked = _MARKED.match(text)
    return (marked["before"] or marked["after"] or "") if marked else ""


def limits_of(text: str, decimal: str = ".") -> tuple[float, float]:
    """Return the lower and upper limit that a text sets to a number, infinite without one."""
    if not _LIMIT.search(text):
        return -np.inf, np.inf
    for pattern, is_upper in ((_BELOW, True), (_ABOVE, False), (_OR_MORE, False)):
        found = pattern.match(text)
        if found:
            end = number_of(found[1].strip(), decimal)
            if np.isfinite(end):
                return (-np.inf, end) if is_upper else (end, np.inf)
    bare = text[1:-1].strip() if text[:1] in "[(" and text[-1:] in ")]" else text
    if text[:1] == "(" and text[-1:] == ")" and np.isfinite(number_of(bare, decimal)):
        return -np.inf, np.inf  # "(1,234)" may be a loss of 1234: no interval from 1 to 234
    found = _BRACKETED.match(text) or _BETWEEN.match(bare)
    if found:
        low, high = number_of(found[1].strip(), decimal), number_of(found[2].strip(), decimal)
        if low <= high:
            return low, high
    return -np.inf, np.inf


def split_unit(text: str) -> tuple[str, str]:
    """Return the number of a text and its unit; the text itself and "" where it has none.

    A single letter right behind a number may be part of a code, such as "12A", and is no unit.
    """
    if not text or text[-1].isdecimal() or len(text) > _LONGEST:
        return text, ""
    found = _WITH_UNIT.match(text)
    if not found or found["unit"].lower() in _NO_UNITS:
        return text, ""
    if not found["blank"] and len(found["unit"]) == 1 and found["unit"] != "°":
        return text, ""
    number = found["number"].strip()
    ends = [end for s in ".," for end in (number_of(number, s), *limits_of(number, s))]
    return (number, found["unit"]) if np.isfinite(ends).any() else (text, "")
