"""Averages over draws against the model's own prediction of as many rows; closed forms of doubt."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from absentia import GaussianProcessRegressor, MarginalClassifier
from lab.speed.ratio import Row, best_seconds

_ROWS, _COLUMNS, _DRAWS = 10_000, 30, 64


def rows() -> Iterator[Row]:
    """Yield 64 draws of 10 000 rows against 640 000 complete rows, and a process's doubt."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, _COLUMNS)) @ rng.normal(size=(_COLUMNS, _COLUMNS))
    y = X[:, :5].sum(axis=1) > 0
    many = np.repeat(X, _DRAWS, axis=0)
    every = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    boosting = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    model = MarginalClassifier(FrozenEstimator(boosting), n_draws=_DRAWS).fit(X)
    # On a busy machine the threads of OpenMP wait for each other: one thread on both sides.
    with threadpool_limits(limits=1):
        yield Row(
            "64 draws of 10 000 x 30, boosting, all patterns differ",
            best_seconds(partial(model.predict_proba, every), 2),
            best_seconds(partial(boosting.predict_proba, many), 2),
            bar=1.5,
            aim=1.1,
            note="marginal: against the model's own predict_proba of 640 000 rows, one thread",
        )
    # A model that costs next to nothing shows what the draws themselves cost; no bar.
    logistic = LogisticRegression(max_iter=1000).fit(X, y)
    model = MarginalClassifier(FrozenEstimator(logistic), n_draws=_DRAWS).fit(X)
    yield Row(
        "64 draws of 10 000 x 30, logistic regression",
        best_seconds(partial(model.predict_proba, every), 3),
        best_seconds(partial(logistic.predict_proba, many), 3),
    )
    training, targets = every[:300, :10], X[:300, 0]
    process = GaussianProcessRegressor(gamma="scale").fit(training, targets)
    draws = np.repeat(X[:20, :10], 256, axis=0)
    yield Row(
        "variance taken apart, 20 rows, 300 x 10 training rows with holes",
        best_seconds(partial(process.predict_uncertainty, every[300:320, :10], by_column=False), 3),
        best_seconds(partial(process.predict, draws, return_std=True), 3),
        note="variance taken apart: closed form against 256 random draws of each row",
    )
