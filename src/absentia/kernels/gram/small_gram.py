"""Gram matrices of small tables with few patterns, in NumPy: nothing need be compiled for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.compiling import is_small
from absentia.engine.small_patterns import inverse_triangles
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import FloatArray, IntArray

__all__ = ["FEW_GROUPS", "FEW_PRODUCTS", "LogFactor", "small_gram"]

#: From a pair of components, and orders of rows and columns, to a matrix of logarithms.
LogFactor = Callable[[int, int, IntArray, IntArray], FloatArray]

# Groups on either side, each pair of which has a factorisation of its own.
FEW_GROUPS = 64
# Products of differences and roots, over all pairs: some ten milliseconds.
FEW_PRODUCTS = 2**21


def small_gram(
    P: Beliefs,
    Q: Beliefs | None,
    smoothing: Smoothing,
    row_norms: FloatArray,
    column_norms: FloatArray,
    *,
    scaled: bool,
    log_factor: LogFactor | None = None,
) -> FloatArray | None:
    """Return the matrix of :func:`expected_gram`, or None where it is not for NumPy to compute.

    With ``V = C0 + A + B = R R'`` for each pair of groups, an entry is
    ``(det C0 / det V)^(1/2) exp(-1/2 |inv(R) (a - b)|^2)``. From covariances and differences, so
    that rows far from all others keep their digits.
    """
    columns_of = P if Q is None else Q
    d = smoothing.n_features
    # By the whole of which these are parts, so that all parts are computed alike.
    wholes = P.whole, columns_of.whole
    if not is_small(len(wholes[0]) * len(wholes[1]) * d * d, FEW_PRODUCTS):
        return None
    # Most matrices end here, those of new rows with the support vectors again and again.
    n_groups = [kept_for(each, smoothing, "groups", partial(_n_groups, each)) for each in wholes]
    if max(n_groups) > FEW_GROUPS:
        return None
    row_groups, local_rows = np.unique(P.group_of_row, return_inverse=True)
    column_groups, local_columns = np.unique(columns_of.group_of_row, return_inverse=True)
    row_spreads = P.covariances.dense(row_groups, n_groups[0])
    column_spreads = columns_of.covariances.dense(column_groups, n_groups[1])
    out = np.zeros((len(P), len(columns_of)))
    everything = np.arange(len(P)), np.arange(len(columns_of))
    for a in range(P.n_components):
        row_constants = P.log_weights[:, a] - row_norms
        for b in range(columns_of.n_components):
            column_constants = columns_of.log_weights[:, b] - column_norms
            column_means = columns_of.means[:, b]
            factor = None if log_factor is None else log_factor(a, b, *everything)
            for group in range(len(row_groups)):
                rows = np.flatnonzero(local_rows == group)
                try:
                    roots = np.linalg.cholesky(
                        smoothing.covariance + row_spreads[group, a] + column_spreads[:, b]
                    )
                except np.linalg.LinAlgError:  # rounding as large as C0
                    return None
                whiten = inverse_triangles(roots).transpose(0, 2, 1)[local_columns]
                differences = P.means[rows, a] - column_means[:, None]
                # Term by term: a product of matrices would group the sums by the number of rows.
                white = differences[:, :, :1] * whiten[:, None, 0]
                for k in range(1, d):
                    white += differences[:, :, k : k + 1] * whiten[:, None, k]
                logs = row_constants[rows] - 0.5 * np.einsum("jik,jik->ji", white, white)
                logs += column_constants[:, None]
                if scaled:
                    log_dets = 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
                    logs -= 0.5 * (log_dets - smoothing.log_determinant)[local_columns, None]
                if factor is not None:
                    logs += factor[rows].T
                out[rows] += np.exp(logs).T
    return out if Q is not None else np.tril(out) + np.tril(out, -1).T


def _n_groups(beliefs: Beliefs) -> int:
    # Counted, which is quicker than finding the groups.
    return int(np.count_nonzero(np.bincount(beliefs.group_of_row)))
