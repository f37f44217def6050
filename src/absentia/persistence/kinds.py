"""Kinds of values: the words in which the tables of known attributes are written.

A kind is a text that one function checks:

=====================  ===================================================================
``int``, ``float``,    Python's or NumPy's own scalar, of exactly that type
``bool``, ``str``,
``none``
``floats[2]``          an array of exactly two axes with native floating point numbers; also
                       ``integers``, ``bools``, ``texts``
``objects[1]``         an array of Python's scalars, such as words and None
``masked[1]``          a masked array of numbers or scalars: scores of a search
``list of X``          every entry is of the kind X; also ``tuple of``, ``dict of`` (keys of text or
                       numbers), ``objects of`` (an array of one axis)
``slice``, ``rng``     with whole numbers; a legacy or a default generator of NumPy
``estimator``          an object of a known class that can stand on its own
``dtype``              a type of numbers or text
``function``           a metric or a score of columns of scikit-learn
``KFold``              an object of a known class of that name
=====================  ===================================================================

``A | B`` is one of both, ``list of A/B`` a list in which each entry is one of both.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

__all__ = ["fits", "kind_of"]

_SCALARS: dict[str, tuple[type, ...]] = {
    "none": (type(None),),
    "bool": (bool, np.bool_),
    "int": (int, *(np.dtype(code).type for code in "bhilqBHILQ")),
    "float": (float, np.float16, np.float32, np.float64),
    "str": (str, np.str_),
}
_SCALAR_OF = {kind: name for name, kinds in _SCALARS.items() for kind in kinds}
#: Letters of NumPy's types, without long doubles, complex numbers, records and dates.
_ARRAYS = {"bools": "?", "integers": "bhilqBHILQ", "floats": "efd", "texts": "U"}
_ARRAY_OF = {letter: name for name, letters in _ARRAYS.items() for letter in letters}
_CONTAINERS: dict[type, str] = {
    list: "list of ",
    tuple: "tuple of ",
    dict: "dict of ",
    OrderedDict: "dict of ",
    Bunch: "bunch of ",
    set: "set of ",
}
