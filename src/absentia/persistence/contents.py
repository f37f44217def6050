"""The contents of a model file, checked before anybody else computes with them.

A model may hold what is known, and nothing else: objects of trusted types, with the attributes that
their class is known to have, of the kinds that are known for them. Everything that is not named is
refused, whatever it might do. A reader (:mod:`.nodes`) has each object checked before another one
holds it.

Which attributes a model needs depends on its parameters and on its table. So it then predicts a row
of missing values and a row of zeros (as objects where numbers fail, for encoders of words; as a
belief, for models of beliefs). A ValueError about these rows is legitimate (no missing values
taken, beliefs expected); any other exception, and NumPy's about shapes, means that the model is
damaged.
"""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.preprocessing import PowerTransformer
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import make_density
from absentia.engine.compiling import always_compiled
from absentia.hidden_warnings import hidden_warnings
from absentia.parameters import check_parameters, shown
from absentia.persistence.compiled_parts import COMPILED_CHECKS
from absentia.persistence.kinds import are_fields, kinds_of, parameter_names
from absentia.tables.column_plan import ColumnPlan
from absentia.tables.stored import InconsistentError, Stored

#: The last code point of Unicode.
_LAST_CHARACTER = 0x10FFFF
#: Processes that a model may start when it predicts.
_MOST_JOBS = 512
#: The largest finite number that a fit leaves behind; units of columns may be 1e160.
_LARGEST = 1e200
#: Columns of the tables that a model predicts. A page that shows a model names every column.
_MOST_COLUMNS = 10**6
_METHODS = (
    *("predict", "predict_proba", "decision_function", "score_samples"),
    *("transform", "impute", "predict_interval", "predict_set"),
)
_FINITE = _METHODS[:4]
#: Attributes with the model inside another one that sees the rows first, in the order of search.
_FIRST_INSIDE = ("steps", "best_estimator_", "calibrated_classifiers_", "estimators_", "estimator")
_DEEPEST = 20
#: Trial rows are computed by NumPy up to this multiple of the usual sizes.
_REACH = 64
#: Beginnings of NumPy's messages about arrays whose shapes do not fit each other.
_SHAPE_MESSAGES = (
    *("operands could not be broadcast", "non-broadcastable output", "could not broadcast"),
    *("matmul: ", "shapes ", "cannot reshape", "all the input array", "axes don't match"),
)


def check_model(model: BaseEstimator, objects: list[Any]) -> None:
    """Raise ValueError where a model cannot predict with the objects that it holds.

    A model that is whole is as it was afterwards: random numbers, settings and caches too.
    """
    estimators = [value for value in objects if isinstance(value, BaseEstimator)]
    if not any(name.endswith("_") and name[0] != "_" for e in estimators for name in vars(e)):
        return
    before = [(vars(value), dict(vars(value))) for value in objects if hasattr(value, "__dict__")]
    for estimator in estimators:
        # A forest prints its progress when it predicts, too, and without a seed NumPy's global
        # random numbers are drawn: both belong to all threads of a program.
        vars(estimator).update(
            dict.fromkeys({"verbose", "random_state"} & vars(estimator).keys(), 0)
        )
    # Outside of their training rows, some answer NaN.
    may_be_nan = any(
        isinstance(one, PowerTransformer)
        or (isinstance(one, IsotonicRegression) and one.out_of_bounds == "nan")
        for one in estimators
    )
    # One row needs no workers, of which a file may ask for any number, and no compiled code.
    one_by_one = parallel_config(backend="sequential", n_jobs=1)
    with hidden_warnings(), np.errstate(all="ignore"), one_by_one, always_compiled(_REACH):
        _check_predictions(model, may_be_nan)
    for attributes, own in before:
        attributes.clear()
        attributes.update(own)


