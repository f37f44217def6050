"""Tables of numbers as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def number(value: Any, decimals: int = 3) -> str:
    """Write a number with so many decimals; text as it is, and nothing for what is not there."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{decimals}f}"


def p_value(p: float) -> str:
    """Write a p-value; below 0.001 nobody wants to know how far."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def spaced(name: Any) -> str:
    """Write the name of a data set as people would."""
    return str(name).replace("_", " ")


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    write: Callable[[Any], str] = number,
    left: Sequence[int] = (0,),
) -> str:
    """Return a Markdown table: the columns ``left`` to the left, the others to the right."""
    sides = [":--" if k in left else "--:" for k in range(len(headings))]
    lines = ["| " + " | ".join(headings) + " |", "|" + "|".join(sides) + "|"]
    lines += ["| " + " | ".join(write(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def bold_best(values: Sequence[float], *, lower_is_better: bool, decimals: int = 3) -> list[str]:
    """Write numbers, the best of them (and what looks the same as it) in bold."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return ["" for _ in values]
    best = number(min(known) if lower_is_better else max(known), decimals)
    written = [number(value, decimals) for value in values]
    return [f"**{text}**" if text == best else text for text in written]
