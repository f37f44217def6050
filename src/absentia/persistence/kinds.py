"""The classes that a model file may hold, and the kinds of values that their attributes may have.

Whatever is not known is refused. absentia's own classes are known as its estimators and values,
scikit-learn's by the table of :mod:`absentia.persistence.known_classes`. The fitted attributes of
absentia's classes are known by their annotations, those of scikit-learn's are written in words:

- ``none bool int float str``: a scalar of Python or NumPy, of exactly that type;
- ``floats[2]``: an array of two axes, exactly; also ``integers``, ``bools``, ``texts``, ``objects``
  (of scalars) and ``records`` (nodes of boosted trees);
- ``list of A/B``: a list whose entries are A or B; also ``tuple of``, ``dict of`` (keys are text or
  numbers), ``bunch of`` and ``objects of`` (an array);
- ``KFold``, ``trees``: an object of scikit-learn's class with that name, a decision tree;
- the words of ``_TESTS`` and ``_ALIASES``, such as ``method``, the name of a method that predicts,
  ``false``, for attributes that are True with sparse targets only, ``step``, of a
  ``ColumnTransformer``, or ``estimator``, an object of a known class that may stand on its own.

``A | B`` is either. Types are compared exactly: an object that behaves like an array is none. That
dictionaries have text or numbers as keys, and slices as ends, is seen to by :mod:`.nodes`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from inspect import isabstract
from itertools import chain, product, repeat
from operator import call
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from absentia.persistence.known_classes import (
    ESTIMATORS,
    EVERY_ESTIMATOR,
    FUNCTIONS,
    NUMBER_TYPES,
    PARTS,
)
from absentia.tables.stored import Stored

_SCALARS: dict[str, tuple[type, ...]] = {
    "none": (NoneType,),
    "bool": (bool, np.bool_),
    "int": (int, *(np.dtype(code).type for code in "bhilqBHILQ")),
    "float": (float, np.float16, np.float32, np.float64),
    "str": (str, np.str_),
}
_WORDS: dict[Any, str] = {np.ndarray: "labels"} | {own[0]: word for word, own in _SCALARS.items()}
ANY_SCALAR = frozenset(chain(*_SCALARS.values()))
#: Letters of NumPy's types: no long doubles, complex numbers or dates.
_ARRAYS = {
    "bools": "?",
    "integers": "bhilqBHILQ",
    "floats": "efd",
    "texts": "U",
    "objects": "O",
    "records": "V",
}
_MOST_AXES = 5
_DICTS = (dict, OrderedDict)
_CONTAINERS: dict[str, tuple[type, ...]] = {
    "list": (list,),
    "tuple": (tuple,),
    "dict": _DICTS,
    "bunch": (Bunch,),
    "objects": (np.ndarray,),
}
_EVERY_ROLE = ("estimator", "splitter", "dtype", "function", "scorer")
_ALIASES = {
    "labels": "bools[1] | integers[1] | floats[1] | texts[1] | objects[1]",
    "trees": "DecisionTreeClassifier | DecisionTreeRegressor | ExtraTreeClassifier"
    " | ExtraTreeRegressor",
}
_METHODS = ("predict", "predict_proba", "decision_function")


class Kind(NamedTuple):
    """A test of values: by their exact type, by the type and axes of an array, or by functions."""

    expected: str
    types: frozenset[type] = frozenset()
    arrays: frozenset[tuple[str, int]] = frozenset()
    tests: tuple[Callable[[Any], bool], ...] = ()

    def holds(self, value: Any) -> bool:
        """Return whether a value is of this kind."""
        kind = type(value)
        if kind in self.types:
            return True
        if kind is np.ndarray and (value.dtype.char, value.ndim) in self.arrays:
            return value.dtype.isnative and (value.dtype != object or _are_scalars(value.flat))
        return any(map(call, self.tests, repeat(value)))


@cache
def record_types() -> dict[str, np.dtype[Any]]:
    """Return the types of the records that a file may hold: nodes of trees, and no others."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.tree._tree import NODE_DTYPE

    return {"tree": NODE_DTYPE, "boosted tree": PREDICTOR_RECORD_DTYPE}


@cache
def kind_of_words(words: str) -> Kind:
    """Return the kind that is written in words."""
    types, arrays = set[type](), set[tuple[str, int]]()
    tests: list[Callable[[Any], bool]] = []
    own = words.split(" | ")
    for word in " | ".join(map(_ALIASES.get, own, own)).split(" | "):
        outer, contains, inner = word.partition(" of ")
        letters, _, n_axes = word.rstrip("]").partition("[")
        module, _, name = word.rpartition(".")
        if contains:
            entries = kind_of_words(inner.replace("/", " | "))
            tests.append(partial(_contains, _CONTAINERS[outer], entries))
        elif word in _SCALARS:
            types.update(_SCALARS[word])
        elif letters in _ARRAYS:
            axes = [int(n_axes)] if n_axes else range(_MOST_AXES)
            arrays.update(product(_ARRAYS[letters], axes))
        elif module:
            tests.append(partial(_is_a, getattr(import_module(module), name)))
        else:
            tests.append(_TESTS.get(word) or partial(_is_named, word))
    return Kind(words, frozenset(types), frozenset(arrays), tuple(tests))


