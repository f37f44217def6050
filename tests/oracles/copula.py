"""A Gaussian of normal scores, by hand: ranks, quantiles, interpolation and integration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm, rankdata


def score_knots(column):
    """Return some observed values of a column and their normal scores: five at each end, and
    every ``sqrt(n)``-th of ``n`` between."""
    seen = column[~np.isnan(column)]
    scores = norm.ppf((rankdata(seen) - 0.5) / len(seen))
    values, first = np.unique(seen, return_index=True)
    n = len(values)
    kept = [i for i in range(n) if i < 5 or i >= n - 5 or i % int(np.sqrt(n)) == 0]
    return values[kept], scores[first][kept]


def scores_of(X, training):
    """Return scores of values between the smallest and the largest of training."""
    columns = [
        np.where(np.isnan(x), np.nan, np.interp(x, *score_knots(t)))
        for x, t in zip(X.T, training.T, strict=True)
    ]
    return np.column_stack(columns)


def mean_of_value(mean, deviation, training):
    """Return the mean of the value of a normal score by integration between the knots."""
    values, scores = score_knots(training)
    ranks = norm.cdf(scores)
    first = np.flatnonzero(ranks >= ranks[0] + 0.1)[0]
    last = np.flatnonzero(ranks <= ranks[-1] - 0.1)[-1]
    rise = (values[first] - values[0]) / (scores[first] - scores[0])
    end = (values[-1] - values[last]) / (scores[-1] - scores[last])

    def value(z):
        if z < scores[0]:
            return values[0] + rise * (z - scores[0])
        if z > scores[-1]:
            return values[-1] + end * (z - scores[-1])
        return np.interp(z, scores, values)

    ends = [mean - 12 * deviation, *scores, mean + 12 * deviation]
    ends = np.unique(np.clip(ends, mean - 12 * deviation, mean + 12 * deviation))
    density = norm(mean, deviation).pdf
    return sum(
        quad(lambda z: value(z) * density(z), a, b, epsabs=1e-13)[0] for a, b in pairwise(ends)
    )
