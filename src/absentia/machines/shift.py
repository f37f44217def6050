"""Holes that appear only after training: compare the missingness of new rows with that before."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray

__all__ = ["MissingnessShiftWarning", "check_shift", "never_missing_before"]


class MissingnessShiftWarning(UserWarning):
    """New rows miss columns that no training row missed."""


def never_missing_before(missing_rates: FloatArray, patterns: Patterns) -> IntArray:
    """Return the columns that some new row misses and no training row did, in ascending order."""
    return np.flatnonzero((missing_rates == 0) & patterns.masks.any(axis=0))


def check_shift(
    policy: str, missing_rates: FloatArray, patterns: Patterns, names: Sequence[str]
) -> None:
    """Warn or raise, as ``policy`` says, about columns that were never missing in training."""
    if policy == "ignore":
        return
    new = never_missing_before(missing_rates, patterns)
    if not len(new):
        return
    rates = patterns.counts @ patterns.masks / max(1, len(patterns))
    shown = ", ".join(f"{names[j]!r} ({rates[j]:.0%} of the new rows)" for j in new[:10])
    more = f" and {len(new) - 10} more" if len(new) > 10 else ""
    message = (
        f"Columns that were never missing in training are missing now: {shown}{more}. The density "
        "knows what they could have been, so predictions stand on what is left; but the way "
        "values go missing has changed since training. Check where the new rows come from, or "
        "train on rows with such holes; shift='ignore' says that this is expected."
    )
    if policy == "error":
        raise ValueError(message)
    warnings.warn(message, MissingnessShiftWarning, stacklevel=4)
