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
from functools import cache
from importlib import import_module
from inspect import isabstract
from itertools import chain, product
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
_SCALAR_WORDS = {types[0]: word for word, types in _SCALARS.items()}
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
        return True in [test(value) for test in self.tests]


def _either(kinds: Iterable[Kind]) -> Kind:
    expected, types, arrays, tests = zip(*kinds, strict=True)
    return Kind(
        " | ".join(expected),
        frozenset[type]().union(*types),
        frozenset[tuple[str, int]]().union(*arrays),
        tuple(chain(*tests)),
    )


@cache
def tree_records() -> tuple[np.dtype[Any], ...]:
    """Return the types of the records that a file may hold: nodes of trees, and no others."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.tree._tree import NODE_DTYPE

    return NODE_DTYPE, PREDICTOR_RECORD_DTYPE


@cache
def kind_of_words(words: str) -> Kind:
    """Return the kind that is written in words."""
    return _either(map(_kind_of_word, words.split(" | ")))


def _kind_of_word(word: str) -> Kind:
    if word in _ALIASES:
        return kind_of_words(_ALIASES[word])
    if word in _SCALARS:
        return Kind(word, types=frozenset(_SCALARS[word]))
    if word in _TESTS:
        return Kind(word, tests=(_TESTS[word],))
    outer, contains, inner = word.partition(" of ")
    if contains:
        return _container(outer, _either(map(_kind_of_word, inner.split("/"))))
    if word.endswith("]"):
        name, n_axes = word[:-1].split("[")
        return _array(name, [int(n_axes)])
    return Kind(
        word,
        tests=(lambda v: type(v).__name__ == word and type(v).__module__.startswith("sklearn."),),
    )


def _array(name: str, axes: Iterable[int]) -> Kind:
    axes = list(axes)
    return Kind(
        f"{name}[{', '.join(map(str, axes))}]", arrays=frozenset(product(_ARRAYS[name], axes))
    )


def _container(outer: str, inner: Kind) -> Kind:
    types = _CONTAINERS[outer]

    def holds(value: Any) -> bool:
        if type(value) not in types:
            return False
        if isinstance(value, np.ndarray) and (value.dtype != object or value.ndim != 1):
            return False
        if isinstance(value, dict):
            return all(map(inner.holds, value.values()))
        return all(map(inner.holds, value))

    return Kind(f"{outer} of {inner.expected.replace(' | ', '/')}", tests=(holds,))


def kind_of_annotation(annotation: Any) -> Kind:
    """Return the kind that an annotation of a fitted attribute stands for.

    An array without a number of axes may have any; ``np.ndarray`` alone is a list of labels.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _either(map(kind_of_annotation, arguments))
    if origin is Annotated:
        if isinstance(arguments[1], str):
            return kind_of_words(arguments[1])
        return _kind_of_array(arguments[0], [arguments[1]])
    if annotation is np.ndarray or origin is np.ndarray:
        return _kind_of_array(annotation, range(_MOST_AXES))
    if annotation == dict[str, Any]:
        return kind_of_words("parameters")
    if origin in (list, tuple, dict):
        inner = [one for one in (arguments[1:] if origin is dict else arguments) if one is not ...]
        return _container(origin.__name__, _either(map(kind_of_annotation, inner)))
    if annotation in _SCALAR_WORDS:
        return kind_of_words(_SCALAR_WORDS[annotation])
    if isinstance(annotation, type) and issubclass(annotation, Stored):
        return Kind(annotation.__name__, tests=(lambda v: isinstance(v, annotation),))
    if isinstance(annotation, type) and issubclass(annotation, BaseEstimator):
        return Kind(
            annotation.__name__,
            tests=(lambda v: isinstance(v, annotation) and _is_model(v),),
        )
    if getattr(annotation, "_is_protocol", False):
        return kind_of_words("estimator")
    raise TypeError(f"no kind of values is known for the annotation {annotation}")


def _kind_of_array(annotation: Any, axes: Iterable[int]) -> Kind:
    if annotation is np.ndarray:
        return kind_of_words("labels")
    number = get_args(get_args(annotation)[1])[0]
    return _array({"f": "floats", "i": "integers", "b": "bools"}[np.dtype(number).kind], axes)


def _are_scalars(values: Iterable[Any]) -> bool:
    return set(map(type, values)) <= ANY_SCALAR


def _is_names(value: Any) -> bool:
    return kind_of_words("objects[1]").holds(value) and all(type(name) is str for name in value)


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
    "names": _is_names,
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


def _kind_of_parameter(name: str, annotation: Any) -> Kind:
    """Return the kind of values that a parameter of an estimator may have.

    Numbers, text, arrays and containers of these always can. Estimators are for the parameters
    whose annotation names them, and with splitters, scorers, types and functions for those of
    scikit-learn that take them. ``memory``, a folder from which joblib reads pickles, is None.
    """
    if name == "memory":
        return kind_of_words("none")
    roles = _ROLES.get(name, ())
    if "estimator" not in roles and _names_estimator(annotation):
        roles = (*roles, "estimator")
    return Kind("a parameter", ANY_SCALAR, tests=(lambda value: _is_held(value, roles),))


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


def _is_field(value: Any) -> bool:
    """Return whether no part of an estimator is in the field of a value."""
    if isinstance(value, dict):
        return all(map(_is_field, value.values()))
    if type(value) in (list, tuple):
        return all(map(_is_field, value))
    return type(value) not in sklearn_attributes() or _is_model(value)


#: Fields of values, which are checked further by the value.
_FIELD = Kind("a field", ANY_SCALAR | {np.ndarray}, tests=(_is_field,))


@cache
def kinds_of(owner: type) -> dict[str, Kind]:
    """Return the kinds of the attributes that objects of a trusted type may have.

    Parameters and fitted attributes have the kind of their annotation, those of scikit-learn that
    of the words of the table. Values (:class:`~absentia.tables.stored.Stored`) check their fields
    themselves.
    """
    if issubclass(owner, Stored):
        return dict.fromkeys(owner._field_names(), _FIELD)
    words = EVERY_ESTIMATOR if issubclass(owner, BaseEstimator) else {}
    words = words | sklearn_attributes().get(owner, {})
    kinds = {name: kind_of_words(own) for name, own in words.items()}
    is_ours = not owner.__module__.startswith("sklearn.")
    hints = get_type_hints(owner, include_extras=True) if is_ours else {}
    for name, hint in hints.items():
        # A fitted attribute, not a setting of the class.
        is_set = name.endswith("_") or (name.startswith("_") and not hasattr(owner, name))
        if is_set and get_origin(hint) is not ClassVar and name not in kinds:
            kinds[name] = kind_of_annotation(hint)
    parameters = parameter_names(owner)  # type: ignore[arg-type]  # mypy looks at the hash of its objects
    return kinds | {name: _kind_of_parameter(name, hints.get(name)) for name in parameters}


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
    found: dict[type, None] = {}
    pending: list[type] = kind.__subclasses__()
    while pending:
        child = pending.pop()
        pending += child.__subclasses__() if child not in found else []
        found[child] = None
    return [child for child in found if child.__module__.startswith("absentia.")]


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
