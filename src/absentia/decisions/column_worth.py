"""The worth of columns to a model, measured on rows whose targets are known."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from absentia.decisions.measurements import Costs, per_cost, read_costs
from absentia.decisions.trial_model import absent_cells, cells_of
from absentia.machines.averaging import require_probabilities
from absentia.parameters import RandomState, count_from, require
from absentia.predictions.wrapped_model import take_rows
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike, as_table, column_names
from absentia.tables.frames import without_cells
from absentia.tables.reading import is_frame

#: Pairs of this many columns are tried where no column lowers the loss alone.
_BEAM = 8
#: A drop of the loss that is less than this many standard errors may be chance.
_ERRORS = 2.0


def column_worth(
    model: BaseEstimator, X: TableLike, y: ArrayLike, *, random_state: RandomState = 0
) -> FloatArray:
    """Return by how much the loss of a model rises when a column is shuffled.

    That is the permutation importance by log loss (classifiers) or squared error (regressors), for
    rows with or without missing values. :func:`~absentia.measure_next` takes it as ``worth``,
    because its own gains rest on the model's probabilities and on the density alone.

    Parameters
    ----------
    model : fitted classifier with probabilities, or fitted regressor
    X : array-like or frame of shape (n_samples, n_features)
        Rows with known targets, such as those of training.
    y : array-like of shape (n_samples,)
    random_state : int, RandomState instance or None, default=0
        Seed of the shuffling.

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
    if is_classifier(model):
        require_probabilities(model)
    rng = check_random_state(random_state)
    before = _row_losses(model, rows, targets).mean()
    n_samples, n_columns = rows.shape
    after = [
        _row_losses(model, _shuffled(rows, j, rng.permutation(n_samples)), targets).mean()
        for j in range(n_columns)
    ]
    return np.maximum(np.array(after) - before, 0.0)


def _row_losses(model: BaseEstimator, rows: Any, y: np.ndarray) -> FloatArray:
    """Return the log loss (classifiers) or squared error (regressors) of each row."""
    if not is_classifier(model):
        return (np.asarray(model.predict(rows)) - y) ** 2
    places = np.searchsorted(model.classes_, y)
    chances = np.asarray(model.predict_proba(rows))[np.arange(len(y)), places]
    return -np.log(np.maximum(chances, 1e-12))


def _shuffled(rows: Any, column: int, order: IntArray) -> Any:
    if not is_frame(rows):
        out = rows.copy()
        out[:, column] = out[order, column]
        return out
    name = list(rows.columns)[column]
    if type(rows).__module__.startswith("polars"):
        return rows.with_columns(rows[name][order])
    return rows.assign(**{name: rows[name].array[order]})


def held_out_worth(
    model: BaseEstimator,
    X: TableLike,
    y: ArrayLike,
    *,
    costs: Costs = None,
    max_columns: int = 6,
    cv: int | None = 3,
    max_rows: int = 500,
    random_state: int = 0,
) -> FloatArray:
    """Return the worth of columns to a model, on held-out rows.

    The mean of two drops of the log loss (classifiers) or squared error (regressors), each divided
    by its largest:

    - *forward selection*: rows of which nothing is known get one column after the other, always
      the one that lowers the mean loss per cost most. The drop is that at the turn of the column,
      over the rows that have it, so that a column that repeats another is worth little. Where no
      column lowers the loss by itself (by two standard errors), pairs are tried as well: in a
      product of two columns neither is worth anything alone;
    - *permutation importance* (:func:`column_worth`): by how much the loss rises when the column
      is shuffled and all others are as they were.

    :func:`~absentia.measure_next` and :class:`~absentia.AcquisitionPolicy` take it as ``worth``.

    Parameters
    ----------
    model : classifier with probabilities, or regressor
        Copies of it are fitted to the folds. A fitted search is represented by its
        ``best_estimator_``; a marginal model of a ``FrozenEstimator`` by the same around a copy of
        the model that it holds.
    X : array-like or frame of shape (n_samples, n_features)
        Rows of training, with or without missing values.
    y : array-like of shape (n_samples,)
    costs : dict of column to cost, or sequence of n_features costs, optional
    max_columns : int, default=6
        How many columns forward selection takes.
    cv : int or None, default=3
        Folds. With None the fitted model predicts rows that it must not have been trained on.
    max_rows : int, default=500
        The most rows to predict.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    ndarray of shape (n_features,)
        From 0 to 1; of a model to which no column is worth anything all are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression, held_out_worth
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=300)
    >>> y = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] > 0
    >>> held_out_worth(LogisticRegression(C=10.0), X, y).round(1)
    array([0.4, 1. , 0.4])
    """
    template = getattr(model, "best_estimator_", model)
    if is_classifier(template):
        require_probabilities(template)
    targets = np.asarray(y)
    rows: Any = X if is_frame(X) else as_table(X)
    check_consistent_length(rows, targets)
    prices = read_costs(costs, column_names(rows, rows.shape[1]))
    count_from(1, sys.maxsize).check("max_rows", max_rows)
    held = _HeldOut.of(model, rows, targets, cv, int(max_rows), random_state)
    parts = held.forward(prices, max_columns), held.shuffled(random_state)
    return np.mean([part / max(part.max(), np.finfo(np.float64).tiny) for part in parts], axis=0)


