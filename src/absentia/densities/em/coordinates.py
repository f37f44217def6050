"""The parameters of a mixture as one vector, in coordinates that suit extrapolation."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import solve_triangular

from absentia.beliefs import Prior
from absentia.tables import FloatArray, IntArray

__all__ = ["largest_change", "pack", "unpack"]

# A change of 1e-3 of what a column keeps is worth as much as one of 1e-5 standard deviations:
# the objective is then within about 1e-3 of its maximum, whatever determines what.
_RELATIVE = 0.01


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
    weight_roots, means, roots, *shares = _split(vector, n_features, n_categories)
    weights = weight_roots[:, 0] ** 2
    probabilities = tuple(part**2 / (part**2).sum(axis=1, keepdims=True) for part in shares)
    covariances = roots @ roots.transpose(0, 2, 1)
    covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
    return Prior(weights / weights.sum(), means, covariances, probabilities)


def largest_change(
    vector: FloatArray, change: FloatArray, n_features: int, n_categories: tuple[int, ...] = ()
) -> float:
    """Return the largest change of a parameter, or a hundredth of it in the density's own units.

    Means and Cholesky factors change by ``inv(R)`` times their change in the density's own units,
    ``R`` being the factor of the component. That counts where the others nearly determine a column:
    it keeps a thousandth of its standard deviation, say, and changes by half of that.
    """
    largest = float(np.abs(change).max(initial=0.0))
    roots = _split(vector, n_features, n_categories)[2]
    means, factors = _split(change, n_features, n_categories)[1:3]
    for root, mean, factor in zip(roots, means, factors, strict=True):
        if not np.diagonal(root).all():
            return np.inf
        relative = solve_triangular(root, np.column_stack([mean, factor]), lower=True)
        largest = max(largest, _RELATIVE * float(np.abs(relative).max()))
    return largest


def _split(vector: FloatArray, n_features: int, n_categories: tuple[int, ...]) -> list[FloatArray]:
    """Return weights (k, 1), means (k, d), triangles (k, d, d) and shares (k, n_categories)."""
    d = n_features
    sizes = np.array([1, d, d * (d + 1) // 2, *n_categories])
    k = len(vector) // int(sizes.sum())
    weights, means, entries, *shares = (
        part.reshape(k, -1) for part in np.split(vector, np.cumsum(k * sizes)[:-1])
    )
    rows, columns = _lower(d)
    roots = np.zeros((k, d, d))
    roots[:, rows, columns] = entries
    return [weights, means, roots, *shares]


@lru_cache(maxsize=16)
def _lower(n_features: int) -> tuple[IntArray, IntArray]:
    """Return where the entries of a lower triangle are: the same in each of hundreds of steps."""
    return np.tril_indices(n_features)
