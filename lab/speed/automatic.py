"""The automatic machine against five-fold cross-validation of a forest, in one process."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss

from absentia import AutoClassifier
from lab.speed.ratio import Row

_COLUMNS, _MISSING, _FOLDS, _TREES = 30, 0.25, 5, 150
#: Rows, the ratio that must hold, and the one to aim for.
_BARS = ((1000, 8.0, 4.0), (5000, 4.0, 2.0), (100_000, 4.0, 2.0))
#: Forests of more rows are timed by a tenth of their trees in one fold.
_ROWS_FOR_ALL_TREES = 20_000


def example(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with missing values and two classes."""
    X, y = make_classification(n, _COLUMNS, n_informative=10, n_redundant=5, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < _MISSING] = np.nan
    return X, y


def forest_seconds(X: np.ndarray, y: np.ndarray) -> float:
    """Return the processor time of cross-validating a forest, of many rows by a sample of trees."""
    some = len(y) > _ROWS_FOR_ALL_TREES
    trees, folds = (_TREES // 10, 1) if some else (_TREES, _FOLDS)
    started = time.process_time()
    for fold in range(folds):
        test = np.arange(len(y)) % _FOLDS == fold
        RandomForestClassifier(trees, random_state=0).fit(X[~test], y[~test]).predict_proba(X[test])
    return (time.process_time() - started) * (_TREES * _FOLDS) / (trees * folds)


def rows() -> Iterator[Row]:
    """Time a fit with all defaults, after one of few rows that compiles."""
    for n, bar, aim in _BARS:
        X, y = example(n + 2000)
        AutoClassifier(random_state=0).fit(X[:80], y[:80])
        theirs, started = forest_seconds(X[:n], y[:n]), time.process_time()
        model = AutoClassifier(random_state=0).fit(X[:n], y[:n])
        seconds = time.process_time() - started
        boosting = HistGradientBoostingClassifier(random_state=0).fit(X[:n], y[:n])
        ours, rival = (log_loss(y[n:], each.predict_proba(X[n:])) for each in (model, boosting))
        note = f"log loss of new rows {ours:.3f}, of histogram gradient boosting {rival:.3f}"
        name = f"AutoClassifier.fit, {n} x {_COLUMNS}, 25 % missing, against a forest in five folds"
        yield Row(name, seconds, theirs, bar, aim, note)