@cache
def words_of_annotation(annotation: Any) -> str:
    """Return the kind that an annotation of a fitted attribute stands for, in words.

    An array without a number of axes may have any; ``np.ndarray`` alone is a list of labels.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " | ".join(map(words_of_annotation, arguments))
    if origin is Annotated:
        inner, said = arguments
        return said if isinstance(said, str) else f"{words_of_annotation(inner)}[{said}]"
    if origin is np.ndarray:
        number = np.dtype(get_args(arguments[1])[0])
        return {"f": "floats", "i": "integers", "b": "bools"}[number.kind]
    if annotation == dict[str, Any]:
        return "parameters"
    if origin in (list, tuple, dict):
        inner = [one for one in (arguments[1:] if origin is dict else arguments) if one is not ...]
        entries = " | ".join(map(words_of_annotation, inner)).replace(" | ", "/")
        return f"{origin.__name__} of {entries}"
    if annotation in _WORDS:
        return _WORDS[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Stored | BaseEstimator):
        return f"{annotation.__module__}.{annotation.__name__}"
    if getattr(annotation, "_is_protocol", False):
        return "estimator"
    raise TypeError(f"no kind of values is known for the annotation {annotation}")


def _contains(types: tuple[type, ...], entries: Kind, value: Any) -> bool:
    if type(value) not in types:
        return False
    if isinstance(value, np.ndarray) and (value.dtype != object or value.ndim != 1):
        return False
    return all(map(entries.holds, value.values() if isinstance(value, dict) else value))


def _is_named(name: str, value: Any) -> bool:
    return type(value).__name__ == name and type(value).__module__.startswith("sklearn.")


def _is_a(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and (isinstance(value, Stored) or _is_model(value))


def _are_scalars(values: Iterable[Any]) -> bool:
    return set(map(type, values)) <= ANY_SCALAR


def _is_dtype(value: Any) -> bool:
    if isinstance(value, np.dtype):
        return value.type in NUMBER_TYPES or value.kind == "O"
    return isinstance(value, type) and value in NUMBER_TYPES


def _is_model(value: Any) -> bool:
    return type(value) in model_types()


def _is_masked(value: Any) -> bool:
    """Return whether a value is one of the columns of parameters in ``cv_results_``."""
    is_column = type(value) is np.ma.MaskedArray and value.ndim == 1
    return is_column and _is_held(np.ma.getdata(value), _EVERY_ROLE)


_TESTS: dict[str, Callable[[Any], bool]] = {
    "dtype": _is_dtype,
    "estimator": _is_model,
    "false": lambda value: type(value) in _SCALARS["bool"] and not value,
    "function": lambda value: any(value is function for function in FUNCTIONS),
    "method": lambda value: type(value) is str and value in _METHODS,
    "names": lambda value: (
        kind_of_words("objects[1]").holds(value) and {*map(type, value)} <= {str}
    ),
    "masked": _is_masked,
    "parameters": lambda value: type(value) in _DICTS and _is_held(value, _EVERY_ROLE),
    "results": lambda value: type(value) in _DICTS and _is_held(value, (*_EVERY_ROLE, "masked")),
    "rng": lambda value: type(value) in (np.random.RandomState, np.random.Generator),
    "selection": lambda value: _is_held(value, ()),
    "slice": lambda value: type(value) is slice,
    "step": lambda value: type(value) is tuple and _is_held(value, ("estimator",)),
    # By the modules of their classes, which are many.
    "scorer": lambda value: type(value).__module__ == "sklearn.metrics._scorer",
    "splitter": lambda value: type(value).__module__ == "sklearn.model_selection._split",
}

#: Parameters of scikit-learn's classes, and of searches, that hold more than numbers, text and
#: containers of these.
_ROLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("estimator", "estimators", "final_estimator", "regressor", "remainder", "steps"),
            *("transformer", "transformer_list", "transformers"),
        ),
        ("estimator",),
    ),
    "cv": ("splitter",),
    "dtype": ("dtype",),
    "score_func": ("function",),
    "scoring": ("scorer",),
}
_ROLES |= dict.fromkeys(("param_grid", "param_distributions"), _EVERY_ROLE)


def _is_parameter(name: str, annotation: Any, value: Any) -> bool:
    """Return whether a parameter of an estimator may have a value that is no number or text.

    Arrays and containers of numbers and text always can. Estimators are for the parameters
    whose annotation names them, and with splitters, scorers, types and functions for those of
    scikit-learn that take them. ``memory``, a folder from which joblib reads pickles, is None.
    """
    roles = _ROLES.get(name, ())
    if "estimator" not in roles and _names_estimator(annotation):
        roles = (*roles, "estimator")
    return _is_held(value, roles)


def _names_estimator(annotation: Any) -> bool:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return issubclass(annotation, BaseEstimator) or getattr(annotation, "_is_protocol", False)
    return any(_names_estimator(one) for one in get_args(annotation))


def _is_held(value: Any, roles: tuple[str, ...]) -> bool:
    if type(value) in ANY_SCALAR or type(value) is slice or _TESTS["rng"](value):
        return True
    if type(value) in (list, tuple, set):
        return _are_scalars(value) or all(_is_held(entry, roles) for entry in value)
    if type(value) in _DICTS:
        return all(_is_held(entry, roles) for entry in value.values())
    if type(value) is np.ndarray:
        if value.dtype == object:
            return all(_is_held(entry, roles) for entry in value.flat)
        return value.dtype.isnative and value.dtype.char in "?bhilqBHILQefdU"
    return any(_TESTS[role](value) for role in roles)


def are_fields(values: list[Any]) -> bool:
    """Return whether no part of an estimator is among the fields of a value."""
    for held in values:
        if isinstance(held, dict | list | tuple):
            values += held.values() if isinstance(held, dict) else held
        elif type(held) in sklearn_attributes() and not _is_model(held):
            return False
    return True


@cache
def kinds_of(owner: type) -> dict[str, Kind]:
    """Return the kinds of the attributes that objects of a trusted type may have.

    Parameters and fitted attributes have the kind of their annotation, those of scikit-learn that
    of the words of the table. Values (:class:`~absentia.tables.stored.Stored`) check their fields
    themselves.
    """
    parameters = parameter_names(owner)
    if issubclass(owner, Stored):
        return dict.fromkeys(owner._field_names(), Kind("a field"))
    words = EVERY_ESTIMATOR if issubclass(owner, BaseEstimator) else {}
    words = words | sklearn_attributes().get(owner, {})
    kinds = {name: kind_of_words(own) for name, own in words.items()}
    is_ours = not owner.__module__.startswith("sklearn.")
    hints = get_type_hints(owner, include_extras=True) if is_ours else {}
    for name, hint in hints.items():
        # A fitted attribute, not a setting of the class.
        is_set = name.endswith("_") or (name.startswith("_") and not hasattr(owner, name))
        if is_set and get_origin(hint) is not ClassVar and name not in kinds:
            kinds[name] = kind_of_words(words_of_annotation(hint))
    for name in parameters:
        tests = (partial(_is_parameter, name, hints.get(name)),)
        kinds[name] = Kind("a parameter", ANY_SCALAR, tests=tests)
    if "memory" in kinds:
        kinds["memory"] = kind_of_words("none")
    return kinds


@cache
def parameter_names(owner: type) -> list[str]:
    """Return the names of the parameters that an estimator keeps as attributes."""
    if not issubclass(owner, BaseEstimator):
        return []
    names: list[str] = owner._get_param_names()  # type: ignore[attr-defined]
    return [name for name in names if not isinstance(getattr(owner, name, None), property)]


def trusted_types() -> list[type]:
    """Return the types whose objects a file may hold, beside NumPy's arrays and Python's own.

    These are absentia's estimators, kernels and the values they carry, and the estimators of
    scikit-learn that absentia knows attribute by attribute, with their parts. All of them are plain
    holders of parameters and arrays. Functions are not trusted, except scikit-learn's metrics and
    scores of columns, which a grid search and a selection of columns name.
    """
    return list(trusted_names().values())


@cache
def trusted_names() -> dict[str, type]:
    """Return the trusted types by their module and name."""
    models = model_types()  # first: it imports the modules that define the values
    values = [kind for kind in _subclasses(Stored) if not isabstract(kind)]
    found = dict.fromkeys([*models, *values, *sklearn_attributes()])
    return {f"{kind.__module__}.{kind.__name__}": kind for kind in found}


@cache
def model_types() -> dict[type, None]:
    """Return the estimators that may stand wherever a file needs one, in order.

    Of absentia, these are the public ones, and those that nothing else is derived from.
    """
    import absentia  # here, because it imports this module for `load`

    for home in absentia._HOMES:
        import_module(f"absentia.{home}")
    found = _subclasses(BaseEstimator)
    bases = {base for kind in found for base in kind.__mro__[1:]}
    public = set(absentia.__all__)
    ours = [kind for kind in found if kind.__name__ in public or kind not in bases]
    return dict.fromkeys([*ours, *_classes(ESTIMATORS)])


def _subclasses(kind: type) -> list[type]:
    """Return the classes of absentia that are derived from another one."""
    found: list[type] = [kind]
    for base in found:
        found += base.__subclasses__()
    return [one for one in dict.fromkeys(found[1:]) if one.__module__.startswith("absentia.")]


@cache
def sklearn_attributes() -> dict[type, dict[str, str]]:
    """Return the kinds of the attributes of scikit-learn's estimators and parts, by class."""
    return _classes(ESTIMATORS) | _classes(PARTS)


def _classes(table: dict[str, dict[str, str]]) -> dict[type, dict[str, str]]:
    found = {}
    for path, attributes in table.items():
        module, _, name = path.rpartition(".")
        kind = getattr(import_module(f"sklearn.{module}"), name, None)
        if kind is not None:  # parts are private to a version
            found[kind] = attributes
    return found
