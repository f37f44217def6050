"""Numbers with a unit behind them: ``"12.5 kg"`` in every cell is a column of numbers."""

from __future__ import annotations

import re
from calendar import month_abbr, month_name

import numpy as np

from absentia.tables.columns.number_words import limits_of_word, number_of

__all__ = ["singular", "split_unit", "without_unit"]

#: A number, and one word of letters such as kg, mg/dl, km/h, m² or °C.
_WITH_UNIT = re.compile(
    r"^(?P<number>[-+−–—<>=≤≥\d.,'’\s]*[\d.+])(?P<blank>\s*)"
    r"(?P<unit>(?:°|[^\W\d_])[^\W_]*(?:[/·*][^\W_]+)*\.?)$"
)
#: No number with its unit has more letters; a search through long texts would take long.
_LONGEST = 60
#: What stands behind numbers and is no unit of theirs.
_NO_UNITS = frozenset(
    {"am", "pm", "st", "nd", "rd", "th"}
    | {name.lower() for names in (month_abbr, month_name) for name in names if name}
)


def split_unit(word: str) -> tuple[str, str]:
    """Return the number of a word and its unit; the word itself, and nothing, where it has none.

    A single letter right behind a number may be part of a code, such as "12A", and is no unit.

    Examples
    --------
    >>> split_unit("12.5 kg"), split_unit("<5mg/dl"), split_unit("12A"), split_unit("kg")
    (('12.5', 'kg'), ('<5', 'mg/dl'), ('12A', ''), ('kg', ''))
    """
    if not word or word[-1].isdecimal() or len(word) > _LONGEST:
        return word, ""
    found = _WITH_UNIT.match(word)
    if not found or found["unit"].lower() in _NO_UNITS:
        return word, ""
    if not found["blank"] and len(found["unit"]) == 1 and found["unit"] != "°":
        return word, ""
    number = found["number"].strip()
    is_number = np.isfinite([number_of(number), number_of(number, ",")]).any()
    if not (
        is_number or np.isfinite([*limits_of_word(number), *limits_of_word(number, ",")]).any()
    ):
        return word, ""
    return number, found["unit"]


def singular(unit: str) -> str:
    """Return a unit without the ending of a plural: "1 year" and "2 years" have the same one.

    Examples
    --------
    >>> singular("years"), singular("lbs"), singular("ms"), singular("mAs")
    ('year', 'lb', 'ms', 'mAs')
    """
    is_word = len(unit) > 2 and unit.isalpha() and unit.islower()
    return unit[:-1] if is_word and unit[-1] == "s" else unit


def without_unit(word: str, unit: str) -> str:
    """Return the number of a word that has this unit; another word as it is.

    Examples
    --------
    >>> without_unit("12.5 kg", "kg"), without_unit("12.5 lb", "kg"), without_unit("3", "kg")
    ('12.5', '12.5 lb', '3')
    >>> without_unit("1 year", "years")
    '1'
    """
    number, found = split_unit(word)
    return number if found and singular(found) == singular(unit) else word
