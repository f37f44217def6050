"""Parameters of densities, checked before anything is computed."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_count", "check_em_parameters", "check_number_or_auto", "require"]


def require(condition_holds: Any, sentence: str) -> None:
    """Raise a ValueError unless a condition holds."""
    if not condition_holds:
        raise ValueError(sentence)


def check_count(name: str, value: Any) -> None:
    """Check that a parameter is a positive integer."""
    require(
        isinstance(value, Integral) and int(value) >= 1,
        f"{name} must be a positive integer, found {value!r}.",
    )


def check_number_or_auto(name: str, value: Any, largest: float, expected: str) -> None:
    """Check that a parameter is "auto" or a number from 0 to ``largest``."""
    require(
        value == "auto" if isinstance(value, str) else _is_number(value, largest),
        f"{name} must be 'auto' or {expected}, found {value!r}.",
    )


def check_em_parameters(estimator: Any) -> None:
    """Check the parameters that all densities fitted by EM have."""
    check_number_or_auto("shrinkage", estimator.shrinkage, 1.0, "a number from 0 (none) to 1")
    require(
        _is_number(estimator.reg_covar),
        "reg_covar must be a number that is not negative, relative to the variance of each "
        f"column, such as 1e-6; found {estimator.reg_covar!r}.",
    )
    require(
        _is_number(estimator.tol),
        f"tol must be a number that is not negative, such as 1e-5; found {estimator.tol!r}.",
    )
    check_count("max_iter", estimator.max_iter)


def _is_number(value: Any, largest: float = np.finfo(np.float64).max) -> bool:
    return isinstance(value, Real) and 0 <= float(value) <= largest
