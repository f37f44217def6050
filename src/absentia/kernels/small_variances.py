"""The variance of an RBF where it is small beside the RBF's square: without a subtraction."""

from __future__ import annotations

from itertools import product

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.threads import bounded_slices
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["certain_rows", "rbf_variances"]


def certain_rows(P: Beliefs) -> BoolArray:
    """Return which rows are points, shape (n,)."""
    certain: BoolArray = P.covariances.is_zero()[P.group_of_row]
    return certain & (P.means == P.means[:, :1]).all(axis=(1, 2))


def rbf_variances(
    P: Beliefs, Q: Beliefs, rows: IntArray, columns: IntArray, root: FloatArray
) -> FloatArray:
    """Return the variance of ``exp(-|R(x - y)|^2 / 2)`` of pairs of rows, shape (n_pairs,).

    For two Gaussians let ``l`` be the eigenvalues of ``R (A + B) R'`` and ``e`` the difference of
    the means times ``R`` in their basis. With ``k`` the mean, that of the square is::

        log k = -1/2 sum log(1 + l) - 1/2 sum e^2 / (1 + l)
        log(k2 / k^2) = 1/2 sum log(1 + l^2 / (1 + 2l)) + sum e^2 l / ((1 + l)(1 + 2l))

    so that the variance ``k^2 (k2 / k^2 - 1)`` has all its digits however small it is. Mixtures
    add the variance of the means of their pairs of components.

    Parameters
    ----------
    P, Q : Beliefs
    rows, columns : int arrays of shape (n_pairs,)
    root : ndarray of shape (n_features, n_features)
        ``R`` with ``R'R = 2 gamma M``.
    """
    out = np.empty(len(rows))
    terms = P.n_components * Q.n_components
    for part in bounded_slices(len(rows), P.n_features**2 + 2 * terms):
        out[part] = _of_pairs(P, Q, rows[part], columns[part], root)
    return out


def _of_pairs(P: Beliefs, Q: Beliefs, i: IntArray, j: IntArray, root: FloatArray) -> FloatArray:
    # The eigenvalues of a pair of rows are those of their pair of groups.
    n_groups = Q.covariances.n_groups
    groups, pair = np.unique(P.group_of_row[i] * n_groups + Q.group_of_row[j], return_inverse=True)
    A, B = P.covariances.dense(groups // n_groups), Q.covariances.dense(groups % n_groups)
    weights_P, weights_Q = P.weights()[i], Q.weights()[j]
    weights, excesses = [], []  # of the components; the mean of each less one
    variance = np.zeros(len(i))
    for a, b in product(range(P.n_components), range(Q.n_components)):
        values, basis = np.linalg.eigh(root @ (A[:, a] + B[:, b]) @ root.T)
        spread = np.maximum(values, 0.0)[pair]
        differences = (P.means[i, a] - Q.means[j, b]) @ root.T
        squares = np.einsum("pk,pkl->pl", differences, basis[pair]) ** 2
        log_mean = -0.5 * (np.log1p(spread) + squares / (1 + spread)).sum(axis=1)
        log_ratio = 0.5 * np.log1p(spread**2 / (1 + 2 * spread))
        log_ratio += squares * spread / ((1 + spread) * (1 + 2 * spread))
        weight = weights_P[:, a] * weights_Q[:, b]
        variance += weight * np.exp(2 * log_mean) * np.expm1(log_ratio.sum(axis=1))
        weights.append(weight)
        excesses.append(np.expm1(log_mean))
    excess = np.array(excesses) - np.average(excesses, axis=0, weights=weights)
    return variance + np.einsum("cp,cp->p", weights, excess**2)
