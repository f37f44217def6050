"""What conformal prediction compares: how far a target lies from what a model answers.

A *fitted* model is a tuple of estimators here, one or (for quantiles) a lower and an upper one.
Regression scores are about a band ``(lower, upper, unit)``, and the score of a target ``y`` is
``max(lower - y, y - upper) / unit``: negative inside the band, zero on its edge. Scores of classes
are one number per class, the larger the less the class conforms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator

from absentia.tables import FloatArray, TableLike

__all__ = [
    "BANDS",
    "LABEL_SCORES",
    "Fitted",
    "band_scores",
    "class_probabilities",
    "quantile_pair",
    "tells_spread",
]

Fitted = tuple[Any, ...]


def band_scores(bands: FloatArray, y: FloatArray) -> FloatArray:
    """Return ``max(lower - y, y - upper) / unit`` of each row."""
    lower, upper, unit = bands.T
    scores: FloatArray = np.maximum(lower - y, y - upper) / unit
    return scores


def _absolute(fitted: Fitted, X: TableLike) -> FloatArray:
    """The prediction itself; scores are absolute residuals."""
    mean = _numbers(fitted[0].predict(X))
    return np.column_stack([mean, mean, np.ones(len(mean))])


def _normalised(fitted: Fitted, X: TableLike) -> FloatArray:
    """The prediction, in units of the standard deviation that the model predicts."""
    (model,) = fitted
    if _predict_takes_std(model):
        mean, spread = model.predict(X, return_std=True)
    else:
        uncertainty = model.predict_uncertainty(X, by_column=False)
        mean, spread = uncertainty.prediction, np.sqrt(uncertainty.total)
    mean, spread = _numbers(mean), _numbers(spread)
    # A model that is sure of itself is taken at its word only as far as numbers go.
    floor = max(float(spread.max(initial=0.0)), 1.0) * 1e-12
    return np.column_stack([mean, mean, np.maximum(spread, floor)])


def _quantile(fitted: Fitted, X: TableLike) -> FloatArray:
    """Two predicted quantiles: conformalised quantile regression. Where they cross, their order."""
    pair = np.column_stack([_numbers(model.predict(X)) for model in fitted])
    return np.column_stack([pair.min(axis=1), pair.max(axis=1), np.ones(len(pair))])


#: From the name of a score to the band that a fitted model draws around each row.
BANDS: dict[str, Callable[[Fitted, Any], FloatArray]] = {
    "absolute": _absolute,
    "normalised": _normalised,
    "quantile": _quantile,
}


def _least_ambiguous(probabilities: FloatArray) -> FloatArray:
    """One minus the probability of the class (LAC)."""
    return 1.0 - probabilities


def _adaptive(probabilities: FloatArray) -> FloatArray:
    """The probability of all classes that are at least as likely (APS)."""
    # One minus the rest, so that the least likely class has exactly one, in every row.
    rest = [
        np.where(probabilities < p[:, None], probabilities, 0.0).sum(axis=1)
        for p in probabilities.T
    ]
    return 1.0 - np.column_stack(rest)


#: From the name of a score to the scores of all classes, given their probabilities.
LABEL_SCORES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "lac": _least_ambiguous,
    "aps": _adaptive,
}


def class_probabilities(model: BaseEstimator, X: TableLike, classes: np.ndarray) -> FloatArray:
    """Return probabilities of ``classes``, zero for one that the model never saw."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    if len(model.classes_) == len(classes):
        return found
    probabilities = np.zeros((len(found), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = found
    return probabilities


def tells_spread(model: BaseEstimator) -> bool:
    """Return whether a regressor reports the spread of its predictions."""
    return _predict_takes_std(model) or hasattr(model, "predict_uncertainty")


def quantile_pair(estimator: BaseEstimator, coverage: float) -> Sequence[Any]:
    """Return estimators of the quantiles ``(1 - coverage) / 2`` and ``(1 + coverage) / 2``.

    A pair is taken as it is; one estimator must have a parameter ``quantile``, its own or that of
    an estimator inside it, and is copied twice.
    """
    if isinstance(estimator, tuple | list):
        if len(estimator) != 2:
            raise ValueError(
                f"score='quantile' needs two estimators, (lower, upper), found {len(estimator)}."
            )
        return estimator
    inner = not isinstance(estimator, FrozenEstimator)
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "quantile"]
    if not (names and inner):
        raise ValueError(
            f"score='quantile' needs an unfitted estimator with a parameter 'quantile', such as "
            "HistGradientBoostingRegressor(loss='quantile'), or a pair of estimators (lower, "
            f"upper), found {type(estimator).__name__}."
        )
    name = min(names, key=len)
    levels = ((1 - coverage) / 2, (1 + coverage) / 2)
    return [clone(estimator).set_params(**{name: level}) for level in levels]


def _predict_takes_std(model: BaseEstimator) -> bool:
    if hasattr(model, "steps"):
        model = model.steps[-1][1]
    return "return_std" in inspect.signature(model.predict).parameters


def _numbers(prediction: object) -> FloatArray:
    numbers = np.asarray(prediction, dtype=np.float64)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1:
        raise ValueError(
            f"Intervals are for one target, but the model predicts {numbers.shape[1]}; fit one "
            "ConformalRegressor per target."
        )
    return numbers
