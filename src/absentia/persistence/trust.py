"""What a model file may hold: which kinds of entries, and which classes and attributes in each.

skops describes a model as a tree of nodes. Some kinds of nodes call what they name (methods,
operators, partial functions, constructors) or hold what compiled code follows without looking
(sparse matrices); a model of absentia needs none of them, so they are refused as a kind. Classes
and attributes are refused unless they are known: scikit-learn's by a table
(:mod:`absentia.persistence.known_estimators`, and of their parts,
:mod:`absentia.persistence.known_parts`), absentia's estimators by their parameters and a table of
what they learn (:mod:`absentia.persistence.known_machines`), its values by their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from inspect import isabstract
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.metrics import get_scorer, get_scorer_names

from absentia.persistence.known_estimators import ESTIMATORS, EVERY_ESTIMATOR
from absentia.persistence.known_machines import LEARNED
from absentia.persistence.known_parts import PARTS
from absentia.tables.known_limits import KeepsLimits
from absentia.tables.stored import Stored

__all__ = [
    "allowed_classes",
    "allowed_functions",
    "known_attributes",
    "model_types",
    "number_types",
    "parameter_names",
    "trusted_types",
]

#: What a selection of columns names, and no prediction calls.
_COLUMN_SCORES = (chi2, f_classif, f_regression, mutual_info_classif, mutual_info_regression)
_NUMBERS = tuple(np.dtype(code).type for code in "?bhilqBHILQefdU")
_PYTHON_NUMBERS = (bool, float, int, str)


def trusted_types() -> list[type]:
    """Return the types whose objects a file may hold.

    These are absentia's estimators, kernels and the values they carry, and the estimators of
    scikit-learn that absentia knows attribute by attribute, with their parts. All of them are plain
    holders of parameters and arrays; beside them a file holds NumPy's arrays and Python's
    containers, numbers and strings. Functions are not trusted, except scikit-learn's metrics and
    scores of columns, which a grid search and a selection of columns name.

    Examples
    --------
    >>> from absentia import SVC
    >>> from absentia.persistence import trusted_types
    >>> SVC in trusted_types()
    True
    """
    return [*model_types(), *_stored_values(Stored), *_tables()[1]]


@cache
def model_types() -> dict[type, None]:
    """Return the estimators that may stand wherever a file needs one, in order."""
    import absentia  # here, because it imports this module when it is asked for `load`

    kernels = import_module("absentia.kernels")
    public = [getattr(absentia, name) for name in absentia.__all__]
    public += [getattr(kernels, name) for name in kernels.__all__]
    ours = [k for k in public if isinstance(k, type) and issubclass(k, BaseEstimator)]
    # A step of the members of automatic machines.
    return dict.fromkeys([*ours, KeepsLimits, *_tables()[0]])


@cache
def _tables() -> tuple[dict[type, Mapping[str, str]], dict[type, Mapping[str, str]]]:
    """Return the attributes of scikit-learn's estimators, and those of their parts, by class."""
    estimators: dict[type, Mapping[str, str]] = {
        getattr(import_module(f"sklearn.{module}"), name): attributes
        for module, classes in ESTIMATORS.items()
        for name, attributes in classes.items()
    }
    parts: dict[type, Mapping[str, str]] = {
        getattr(import_module(module), name): attributes
        for module, classes in PARTS.items()
        for name, attributes in classes.items()
        if hasattr(import_module(module), name)  # private: a version may not have it
    }
    return estimators, parts


@cache
def known_attributes(kind: type) -> Mapping[str, str]:
    """Return the kinds of the attributes that an object of a trusted type may have, by name.

    Parameters are not among them (:func:`parameter_names`). The fields of a value have no kind
    here: it checks them itself.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> known_attributes(MaxAbsScaler)["max_abs_"]
    'floats[1]'
    """
    if issubclass(kind, Stored):
        return dict.fromkeys((field.name for field in fields(kind)), "")  # type: ignore[arg-type]
    shared = EVERY_ESTIMATOR if issubclass(kind, BaseEstimator) else {}
    estimators, parts = _tables()
    own = estimators.get(kind) or parts.get(kind)
    if own is None:
        own = {} if kind.__module__.startswith("sklearn.") else LEARNED
    return {**shared, **own}


def parameter_names(kind: type) -> list[str]:
    """Return the names of the parameters that an estimator keeps as attributes."""
    if not issubclass(kind, BaseEstimator):
        return []
    names: list[str] = kind._get_param_names()  # type: ignore[attr-defined]
    return [name for name in names if not isinstance(getattr(kind, name, None), property)]


def _stored_values(kind: type) -> list[type]:
    """Return the concrete values of absentia that check themselves."""
    found: list[type] = []
    child: type
    for child in kind.__subclasses__():
        if child.__module__.startswith("absentia.") and not isabstract(child):
            found.append(child)
        found += _stored_values(child)
    return found


def number_types() -> frozenset[type]:
    """Return the types that a file may name as such: those of numbers and of text."""
    return frozenset({*_PYTHON_NUMBERS, *_NUMBERS})


@cache
def allowed_functions() -> frozenset[Callable[..., Any]]:
    """Return the functions that a file may name: scikit-learn's metrics and scores of columns."""
    metrics = {get_scorer(name)._score_func for name in get_scorer_names()}
    return frozenset(metrics.union(_COLUMN_SCORES))


@cache
def allowed_classes() -> dict[str, frozenset[str]]:
    """Return the names of the classes that each kind of node may have; other kinds are refused."""
    arrays = {f"{module}.MaskedArray" for module in ("numpy.ma", "numpy.ma.core")}
    numbers = {_name(kind) for kind in _NUMBERS}
    return {
        "DictNode": frozenset(
            {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
        ),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({"builtins.tuple"}),
        "SetNode": frozenset({"builtins.set"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "JsonNode": frozenset({"builtins.str"}),
        "TypeNode": frozenset({*(_name(kind) for kind in _PYTHON_NUMBERS), *numbers}),
        "FunctionNode": frozenset(_name(function) for function in allowed_functions()),
        "ObjectNode": frozenset(_name(kind) for kind in trusted_types()),
        "NdArrayNode": frozenset({"numpy.ndarray", *numbers}),
        "MaskedArrayNode": frozenset(arrays),
        "DTypeNode": frozenset({"numpy.dtype"}),
        "RandomStateNode": frozenset(
            {"numpy.random.mtrand.RandomState", "numpy.random.RandomState"}
        ),
        "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
        "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
        "LossNode": frozenset(
            f"sklearn._loss._loss.{attributes['closs']}"
            for attributes in PARTS["sklearn._loss.loss"].values()
        ),
    }


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__name__}"
