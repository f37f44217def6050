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
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if _is_nested(a) or _is_nested(b):
        same = isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b)
        return same and all(map(_equal, a, b))
    if isinstance(a, np.ndarray | list | tuple) and isinstance(b, np.ndarray | list | tuple):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)


def _is_nested(value: object) -> bool:
    """Return whether a value is a list of things that one array cannot hold, such as matrices."""
    if not isinstance(value, list | tuple):
        return False
    return any(one is None or isinstance(one, str) or _is_matrix(one) for one in value)


def _is_matrix(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 2
    return isinstance(value, list | tuple) and any(isinstance(row, list | tuple) for row in value)


def _hashable(value: object) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _hashable(one)) for key, one in value.items())
    if isinstance(value, list | tuple) and _is_nested(value):
        return tuple(map(_hashable, value))
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
    if isinstance(value, list | tuple) and _is_nested(value):
        return f"[{', '.join(map(shown_parameter, value))}]"
    if isinstance(value, dict):
        entries = (f"{key!r}: {shown_parameter(one)}" for key, one in value.items())
        return f"{{{', '.join(entries)}}}"
    return repr(value)
