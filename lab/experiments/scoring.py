"""The scores of a trained method on the test rows: accuracy and the quality of probabilities.

Machines that give decision values get probabilities by Platt's method, from the values that the
inner cross-validation gave to rows it had not seen; regressors get a normal distribution around
their prediction, as wide as their errors on such rows. So methods with and without probabilities of
their own are judged by the same scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from absentia.hidden_warnings import hidden_warnings
from absentia.machines.targets import Task
from absentia.tables import FloatArray
from absentia.tables.rows import is_constant
from lab.experiments.inner_search import Trained

_BINS = 10


def score(
    trained: Trained, y: np.ndarray, y_test: np.ndarray, task: Task
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the scores of a trained method on the test rows, and facts such as calibration.

    Parameters
    ----------
    trained : Trained
    y, y_test : ndarray
        Targets of the training and of the test rows.
    task : {"classification", "regression"}
    """
    if task == "regression":
        return _score_regression(trained, y, y_test)
    accuracy = float(accuracy_score(y_test, trained.prediction))
    scores = {
        # Under this name accuracy and R² stand side by side where tasks are mixed.
        "score": accuracy,
        "accuracy": accuracy,
        "balanced_accuracy": _balanced_accuracy(y_test, trained.prediction),
    }
    classes = np.unique(y)
    if len(classes) == 2 and len(np.unique(y_test)) == 2 and trained.decision is not None:
        scores["roc_auc"] = float(roc_auc_score(y_test == classes[1], trained.decision))
    probabilities = trained.probabilities
    if probabilities is None:
        probabilities = calibrated_probabilities(trained, y)
    facts: dict[str, Any] = {}
    if probabilities is not None and np.isin(y_test, classes).all():
        clipped = np.clip(probabilities, 1e-6, 1.0)
        clipped /= clipped.sum(axis=1, keepdims=True)
        truth = (y_test[:, None] == classes).astype(float)
        scores["log_loss"] = float(
            log_loss(truth.argmax(axis=1), clipped, labels=range(len(classes)))
        )
        scores["brier"] = float(((clipped - truth) ** 2).sum(axis=1).mean())
        bins = calibration_bins(clipped, truth)
        scores["calibration_error"] = float(
            np.abs(bins[:, 1] - bins[:, 2]).sum() / bins[:, 0].sum()
        )
        facts["calibration"] = bins.round(6).tolist()
    return scores, facts


def calibrated_probabilities(trained: Trained, y: np.ndarray) -> FloatArray | None:
    """Turn decision values into probabilities by a logistic fit to out-of-fold values (Platt)."""
    known, new = trained.out_of_fold, trained.decision
    if known is None or new is None or not np.isfinite(known).all():
        return None
    known, new = known.reshape(len(known), -1), new.reshape(len(new), -1)
    if known.shape[1] != new.shape[1]:
        return None
    spread = known.std(axis=0)
    spread = np.where(is_constant(known) | (spread == 0), 1.0, spread)
    with hidden_warnings(category=ConvergenceWarning):
        model = LogisticRegression(C=10.0, max_iter=500).fit(known / spread, y)
    probabilities: FloatArray = model.predict_proba(new / spread)
    return probabilities


def calibration_bins(probabilities: FloatArray, truth: FloatArray) -> FloatArray:
    """Sort rows by how sure the prediction is, into ten bins.

    Parameters
    ----------
    probabilities, truth : ndarray of shape (n_samples, n_classes)

    Returns
    -------
    ndarray of shape (10, 3)
        Rows in the bin, sum of their confidences, number of right answers among them.
    """
    top = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(top)), top]
    right = truth[np.arange(len(top)), top]
    which = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    columns = [
        np.bincount(which, weights=w, minlength=_BINS) for w in (right * 0 + 1, confidence, right)
    ]
    return np.stack(columns, axis=1)


def crps_of_normal(y: np.ndarray, mean: np.ndarray, sd: np.ndarray | float) -> FloatArray:
    """Return the continuous ranked probability score of normal forecasts, in the units of ``y``.

    ``sd (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi))`` with ``z = (y - mean)/sd``; for ``sd`` to zero
    it is the absolute error.

    Examples
    --------
    >>> round(float(crps_of_normal(0.0, 0.0, 1.0)), 4)
    0.2337
    """
    z = (y - mean) / sd
    value: FloatArray = sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return value


def _score_regression(
    trained: Trained, y: np.ndarray, y_test: np.ndarray
) -> tuple[dict[str, float], dict[str, object]]:
    predicted = trained.prediction
    r2 = float(r2_score(y_test, predicted))
    scores = {
        "score": r2,
        "r2": r2,
        "rmse": float(root_mean_squared_error(y_test, predicted)),
    }
    if trained.out_of_fold is not None and np.isfinite(trained.out_of_fold).all():
        sd = max(float(np.sqrt(np.mean((y - trained.out_of_fold) ** 2))), np.finfo(float).tiny)
        # Relative to the target's own spread, so that data sets can be averaged.
        spread = (0.0 if is_constant(y) else float(np.std(y))) or 1.0
        scores["crps"] = float(crps_of_normal(y_test, predicted, sd).mean()) / spread
        half = norm.ppf(0.95) * sd
        scores["coverage_90"] = float((np.abs(y_test - predicted) <= half).mean())
    return scores, {}


def _balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    # Rare classes may be predicted that the few test rows do not have.
    with hidden_warnings(category=UserWarning):
        return float(balanced_accuracy_score(y, predicted))
