"""How far to trust the model's own gains, and how far what columns were worth: tried on rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from absentia.decisions.acquisition import Costs
from absentia.decisions.column_worth import column_worth
from absentia.decisions.policy import AcquisitionPolicy
from absentia.tables import FloatArray, IntArray, TableLike, as_table
from absentia.tables.plan.frames import without_cells
from absentia.tables.reading import is_frame

__all__ = ["choose_worth_share"]


def choose_worth_share(
    model: BaseEstimator,
    X: TableLike,
    y: ArrayLike,
    *,
    costs: Costs = None,
    shares: Sequence[float] = (0.0, 0.5, 1.0),
    max_steps: int = 6,
    max_rows: int = 100,
    random_state: int = 0,
) -> float:
    """Return the ``worth_share`` of :func:`~absentia.measure_next` that measures known rows best.

    A copy of the model is fitted to each half of the rows; the values of rows of the other half are
    then measured one by one, from nothing, and the share with the smallest mean loss on the way is
    chosen. No row that is not given is looked at.

    Parameters
    ----------
    model : classifier with probabilities, or regressor
        A fitted search is represented by its ``best_estimator_``.
    X : array-like or frame of shape (n_samples, n_features)
        Rows of training. Values that they miss cannot be measured.
    y : array-like of shape (n_samples,)
    costs : dict of column to cost, or sequence of n_features costs, optional
    shares : sequence of float, default=(0, 0.5, 1)
        What to try.
    max_steps : int, default=6
        Values to measure per row.
    max_rows : int, default=100
        Rows to measure per half.
    random_state : int, default=0
        Of the halves.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression, choose_worth_share
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = X[:, 0] + 0.3 * X[:, 1] > 0
    >>> share = choose_worth_share(LogisticRegression(), X, y, shares=(0.0, 1.0), max_steps=1)
    >>> share in (0.0, 1.0)
    True
    """
    template = getattr(model, "best_estimator_", model)
    targets = np.asarray(y)
    splitter = StratifiedKFold if is_classifier(template) else KFold
    halves = splitter(2, shuffle=True, random_state=random_state)
    totals = np.zeros(len(shares))
    for train, test in halves.split(np.zeros((len(targets), 1)), targets):
        rows, truth = _rows(X, train), _rows(X, test[:max_rows])
        fitted = clone(template).fit(rows, targets[train])
        worth = column_worth(fitted, rows, targets[train], random_state=random_state)
        nothing = _emptied(truth)
        for k, share in enumerate(shares):
            policy = AcquisitionPolicy(
                fitted, costs=costs, max_steps=max_steps, worth=worth, worth_share=share
            )
            trace = policy.run(nothing, truth)
            totals[k] += _area(fitted, trace.answers, trace.spent, targets[test[:max_rows]])
    return float(shares[int(totals.argmin())])


def _rows(X: TableLike, rows: IntArray) -> Any:
    if not is_frame(X):
        return as_table(X)[rows]
    frame: Any = X
    return frame[rows] if type(X).__module__.startswith("polars") else frame.iloc[rows]


def _emptied(rows: Any) -> Any:
    if not is_frame(rows):
        return np.full(rows.shape, np.nan)
    return without_cells(rows, np.ones(rows.shape, dtype=np.bool_))


def _area(model: BaseEstimator, answers: FloatArray, spent: FloatArray, y: np.ndarray) -> float:
    """Return the mean loss while as much is spent as the dearest row costs."""
    if is_classifier(model):
        places = np.searchsorted(model.classes_, y)
        losses = -np.log(np.maximum(answers[:, np.arange(len(y)), places], 1e-12))
    else:
        losses = (answers[:, :, 0] - y) ** 2
    ends = np.concatenate([spent[1:], np.full((1, len(y)), spent.max())])
    return float((losses * (ends - spent)).sum(axis=0).mean())
