"""Log determinants of principal submatrices, one to each pattern."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["principal_log_determinants"]


@njit(nogil=True, cache=True)
def principal_log_determinants(matrix, masks):
    """Return ``log det matrix[mask, mask]`` for each row of ``masks``; zero for an empty one."""
    n, d = masks.shape
    out = np.empty(n)
    index = np.empty(d, dtype=np.intp)
    root = np.empty((d, d))
    for p in range(n):
        size = 0
        for k in range(d):
            if masks[p, k]:
                index[size] = k
                size += 1
        total = 0.0
        for r in range(size):
            for c in range(r + 1):
                entry = matrix[index[r], index[c]]
                for k in range(c):
                    entry -= root[r, k] * root[c, k]
                if c < r:
                    root[r, c] = entry / root[c, c]
                else:
                    root[r, r] = math.sqrt(entry)
                    total += math.log(entry)
        out[p] = total
    return out


@njit(nogil=True, cache=True)
def log_determinants_and_lengths(matrices, group_of_row, vectors):
    """Return ``log det C[g]`` of each row's matrix and ``v' inv(C[g]) v`` of its vector.

    Neighbouring rows of one group share the factorisation.

    Parameters
    ----------
    matrices : array of shape (n_groups, d, d), positive definite
    group_of_row : int array of shape (n,)
    vectors : array of shape (n, d)
    """
    n, d = vectors.shape
    log_determinants = np.empty(n)
    lengths = np.empty(n)
    root = np.empty((d, d))
    solved = np.empty(d)
    factored = -1
    log_determinant = 0.0
    for i in range(n):
        group = group_of_row[i]
        if group != factored:
            log_determinant = 0.0
            for r in range(d):
                for c in range(r + 1):
                    entry = matrices[group, r, c]
                    for k in range(c):
                        entry -= root[r, k] * root[c, k]
                    if c < r:
                        root[r, c] = entry / root[c, c]
                    else:
                        root[r, r] = math.sqrt(entry)
                        log_determinant += math.log(entry)
            factored = group
        length = 0.0
        for r in range(d):
            entry = vectors[i, r]
            for k in range(r):
                entry -= root[r, k] * solved[k]
            solved[r] = entry / root[r, r]
            length += solved[r] ** 2
        log_determinants[i] = log_determinant
        lengths[i] = length
    return log_determinants, lengths
