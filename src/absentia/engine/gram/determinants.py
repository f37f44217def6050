"""Log determinants of principal submatrices, one per pattern."""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.em import small_patterns
from absentia.engine.em.principal import factor_principal
from absentia.engine.small import two_roads

__all__ = ["log_determinants_and_lengths", "principal_log_determinants"]


@two_roads(
    small_patterns.principal_log_determinants,
    work=lambda matrix, masks: masks.size * len(matrix),
)
@compiled()
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
        out[p] = factor_principal(matrix, index, size, root)
    return out


@two_roads(
    small_patterns.log_determinants_and_lengths,
    work=lambda matrices, group_of_row, vectors: matrices.size + vectors.size * len(matrices[0]),
)
@compiled()
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
    whole = np.arange(d)
    factored = -1
    log_determinant = 0.0
    for i in range(n):
        group = group_of_row[i]
        if group != factored:
            log_determinant = factor_principal(matrices[group], whole, d, root)
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
