"""Shared steps of the protocols: data sets, amputation, folds, training and scoring a cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedKFold

from absentia.hidden_warnings import hidden_warnings
from absentia.machines.targets import Task
from absentia.missingness import amputation
from absentia.tables import FloatArray, IntArray, Table
from lab.data import datasets
from lab.data.datasets import Dataset
from lab.experiments.inner_search import Grid, fit_quietly
from lab.experiments.methods import METHODS
from lab.experiments.running.cells import Cell, Context, Score
from lab.experiments.scoring import score

Result = tuple[Sequence[Score], dict[str, Any]]
#: Left out of the small size: the slowest, and near twins of others.
NOT_IN_SMALL = (
    "automatic", "svr-imputation", "missforest", "geom", "kmeans", "expected-rbf-mixture",
    "icknni", "xgboost", "catboost", "lightgbm", "conditional-mean-mixture",
)  # fmt: skip
#: The rows of a data set in a run of size "smoke", which is only to show that things work.
_SMOKE_ROWS = 90


def dataset(
    cell: Cell, context: Context, *, complete: bool = False, max_rows: int | None = None
) -> Dataset:
    """Return the data set of a cell.

    Parameters
    ----------
    complete : bool, default=False
        Leave out columns with missing values, so that values can be removed.
    max_rows : int, optional
        Take a sample of the rows (stratified by class), the same in every cell.
    """
    data = _loaded(cell.dataset, context.folder, context.verify)
    if complete and np.isnan(data.X).any():
        whole = np.flatnonzero(~np.isnan(data.X).any(axis=0))
        if not len(whole):
            raise ValueError(
                f"{cell.dataset} has missing values in every column: none is left to remove values "
                "from."
            )
        data = data.columns(whole)
    if context.size == "smoke":
        max_rows = min(_SMOKE_ROWS, max_rows or _SMOKE_ROWS)
    return data if max_rows is None else data.sample(max_rows)


@lru_cache(maxsize=4)
def _loaded(name: str, folder: str | None, verify: bool) -> Dataset:
    """Load once per process: a worker has many cells of one data set in a row."""
    return datasets.load(name, folder, verify=verify)


def holes(X: FloatArray, mechanism: str, rate: float, seed: int) -> FloatArray:
    """Remove values by a mechanism of :mod:`absentia.missingness.amputation`."""
    if rate == 0:
        return X
    if mechanism == "mnar":
        visible: FloatArray = amputation.mnar(X, rate, random_state=seed).table
        return visible
    remove: dict[str, Callable[..., FloatArray]] = {
        "mcar": amputation.mcar,
        "mcar-rows": _from_each_row,
        "mar": amputation.mar,
        "mar-distance": partial(amputation.mar, power=1),
        "mar-exempt": _away_from_anchors,
        "self-censoring": amputation.self_censoring,
    }
    removed: FloatArray = remove[mechanism](X, rate, random_state=seed)
    return removed


def _from_each_row(X: FloatArray, rate: float, *, random_state: int) -> FloatArray:
    """Remove the same number of values from each row, as [Anderson2011]_ does."""
    order = np.random.RandomState(random_state).random_sample(X.shape).argsort(axis=1)
    removed = order.argsort(axis=1) < round(rate * X.shape[1])
    return np.where(removed, np.nan, X)


def _away_from_anchors(X: FloatArray, rate: float, *, random_state: int) -> FloatArray:
    """Remove values as ``mar`` does, and none from any anchor row: Eq. (26) taken literally.

    With the same seed, anchors and draws are those of ``mar``. The rate is met to the nearest
    value, by the smallest ratios of distance and draw in the rows that are not exempt.
    """
    n, d = X.shape
    generator = np.random.RandomState(random_state)
    anchors = generator.choice(n, size=d, replace=n < d)
    exempt = (X[:, None] == X[anchors]).all(axis=2).any(axis=1)
    metric = np.linalg.pinv(np.cov(X, rowvar=False))
    distances = cdist(X, X[anchors], "mahalanobis", VI=metric) ** 2
    # A value goes when its draw is below exp(-t D): there is one t for each number of removals.
    order = distances / np.maximum(generator.standard_exponential((n, d)), np.finfo(float).tiny)
    order[exempt] = np.inf
    first = np.argsort(order, axis=None, kind="stable")[: round(rate * X.size)]
    if not np.isfinite(order.flat[first]).all():
        raise ValueError(f"A rate of {rate:g} cannot be reached: {exempt.sum()} rows are exempt.")
    removed = X.copy()
    removed.flat[first] = np.nan
    return removed


def outer_fold(
    y: np.ndarray, task: Task, folds: int, fold: int, seed: int
) -> tuple[IntArray, IntArray]:
    """Return the training and the test rows of one outer fold."""
    kind: type[StratifiedKFold | KFold] = StratifiedKFold if task == "classification" else KFold
    with hidden_warnings("The least populated class"):
        splits = list(kind(folds, shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), y))
    train, test = splits[fold]
    return train, test


def train_and_score(
    cell: Cell,
    context: Context,
    X: FloatArray | Table,
    y: np.ndarray,
    X_test: FloatArray | Table,
    y_test: np.ndarray,
    task: Task,
    grid: Grid,
) -> Result:
    """Train the method of the cell and return its scores at the rate of the cell."""
    seed = cell.method_seed(context.seed)
    trained = METHODS[cell.method].train(X, y, X_test, task, grid, seed)
    scores, facts = score(trained, y, y_test, task)
    return (
        [Score(metric, value, cell.rate) for metric, value in scores.items()],
        trained.facts | facts,
    )


def seconds_to_fit(model: BaseEstimator, X: FloatArray, y: np.ndarray) -> float:
    """Fit a model, and return how long it took."""
    started = time.perf_counter()
    fit_quietly(model, X, y)
    return time.perf_counter() - started


def powers_of_two(first: int, last: int, step: int = 1) -> tuple[float, ...]:
    """Return 2^first, ..., 2^last.

    Examples
    --------
    >>> powers_of_two(-1, 3, 2)
    (0.5, 2.0, 8.0)
    """
    return tuple(2.0**k for k in range(first, last + 1, step))
