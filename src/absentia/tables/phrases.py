"""Phrases of messages: counts, lists of names, and the stack level of a warning."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from html import escape


def counted(number: int, what: str) -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def infinite_note(number: int) -> str:
    """Return a note on how infinite values are treated."""
    return f"{counted(number, 'infinite value')} {count_as_missing(number)}"


def with_names(message: str, names: Sequence[str]) -> str:
    """Return a message about columns ``'x0'``, ``'x1'``... with their names."""
    known = {repr(f"x{j}"): repr(str(name)) for j, name in enumerate(names)}
    return re.sub(r"'x\d+'", lambda found: known.get(found[0], found[0]), message)


def too_far(row: int, value: float, name: str) -> str:
    """Return a sentence about a value that no density reaches, in the units of its table."""
    return (
        f"Row {row} has {value:.3g} in column {name!r}, which is too far from all other values for "
        "double precision. Correct the value, or leave it missing."
    )


def listed(names: list[str]) -> str:
    """Return names for a sentence, at most ten of them."""
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"


def count_as_missing(number: int) -> str:
    """Return the verb of a note on cells that are not used."""
    return "counts as missing" if number == 1 else "count as missing"


#: The options of :func:`overrule` in a text: the name of a column, and its kind.
OVERRULED = re.compile(r"kinds=\{'(.*?)': '([a-z ]+)'\}")


def overrule(name: str, kind: str) -> str:
    """Return the option by which a user has a column read in another way."""
    return f"kinds={{{name!r}: {kind!r}}} {'leaves it out' if kind == 'left out' else 'uses it'}"


def aligned(lines: Sequence[tuple[str, str, str]]) -> str:
    """Return lines as a table of text, with control characters of the first column written out.

    These could drive a terminal.
    """
    shown = [
        ("".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in first), *rest)
        for first, *rest in lines
    ]
    widths = [max(len(line[at]) for line in shown) for at in (0, 1)]
    return "\n".join(
        f"{first:<{widths[0]}}  {second:<{widths[1]}}  {third}".rstrip()
        for first, second, third in shown
    )


def frames_of_absentia() -> int:
    """Return the ``stacklevel`` that points at the line outside absentia which led here."""
    level, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("absentia."):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level + 1


def html_table(head: Sequence[str], lines: Iterable[Sequence[str]], tag: str = "td") -> str:
    """Return a table in HTML with every cell escaped; ``tag`` is that of the first of each line."""
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><{tag}>{escape(first)}</{tag}>{''.join(f'<td>{escape(c)}</td>' for c in rest)}</tr>"
        for first, *rest in lines
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
