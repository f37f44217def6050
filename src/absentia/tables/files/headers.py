"""What stands above the rows of a file: the names of its columns, and perhaps a title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["column_names", "note_repeated", "note_title", "title_of"]


def column_names(frame: pd.DataFrame) -> list[str]:
    """Return the names of columns without the blanks around them, unless two become the same."""
    names = [str(name) for name in frame.columns]
    stripped = [name.strip() for name in names]
    return stripped if len(set(stripped)) == len(stripped) else names


def note_repeated(
    header: Iterable[object], frame: pd.DataFrame, note: Callable[[str], None]
) -> None:
    """Say which names came more than once, and what pandas calls the later ones."""
    names = [name for cell in header if (name := str(cell).strip())]
    called = [name for name in column_names(frame) if not name.startswith("Unnamed: ")]
    for name, times in Counter(names).items():
        if times > 1:
            _, *later = (new for old, new in zip(names, called, strict=False) if old == name)
            shown = ", ".join(map(repr, later[:3])) + ", ..." * (len(later) > 3)
            said = f"appears {times} times: the later ones are renamed to {shown}"
            note(f"The column name {name!r} {said}.")


def title_of(rows: Sequence[Sequence[str]]) -> str:
    """Return what may be a title above the header: the only cell of a row above a row of several.

    Examples
    --------
    >>> title_of([["Report of plant 7", ""], ["", ""], ["x", "y"]])
    'Report of plant 7'
    >>> title_of([["", "x"], ["0", "1.5"]])  # the names of rows have none
    ''
    """
    places = [[k for k, cell in enumerate(row) if cell.strip()] for row in rows]
    nothing: list[int] = []
    above, below, *_ = [*(place for place in places if place), nothing, nothing]
    if len(above) != 1 or len(below) < 2 or (above[0] > 0 and len(below) == 2):
        return ""
    return next(cell.strip() for row in rows for cell in row if cell.strip())


def note_title(title: str, note: Callable[[str], None]) -> None:
    """Say that the first row may be a title: which it is, nobody knows."""
    if title:
        note(f"The first row has only one cell, {title!r}: if it is a title, remove it.")
