"""Classes that a model file may hold, and the kinds of entries that may name them.

skops describes a model as a tree of nodes. Some kinds of nodes call what they name (methods,
operators, partial functions, constructors) or hold what compiled code follows without looking
(sparse matrices); a model of absentia needs none of them, so they are refused as a kind. Classes
are refused unless they are known: scikit-learn's by a table
(:mod:`absentia.persistence.sklearn_classes`), absentia's own as estimators and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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

from absentia.persistence.sklearn_classes import ESTIMATORS, PARTS
from absentia.tables.stored import Stored

__all__ = [
    "FUNCTIONS",
    "NUMBER_TYPES",
    "allowed_classes",
    "model_types",
    "sklearn_attributes",
    "trusted_types",
]

_NUMPY_TYPES = tuple(np.dtype(code).type for code in "?bhilqBHILQefdU")
#: Types that a file may name as such: those of numbers and of text.
NUMBER_TYPES: frozenset[type] = frozenset({bool, float, int, str, *_NUMPY_TYPES})
#: Functions that a file may name: metrics, and scores for the selection of columns.
FUNCTIONS: frozenset[Callable[..., Any]] = frozenset(
    [get_scorer(name)._score_func for name in get_scorer_names()]
    + [chi2, f_classif, f_regression, mutual_info_classif, mutual_info_regression]
)


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
    values = [kind for kind in _subclasses(Stored) if not isabstract(kind)]
    parts = [kind for kind in sklearn_attributes() if kind not in model_types()]
    return [*model_types(), *values, *parts]


@cache
def model_types() -> dict[type, None]:
    """Return the estimators that may stand wherever a file needs one, in order.

    Of absentia, these are the public ones, and those that nothing else is derived from.
    """
    import absentia  # here, because it imports this module for `load`

    kernels = import_module("absentia.kernels")
    public = [getattr(absentia, name) for name in absentia.__all__]
    public += [getattr(kernels, name) for name in kernels.__all__]
    ours = [k for k in public if isinstance(k, type) and issubclass(k, BaseEstimator)]
    leaves = [k for k in _subclasses(BaseEstimator) if not any(_subclasses(k))]
    return dict.fromkeys([*ours, *leaves, *_classes("sklearn.", ESTIMATORS)])


def _subclasses(kind: type) -> Iterator[type]:
    """Yield the classes of absentia that are derived from another one."""
    child: type
    for child in kind.__subclasses__():
        if child.__module__.startswith("absentia."):
            yield child
        yield from _subclasses(child)


@cache
def sklearn_attributes() -> dict[type, Mapping[str, str]]:
    """Return the kinds of the attributes of scikit-learn's estimators and parts, by class."""
    return _classes("sklearn.", ESTIMATORS) | _classes("", PARTS)


def _classes(
    prefix: str, table: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> dict[type, Mapping[str, str]]:
    return {
        getattr(import_module(prefix + module), name): attributes
        for module, classes in table.items()
        for name, attributes in classes.items()
        if hasattr(import_module(prefix + module), name)  # parts are private to a version
    }


@cache
def allowed_classes() -> dict[str, frozenset[str]]:
    """Return the names of the classes that each kind of node may have; other kinds are refused."""
    numbers = {_name(kind) for kind in _NUMPY_TYPES}
    losses = {attributes["closs"] for attributes in PARTS["sklearn._loss.loss"].values()}
    return {
        "DictNode": frozenset(
            {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
        ),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({"builtins.tuple"}),
        "SetNode": frozenset({"builtins.set"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "JsonNode": frozenset({"builtins.str"}),
        "TypeNode": frozenset(map(_name, NUMBER_TYPES)),
        "FunctionNode": frozenset(map(_name, FUNCTIONS)),
        "ObjectNode": frozenset(map(_name, trusted_types())),
        "NdArrayNode": frozenset({"numpy.ndarray", *numbers}),
        "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
        "DTypeNode": frozenset({"numpy.dtype"}),
        "RandomStateNode": frozenset(
            {"numpy.random.mtrand.RandomState", "numpy.random.RandomState"}
        ),
        "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
        "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
        "LossNode": frozenset(f"sklearn._loss._loss.{name}" for name in losses),
    }


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__name__}"