def check_object(value: Any, attributes: dict[str, Any]) -> None:
    """Raise ValueError for attributes of other kinds than a class has, or that do not fit together.

    Kinds come first: no method of the object is called before. Values that compiled code trusts
    check themselves (:meth:`Stored.validate`); trees are checked with the estimators they belong
    to, which compare the number of columns.
    """
    owner: type = type(value)
    if isinstance(value, Stored):
        if not are_fields(list(attributes.values())):
            raise ValueError(f"{owner.__name__} with a part of an estimator")
        value.ensure_valid()
        return
    kinds, is_ours = kinds_of(owner), owner.__module__.startswith("absentia.")
    for name, held in attributes.items():
        if not (type(held) in kinds[name].types or kinds[name].holds(held)):
            found, expected = type(held).__name__, kinds[name].expected
            if name in parameter_names(owner):
                raise ValueError(f"a {found} as the parameter {name} of {owner.__name__}")
            raise ValueError(f"{owner.__name__} with a {found} as {name}, expected {expected}")
        is_number = isinstance(held, np.ndarray | float) and np.asarray(held).dtype.kind == "f"
        if is_ours and is_number and np.any(np.isfinite(held) & (np.abs(held) > _LARGEST)):
            raise ValueError(f"{owner.__name__}.{name} holds a number beyond {_LARGEST:g}")
    if isinstance(value, BaseEstimator):
        _check_estimator(value)


def _check_estimator(value: BaseEstimator) -> None:
    """Refuse parameters that ``fit`` would refuse, and what does not fit the columns."""
    _check_parameters(value)
    names, n_features = vars(value).get("feature_names_in_"), vars(value).get("n_features_in_")
    for name in ("n_features_in_", "_n_features_out"):
        if not 0 <= vars(value).get(name, 0) <= _MOST_COLUMNS:
            raise ValueError(f"{type(value).__name__} of {vars(value)[name]} columns")
    for name in ("columns_", "number_columns_", "category_columns_"):
        columns = vars(value).get(name)
        if isinstance(columns, np.ndarray):
            inside = (columns >= 0) & (columns < (n_features or 0))
            if not (inside.all() and (columns[1:] > columns[:-1]).all()):
                raise ValueError(f"{type(value).__name__}.{name} names columns that are not there")
    if names is not None and n_features is not None and len(names) != n_features:
        raise ValueError(f"{type(value).__name__} of {n_features} columns with {len(names)} names")
    classes, n_classes = vars(value).get("classes_"), vars(value).get("n_classes_")
    labels = classes if isinstance(classes, list) else [classes]  # one list per output
    if n_classes is not None and np.atleast_1d(n_classes).tolist() != [*map(len, labels)]:
        raise ValueError(f"{type(value).__name__} of {shown(n_classes)} classes with other labels")
    family = type(value).__name__.removesuffix("Classifier").removesuffix("Regressor")
    is_fitted, check = COMPILED_CHECKS.get(family, ("", None))
    if check is not None and is_fitted in vars(value):
        check(value)


def check_entries(array: np.ndarray) -> None:
    """Refuse truth values other than 0 and 1 in memory, and characters that do not exist."""
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
    kind: type = type(value)
    for name in parameter_names(kind):
        if name not in vars(value):
            raise ValueError(
                f"{type(value).__name__} without its parameter {name}, so another version of the "
                "library wrote it; train the model again with this one"
            )
    n_jobs = vars(value).get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and abs(int(n_jobs)) <= _MOST_JOBS):
        raise ValueError(
            f"{type(value).__name__} with n_jobs={shown(n_jobs)}, expected None or a number of "
            f"at most {_MOST_JOBS}"
        )
    # Looked up in the class: a FrozenEstimator delegates to the estimator that it holds.
    if hasattr(kind, "_parameter_constraints"):
        value._validate_params()
    elif kind.__module__.startswith("absentia."):
        check_parameters(value)
        if hasattr(kind, "_validated_kernel"):
            value._validated_kernel()
        default, density = getattr(kind, "density", None), vars(value).get("density")
        if not (type(density) is type(default) and density == default):  # "auto" and None for some
            make_density(density)


def _check_predictions(model: BaseEstimator, may_be_nan: bool) -> None:
    tables = _trial_tables(model)
    predicted = [_predicts(model, name, rows, may_be_nan) for rows in tables for name in _METHODS]
    ours = type(model).__module__.startswith("absentia.")
    n_features = getattr(model, "n_features_in_", None)
    if ours and not any(predicted) and tables[0].shape[1] == n_features:
        beliefs = Beliefs.from_moments(np.zeros(tables[0].shape), variances=0.1)
        for name in _METHODS:
            _try(model, name, beliefs, may_be_nan)


