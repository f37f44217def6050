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

from absentia import (
    GaussianProcessClassifier,
    LogisticRegression,
    MarginalClassifier,
)
from absentia.tables import FloatArray
from lab.data import datasets
from lab.studies.marginal.trials import TABLES as BUNDLED
from lab.studies.marginal.trials import ampute, means_by_way, scores

_TRAINING_ROWS = 120
_TEST_ROWS = 300
_BOOTSTRAPS = 10
_LEVELS = (0.5, 0.8, 0.95)
TABLES = ("breast cancer", "wine", "pima", "heart_statlog", "mammographic")


@means_by_way
def rows(
    name: str, train: float, test: float, repeats: int = 3
) -> Iterator[tuple[str, FloatArray]]:
    """Yield each method with accuracy, log loss, Brier score, z, and coverage of sets, averaged.

    ``z`` is the number of hits less the sum of the probabilities of the predicted classes, in its
    standard deviations: negative for a method that promises more than it keeps.
    """
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X, y = _table(name)
        first, second = train_test_split(
            np.arange(len(X)),
            train_size=min(_TRAINING_ROWS, len(X) // 2),
            test_size=min(_TEST_ROWS, len(X) - len(X) // 2),
            stratify=y,
            random_state=seed,
        )
        scaler = StandardScaler().fit(X[first])
        holes = ampute(scaler.transform(X[first]), train, rng)
        new = ampute(scaler.transform(X[second]), test, rng)
        for method, chances in _methods(holes, y[first], new, rng):
            right = np.eye(chances.shape[1])[y[second]]
            brier = float(((chances - right) ** 2).sum(axis=1).mean())
            sure = chances.max(axis=1)
            hits = chances.argmax(axis=1) == y[second]
            z = (hits - sure).sum() / np.sqrt(max((sure * (1 - sure)).sum(), 1e-12))
            covered = [_covered(chances, y[second], level) for level in _LEVELS]
            scored = [*scores(y[second], chances), brier, z, *covered]
            yield method, np.array(scored)


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


def _table(name: str) -> tuple[FloatArray, np.ndarray]:
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return X, y
    data = datasets.load(name)
    return data.X, np.unique(data.y, return_inverse=True)[1]


def _covered(chances: FloatArray, y: np.ndarray, level: float) -> float:
    """Return how often the fewest classes that make up ``level`` hold the true one.

    The last class of a set counts with the probability that makes the set exactly ``level``, so
    that a calibrated method covers exactly that often.
    """
    order = np.argsort(-chances, axis=1, kind="stable")
    ordered = np.take_along_axis(chances, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    share = np.clip((level - before) / np.maximum(ordered, 1e-12), 0.0, 1.0)
    place = np.argmax(order == y[:, None], axis=1)
    return float(share[np.arange(len(y)), place].mean())
