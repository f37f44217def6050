"""Kernels as values: equal, hashed and printed by their parameters."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["EqualByParameters", "shown_parameter"]


class EqualByParameters(BaseEstimator):
    """An object that is what its parameters are: two of one kind with equal ones are equal."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        params = self.get_params(deep=False)
        return hash((type(self), *(_hashable(params[name]) for name in sorted(params))))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = []
        # Of the class and not of __init__: a kernel without parameters has none of its own.
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            if parameter.default is inspect.Parameter.empty:
                shown.append(shown_parameter(value))
            elif not _equal(value, parameter.default):
                shown.append(f"{name}={shown_parameter(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | list | tuple) and isinstance(b, np.ndarray | list | tuple):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)


def _hashable(value: object) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        # Equal arrays hash alike whatever their type: 1 and 1.0, 0.0 and -0.0.
        array = np.asarray(value, dtype=np.float64) + 0.0
        return array.shape, array.tobytes()
    return value


def shown_parameter(value: object) -> str:
    """Return a parameter as it is printed: numbers to six digits, large arrays by their shape."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray):
        if value.size > 4:
            return f"<array of shape {value.shape}>"
        return repr(value.tolist())
    return repr(value)
