"""p-values of rows and cells under a mixture of Gaussians, one row and one cell at a time."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, multivariate_normal, norm


def gaussian_row_pvalue(row, mean, covariance):
    """Return the chi-square tail of the squared Mahalanobis distance of the observed values."""
    seen = ~np.isnan(row)
    offset = (row - mean)[seen]
    distance = offset @ np.linalg.solve(covariance[np.ix_(seen, seen)], offset)
    return chi2.sf(distance, seen.sum())


def cell_pvalue(row, j, weights, means, covariances):
    """Return ``2 min(F, 1 - F)`` of one cell given the other observed cells of its row."""
    rest = ~np.isnan(row)
    rest[j] = False
    shares, below = [], []
    for weight, mean, covariance in zip(weights, means, covariances, strict=True):
        S = covariance[np.ix_(rest, rest)]
        gain = np.linalg.solve(S, covariance[rest, j]) if rest.any() else np.empty(0)
        centre = mean[j] + gain @ (row - mean)[rest]
        variance = covariance[j, j] - gain @ covariance[rest, j]
        density = multivariate_normal(mean[rest], S).pdf(row[rest]) if rest.any() else 1.0
        shares.append(weight * density)
        below.append(norm.cdf(row[j], centre, np.sqrt(variance)))
    shares = np.array(shares) / np.sum(shares)
    F = float(shares @ below)
    return 2 * min(F, 1 - F)
