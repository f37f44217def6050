"""Positive, skewed targets on a logarithmic scale.

Errors of a price, a dose or a concentration grow with its size. Members then learn ``log y``. The
ends of intervals are the exponentials of theirs, hence positive. The mean of ``y`` is taken over
the out-of-fold errors ``e`` of the logarithm (the smearing estimate, Duan 1983),

    E[y | x] = mean_k exp(m(x) + s(x) e_k),

with ``s`` the expected size of an error for what the row misses, and ``e`` in units of it, those of
rows that miss as much.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import skew
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict
from threadpoolctl import threadpool_limits

from absentia.tables import FloatArray

#: Levels of the quantiles that make a forecast.
_LEVELS = (np.arange(50) + 0.5) / 50
_FEWEST_ROWS, _MOST_ROWS = 50, 2000
_SKEWED = 1.0


def prefers_logarithm(table: FloatArray, y: FloatArray) -> bool:
    """Return whether a target is forecast better by a model of its logarithm.

    The target must be positive, with a skewness above one that the logarithm lessens. Then boosted
    trees forecast it on both scales in three folds, each with the quantiles of its errors. The
    logarithm must lower the continuous ranked probability score by more than the standard error of
    the difference.
    """
    if len(y) < _FEWEST_ROWS or y.min() <= 0 or np.ptp(y) == 0:
        return False
    if skew(y) < max(_SKEWED, abs(skew(np.log(y)))):
        return False
    rows = np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS]
    model = HistGradientBoostingRegressor(max_iter=50, early_stopping=False, random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)

    def crps(log: bool) -> FloatArray:
        target = np.log(y[rows]) if log else y[rows]
        with threadpool_limits(1, user_api="openmp"):  # on few rows threads wait for each other
            centre = cross_val_predict(model, table[rows], target, cv=folds)
        forecast = centre[:, None] + np.quantile(target - centre, _LEVELS)
        gap = y[rows][:, None] - (np.exp(forecast) if log else forecast)
        return np.maximum(_LEVELS * gap, (_LEVELS - 1) * gap).mean(axis=1)

    gains = crps(False) - crps(True)
    return bool(gains.mean() > gains.std() / np.sqrt(len(gains)))


def smeared(logs: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of a target (n_samples, 1) from predictions of its logarithm.

    ``logs`` (n_samples, 1) are those, and ``errors`` (n_samples, n_errors) what may be added.
    """
    values = np.exp(logs + errors)
    return values.mean(axis=1, keepdims=True), values.var(axis=1, keepdims=True)
