"""The contents of a model file, checked before anything is computed from them."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import Bunch

from absentia.parameters import shown
from absentia.persistence.stored_encoders import check_encoder
from absentia.persistence.stored_trees import check_trees
from absentia.persistence.trust import allowed_functions, number_types, trusted_types
from absentia.tables.stored import Stored

__all__ = ["check_contents", "inner_objects"]

#: Numbers that a Mersenne twister holds; its place in them is not checked by NumPy.
_TWISTER_NUMBERS = 624
#: Processes that a model may start when it predicts.
_MOST_JOBS = 512
#: Attributes that hold a function: of scorers, and of selections of columns.
_FUNCTIONS = ("_score_func", "score_func")
#: Attributes that hold a type of numbers: of encoders. No name: entries of lists and dictionaries.
_TYPES = ("dtype", "")
#: Attributes that hold what scores a model in a search.
_SCORERS = ("scoring", "scorer_", "_scorer", "")
#: Attributes that hold what a model minimised; called, it follows arrays without comparing lengths.
_LOSSES = ("loss", "_loss", "_base_loss")
#: Attributes that hold a dictionary with attributes, which may pass for an object of any type.
_BUNCHES = ("named_estimators_",)


def check_contents(model: BaseEstimator) -> None:
    """Raise ValueError where a value inside a model is not consistent.

    Every object is visited, however deep it is. Values that compiled code trusts check themselves
    (:meth:`Stored.validate`); trees of scikit-learn are checked with the estimators they belong to.
    """
    for value in inner_objects(model):
        _check_callables(value)
        if isinstance(value, Stored):
            type(value).validate(value)
        elif isinstance(value, np.ndarray):
            _check_truth_values(value)
        elif isinstance(value, np.random.RandomState):
            _check_twister(value)
        elif isinstance(value, np.random.Generator):
            _check_generator(value)
        elif hasattr(value, "__dict__") and not isinstance(value, type | np.ndarray):
            _check_methods(value)
            if isinstance(value, BaseEstimator):
                _check_parameters(value)
                _check_jobs(value)
                check_encoder(value)


def inner_objects(model: BaseEstimator) -> Iterator[Any]:
    """Yield every object inside a model once, the model first; trees are checked and left out."""
    seen: set[int] = set()
    pending = [model]
    while pending:
        value = pending.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            pending += _inner_values(value)


def _inner_values(value: object) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        return list(value)
    if isinstance(value, np.ndarray):
        return list(value.flat) if value.dtype == object else []
    if isinstance(value, type | FunctionType):
        return []  # what belongs to a type or a function is no part of a file
    checked = check_trees(value)
    return [v for name, v in getattr(value, "__dict__", {}).items() if name not in checked]


def _check_callables(value: object) -> None:
    """Refuse what can be called, except where a model has need of it and no prediction calls it.

    That is: metrics in scorers and scores of columns, types of numbers where encoders and lists of
    parameters have them, scorers in searches, losses in boosted trees, kernels in what is ours.
    """
    if isinstance(value, dict | list | tuple | set | np.ndarray):
        held = {"": _inner_values(value)}
    elif type(value) not in trusted_types():
        return  # what an object of a trusted type made of its state, no part of a file
    else:
        held = {name: [inner] for name, inner in getattr(value, "__dict__", {}).items()}
        thresholds = {"X_thresholds_", "y_thresholds_"}
        if isinstance(value, IsotonicRegression) and thresholds <= set(held):
            held.pop("f_", None)  # made anew from the thresholds, whatever a file says
    for name, inner in held.items():
        for one in inner:
            if type(one) is Bunch and name not in _BUNCHES:
                raise ValueError(f"a Bunch in a {type(value).__name__}, which has no need of it")
            if callable(one) and not _may_be_held(value, name, one):
                kind = one if isinstance(one, type) else type(one)
                what = f"the type {kind.__name__}" if kind is one else f"a {kind.__name__}"
                raise ValueError(f"{what} in a {type(value).__name__}, which might call it")


def _may_be_held(owner: object, name: str, held: Any) -> bool:
    if isinstance(held, type):
        return name in _TYPES and held in number_types()
    if type(held) not in trusted_types():
        return name in _FUNCTIONS and held in allowed_functions()
    match type(held).__module__:
        case "sklearn.metrics._scorer":
            return name in _SCORERS
        case "sklearn._loss.loss":
            return name in _LOSSES
        case kernel if kernel.startswith("absentia."):
            return not name or type(owner).__module__.startswith("absentia.")
    return False


def _check_truth_values(array: np.ndarray) -> None:
    """Refuse truth values that are neither 0 nor 1 in memory: loops may count them by adding."""
    if array.dtype == bool and np.ascontiguousarray(array).view(np.uint8).max(initial=0) > 1:
        raise ValueError("truth values that are neither true nor false")


def _check_methods(value: object) -> None:
    """Refuse attributes that would be called instead of a method."""
    for name in vars(value):
        if callable(getattr(type(value), name, None)):
            raise ValueError(f"{type(value).__name__} with {name} replaced")


def _check_parameters(value: BaseEstimator) -> None:
    """Refuse an estimator without one of its parameters: another version wrote it.

    The default that the class has is no substitute: a fitted kernel holds numbers where the
    default says how to find them.
    """
    for name in value._get_param_names():
        computed = isinstance(getattr(type(value), name, None), property)
        if name not in vars(value) and not computed:
            raise ValueError(
                f"{type(value).__name__} without its parameter {name}, so another version of the "
                "library wrote it; train the model again with this one"
            )


def _check_jobs(value: BaseEstimator) -> None:
    """Refuse numbers of processes that no machine has the cores for."""
    n_jobs = vars(value).get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and abs(int(n_jobs)) <= _MOST_JOBS):
        raise ValueError(
            f"{type(value).__name__} with n_jobs={shown(n_jobs)}, expected None or a number of "
            f"at most {_MOST_JOBS}"
        )


def _check_twister(generator: np.random.RandomState) -> None:
    state: Any = generator.get_state(legacy=False)
    if not 0 <= state["state"]["pos"] <= _TWISTER_NUMBERS:
        raise ValueError("a random number generator in an impossible state")


def _check_generator(generator: np.random.Generator) -> None:
    if type(generator.bit_generator) is not np.random.PCG64:
        raise ValueError(f"random numbers of {type(generator.bit_generator).__name__}")
