"""How far widths of columns may differ: the deviation of their prior, chosen by cross-validation.

Evidence and leave-one-out error at the fitted widths always prefer the loosest prior, because they
are computed from the rows that the widths were fitted to. So the widths are fitted anew in every
fold, and rows that were left out decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from absentia.parameters import number_between, words
from absentia.progress import report
from absentia.tables import FloatArray, MemoryRows

__all__ = ["WIDTH_PRIOR", "WIDTH_PRIORS", "choose_width_prior"]

#: The deviations that cross-validation chooses from; zero is one width for all columns.
WIDTH_PRIORS = (0.0, 0.3, 1.0, 3.0)
#: What the parameter ``width_prior`` may be.
WIDTH_PRIOR = number_between(0, 100, expected="a number from 0 to 100") | words("cv")

_FOLDS = 5


def choose_width_prior(
    machine: Any, rows: MemoryRows, y: Any, sample_weight: FloatArray | None = None
) -> float:
    """Return the deviation of the prior on log-widths with the least loss in five folds.

    The loss is the logarithmic one for classifiers with probabilities, the share of errors for
    those without, and the squared error for regressors.

    Parameters
    ----------
    machine : estimator
        With a parameter ``width_prior``; it is cloned.
    rows : MemoryRows
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : ndarray of shape (n_samples,), optional

    Returns
    -------
    float
    """
    y = np.asarray(y)
    n_folds = min(_FOLDS, len(rows))
    if is_classifier(machine):
        smallest = int(np.unique(y, return_counts=True)[1].min())
        n_folds = min(n_folds, smallest)
    if n_folds < 2:
        raise ValueError(
            "width_prior='cv' needs at least two rows of each class, to leave some of them out. "
            "Give a number, such as width_prior=0.3."
        )
    splitter = StratifiedKFold if is_classifier(machine) else KFold
    folds = list(splitter(n_folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    losses = []
    for deviation in WIDTH_PRIORS:
        loss = 0.0
        for train, test in folds:
            own = clone(machine).set_params(width_prior=deviation)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
            own.fit(rows[train], y[train], **weights)
            counts = None if sample_weight is None else sample_weight[test]
            loss += _loss(own, rows[test], y[test], counts) * len(test)
        losses.append(loss / len(y))
        report(
            "%s: loss %.6g in folds at width_prior=%g",
            type(machine).__name__,
            losses[-1],
            deviation,
            verbose=bool(getattr(machine, "verbose", False)),
        )
    return WIDTH_PRIORS[int(np.argmin(losses))]


def _loss(machine: Any, rows: MemoryRows, y: np.ndarray, weights: FloatArray | None) -> float:
    if not is_classifier(machine):
        squares = (np.asarray(machine.predict(rows)) - y) ** 2
        return float(np.average(squares.reshape(len(y), -1).mean(axis=1), weights=weights))
    if hasattr(machine, "predict_proba"):
        probabilities = machine.predict_proba(rows)
        return float(log_loss(y, probabilities, labels=machine.classes_, sample_weight=weights))
    return float(np.average(machine.predict(rows) != y, weights=weights))
