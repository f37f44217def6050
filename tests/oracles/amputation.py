"""Eq. (26) of Smieja2018 as it is written: loops, an explicit inverse, and a search for t."""

from __future__ import annotations

import numpy as np


def squared_mahalanobis(X, anchors):
    """Squared distance of every row from every anchor in the metric of the inverse covariance."""
    metric = np.linalg.inv(np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1]))
    out = np.empty((len(X), len(anchors)))
    for i, x in enumerate(X):
        for j, anchor in enumerate(anchors):
            out[i, j] = (x - anchor) @ metric @ (x - anchor)
    return out


def removed_by_bisection(distances, uniforms, excluded, rate):
    """Find the mask ``uniform < exp(-t distance)`` whose share of removed values is ``rate``."""

    def mask(log_t):
        return (uniforms < np.exp(-np.exp(log_t) * distances)) & ~excluded

    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        if mask(middle).mean() > rate:
            low = middle
        else:
            high = middle
    return mask(high)
