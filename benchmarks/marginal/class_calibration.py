"""Whether probabilities for incomplete rows are right, against what users have otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import GaussianProcessClassifier, LogisticRegression, MarginalClassifier
from absentia.tables import FloatArray
from benchmarks.marginal.calibration import SETTINGS
from benchmarks.marginal.trials import TABLES, ampute, scores

__all__ = ["SETTINGS", "rows"]

_TRAINING_ROWS = 120
_BOOTSTRAPS = 10
_LEVEL = 0.9


def rows(
    name: str, train: float, test: float, repeats: int = 3
) -> Iterator[tuple[str, FloatArray]]:
    """Yield each method with accuracy, log loss, and coverage and size of 90 % sets, averaged."""
    found: dict[str, list[FloatArray]] = {}
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X, y = TABLES[name](return_X_y=True)
        first, second = train_test_split(
            np.arange(len(X)),
            train_size=min(_TRAINING_ROWS, len(X) // 2),
            stratify=y,
            random_state=seed,
        )
        scaler = StandardScaler().fit(X[first])
        holes = ampute(scaler.transform(X[first]), train, rng)
        new = ampute(scaler.transform(X[second]), test, rng)
        for method, chances in _methods(holes, y[first], new, rng):
            scored = [*scores(y[second], chances), *_sets(chances, y[second])]
            found.setdefault(method, []).append(np.array(scored))
    for method, outcomes in found.items():
        yield method, np.mean(outcomes, axis=0)


def _methods(
    X: FloatArray, y: np.ndarray, new: FloatArray, rng: np.random.Generator
) -> Iterator[tuple[str, FloatArray]]:
    yield "process", GaussianProcessClassifier().fit(X, y).predict_proba(new)
    yield "kernel logistic regression", LogisticRegression().fit(X, y).predict_proba(new)
    boosting = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    boosting.fit(X, y)
    yield "boosting, NaN", boosting.predict_proba(new)
    marginal = MarginalClassifier(FrozenEstimator(boosting), random_state=0).fit(X)
    yield "the same, averaged", marginal.predict_proba(new)
    answers = []
    for _ in range(_BOOTSTRAPS):
        # Each class with as many rows as it has, so that no model lacks one.
        chosen = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), np.sum(y == c)) for c in np.unique(y)]
        )
        model = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            HistGradientBoostingClassifier(max_iter=50, random_state=0),
        )
        answers.append(model.fit(X[chosen], y[chosen]).predict_proba(new))
    yield "bootstrap of imputed boosting", np.mean(answers, axis=0)


def _sets(chances: FloatArray, y: np.ndarray) -> tuple[float, float]:
    """Return how often the fewest classes that make up 90 % hold the true one, and how many."""
    order = np.argsort(-chances, axis=1, kind="stable")
    ordered = np.take_along_axis(chances, order, axis=1)
    size = 1 + (np.cumsum(ordered, axis=1) < _LEVEL).sum(axis=1).clip(max=chances.shape[1] - 1)
    place = np.argmax(order == y[:, None], axis=1)
    return float(np.mean(place < size)), float(size.mean())
