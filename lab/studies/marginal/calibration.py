"""Whether intervals for incomplete rows cover what they say, against what users have otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from absentia import GaussianProcessRegressor
from absentia.tables import FloatArray
from lab.data import datasets
from lab.studies.marginal.trials import ampute, means_by_way

#: Missing values in training and in test.
SETTINGS = ((0.0, 0.0), (0.3, 0.3), (0.6, 0.6), (0.0, 0.5))
TABLES = ("diabetes", "friedman", "concrete", "auto_mpg", "ozone_la")
#: At most this many rows of a table, half of them for training.
_ROWS = 440
LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
_BOOTSTRAPS = 20


@means_by_way
def rows(name: str, train: float, test: float, repeats: int = 2) -> Iterator[tuple[str, Any]]:
    """Yield each method with spread of z, coverage of 50, 80, 95 %, log loss, CRPS, averaged.

    The log loss is ``-log p(y)`` of a Gaussian with the method's median and its spread between the
    quantiles 0.1 and 0.9, in units in which the target's standard deviation is one.
    """
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X, y = _table(name, seed)
        order = rng.permutation(len(X))
        half = min(len(X), _ROWS) // 2
        first, second = order[:half], order[half : 2 * half]
        centre, spread = np.nanmean(X[first], axis=0), np.nanstd(X[first], axis=0)
        X = (X - centre) / np.where(spread > 0, spread, 1.0)
        holes, new = ampute(X[first], train, rng), ampute(X[second], test, rng)
        unit = y[first].std()
        for method, quantiles in _methods(holes, y[first] / unit, new, rng):
            yield method, _scores(quantiles, y[second] / unit)


def _table(name: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return a table that scikit-learn bundles or makes, else one from the data folder."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    elif name == "friedman":
        X, y = make_friedman1(_ROWS, noise=1.0, random_state=seed)
    else:
        data = datasets.load(name)
        X, y = data.X, np.asarray(data.y, dtype=np.float64)
    return X, y


def _methods(
    X: FloatArray, y: FloatArray, new: FloatArray, rng: np.random.Generator
) -> Iterator[tuple[str, FloatArray]]:
    process = GaussianProcessRegressor().fit(X, y)
    doubt = process.predict_uncertainty(new, by_column=False)
    yield "process, taken apart", _gaussian(doubt.prediction, np.sqrt(doubt.total))
    yield "process, return_std", _gaussian(*process.predict(new, return_std=True))
    boosting = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    quantile = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, max_iter=50, random_state=0)
        .fit(X, y)
        .predict(new)
        for q in LEVELS
    ]
    yield "quantile boosting, NaN", np.sort(np.stack(quantile, axis=1), axis=1)
    answers, residuals = [], []
    for _ in range(_BOOTSTRAPS):
        chosen = rng.integers(0, len(X), len(X))
        left = np.setdiff1d(np.arange(len(X)), chosen)
        model = make_pipeline(SimpleImputer(keep_empty_features=True), boosting)
        model.fit(X[chosen], y[chosen])
        answers.append(model.predict(new))
        residuals.append(y[left] - model.predict(X[left]))
    noise = np.mean(np.concatenate(residuals) ** 2)
    mean, spread = np.mean(answers, axis=0), np.var(answers, axis=0)
    # The residuals of rows that a bootstrap left out hold the spread of a single model already.
    yield "bootstrap of imputed boosting", _gaussian(mean, np.sqrt(np.maximum(spread, noise)))


def _gaussian(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    quantiles: FloatArray = mean[:, None] + deviation[:, None] * norm.ppf(LEVELS)
    return quantiles


def _scores(quantiles: FloatArray, y: FloatArray) -> FloatArray:
    """Return spread of z, three coverages, log loss, and the CRPS from the pinball losses."""
    deviation = np.maximum((quantiles[:, 5] - quantiles[:, 1]) / (2 * norm.ppf(0.9)), 1e-3)
    z = (y - quantiles[:, 3]) / deviation
    covered = [np.mean((quantiles[:, k] <= y) & (y <= quantiles[:, -1 - k])) for k in (2, 1, 0)]
    errors = y[:, None] - quantiles
    pinball = np.maximum(LEVELS * errors, (LEVELS - 1) * errors).mean()
    surprise = np.mean(z**2) / 2 + np.mean(np.log(deviation)) + np.log(2 * np.pi) / 2
    return np.array([np.sqrt(np.mean(z**2)), *covered, surprise, 2 * pinball])
