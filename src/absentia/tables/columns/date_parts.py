"""Cyclic parts of dates: the time of year, of the week and of the day as sine and cosine."""

from __future__ import annotations

import numpy as np

from absentia.tables.reading import FloatArray

__all__ = ["PERIODS", "cyclic_parts", "find_cycles", "part_names"]

#: Lengths of the cycles in days.
PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
#: With fewer dates a cycle is not looked for.
_FEWEST = 50


def find_cycles(days: FloatArray) -> tuple[str, ...]:
    """Return the cycles that a column of dates shows: those that it covers at least twice.

    The year from two to twenty years (longer spans are dates of birth rather than times of
    events), the day where there are times of day. The week is used on request only: it rarely
    tells anything, and a column that tells nothing moves rows apart.

    Parameters
    ----------
    days : ndarray of shape (n_rows,)
        Days since 1970, NaN where missing.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.tables.columns.date_parts import find_cycles
    >>> find_cycles(np.arange(60.0)), find_cycles(10.0 * np.arange(100))
    ((), ('year',))
    """
    known = days[~np.isnan(days)]
    if len(known) < _FEWEST:
        return ()
    span = float(known.max() - known.min())
    cycles = []
    if 2 * 365 <= span <= 20 * 366:
        cycles.append("year")
    if span >= 2 and len(np.unique(np.floor(24 * (known % 1.0)))) > 3:
        cycles.append("day")
    return tuple(cycles)


def cyclic_parts(days: FloatArray, cycles: tuple[str, ...]) -> FloatArray:
    """Return sine and cosine of each cycle, shape (n_rows, 2 * n_cycles)."""
    parts = []
    for cycle in cycles:
        angle = 2 * np.pi * (days % PERIODS[cycle]) / PERIODS[cycle]
        parts += [np.sin(angle), np.cos(angle)]
    return np.column_stack(parts) if parts else np.empty((len(days), 0))


def part_names(name: str, cycles: tuple[str, ...]) -> list[str]:
    """Return what the columns of :func:`cyclic_parts` are called."""
    return [f"{name} ({wave} of {cycle})" for cycle in cycles for wave in ("sine", "cosine")]
