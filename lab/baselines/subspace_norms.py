"""Norms of a machine's weight vector on the columns of each pattern, for all patterns at once.

A kernel machine's weight vector is ``w = sum weights[j] phi(x_j)``. On the columns that pattern p
has it is ``sum weights[j] phi(x_j on p)``, with the squared length

``|w_p|^2 = sum_jl weights[j] weights[l] k(x_j on p, x_l on p)``.

One Gram matrix per pattern would cost one exponential per pair and pattern. But the RBF kernel is a
product of one factor per column, and patterns that agree on their first columns share the product
that far: once the patterns are sorted, most take one or two multiplications per pair, and the
exponentials are one per column.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.tables import BoolArray, FloatArray

# Pairs that are worked on together: two tables of columns times these should fit the nearest cache.
_TILE = 128
_REORDER = {"reassoc", "contract", "arcp", "nsz"}


def squared_norms(
    rows: FloatArray, weights: FloatArray, masks: BoolArray, gamma: float
) -> FloatArray:
    """Return ``|w_p|^2`` of each pattern for ``k(x, y) = exp(-gamma |x - y|^2)``.

    Costs ``d`` exponentials and at most ``sum_p d_p`` multiplications per pair of rows, with
    ``d_p`` the columns of pattern p that it does not share with the pattern sorted before it.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Complete.
    weights : ndarray of shape (n_rows,)
    masks : ndarray of bool, shape (n_patterns, n_features)
        True where a pattern misses the column; no two rows alike.
    gamma : float

    Returns
    -------
    ndarray of shape (n_patterns,)
    """
    # Columns and patterns are sorted so that neighbours share much.
    columns = np.argsort(masks.sum(axis=0), kind="stable")
    present = ~masks[:, columns]
    order = np.lexsort(present.T[::-1])
    present = np.ascontiguousarray(present[order])
    first = np.zeros(len(present), dtype=np.intp)
    first[1:] = (present[1:] != present[:-1]).argmax(axis=1)
    by_column = np.ascontiguousarray(rows[:, columns].T)
    squared = np.empty(len(masks))
    squared[order] = _add_pairs(by_column, weights, present, first, gamma, _TILE)
    return squared


@compiled(fastmath=_REORDER)
def _add_pairs(by_column, weights, present, first, gamma, tile):  # type: ignore[no-untyped-def]
    d, n = by_column.shape
    squared = np.zeros(len(present))
    factors = np.empty((d, tile))
    # built[k]: weights times the kernel of the pattern at hand after its first k columns.
    built = np.empty((d + 1, tile))
    for a in range(n):
        for start in range(a, n, tile):
            size = min(tile, n - start)
            for t in range(size):
                # Each pair stands for itself and its mirror image, but for a row with itself.
                built[0, t] = 2 * weights[a] * weights[start + t]
            if start == a:
                built[0, 0] /= 2
            for c in range(d):
                for t in range(size):
                    difference = by_column[c, a] - by_column[c, start + t]
                    factors[c, t] = np.exp(-gamma * difference * difference)
            for p in range(len(present)):
                k = 0
                for c in range(first[p]):
                    k += present[p, c]
                for c in range(first[p], d):
                    if present[p, c]:
                        for t in range(size):
                            built[k + 1, t] = built[k, t] * factors[c, t]
                        k += 1
                total = 0.0
                for t in range(size):
                    total += built[k, t]
                squared[p] += total
    return squared
