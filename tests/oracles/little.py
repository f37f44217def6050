"""Little's statistic from Little (1988): plain EM with explicit inverses, one row at a time.

The inverses are pseudo-inverses, which are the same where no column is redundant.
"""

from __future__ import annotations

import numpy as np


def inverse(covariance):
    """Invert where the eigenvalues are more than rounding."""
    return np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)


def rank(covariance):
    """Count the eigenvalues that are more than rounding."""
    return int(np.linalg.matrix_rank(covariance, rtol=1e-9, hermitian=True))


def gaussian_by_em(X, steps=3000):
    """Maximum likelihood mean and covariance of rows with NaN, by EM without any haste."""
    n, d = X.shape
    mean, covariance = np.nanmean(X, axis=0), np.diag(np.nanvar(X, axis=0))
    for _ in range(steps):
        first, second = np.zeros(d), np.zeros((d, d))
        for x in X:
            m, o = np.isnan(x), ~np.isnan(x)
            filled, spread = x.copy(), np.zeros((d, d))
            if m.any():
                regression = covariance[np.ix_(m, o)] @ inverse(covariance[np.ix_(o, o)])
                filled[m] = mean[m] + regression @ (x[o] - mean[o])
                spread[np.ix_(m, m)] = (
                    covariance[np.ix_(m, m)] - regression @ covariance[np.ix_(o, m)]
                )
            first += filled
            second += np.outer(filled, filled) + spread
        new_mean = first / n
        new_covariance = second / n - np.outer(new_mean, new_mean)
        change = np.abs(new_covariance - covariance).max() + np.abs(new_mean - mean).max()
        mean, covariance = new_mean, new_covariance
        if change < 1e-13:
            break
    return mean, covariance


def little_statistic(X, mean, covariance):
    """Return the statistic and its degrees of freedom."""
    n = len(X)
    corrected = covariance * n / (n - 1)
    statistic, freedom = 0.0, -rank(corrected)
    for pattern in {tuple(np.isnan(x)) for x in X}:
        o = ~np.array(pattern)
        rows = np.array([x[o] for x in X if tuple(np.isnan(x)) == pattern])
        offset = rows.mean(axis=0) - mean[o]
        statistic += len(rows) * offset @ inverse(corrected[np.ix_(o, o)]) @ offset
        freedom += rank(corrected[np.ix_(o, o)])
    return statistic, freedom
