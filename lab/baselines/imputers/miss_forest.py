"""missForest: iterated random forests until the difference grows.

Stekhoven and Buehlmann, *MissForest: non-parametric missing value imputation for mixed-type data*,
Bioinformatics 28 (2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils import check_random_state

from absentia.parameters import (
    COUNT,
    RandomState,
    count_from,
    declared,
    number_between,
    shown,
    words,
)
from absentia.tables import BoolArray, FloatArray, IntArray
from lab.baselines.imputers.imputer import Imputer, other_columns

_LARGEST_SEED = np.iinfo(np.int32).max
_TREES = count_from(1, 100_000)
_FEATURES = (
    COUNT | number_between(1e-9, 1, expected="a share of the columns") | words("sqrt", "log2")
)


@declared
class MissForestImputer(Imputer):
    """Fill each column with what a random forest predicts from the others, repeatedly.

    Starting from column means (the most frequent value of a category), the incomplete columns are
    visited from the fewest missing values to the most: a forest learns the column from the others,
    on the rows that have it, and predicts the missing values. After each round the change is
    measured, ``sum (new - old)^2 / sum new^2`` over missing values of numeric columns and the share
    of those that changed over those of categories. As soon as it grows (both of them, where there
    are both), the round before is the result.

    New rows start from the same means and go through the same forests, round by round. Columns
    complete in training get one forest, from the completed training rows, for new rows that
    miss them.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees per forest.
    max_iter : int, default=10
        The most rounds.
    categorical_features : sequence of int, default=()
        Columns whose numbers are codes of categories.
    max_features : "sqrt", int or float, default="sqrt"
        Columns tried at each split, as in the paper.
    n_jobs : int, optional
        Trees grown at the same time.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rounds_ : list of dict
        By round: the forest of each column that was visited. Only rounds that count.
    closing_forests_ : dict
        Forests of the columns that were complete in training.
    order_ : ndarray of int
        Columns in the order of their visits.
    differences_ : ndarray of shape (n_rounds, 2)
        The change after each round, the last one included: numeric, categories; NaN where there
        are none of the kind.
    starting_values_ : ndarray
        What each column starts from.
    n_iter_ : int
        Rounds that count: those before the difference grew.

    Notes
    -----
    At most ``max_iter`` d forests on n rows: by far the slowest imputer here. Trees grow until
    their leaves are pure, as is scikit-learn's default; those of R's package stop splitting numeric
    columns at nodes of five rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import MissForestImputer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=200)
    >>> X = np.column_stack([x, np.abs(x)])
    >>> X[:20, 1] = np.nan
    >>> imputer = MissForestImputer(n_estimators=20, random_state=0).fit(X)
    >>> imputer.transform([[-1.5, np.nan]]).round(1)
    array([[-1.5,  1.5]])
    """

    rounds_: list[dict[int, BaseEstimator]] = field(init=False)
    closing_forests_: dict[int, BaseEstimator] = field(init=False)
    order_: IntArray = field(init=False)
    differences_: FloatArray = field(init=False)
    starting_values_: FloatArray = field(init=False)
    n_iter_: int = field(init=False)

    n_estimators: int = field(default=100, kw_only=False)
    max_iter: int = 10
    categorical_features: Sequence[int] = ()
    max_features: str | float = "sqrt"
    n_jobs: int | None = None
    random_state: RandomState = None

    def _learn(self, table: FloatArray) -> dict[str, object]:
        COUNT.check("max_iter", self.max_iter)
        _TREES.check("n_estimators", self.n_estimators)
        _FEATURES.check("max_features", self.max_features)
        rng = check_random_state(self.random_state)
        missing = np.isnan(table)
        is_category = self._categories(table.shape[1])
        codes = np.nan_to_num(table[:, is_category])
        if (codes != np.round(codes)).any():
            raise ValueError(
                "Columns of categorical_features must hold whole numbers, as codes do."
            )
        start = np.array([_typical(table[:, j], is_category[j]) for j in range(table.shape[1])])
        n_holes = missing.sum(axis=0)
        order = np.argsort(n_holes, kind="stable")
        visited = order[n_holes[order] > 0]
        state = np.where(missing, start, table)
        rounds: list[dict[int, BaseEstimator]] = []
        differences: list[tuple[float, float]] = []
        for _ in range(self.max_iter if len(visited) else 0):
            updated = state.copy()
            forests = {}
            for j in visited:
                forests[int(j)] = self._forest(updated, table, missing, j, is_category[j], rng)
                rows = missing[:, j]
                updated[rows, j] = forests[int(j)].predict(other_columns(updated[rows], j))
            differences.append(difference_of_rounds(updated, state, missing, is_category))
            if len(differences) > 1 and grew(differences[-1], differences[-2]):
                break
            rounds.append(forests)
            state = updated
        closing = {
            int(j): self._forest(state, table, missing, j, is_category[j], rng)
            for j in np.setdiff1d(order, visited)
        }
        return {
            "rounds_": rounds,
            "closing_forests_": closing,
            "order_": order,
            "differences_": np.array(differences).reshape(-1, 2),
            "starting_values_": start,
            "n_iter_": len(rounds),
        }

    def _categories(self, n_known: int) -> BoolArray:
        """Return which of the training columns hold categories."""
        mask = np.zeros(n_known, dtype=bool)
        columns = self.categorical_features
        known = count_from(0, n_known - 1).admits
        if not np.iterable(columns) or not all(map(known, columns)):
            raise ValueError(
                f"categorical_features must name columns from 0 to {n_known - 1} that have values, "
                f"found {shown(columns)}."
            )
        mask[[int(j) for j in columns]] = True
        return mask

    def _forest(
        self,
        state: FloatArray,
        table: FloatArray,
        missing: BoolArray,
        j: int,
        is_category: bool,
        rng: np.random.RandomState,
    ) -> BaseEstimator:
        """Fit a forest of column ``j`` on the others, over the rows that have it."""
        kind = RandomForestClassifier if is_category else RandomForestRegressor
        forest = kind(
            n_estimators=self.n_estimators,
            max_features=self.max_features,
            n_jobs=self.n_jobs,
            random_state=rng.randint(_LARGEST_SEED),
        )
        rows = ~missing[:, j]
        return forest.fit(other_columns(state[rows], j), table[rows, j])

    def _fill(self, table: FloatArray) -> FloatArray:
        missing = np.isnan(table)
        state = np.where(missing, self.starting_values_, table)
        n_holes = missing.sum(axis=0)
        for forests in self.rounds_ or [{}]:
            for j in self.order_[n_holes[self.order_] > 0]:
                forest = forests.get(int(j)) or self.closing_forests_[int(j)]
                rows = missing[:, j]
                state[rows, j] = forest.predict(other_columns(state[rows], j))
        return state


def _typical(column: FloatArray, is_category: bool) -> float:
    """Return the mean of what was observed, or the most frequent category."""
    observed = column[~np.isnan(column)]
    if not is_category:
        return float(observed.mean())
    values, counts = np.unique(observed, return_counts=True)
    return float(values[np.argmax(counts)])


def difference_of_rounds(
    new: FloatArray, old: FloatArray, missing: BoolArray, is_category: BoolArray
) -> tuple[float, float]:
    """Return the change over missing numbers and over missing categories, NaN without any."""
    numeric, category = missing & ~is_category, missing & is_category
    squares = float((new[numeric] ** 2).sum())
    moved = float(((new[numeric] - old[numeric]) ** 2).sum())
    of_numbers = np.nan if not numeric.any() else moved / squares if squares > 0 else moved
    changed = np.nan if not category.any() else float((new != old)[category].mean())
    return of_numbers, changed


def grew(now: tuple[float, float], before: tuple[float, float]) -> bool:
    """Return whether the difference grew, in every kind of column with missing values."""
    present = ~np.isnan(now)
    return bool((np.array(now)[present] > np.array(before)[present]).all())
