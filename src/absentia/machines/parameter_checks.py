"""Checks of numbers that users type, with sentences that say what was expected."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_bounds", "check_count", "check_fraction", "check_positive"]


def check_positive(name: str, value: Any, *, or_word: str | None = None) -> None:
    """Raise unless ``value`` is a positive finite number, or the word that is allowed as well."""
    if or_word is not None and isinstance(value, str) and value == or_word:
        return
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
        alternative = "" if or_word is None else f" or {or_word!r}"
        raise ValueError(f"{name} must be a positive number{alternative}, found {value!r}.")


def check_fraction(name: str, value: Any) -> None:
    """Raise unless ``value`` is a number between 0 and 1, neither included."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < 1):
        raise ValueError(f"{name} must be a number between 0 and 1, found {value!r}.")


def check_count(name: str, value: Any, *, minimum: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least ``minimum``."""
    if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= minimum):
        raise ValueError(f"{name} must be an integer of at least {minimum}, found {value!r}.")


def check_bounds(name: str, value: Any) -> None:
    """Raise unless ``value`` is a pair of positive finite numbers in ascending order."""
    pair = np.asarray(value)
    if pair.shape != (2,) or pair.dtype.kind not in "iuf" or not 0 < pair[0] <= pair[1] < np.inf:
        raise ValueError(
            f"{name} must be two positive numbers, the smaller one first, found {value!r}."
        )