def _predicts(model: BaseEstimator, name: str, rows: Any, may_be_nan: bool) -> bool:
    """Return whether a model predicts a row of numbers or, where that fails, of objects."""
    try:
        return _try(model, name, rows, may_be_nan)
    except ValueError as error:
        try:  # encoders of words raise TypeError for columns of numbers
            return _try(model, name, rows.astype(object), may_be_nan)
        except ValueError:
            raise error from None


def _try(model: BaseEstimator, name: str, rows: Any, may_be_nan: bool) -> bool:
    """Return whether a method predicts a row; raise ValueError where it fails."""
    try:
        method = getattr(model, name, None)
        if not callable(method):
            return False
        prediction = method(rows)
    except NotFittedError as error:
        with suppress(NotFittedError, TypeError):
            check_is_fitted(model)
            raise ValueError(
                f"{type(model).__name__} without some of what fit leaves behind ({error})"
            ) from error
        return False
    except Exception as error:
        about_rows = isinstance(error, ValueError | NotImplementedError)
        about_rows &= not isinstance(error, InconsistentError)
        if about_rows and not str(error).startswith(_SHAPE_MESSAGES):
            return False
        raise ValueError(
            f"{type(model).__name__} holds values that are missing or do not fit together, so that "
            f"{name} fails: {type(error).__name__}, {error}"
        ) from error
    if isinstance(prediction, np.ndarray):
        _check_shape(model, name, prediction)
        finite = name in _FINITE or (name == "transform" and hasattr(model, "kernel_"))
        if finite and prediction.dtype.kind == "f":
            wrong = ~np.isfinite(prediction) if name[:7] == "predict" else np.isnan(prediction)
            if wrong.any() and not may_be_nan:
                raise ValueError(f"{type(model).__name__}.{name} answers {prediction[wrong][0]}")
    return True


def _check_shape(model: BaseEstimator, name: str, prediction: np.ndarray) -> None:
    """Raise ValueError for more than one row, or for more or fewer classes than the model has."""
    if prediction.shape[:1] != (1,):
        raise ValueError(f"{type(model).__name__}.{name} answers one row by {prediction.shape}")
    classes = getattr(model, "classes_", None)
    if not (isinstance(classes, np.ndarray) and classes.ndim == 1):
        return
    n = len(classes)
    n_columns = {"predict_proba": {n}, "decision_function": {n, n * (n - 1) // 2}}  # or per pair
    found = 1 if prediction.ndim == 1 else prediction.shape[1]
    if found not in n_columns.get(name, {found}):
        raise ValueError(f"{type(model).__name__}.{name} of {n} classes has {found} columns")


def _trial_tables(model: BaseEstimator) -> list[Any]:
    names = _column_names(model)
    n_features = getattr(model, "n_features_in_", None) if names is None else len(names)
    if not isinstance(n_features, int | np.integer) or n_features < 1:
        return [np.full((1, 1), np.nan)]
    unknown = np.full((1, int(n_features)), np.nan)
    if names is None:
        return [unknown, np.zeros_like(unknown)]
    try:
        import pandas as pd

        # Zeros may be no value of a column of words.
        return [pd.DataFrame(unknown, columns=list(names))]
    except (ImportError, TypeError, ValueError):
        return [unknown]


def _column_names(model: Any) -> Any:
    """Return the names by which a model, or the one inside it that sees rows first, finds columns.

    None where it takes columns by their positions.
    """
    for _ in range(_DEEPEST):
        names, plan = getattr(model, "feature_names_in_", None), getattr(model, "plan_", None)
        if names is not None:
            return names
        if isinstance(plan, ColumnPlan):  # of an encoder, which finds its columns by their names
            return plan.names
        inside = (vars(model).get(name) for name in _FIRST_INSIDE if hasattr(model, "__dict__"))
        model = next((value for value in inside if value is not None), None)
        while isinstance(model, list | tuple) and model:
            # The last of a step is the estimator, and the first step is the one that sees rows.
            model = model[-1] if isinstance(model, tuple) else model[0]
    return None
