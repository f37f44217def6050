"""Missingness shift: columns that are missing in new rows and never were in training.

A density knows what a missing value could have been whether or not it was ever missing in
training, so machines of beliefs predict well from such rows where learners that split on
missingness fail silently. Yet a column that was never missing before deserves attention: a sensor
that broke, a form that changed. ``shift="warn"`` or ``"error"`` makes a machine report it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.phrases import frames_of_absentia

#: The parameter ``shift`` of a machine.
Shift = Literal["ignore", "warn", "error"]

__all__ = [
    "MissingnessShiftWarning",
    "Shift",
    "check_shift",
    "never_missing_before",
]


class MissingnessShiftWarning(UserWarning):
    """New rows miss columns that no training row missed."""


def never_missing_before(missing_rates: FloatArray, mask: BoolArray) -> IntArray:
    """Return the columns that some new row misses and no training row did, in ascending order.

    Parameters
    ----------
    missing_rates : ndarray of shape (n_features,)
        Which part of the training rows missed each column.
    mask : ndarray of bool, shape (n_new, n_features)
        True where a new row misses a value.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.missingness_shift import never_missing_before
    >>> never_missing_before(np.array([0.0, 0.2, 0.0]), np.array([[True, True, False]]))
    array([0])
    """
    return np.flatnonzero((missing_rates == 0) & mask.any(axis=0))


def check_shift(
    policy: str, missing_rates: FloatArray, mask: BoolArray, names: Sequence[str]
) -> None:
    """Warn or raise, as ``policy`` says, about columns that were never missing in training."""
    if policy == "ignore":
        return
    new = never_missing_before(missing_rates, mask)
    if not len(new):
        return
    rates = mask.mean(axis=0)
    shown = ", ".join(f"{names[j]!r} ({rates[j]:.0%} of the new rows)" for j in new[:10])
    more = f" and {len(new) - 10} more" if len(new) > 10 else ""
    message = (
        f"Columns that were never missing in training are missing now: {shown}{more}. The density "
        "still gives their distribution, so predictions use what is left; but the way "
        "values go missing has changed since training. Check where the new rows come from, or "
        "train on rows that miss these columns; use shift='ignore' if this is expected."
    )
    if policy == "error":
        raise ValueError(message)
    warnings.warn(message, MissingnessShiftWarning, stacklevel=frames_of_absentia())
