"""Rows with holes, folds, and the scores of one way to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from absentia.tables import FloatArray

P = ParamSpec("P")
TABLES: dict[str, Callable[..., Any]] = {"breast cancer": load_breast_cancer, "wine": load_wine}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows of one fold, complete and with holes."""

    train: FloatArray
    train_holes: FloatArray
    y_train: np.ndarray
    test_holes: FloatArray
    y_test: np.ndarray


def ampute(X: FloatArray, rate: float, rng: np.random.Generator) -> FloatArray:
    """Return the rows with values removed completely at random."""
    return np.where(rng.random(X.shape) < rate, np.nan, X)


def splits(name: str, rate: float, n_folds: int = 5, seed: int = 0) -> Iterator[Split]:
    """Yield the folds of a table with ``rate`` of its values removed."""
    X, y = TABLES[name](return_X_y=True)
    holes = ampute(X, rate, np.random.default_rng(seed))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        yield Split(X[train], holes[train], y[train], holes[test], y[test])


def means_by_way(
    rows: Callable[P, Iterator[tuple[str, Any]]],
) -> Callable[P, Iterator[tuple[str, FloatArray]]]:
    """Let a generator of ways and outcomes yield each way once, with the mean of its outcomes."""

    @wraps(rows)
    def averaged(*arguments: P.args, **named: P.kwargs) -> Iterator[tuple[str, FloatArray]]:
        found: dict[str, list[Any]] = {}
        for way, outcome in rows(*arguments, **named):
            found.setdefault(way, []).append(outcome)
        for way, values in found.items():
            yield way, np.mean(values, axis=0)

    return averaged


def scores(y: np.ndarray, probabilities: FloatArray) -> tuple[float, float]:
    """Return accuracy and log loss; labels are 0, 1, ..."""
    labels = np.arange(probabilities.shape[1])
    # A forest gives zeros; the log loss of a certain error is infinite without a floor.
    floored = np.clip(probabilities, 1e-3, 1)
    floored /= floored.sum(axis=1, keepdims=True)
    chosen = probabilities.argmax(axis=1)
    return float(accuracy_score(y, chosen)), float(log_loss(y, floored, labels=labels))