@dataclass(eq=False)
class _HeldOut:
    """Models with their held-out rows, the targets of these, and which cells are observed."""

    parts: list[tuple[BaseEstimator, Any, np.ndarray, BoolArray]]

    @classmethod
    def of(
        cls,
        model: BaseEstimator,
        rows: Any,
        y: np.ndarray,
        cv: int | None,
        max_rows: int,
        random_state: int,
    ) -> _HeldOut:
        if cv is None:
            check_is_fitted(model)
            test = np.arange(min(len(y), max_rows))
            some = take_rows(rows, test)
            return cls([(model, some, y[test], ~absent_cells(cells_of(some)))])
        splitter = StratifiedKFold if is_classifier(model) else KFold
        if is_classifier(model):
            labels, counts = np.unique(y, return_counts=True)
            require(
                counts.min() > 1,
                f"The class {labels[counts.argmin()]} has only one row, which cannot be used "
                "both to learn and to test: drop such rows.",
            )
        folds = splitter(cv, shuffle=True, random_state=random_state)
        parts = []
        for train, test in folds.split(np.zeros((len(y), 1)), y):
            test = test[: -(-max_rows // int(cv))]
            some = take_rows(rows, test)
            fitted = _refitted(model, take_rows(rows, train), y[train])
            parts.append((fitted, some, y[test], ~absent_cells(cells_of(some))))
        return cls(parts)

    def forward(self, prices: FloatArray, max_columns: int) -> FloatArray:
        """Return the drop of the loss that each column brings when its turn comes.

        Per cost it is never larger than that of a column before. Pairs are tried where no column
        is worth anything alone, until one such attempt finds none.
        """
        worth, rate = np.zeros(len(prices)), np.inf
        known, pairs = np.zeros(len(prices), dtype=np.bool_), True
        while known.sum() < min(max_columns, len(prices)):
            left = np.flatnonzero(~known)
            chosen, drop, sure = self._best(known, left[:, None], prices)
            if not sure and pairs and len(left) > 1:
                promising = left[np.argsort(-self._last_drops(left), kind="stable")[:_BEAM]]
                couples = np.array(list(combinations(promising, 2)))
                both, more, pairs = self._best(known, couples, prices)
                spent = prices[both].sum(), prices[chosen].sum()
                better, now = per_cost(np.array([more, drop]), np.array(spent))
                if pairs and better > now:
                    chosen, drop = both, more
            if drop <= 0:
                break
            spent = prices[chosen].sum()
            rate = min(rate, drop / spent) if spent > 0 else rate
            worth[chosen] = rate * prices[chosen] if spent > 0 else drop / len(chosen)
            known[chosen] = True
        return worth

    def shuffled(self, random_state: int) -> FloatArray:
        """Return the permutation importance of each column, the mean over rows."""
        found = [
            column_worth(model, rows, y, random_state=random_state)
            for model, rows, y, _ in self.parts
        ]
        return np.average(found, axis=0, weights=[len(y) for _, _, y, _ in self.parts])

    def _best(
        self, known: BoolArray, sets: IntArray, prices: FloatArray
    ) -> tuple[IntArray, float, bool]:
        """Return the set of columns to add, its drop, and whether that is more than chance.

        Sets, of shape (n_sets, size), are compared by drop per cost, those first that are sure.
        """
        # Cells known before, and with each of the sets.
        masks = np.tile(known, (len(sets), 1))
        np.put_along_axis(masks, sets, True, axis=1)
        drops = self._drops(known[None], masks, sets)
        sure = np.array([mean > _ERRORS * error for mean, error in drops])
        rates = per_cost(np.array([mean for mean, _ in drops]), prices[sets].sum(axis=1))
        if sets.shape[1] > 1 and sure.any():
            rates = np.where(sure, rates, -np.inf)
        best = int(np.argmax(rates))
        return sets[best], drops[best][0], bool(sure[best])

    def _last_drops(self, columns: IntArray) -> FloatArray:
        """Return the mean drop of the loss for columns that come after all others."""
        n = self.parts[0][3].shape[1]
        without = np.ones((len(columns), n), dtype=np.bool_)
        without[np.arange(len(columns)), columns] = False
        drops = self._drops(without, np.ones((1, n), dtype=np.bool_), columns[:, None])
        return np.array([mean for mean, _ in drops])

    def _drops(
        self, before: BoolArray, after: BoolArray, sets: IntArray
    ) -> list[tuple[float, float]]:
        """Return the mean drop of the loss from some known columns to others, and its error.

        ``before`` and ``after`` have a line per set, or one for all, and only rows with all
        columns of a set count for it. All sets go through the model together.
        """
        found: list[list[FloatArray]] = [[] for _ in sets]
        for model, rows, y, observed in self.parts:
            have = [np.flatnonzero(observed[:, one].all(axis=1)) for one in sets]
            sizes = [len(rows_of_set) for rows_of_set in have]
            which, row = np.repeat(np.arange(len(sets)), sizes), np.concatenate(have)
            if not len(row):
                continue
            losses = []
            for mask in (before, after):
                if len(mask) == 1:  # the same for all sets
                    losses.append(_row_losses(model, _only(rows, mask & observed), y)[row])
                else:
                    kept = mask[which] & observed[row]
                    losses.append(_row_losses(model, _only(take_rows(rows, row), kept), y[row]))
            drop = losses[0] - losses[1]
            for at, part in enumerate(np.split(drop, np.cumsum(sizes)[:-1])):
                found[at].append(part)
        return [_mean_and_error(parts) for parts in found]


def _mean_and_error(parts: list[FloatArray]) -> tuple[float, float]:
    drops = np.concatenate([np.zeros(0), *parts])
    if len(drops) < 2:
        return 0.0, np.inf
    return float(drops.mean()), float(drops.std(ddof=1) / np.sqrt(len(drops)))


def _refitted(model: BaseEstimator, rows: Any, y: np.ndarray) -> BaseEstimator:
    """Return a copy of a model, fitted to other rows."""
    model = getattr(model, "best_estimator_", model)
    inner = getattr(model, "estimator", None)
    if not isinstance(inner, FrozenEstimator):
        return clone(model).fit(rows, y)
    # Whatever is wrapped was fitted to all rows: the copy must not have seen those of the fold.
    wrapper = clone(model).set_params(
        estimator=FrozenEstimator(_refitted(inner.estimator, rows, y))
    )
    return wrapper.fit(rows, y)


def _only(rows: Any, kept: BoolArray) -> Any:
    """Return rows of which only some cells are known."""
    if not is_frame(rows):
        return np.where(kept, rows, np.nan)
    return without_cells(rows, ~kept)
