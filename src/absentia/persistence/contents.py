"""The contents of a model file, checked before anything is computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.tables.stored import Stored

__all__ = ["check_contents"]

#: Numbers that a Mersenne twister holds; its place in them is not checked by NumPy.
_TWISTER_NUMBERS = 624


def check_contents(model: Any) -> None:
    """Raise ValueError where a value inside a model is not consistent.

    Every object is visited, however deep it is. Values that compiled code trusts check themselves
    (:meth:`Stored.validate`).
    """
    seen: set[int] = set()
    pending = [model]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Stored):
            type(value).validate(value)
        elif isinstance(value, BaseEstimator):
            _check_methods(value)
        elif isinstance(value, np.random.RandomState):
            _check_twister(value)
        pending += _inner_values(value)


def _inner_values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        return list(value)
    if isinstance(value, np.ndarray):
        return list(value.flat) if value.dtype == object else []
    return list(getattr(value, "__dict__", {}).values()) if not isinstance(value, type) else []


def _check_methods(estimator: BaseEstimator) -> None:
    """Refuse attributes that would be called instead of a method."""
    for name in vars(estimator):
        if callable(getattr(type(estimator), name, None)):
            raise ValueError(f"{type(estimator).__name__} with {name} replaced")


def _check_twister(generator: np.random.RandomState) -> None:
    state: Any = generator.get_state(legacy=False)
    if not 0 <= state["state"]["pos"] <= _TWISTER_NUMBERS:
        raise ValueError("a random number generator in an impossible state")
