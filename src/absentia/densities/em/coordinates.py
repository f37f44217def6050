"""The parameters of a mixture as one vector, in coordinates that suit extrapolation."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from absentia.beliefs import Prior
from absentia.tables import FloatArray, IntArray

__all__ = ["pack", "unpack"]


def pack(prior: Prior) -> FloatArray:
    """Return roots of the weights, means and Cholesky factors of the covariances in one vector.

    And roots of the probabilities of categories, where there are any.

    Any vector of that length unpacks to weights that sum to one and to covariances without
    negative eigenvalues, so that an extrapolation cannot leave the space of densities. In trials
    these coordinates took fewer steps than covariances, precisions or logarithms of the factors'
    diagonals.
    """
    rows, columns = _lower(prior.n_features)
    roots = np.linalg.cholesky(prior.covariances)[:, rows, columns]
    shares = [np.sqrt(table).ravel() for table in prior.probabilities]
    return np.concatenate([np.sqrt(prior.weights), prior.means.ravel(), roots.ravel(), *shares])


def unpack(vector: FloatArray, n_features: int, n_categories: tuple[int, ...] = ()) -> Prior:
    """Return the prior whose parameters :func:`pack` has put into a vector."""
    d = n_features
    sizes = np.array([1, d, d * (d + 1) // 2, *n_categories])
    k = len(vector) // int(sizes.sum())
    parts = np.split(vector, np.cumsum(k * sizes)[:-1])
    weight_roots, means, entries = parts[:3]
    probabilities = tuple(_shares(part.reshape(k, -1)) for part in parts[3:])
    weights = weight_roots**2
    rows, columns = _lower(d)
    roots = np.zeros((k, d, d))
    roots[:, rows, columns] = entries.reshape(k, -1)
    covariances = roots @ roots.transpose(0, 2, 1)
    covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
    return Prior(weights / weights.sum(), means.reshape(k, d), covariances, probabilities)


def _shares(roots: FloatArray) -> FloatArray:
    return roots**2 / (roots**2).sum(axis=1, keepdims=True)


@lru_cache(maxsize=16)
def _lower(n_features: int) -> tuple[IntArray, IntArray]:
    """Return where the entries of a lower triangle are: the same in each of hundreds of steps."""
    return np.tril_indices(n_features)
