"""The contents of a model file, checked before anything is computed from them.

A model may hold what is known, and nothing else: objects of trusted types, with the attributes that
their class is known to have, of the kinds that are known for them. Everything that is not named is
refused, whatever it might do.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral
from types import NoneType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression

from absentia.parameters import shown
from absentia.persistence.compiled_parts import check_encoder, check_trees
from absentia.persistence.kinds import kind_of_words, known_kinds, parameter_names
from absentia.persistence.known_classes import model_types, trusted_types
from absentia.tables.stored import Stored

#: Numbers that a Mersenne twister holds; its place in them is not checked by NumPy.
_TWISTER_NUMBERS = 624
#: The last code point of Unicode.
_LAST_CHARACTER = 0x10FFFF
#: Processes that a model may start when it predicts.
_MOST_JOBS = 512
#: Columns of the tables that a model predicts. A page that shows a model names every column.
_MOST_COLUMNS = 10**6
_PLAIN = frozenset({NoneType, bool, int, float, str, slice, dict, list, tuple, set})
#: Modules of scikit-learn's compiled parts of models, which have no attributes of Python's.
_COMPILED = ("sklearn._loss._loss", "sklearn.tree._tree")


def check_contents(model: BaseEstimator) -> None:
    """Raise ValueError where a model holds what is not known, or what is not consistent.

    Every object is visited, however deep it is. Values that compiled code trusts check themselves
    (:meth:`Stored.validate`); trees of scikit-learn are checked with the estimators they belong to,
    which compare the number of columns.
    """
    if type(model) not in model_types():
        raise ValueError(f"{_called(model)}, which is not a model by itself")
    inner = inner_objects(model)
    for value in inner:
        if type(value) not in _PLAIN:
            _check_kinds(value)
    # These checks look into objects inside of others, whose kinds are known by now.
    for value in inner:
        if isinstance(value, Stored):
            type(value).validate(value)
        elif isinstance(value, BaseEstimator):
            _check_estimator(value)


def inner_objects(model: BaseEstimator) -> list[Any]:
    """Return every object inside a model once, the model first."""
    seen: dict[int, Any] = {}
    pending: list[Any] = [model]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set):
            pending += value
        elif isinstance(value, np.ndarray):
            pending += np.ma.getdata(value).flat if value.dtype == object else ()
        elif type(value) in _trusted():
            pending += _attributes(value).values()
    return list(seen.values())


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that a file has."""
    attributes: dict[str, Any] = dict(vars(value))
    if isinstance(value, Stored):
        for name in attributes.keys() - known_kinds(type(value)).keys():
            del attributes[name]  # computed from the fields, and in no file
    if isinstance(value, IsotonicRegression):
        attributes.pop("f_", None)  # made anew from the thresholds, and in no file
    return attributes


@cache
def _trusted() -> frozenset[type]:
    return frozenset(trusted_types())


def _check_kinds(value: Any) -> None:
    """Refuse a value that is not known, or holds what is not."""
    if isinstance(value, Stored):
        _check_fields(value)
    elif isinstance(value, np.ndarray):
        _check_entries(value)
    elif isinstance(value, np.random.RandomState):
        _check_twister(value)
    elif isinstance(value, np.random.Generator):
        _check_generator(value)
    elif type(value) in _trusted():
        _check_attributes(value)
    elif not (
        kind_of_words("bool | int | float | str | dtype | function").holds(value)
        or kind_of_words("bunch of estimator/str").holds(value)
        or type(value).__module__ in _COMPILED
    ):
        raise ValueError(f"{_called(value)}, which no model needs")


def _called(value: object) -> str:
    if isinstance(value, type):
        return f"the type {value.__name__}"
    return f"a {type(value).__name__}"


