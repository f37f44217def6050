"""Log determinants of principal submatrices, one per pattern."""

from __future__ import annotations

import math

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor
from absentia.engine.em import small_patterns
from absentia.engine.em.principal import factor_principal
from absentia.engine.gram.overlap_parts import MOST_IN_LANES
from absentia.engine.lanes import LANES, aligned_empty
from absentia.engine.small import two_roads

__all__ = ["log_determinants_and_lengths", "principal_log_determinants"]

_LOG_2 = math.log(2.0)


@two_roads(
    small_patterns.principal_log_determinants,
    work=lambda matrix, masks: masks.size * len(matrix),
)
@compiled(error_model="numpy")
def principal_log_determinants(matrix, masks):
    """Return ``log det matrix[mask, mask]`` for each row of ``masks``; zero for an empty one.

    Eight at a time, in lanes, padded by the identity to the size of the largest, which changes no
    bit of the others. Large ones, which would not stay in the cache, one by one.
    """
    n, d = masks.shape
    out = np.empty(n)
    most = min(d, MOST_IN_LANES)
    lanes = aligned_empty(most * most * LANES)
    work = aligned_empty(most * most * LANES)
    pivots = aligned_empty(most * LANES)
    determinant = aligned_empty(2 * LANES)
    root = np.empty((d, d))
    index = np.empty((LANES, d), dtype=np.intp)
    patterns = np.empty(LANES, dtype=np.intp)
    sizes = np.empty(LANES, dtype=np.intp)
    vector = np.zeros((most + 1) * LANES)
    everything = np.arange(most).reshape(1, most)
    # Zero, which the compiler does not know: one compiled version serves all callers.
    first = len(everything) - 1
    waiting = 0
    for p in range(n + 1):
        if p < n:
            size = 0
            for k in range(d):
                if masks[p, k]:
                    index[waiting, size] = k
                    size += 1
            if size > most:
                out[p] = factor_principal(matrix, index[waiting], size, root)
                continue
            patterns[waiting] = p
            sizes[waiting] = size
            waiting += 1
        if waiting < LANES and (p < n or waiting == 0):
            continue
        padded = 0
        for lane in range(waiting):
            padded = max(padded, sizes[lane])
        for lane in range(LANES):
            # Lanes that have no pattern have the first.
            of = lane if lane < waiting else 0
            for r in range(padded):
                place = r * padded * LANES + lane
                for c in range(r + 1):
                    if r < sizes[of]:
                        lanes[place + c * LANES] = matrix[index[of, r], index[of, c]]
                    else:
                        lanes[place + c * LANES] = 1.0 if r == c else 0.0
        factor(
            lanes,
            padded,
            everything,
            padded,
            work,
            pivots,
            determinant,
            False,
            first,
            vector,
        )
        for lane in range(waiting):
            # Into [1/2, 1), however often the exponent was taken out before.
            mantissa, exponent = math.frexp(determinant[lane])
            exponent += determinant[LANES + lane]
            out[patterns[lane]] = np.log(mantissa) + exponent * _LOG_2
            for r in range(padded):
                if not pivots[r * LANES + lane] < 0.0:  # minus one over the pivot
                    out[patterns[lane]] = np.nan
        waiting = 0
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
