"""What columns were worth to a model on rows whose targets are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from absentia.parameters import RandomState
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike, as_table
from absentia.tables.reading import is_frame

__all__ = ["blended_gain", "check_probabilities", "column_worth", "row_losses"]

_NEXT_TO_NOTHING = 1e-12


def column_worth(
    model: BaseEstimator, X: TableLike, y: ArrayLike, *, random_state: RandomState = 0
) -> FloatArray:
    """Return by how much the loss of a model rises when a column is shuffled.

    That is the permutation importance by log loss (classifiers) or squared error (regressors), of
    rows with or without missing values. :func:`~absentia.measure_next` takes it as ``worth``: the
    gain that it computes for a row rests on the model's own probabilities and on the density, and
    what was found out about columns on rows with known targets does not.

    Parameters
    ----------
    model : fitted classifier with probabilities, or fitted regressor
    X : array-like or frame of shape (n_samples, n_features)
        Rows with known targets; those of training will do.
    y : array-like of shape (n_samples,)
    random_state : int, RandomState instance or None, default=0
        Of the shuffling.

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression, column_worth
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] + 0.3 * X[:, 1] > 0
    >>> column_worth(LogisticRegression(C=10.0).fit(X, y), X, y).argsort()[::-1]
    array([0, 1, 2])
    """
    check_is_fitted(model)
    rows: Any = X if is_frame(X) else as_table(X)
    targets = np.asarray(y)
    check_consistent_length(rows, targets)
    check_probabilities(model)
    rng = check_random_state(random_state)
    before = row_losses(model, rows, targets).mean()
    n_samples, n_columns = rows.shape
    after = [
        row_losses(model, _shuffled(rows, j, rng.permutation(n_samples)), targets).mean()
        for j in range(n_columns)
    ]
    return np.maximum(np.array(after) - before, 0.0)


def blended_gain(
    gain: FloatArray, worth: FloatArray, candidates: BoolArray, share: float
) -> FloatArray:
    """Return gains of which a share comes from what columns were worth on known rows.

    ``(1 - share) g_j + share w_j max(g) / max(w)``, the maxima over the candidates of the row:
    worth has its own units, and is brought to those of the gains. Where the model expects nothing
    of any candidate, worth ranks them, at a gain next to nothing.
    """
    known = np.where(candidates, worth, 0.0)
    largest = known.max(axis=1, keepdims=True)
    unit = np.where(candidates, gain, 0.0).max(axis=1, keepdims=True, initial=_NEXT_TO_NOTHING)
    part = np.divide(known, largest, out=np.zeros_like(known), where=largest > 0)
    mixed = (1.0 - share) * gain + share * part * unit
    return np.where(largest > 0, mixed, gain)


def check_probabilities(model: BaseEstimator) -> None:
    """Raise for a classifier without probabilities, whose log loss is unknown."""
    if is_classifier(model) and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} has no predict_proba, and the worth of a column is measured "
            "by log loss: wrap it in sklearn.calibration.CalibratedClassifierCV."
        )


def row_losses(model: BaseEstimator, rows: Any, y: np.ndarray) -> FloatArray:
    """Return the log loss (classifiers) or squared error (regressors) of each row."""
    if not is_classifier(model):
        errors: FloatArray = (np.asarray(model.predict(rows)) - y) ** 2
        return errors
    places = np.searchsorted(model.classes_, y)
    chances = np.asarray(model.predict_proba(rows))[np.arange(len(y)), places]
    losses: FloatArray = -np.log(np.maximum(chances, 1e-12))
    return losses


def _shuffled(rows: Any, column: int, order: IntArray) -> Any:
    if not is_frame(rows):
        out = rows.copy()
        out[:, column] = out[order, column]
        return out
    name = list(rows.columns)[column]
    if type(rows).__module__.startswith("polars"):
        return rows.with_columns(rows[name][order])
    return rows.assign(**{name: rows[name].array[order]})
