"""Norms of a machine's weight vector on the columns of each pattern, for all patterns at once.

A kernel machine's weight vector is ``w = sum weights[j] phi(x_j)``. On the columns that pattern p
has it is ``sum weights[j] phi(x_j on p)``, with the squared length

``|w_p|^2 = sum_jl weights[j] weights[l] k(x_j on p, x_l on p)``.

One Gram matrix per pattern would cost one exponential per pair and pattern. But the kernels here
are built up column by column (the RBF kernel is a product of one factor per column, the
polynomial kernel a power of a sum of one term per column), and patterns that agree on their first
columns share what was built up that far: once the patterns are sorted, most take one or two
multiplications per pair, and the exponentials are one per column.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.tables import BoolArray, FloatArray

# Pairs that are worked on together: two tables of columns times these should fit the nearest cache.
_TILE = 128
_REORDER = {"reassoc", "contract", "arcp", "nsz"}


def linear_squared_norms(rows: FloatArray, weights: FloatArray, masks: BoolArray) -> FloatArray:
    """Return ``|w_p|^2`` of each pattern for ``k(x, y) = x'y``, where ``w`` can be written out.

    Parameters as for `rbf_squared_norms`; the cost is O((n_rows + n_patterns) n_features).
    """
    squared: FloatArray = ~masks @ (weights @ rows) ** 2
    return squared


def rbf_squared_norms(
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
    return _by_shared_columns(rows, weights, masks, True, gamma, 0.0, 1)


def polynomial_squared_norms(
    rows: FloatArray,
    weights: FloatArray,
    masks: BoolArray,
    gamma: float,
    coef0: float,
    degree: int,
) -> FloatArray:
    """Return ``|w_p|^2`` of each pattern for ``k(x, y) = (gamma x'y + coef0)^degree``.

    Parameters and cost as for `rbf_squared_norms`, with one more power per pair and pattern.
    """
    return _by_shared_columns(rows, weights, masks, False, gamma, float(coef0), degree)


def _by_shared_columns(
    rows: FloatArray,
    weights: FloatArray,
    masks: BoolArray,
    product: bool,
    gamma: float,
    coef0: float,
    degree: int,
) -> FloatArray:
    """Sort columns and patterns so that neighbours share much, and add up over pairs."""
    columns = np.argsort(masks.sum(axis=0), kind="stable")
    present = ~masks[:, columns]
    order = np.lexsort(present.T[::-1])
    present = np.ascontiguousarray(present[order])
    first = np.zeros(len(present), dtype=np.intp)
    first[1:] = (present[1:] != present[:-1]).argmax(axis=1)
    by_column = np.ascontiguousarray(rows[:, columns].T)
    squared = np.empty(len(masks))
    squared[order] = _add_pairs(
        by_column, weights, present, first, product, gamma, coef0, degree, _TILE
    )
    return squared


@compiled(fastmath=_REORDER)
def _add_pairs(  # type: ignore[no-untyped-def]
    by_column, weights, present, first, product, gamma, coef0, degree, tile
):
    d, n = by_column.shape
    squared = np.zeros(len(present))
    pair_weights = np.empty(tile)
    terms = np.empty((d, tile))
    # built[k]: the kernel of the pattern at hand after its first k columns.
    built = np.empty((d + 1, tile))
    for a in range(n):
        for start in range(a, n, tile):
            size = min(tile, n - start)
            for t in range(size):
                # Each pair stands for itself and its mirror image, but for a row with itself.
                pair_weights[t] = 2 * weights[a] * weights[start + t]
            if start == a:
                pair_weights[0] /= 2
            for t in range(size):
                built[0, t] = pair_weights[t] if product else coef0
            for c in range(d):
                if product:
                    for t in range(size):
                        difference = by_column[c, a] - by_column[c, start + t]
                        terms[c, t] = np.exp(-gamma * difference * difference)
                else:
                    for t in range(size):
                        terms[c, t] = gamma * by_column[c, a] * by_column[c, start + t]
            for p in range(len(present)):
                k = 0
                for c in range(first[p]):
                    k += present[p, c]
                for c in range(first[p], d):
                    if present[p, c]:
                        if product:
                            for t in range(size):
                                built[k + 1, t] = built[k, t] * terms[c, t]
                        else:
                            for t in range(size):
                                built[k + 1, t] = built[k, t] + terms[c, t]
                        k += 1
                total = 0.0
                if product:
                    for t in range(size):
                        total += built[k, t]
                else:
                    for t in range(size):
                        total += pair_weights[t] * built[k, t] ** degree
                squared[p] += total
    return squared
