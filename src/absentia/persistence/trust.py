"""What a model file may hold: which kinds of entries, and which classes in each.

skops describes a model as a tree of nodes. Some kinds of nodes call what they name (methods,
operators, partial functions, constructors) or hold what compiled code follows without looking
(sparse matrices); a model of absentia needs none of them, so they are refused as a kind. Of
scikit-learn's estimators those are accepted whose predictions are plain array arithmetic in
Python, and trees, forests and histogram gradient boosting, whose arrays
:mod:`absentia.persistence.stored_trees` checks. The attributes of a support vector machine of
libsvm or of a neighbour search go to compiled code that does not check them.
"""

from __future__ import annotations

from collections.abc import Callable
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
from sklearn.utils import all_estimators

from absentia.tables.limited_steps import KeepsLimits
from absentia.tables.stored import Stored

__all__ = ["allowed_classes", "allowed_functions", "number_types", "trusted_types"]

#: Beginnings of the names of scikit-learn's estimators that predict by array arithmetic, or trees.
_PLAIN_ESTIMATORS = (
    "sklearn.calibration.",
    "sklearn.compose.",
    "sklearn.cross_decomposition.",
    "sklearn.decomposition._factor_analysis.",
    "sklearn.decomposition._fastica.",
    "sklearn.decomposition._incremental_pca.",
    "sklearn.decomposition._pca.",
    "sklearn.decomposition._truncated_svd.",
    "sklearn.discriminant_analysis.",
    "sklearn.dummy.",
    "sklearn.ensemble._bagging.",
    "sklearn.ensemble._forest.",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.",
    "sklearn.ensemble._stacking.",
    "sklearn.ensemble._voting.",
    "sklearn.ensemble._weight_boosting.",
    "sklearn.feature_selection.",
    "sklearn.frozen.",
    "sklearn.impute._base.",
    "sklearn.impute._knn.",
    "sklearn.isotonic.",
    "sklearn.kernel_approximation.",
    "sklearn.linear_model.",
    "sklearn.model_selection.",
    "sklearn.multiclass.",
    "sklearn.multioutput.",
    "sklearn.naive_bayes.",
    "sklearn.pipeline.",
    "sklearn.preprocessing.",
    "sklearn.svm._classes.Linear",
    "sklearn.tree._classes.",
)
#: What boosted trees minimise: a compiled class, and one without "Cy" that holds it.
_LOSSES = (
    "CyAbsoluteError",
    "CyHalfBinomialLoss",
    "CyHalfGammaLoss",
    "CyHalfMultinomialLoss",
    "CyHalfPoissonLoss",
    "CyHalfSquaredError",
    "CyPinballLoss",
)
#: Parts of those estimators, by module. Private names, which a version may not have.
_PARTS = {
    "sklearn._loss.link": (
        "HalfLogitLink",
        "IdentityLink",
        "Interval",
        "LogLink",
        "LogitLink",
        "MultinomialLogit",
    ),
    "sklearn._loss.loss": tuple(name.removeprefix("Cy") for name in _LOSSES),
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling"),
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.metrics._scorer": ("_PassthroughScorer", "_Scorer"),
    "sklearn.model_selection._split": (
        "GroupKFold",
        "KFold",
        "LeaveOneOut",
        "RepeatedKFold",
        "RepeatedStratifiedKFold",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
}
#: What a selection of columns names, and no prediction calls.
_COLUMN_SCORES = (chi2, f_classif, f_regression, mutual_info_classif, mutual_info_regression)
_NUMBERS = tuple(np.dtype(code).type for code in "?bhilqBHILQefdU")
_PYTHON_NUMBERS = (bool, float, int, str)


def trusted_types() -> list[type]:
    """Return the types whose objects a file may hold.

    These are absentia's estimators, kernels and the values they carry, and scikit-learn's
    estimators that predict by array arithmetic or by trees, with their parts. All of them are plain
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
    return list(_trusted())


@cache
def _trusted() -> tuple[type, ...]:
    import absentia  # here, because absentia itself imports this module

    kernels = import_module("absentia.kernels")
    public = [getattr(absentia, name) for name in absentia.__all__]
    public += [getattr(kernels, name) for name in kernels.__all__]
    ours = [k for k in public if isinstance(k, type) and issubclass(k, BaseEstimator)]
    ours.append(KeepsLimits)  # a step of the members of automatic machines
    plain = [kind for _, kind in all_estimators() if _name(kind).startswith(_PLAIN_ESTIMATORS)]
    parts = [
        getattr(import_module(module), name)
        for module, names in _PARTS.items()
        for name in names
        if hasattr(import_module(module), name)
    ]
    return tuple(dict.fromkeys([*ours, *_stored_values(Stored), *plain, *parts]))


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
        "ObjectNode": frozenset(_name(kind) for kind in _trusted()),
        "NdArrayNode": frozenset({"numpy.ndarray", *numbers}),
        "MaskedArrayNode": frozenset(arrays),
        "DTypeNode": frozenset({"numpy.dtype"}),
        "RandomStateNode": frozenset(
            {"numpy.random.mtrand.RandomState", "numpy.random.RandomState"}
        ),
        "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
        "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
        "LossNode": frozenset(f"sklearn._loss._loss.{name}" for name in _LOSSES),
    }


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__name__}"
