"""Numbers that stand for a missing value: -999, 9999 and their like, far outside the rest."""

from __future__ import annotations

import numpy as np

from absentia.tables.phrases import counted
from absentia.tables.reading import BoolArray, FloatArray

__all__ = ["find_sentinels", "sentinel_note", "without_sentinels"]

_NEGATIVE = (-99.0, -999.0, -9999.0, -99999.0, -999999.0)
_POSITIVE = (999.0, 9999.0, 99999.0, 999999.0, 9999999.0)
#: A code that stands in fewer rows may be an outlier.
_FEWEST = 2
#: How many times the range of all other values the gap to a positive code must be. Top codes, such
#: as 99999 for incomes over some limit, are nearer to the rest.
_POSITIVE_GAP = 2.0


def find_sentinels(values: FloatArray) -> tuple[float, ...]:
    """Return which numbers of a column are codes for a missing value, none in doubt.

    A code has nines only and stands in two rows at least. A negative one counts if no other value
    is negative, or if its distance to the others exceeds their range; a positive one if its
    distance exceeds twice their range.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        NaN where missing.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.tables.columns.sentinels import find_sentinels
    >>> find_sentinels(np.array([0.3, -999.0, 0.1, 2.5, -999.0, np.nan]))
    (-999.0,)
    >>> find_sentinels(np.array([0.0, 4100.0, 9999.0, 9999.0]))  # may be a top code
    ()
    """
    known = values[~np.isnan(values)]
    # Codes lie at the ends, and most columns have none: two passes settle these.
    if not len(known) or (known.min() not in _NEGATIVE and known.max() not in _POSITIVE):
        return ()
    codes = np.array([code for code in (*_NEGATIVE, *_POSITIVE) if (known == code).any()])
    rest = known[~np.isin(known, codes)]
    if len(np.unique(rest)) < 2:
        return ()
    low, high = rest.min(), rest.max()
    found = []
    for code in codes:
        if (known == code).sum() < _FEWEST:
            continue
        if code < 0 and code < low and (low >= 0 or low - code > high - low):
            found.append(float(code))
        if code > 0 and code - high > _POSITIVE_GAP * (high - low):
            found.append(float(code))
    return tuple(found)


def without_sentinels(values: FloatArray, sentinels: tuple[float, ...]) -> FloatArray:
    """Return numbers with NaN for the codes, the array itself where it has none."""
    if not sentinels:
        return values
    coded: BoolArray = np.isin(values, sentinels)
    return np.where(coded, np.nan, values) if coded.any() else values


def sentinel_note(values: FloatArray, sentinels: tuple[float, ...]) -> str:
    """Return a note on how many values are codes, and how far they are from the others."""
    coded = np.isin(values, sentinels)
    rest = values[~coded & ~np.isnan(values)]
    codes = " and ".join(f"{code:.0f}" for code in sentinels)
    number = int(coded.sum())
    return (
        f"{counted(number, 'value')} of {codes}, far from the others ({rest.min():g} to "
        f"{rest.max():g}), count as missing"
    )
