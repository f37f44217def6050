"""Dates and durations as targets: refused with one sentence, unless they are a few classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absentia.tables.columns.column_guesses import read_column

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEWEST_OF_A_CLASS", "MOST_CLASSES", "check_no_dates"]

#: What can be learned as classes: so many of them, each with so many rows.
MOST_CLASSES, FEWEST_OF_A_CLASS = 50, 5


def check_no_dates(target: pd.Series, *, classes: bool) -> None:
    """Raise ValueError where a target holds dates or durations that are no classes.

    A few dates that come again and again, such as those of deliveries, can be classes.

    Parameters
    ----------
    target : pandas.Series
    classes : bool
        Whether the target is to be learned as classes.
    """
    if target.dtype.kind in "iufb":
        return
    most = min(MOST_CLASSES, len(target) // FEWEST_OF_A_CLASS)
    if classes and target.nunique() <= most:
        return
    kind = read_column(target).kind
    number = {"date": "days since a fixed date", "duration": "days"}.get(kind)
    if number is not None:
        raise ValueError(
            f"The target {target.name!r} holds {kind}s, which are not supported as targets: "
            f"convert them to a number, such as {number}."
        )
