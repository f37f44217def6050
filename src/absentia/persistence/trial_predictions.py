"""Trial predictions: a model from a file predicts two rows before it is returned.

An attribute may be missing, be of another type or not fit another one; which attributes a model
needs depends on its parameters and on its table. So the model is tried on a row of missing values
and on a row of zeros (as objects where numbers fail, for encoders of words; as a belief, for models
of beliefs). A ValueError about these rows is legitimate (no missing values taken, beliefs
expected); any other exception, and NumPy's about shapes, means that the model is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.hidden_warnings import hidden_warnings
from absentia.tables.column_plan import ColumnPlan
from absentia.tables.stored import InconsistentError

_METHODS = (
    *("predict", "predict_proba", "decision_function", "score_samples"),
    *("transform", "impute", "predict_interval", "predict_set"),
)
#: Attributes with the model inside another one that sees the rows first, in the order of search.
_FIRST_INSIDE = ("steps", "best_estimator_", "calibrated_classifiers_", "estimators_", "estimator")
_DEEPEST = 20
#: Beginnings of NumPy's messages about arrays whose shapes do not fit each other.
_SHAPE_MESSAGES = (
    *("operands could not be broadcast", "non-broadcastable output", "could not broadcast"),
    *("matmul: ", "shapes ", "cannot reshape", "all the input array", "axes don't match"),
)


def check_predictions(model: BaseEstimator, inner: list[Any]) -> None:
    """Raise ValueError where a model cannot predict because of what it holds.

    Parameters
    ----------
    model : estimator
        One that nobody else has yet: its ``verbose`` and ``random_state`` change meanwhile. One
        that was never fitted passes.
    inner : list
        All objects inside: the states of their random numbers stay as they are.
    """
    estimators = [value for value in inner if isinstance(value, BaseEstimator)]
    if not any(name.endswith("_") and name[0] != "_" for e in estimators for name in vars(e)):
        return
    with _undisturbed(estimators, inner):
        tables = _trial_tables(model)
        predicted = [_predicts(model, name, rows) for rows in tables for name in _METHODS]
        ours = type(model).__module__.startswith("absentia.")
        n_features = getattr(model, "n_features_in_", None)
        if ours and not any(predicted) and tables[0].shape[1] == n_features:
            beliefs = Beliefs.from_moments(np.zeros(tables[0].shape), variances=0.1)
            for name in _METHODS:
                _try(model, name, beliefs)


def _predicts(model: BaseEstimator, name: str, rows: Any) -> bool:
    """Return whether a model predicts a row of numbers or, where that fails, of objects."""
    try:
        return _try(model, name, rows)
    except ValueError as error:
        try:  # encoders of words raise TypeError for columns of numbers
            return _try(model, name, rows.astype(object))
        except ValueError:
            raise error from None


def _try(model: BaseEstimator, name: str, rows: Any) -> bool:
    """Return whether a method predicts a row; raise ValueError where it fails."""
    try:
        method = getattr(model, name, None)
        if not callable(method):
            return False
        prediction = method(rows)
    except NotFittedError as error:
        if _is_fitted(model):
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
    return True


def _is_fitted(model: BaseEstimator) -> bool:
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
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


@contextmanager
def _undisturbed(estimators: list[Any], inner: list[Any]) -> Iterator[None]:
    """Leave the states of random numbers as they were, warn of nothing and print nothing."""
    # A forest prints its progress when it predicts, too, and without a seed NumPy's global random
    # numbers are drawn: both belong to all threads of a program.
    changed = [(e, "verbose", e.verbose) for e in estimators if "verbose" in vars(e)]
    changed += [(e, "random_state", None) for e in estimators if _has_no_seed(e)]
    legacy = [v for v in inner if isinstance(v, np.random.RandomState)]
    states = [v.get_state(legacy=False) for v in legacy]
    generators = [v.bit_generator for v in inner if isinstance(v, np.random.Generator)]
    positions = [v.state for v in generators]
    # One row needs no workers, of which a file may ask for any number.
    one_by_one = parallel_config(backend="sequential", n_jobs=1)
    try:
        for estimator, name, _ in changed:
            setattr(estimator, name, 0)
        with hidden_warnings(), np.errstate(all="ignore"), one_by_one:
            yield
    finally:
        for estimator, name, before in changed:
            setattr(estimator, name, before)
        for twister, state in zip(legacy, states, strict=True):
            twister.set_state(state)
        for generator, position in zip(generators, positions, strict=True):
            generator.state = position


def _has_no_seed(estimator: BaseEstimator) -> bool:
    return vars(estimator).get("random_state", 0) is None
