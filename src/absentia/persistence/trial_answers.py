"""A model from a file answers two rows before it is handed out.

An attribute may be missing, be of another type or not fit another one; which attributes a model
needs depends on its parameters and on its table. So the question is put to the model: a row in
which nothing is known, and a row of zeros (as objects where numbers fail, for encoders of words; as
a belief, for models of beliefs). What it says in a sentence of its own (no missing values taken,
beliefs expected) is its right; an exception that Python or NumPy raised on the way is a damaged
model.
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

__all__ = ["check_answers"]

_ANSWERS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
    "impute",
    "predict_interval",
    "predict_set",
)
#: Where a model has another one that sees the rows first, in the order of looking.
_FIRST_INSIDE = ("steps", "best_estimator_", "calibrated_classifiers_", "estimators_", "estimator")
_DEEPEST = 20


def check_answers(model: BaseEstimator, inner: list[Any]) -> None:
    """Raise ValueError where a model cannot answer because of what it holds.

    Parameters
    ----------
    model : estimator
        One that nobody else has yet: it is told to be quiet meanwhile. One that was never fitted
        passes.
    inner : list
        All objects inside: the states of their random numbers stay as they are.
    """
    if not any(_learned(value) for value in inner if isinstance(value, BaseEstimator)):
        return
    with _undisturbed(inner):
        tables = _trial_tables(model)
        answered = [_answers_somehow(model, name, rows) for rows in tables for name in _ANSWERS]
        ours = type(model).__module__.startswith("absentia.")
        n_features = getattr(model, "n_features_in_", None)
        if ours and not any(answered) and tables[0].shape[1] == n_features:
            beliefs = Beliefs.from_moments(np.zeros(tables[0].shape), variances=0.1)
            for name in _ANSWERS:
                _answers(model, name, beliefs)


def _answers_somehow(model: BaseEstimator, name: str, rows: Any) -> bool:
    """Return whether a model answers a row of numbers or, where that fails, of objects.

    Encoders that were fitted to words raise TypeError for columns of numbers.
    """
    try:
        return _answers(model, name, rows)
    except ValueError as error:
        try:
            return _answers(model, name, rows.astype(object))
        except ValueError:
            raise error from None


def _answers(model: BaseEstimator, name: str, rows: Any) -> bool:
    """Return whether a model answers a row, or raise ValueError where it fails to."""
    try:
        method = getattr(model, name, None)
        if not callable(method):
            return False
        answer = method(rows)
    except NotFittedError as error:
        if _is_fitted(model):
            raise ValueError(
                f"{type(model).__name__} without some of what fit leaves behind ({error})"
            ) from error
        return False
    except Exception as error:
        about_rows = isinstance(error, ValueError | NotImplementedError)
        if about_rows and not isinstance(error, InconsistentError):
            return False
        raise ValueError(_sentence(model, name, error)) from error
    if isinstance(answer, np.ndarray) and answer.shape[:1] != (1,):
        raise ValueError(f"{type(model).__name__}.{name} answers one row by {answer.shape}")
    _check_classes(model, name, answer)
    return True


def _check_classes(model: BaseEstimator, name: str, answer: Any) -> None:
    """Raise ValueError where a model scores more or fewer classes than it knows."""
    classes = getattr(model, "classes_", None)
    if not (isinstance(classes, np.ndarray) and classes.ndim == 1):
        return
    if name not in ("predict_proba", "decision_function") or not isinstance(answer, np.ndarray):
        return
    n = len(classes)
    fitting = {n} if name == "predict_proba" else {n, n * (n - 1) // 2}  # or one per pair
    found = 1 if answer.ndim == 1 else answer.shape[1]
    if found not in fitting:
        raise ValueError(f"{type(model).__name__}.{name} of {n} classes has {found} columns")


def _sentence(model: BaseEstimator, name: str, error: Exception) -> str:
    return (
        f"{type(model).__name__} holds values that are missing or do not fit together, so that "
        f"{name} fails: {type(error).__name__}, {error}"
    )


def _learned(model: BaseEstimator) -> list[str]:
    return [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


def _is_fitted(model: BaseEstimator) -> bool:
    """Return what the model itself says, or whether it has a fitted attribute."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


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

    None where it takes columns by their places.
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
def _undisturbed(inner: list[Any]) -> Iterator[None]:
    """Leave the states of random numbers as they were, warn of nothing and print nothing."""
    estimators = [v for v in inner if isinstance(v, BaseEstimator)]
    # A forest tells of its progress when it predicts, too, and without a seed NumPy's common random
    # numbers are drawn: both belong to all threads of a program.
    own_words = [(v, "verbose", v.verbose, 0) for v in estimators if "verbose" in vars(v)]
    own_words += [
        (v, "random_state", None, 0) for v in estimators if vars(v).get("random_state", 0) is None
    ]
    legacy = [v for v in inner if isinstance(v, np.random.RandomState)]
    states = [v.get_state(legacy=False) for v in legacy]
    generators = [v for v in inner if isinstance(v, np.random.Generator)]
    positions = [v.bit_generator.state for v in generators]
    # One row needs no workers, of which a file may ask for any number.
    one_by_one = parallel_config(backend="sequential", n_jobs=1)
    try:
        for estimator, name, _, meanwhile in own_words:
            setattr(estimator, name, meanwhile)
        with hidden_warnings(), np.errstate(all="ignore"), one_by_one:
            yield
    finally:
        for estimator, name, word, _ in own_words:
            setattr(estimator, name, word)
        for state, twister in zip(states, legacy, strict=True):
            twister.set_state(state)
        for position, generator in zip(positions, generators, strict=True):
            generator.bit_generator.state = position