def _check_attributes(value: Any) -> None:
    """Refuse attributes that objects of this class are not known to have, and other kinds."""
    kind: type = type(value)
    known = known_kinds(kind)
    for name, held in _attributes(value).items():
        if callable(getattr(kind, name, None)):
            raise ValueError(f"{kind.__name__} with {name} replaced")
        if name not in known:
            raise ValueError(f"{kind.__name__} with {name}, which it is not known to have")
        if not known[name].holds(held):
            if name in parameter_names(kind):
                raise ValueError(f"{_called(held)} as the parameter {name} of {kind.__name__}")
            raise ValueError(
                f"{kind.__name__} with {_called(held)} as {name}, expected {known[name].expected}"
            )


def _check_fields(value: Stored) -> None:
    """Refuse parts of estimators among the fields of a value, which checks the rest itself."""
    pending: list[Any] = list(_attributes(value).values())
    while pending:
        held = pending.pop()
        if isinstance(held, dict):
            pending += [*held.keys(), *held.values()]
        elif isinstance(held, list | tuple):
            pending += held
        elif type(held) in _trusted() - model_types().keys() and not isinstance(held, Stored):
            raise ValueError(f"{_called(held)} in {type(value).__name__}")


def _check_estimator(value: BaseEstimator) -> None:
    """Refuse parameters that ``fit`` would refuse, and what does not fit the columns."""
    _check_jobs(value)
    _check_parameters(value)
    names, n_features = vars(value).get("feature_names_in_"), vars(value).get("n_features_in_")
    for name in ("n_features_in_", "_n_features_out"):
        if not 0 <= vars(value).get(name, 0) <= _MOST_COLUMNS:
            raise ValueError(f"{type(value).__name__} of {vars(value)[name]} columns")
    for name in ("columns_", "number_columns_", "category_columns_"):
        columns = vars(value).get(name)
        if isinstance(columns, np.ndarray) and not _are_columns(columns, n_features):
            raise ValueError(f"{type(value).__name__}.{name} names columns that are not there")
    if names is not None and n_features is not None and len(names) != n_features:
        raise ValueError(f"{type(value).__name__} of {n_features} columns with {len(names)} names")
    classes, n_classes = vars(value).get("classes_"), vars(value).get("n_classes_")
    if n_classes is not None and np.atleast_1d(n_classes).tolist() != _lengths(classes):
        raise ValueError(f"{type(value).__name__} of {shown(n_classes)} classes with other labels")
    check_encoder(value)
    check_trees(value)


def _are_columns(columns: np.ndarray, n_features: int | None) -> bool:
    inside = (columns >= 0) & (columns < (n_features or 0))
    return bool(inside.all() and (columns[1:] > columns[:-1]).all())


def _lengths(labels: Any) -> list[int]:
    """Return the numbers of classes, one per output."""
    return [len(own) for own in (labels if isinstance(labels, list) else [labels])]


def _check_entries(array: np.ndarray) -> None:
    """Refuse truth values that are neither 0 nor 1 in memory, and characters that are none."""
    if array.dtype.char not in "?U" or not array.nbytes:
        return
    unit = np.uint8 if array.dtype == bool else np.dtype(np.uint32)
    largest = np.ascontiguousarray(array).reshape(-1).view(unit).max()
    if array.dtype == bool and largest > 1:
        raise ValueError("truth values that are neither true nor false")
    if array.dtype != bool and largest > _LAST_CHARACTER:
        raise ValueError("text with characters that do not exist")


def _check_parameters(value: BaseEstimator) -> None:
    """Refuse an estimator without one of its parameters, or with one out of its range.

    Without: another version wrote it. The default that the class has is no substitute: a fitted
    kernel holds numbers where the default says how to find them.
    """
    for name in parameter_names(type(value)):
        if name not in vars(value):
            raise ValueError(
                f"{type(value).__name__} without its parameter {name}, so another version of the "
                "library wrote it; train the model again with this one"
            )
    # Looked up in the class: a FrozenEstimator delegates to the estimator that it holds.
    if hasattr(type(value), "_parameter_constraints"):
        value._validate_params()


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
