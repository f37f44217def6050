"""Untrusted text made safe for where it is shown: a terminal, a plot, a spreadsheet.

Names of columns and labels are whatever a file says. On a terminal, control characters could move
the cursor or change the title of the window; matplotlib reads ``$...$`` as a formula; a spreadsheet
runs what begins with an equals sign.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

#: Characters that begin a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST_LABEL = 22


def printable(text: str, *, lines: bool = False) -> str:
    """Return text with control and invisible characters written out, as ``repr`` does.

    With ``lines``, line breaks stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        c
        if c.isprintable() or unicodedata.category(c) == "Zs" or (lines and c == "\n")
        else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def as_plot_labels(names: Sequence[str], limit: int = _LONGEST_LABEL) -> list[str]:
    """Return names shortened in the middle where different names stay different, and else whole."""
    shown = [printable(name) for name in names]
    short = [_shortened(text, limit) for text in shown]
    # Names whose short forms would be equal are shown whole.
    counts = Counter(short)
    labels = [text if counts[s] > 1 else s for text, s in zip(shown, short, strict=True)]
    return [label.replace("$", "\\$") for label in labels]


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def spreadsheet_text(value: object) -> Any:
    """Return text that a spreadsheet would take for a formula with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
