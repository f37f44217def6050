"""Kinds of values: the words in which the tables of known attributes are written.

======================  ==================================================================
``none bool int float   one of Python's or NumPy's own scalars, of exactly that type
str``
``floats[2]``           an array of two axes, exactly; also ``integers``, ``bools``, ``texts``,
                        ``objects`` (of scalars) and ``records`` (nodes of boosted trees)
``list of A/B``         a list whose entries are one of both; also ``tuple of``, ``dict of``
                        (keys of text or numbers), ``bunch of`` and ``objects of`` (an array)
``names``               an array of words: names of columns
``method``              the name of a method that predicts
``false``               for what is True with sparse targets only, which no file holds
``slice``, ``rng``,     a slice of whole numbers or words, a generator of NumPy, a type of numbers
``dtype``, ``function`` or text, a metric or a score of columns of scikit-learn
``selection``           which columns: numbers, names, truth values or a slice
``columns``             a step of a ``ColumnTransformer``: name, transformer, selection
``parameters``          a dictionary of parameters of models
``results``             what a search found: a dictionary of arrays and of parameters
``estimator``           an object of a known class that may stand on its own
``Stored``              a value of absentia that checks itself
``KFold``               an object of scikit-learn's class with that name
======================  ==================================================================

``A | B`` is one of both. Types are compared exactly: an object that behaves like an array is none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from absentia.persistence.trust import allowed_functions, model_types, number_types
from absentia.tables.stored import Stored

__all__ = ["fits", "is_parameter"]

_SCALARS: dict[str, tuple[type, ...]] = {
    "none": (type(None),),
    "bool": (bool, np.bool_),
    "int": (int, *(np.dtype(code).type for code in "bhilqBHILQ")),
    "float": (float, np.float16, np.float32, np.float64),
    "str": (str, np.str_),
}
_ANY_SCALAR = frozenset(kind for kinds in _SCALARS.values() for kind in kinds)
#: Letters of NumPy's types: no long doubles, complex numbers or dates.
_ARRAYS = {
    "bools": "?",
    "integers": "bhilqBHILQ",
    "floats": "efd",
    "texts": "U",
    "objects": "O",
    "records": "V",
}
_CONTAINERS: dict[str, tuple[type, ...]] = {
    "list": (list,),
    "tuple": (tuple,),
    "dict": (dict, OrderedDict),
    "bunch": (Bunch,),
    "objects": (np.ndarray,),
}
_METHODS = ("predict", "predict_proba", "decision_function")

#: Parameters that hold more than numbers, text and containers of these; all others hold no more.
_ROLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "density",
            "estimator",
            "estimators",
            "features",
            "final_estimator",
            "kernel",
            "left",
            "margins",
            "members",
            "regressor",
            "remainder",
            "right",
            "steps",
            "transformer",
            "transformer_list",
            "transformers",
        ),
        ("estimator",),
    ),
    "cv": ("_split",),
    "dtype": ("dtype",),
    "score_func": ("function",),
    "scoring": ("_scorer",),
}
_EVERY_ROLE = ("estimator", "_split", "dtype", "function", "_scorer")
#: Parameters that hold parameters of other models.
_OF_OTHERS = ("param_grid", "param_distributions")
#: Of pipelines: a folder from which joblib reads pickles. None in a file.
_FOLDER = "memory"


def fits(value: object, kind: str) -> bool:
    """Return whether a value is of a kind.

    Examples
    --------
    >>> import numpy as np
    >>> fits(np.zeros((2, 3)), "floats[2]"), fits(np.zeros(3), "floats[2] | none")
    (True, False)
    >>> fits([1, None], "list of int/none"), fits([1, "two"], "list of int/none")
    (True, False)
    """
    return any(_fits(value, one) for one in kind.split(" | "))


def _fits(value: Any, kind: str) -> bool:
    if kind in _SCALARS:
        return type(value) in _SCALARS[kind]
    if kind in _WORDS:
        return _WORDS[kind](value)
    outer, contains, inner = kind.partition(" of ")
    if contains:
        return _fits_container(value, outer, inner.split("/"))
    if kind.endswith("]"):
        return _fits_array(value, *kind[:-1].split("["))
    return type(value).__name__ == kind and type(value).__module__.startswith("sklearn.")


def _fits_array(value: Any, name: str, n_axes: str) -> bool:
    if type(value) is not np.ndarray or value.ndim != int(n_axes):
        return False
    if value.dtype.char not in _ARRAYS[name] or not value.dtype.isnative:
        return False
    return name != "objects" or all(type(entry) in _ANY_SCALAR for entry in value.flat)


def _fits_container(value: Any, outer: str, inner: list[str]) -> bool:
    if type(value) not in _CONTAINERS[outer]:
        return False
    if isinstance(value, np.ndarray) and (value.dtype != object or value.ndim != 1):
        return False
    if isinstance(value, dict):
        return all(type(key) in _ANY_SCALAR for key in value) and all(
            any(_fits(entry, one) for one in inner) for entry in value.values()
        )
    return all(any(_fits(entry, one) for one in inner) for entry in value)


def _is_names(value: Any) -> bool:
    return _fits_array(value, "objects", "1") and all(type(name) is str for name in value)


def _is_slice(value: Any) -> bool:
    return type(value) is slice and all(
        type(end) in (type(None), int, str) for end in (value.start, value.stop, value.step)
    )


def _is_selection(value: Any) -> bool:
    return _is_slice(value) or any(
        _fits(value, kind)
        for kind in (
            *("int", "str", "list of int/str/bool"),
            *("bools[1]", "integers[1]", "texts[1]", "objects[1]"),
        )
    )


def _is_step_of_columns(value: Any) -> bool:
    return (
        type(value) is tuple
        and len(value) == 3
        and _fits(value[0], "str")
        and (_fits(value[1], "str") or _fits(value[1], "estimator"))
        and _is_selection(value[2])
    )


def _is_dtype(value: Any) -> bool:
    if isinstance(value, np.dtype):
        return value.type in number_types() or value.kind == "O"
    return isinstance(value, type) and value in number_types()


def _is_function(value: Any) -> bool:
    return any(value is function for function in allowed_functions())


def _is_dict_of_parameters(value: Any) -> bool:
    return type(value) in _CONTAINERS["dict"] and _is_held(value, _EVERY_ROLE)


def _is_results(value: Any) -> bool:
    """Return whether a value is ``cv_results_``, where masked arrays of parameters may stand."""
    if type(value) not in _CONTAINERS["dict"]:
        return False
    return all(type(name) is str for name in value) and all(
        _is_held(column, _EVERY_ROLE)
        or (
            type(column) is np.ma.MaskedArray
            and column.ndim == 1
            and _is_held(np.ma.getdata(column), _EVERY_ROLE)
        )
        for column in value.values()
    )


_WORDS: dict[str, Callable[[Any], bool]] = {
    "columns": _is_step_of_columns,
    "dtype": _is_dtype,
    "estimator": lambda value: type(value) in model_types(),
    "false": lambda value: type(value) in _SCALARS["bool"] and not value,
    "Stored": lambda value: isinstance(value, Stored),
    "function": _is_function,
    "method": lambda value: type(value) is str and value in _METHODS,
    "names": _is_names,
    "parameters": _is_dict_of_parameters,
    "results": _is_results,
    "rng": lambda value: type(value) in (np.random.RandomState, np.random.Generator),
    "selection": _is_selection,
    "slice": _is_slice,
    # By the modules of their classes, which are many.
    "_scorer": lambda value: type(value).__module__ == "sklearn.metrics._scorer",
    "_split": lambda value: type(value).__module__ == "sklearn.model_selection._split",
}


def is_parameter(name: str, value: object) -> bool:
    """Return whether a value can be the parameter of an estimator.

    Numbers, text, arrays and containers of these always can. Estimators, splitters, scorers, types
    and functions are for the parameters that take them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> is_parameter("steps", [("last", Ridge())]), is_parameter("func", Ridge())
    (True, False)
    """
    if name == _FOLDER:
        return value is None
    return _is_held(value, _EVERY_ROLE if name in _OF_OTHERS else _ROLES.get(name, ()))


def _is_held(value: Any, roles: tuple[str, ...]) -> bool:
    if type(value) in _ANY_SCALAR or _is_slice(value) or _WORDS["rng"](value):
        return True
    if type(value) in (list, tuple, set):
        return all(_is_held(entry, roles) for entry in value)
    if type(value) in _CONTAINERS["dict"]:
        return all(type(key) in _ANY_SCALAR for key in value) and all(
            _is_held(entry, roles) for entry in value.values()
        )
    if type(value) is np.ndarray:
        if value.dtype == object:
            return all(_is_held(entry, roles) for entry in value.flat)
        return value.dtype.isnative and value.dtype.char in "?bhilqBHILQefdU"
    return any(_WORDS[role](value) for role in roles)
