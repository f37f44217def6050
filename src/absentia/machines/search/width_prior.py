"""How far widths of columns may differ: the deviation of their prior, chosen by cross-validation.

Evidence and leave-one-out error at the fitted widths always prefer the loosest prior, because they
are computed from the rows that the widths were fitted to. So the widths are fitted anew in every
fold, and rows that were left out decide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from absentia.machines.targets import weights_of_present
from absentia.parameters import number_between, words
from absentia.progress import report
from absentia.tables import FloatArray, MemoryRows

__all__ = ["WIDTH_PRIOR", "WIDTH_PRIORS", "choose_width_prior", "recommended"]

#: The deviations that cross-validation chooses from; zero is one width for all columns.
WIDTH_PRIORS = (0.0, 0.3, 1.0, 3.0)
#: The deviation that stays unless another is clearly better.
DEFAULT = 0.3
#: What the parameter ``width_prior`` may be.
WIDTH_PRIOR = number_between(0, 100, expected="a number from 0 to 100") | words("cv")

_FOLDS = 5


def choose_width_prior(
    machine: BaseEstimator, rows: MemoryRows, y: ArrayLike, sample_weight: FloatArray | None = None
) -> float:
    """Return the deviation of the prior on log-widths that five folds recommend.

    The deviation with the least loss replaces the default, 0.3, only if it is better by more than
    the standard error of their difference over rows: a looser prior can lose much, and few rows
    cannot tell. The loss is the logarithmic one for classifiers with probabilities, the share of
    errors for those without, and the squared error for regressors.

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
    if sample_weight is not None and not sample_weight.all():  # no weight: as if absent
        counting = np.flatnonzero(sample_weight)
        rows, y, sample_weight = rows[counting], y[counting], sample_weight[counting]
        if hasattr(machine, "class_weight"):
            of_present = weights_of_present(machine.class_weight, y)
            machine = clone(machine).set_params(class_weight=of_present)
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
    losses = np.empty((len(WIDTH_PRIORS), len(y)))
    for number, deviation in enumerate(WIDTH_PRIORS):
        for train, test in folds:
            own = clone(machine).set_params(width_prior=deviation)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
            own.fit(rows[train], y[train], **weights)
            losses[number, test] = _losses(own, rows[test], y[test])
        report(
            "%s: loss %.6g in folds at width_prior=%g",
            type(machine).__name__,
            np.average(losses[number], weights=sample_weight),
            deviation,
            verbose=bool(getattr(machine, "verbose", False)),
        )
    return WIDTH_PRIORS[recommended(losses, WIDTH_PRIORS.index(DEFAULT), sample_weight)]


def recommended(losses: FloatArray, default: int, sample_weight: FloatArray | None = None) -> int:
    """Return the candidate with the least loss where it is clearly better than the default.

    Parameters
    ----------
    losses : ndarray of shape (n_candidates, n_samples)
        Of every row when it was left out.
    default : int
        The candidate that stays unless another is better by more than one standard error of the
        difference.
    sample_weight : ndarray of shape (n_samples,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.search.width_prior import recommended
    >>> recommended(np.array([[1.0, 1.1, 0.9, 1.0], [0.5, 0.6, 0.4, 0.6]]), default=0)
    1
    >>> recommended(np.array([[1.0, 1.1, 0.9, 1.0], [0.0, 2.5, 0.1, 1.3]]), default=0)
    0
    """
    shares = np.ones(losses.shape[1]) if sample_weight is None else sample_weight
    shares = shares / shares.sum()
    best = int(np.argmin(losses @ shares))
    gains = losses[default] - losses[best]
    gain = float(gains @ shares)
    error = float(np.sqrt(shares**2 @ (gains - gain) ** 2))
    return best if gain > error else default


def _losses(machine: BaseEstimator, rows: MemoryRows, y: np.ndarray) -> FloatArray:
    """Return the loss of each row."""
    if not is_classifier(machine):
        squares = (np.asarray(machine.predict(rows)) - y) ** 2
        by_row: FloatArray = squares.reshape(len(y), -1).mean(axis=1)
        return by_row
    if hasattr(machine, "predict_proba"):
        probabilities = machine.predict_proba(rows)
        own = probabilities[np.arange(len(y)), np.searchsorted(machine.classes_, y)]
        return -np.log(np.maximum(own, np.finfo(float).tiny))
    return (machine.predict(rows) != y).astype(np.float64)
