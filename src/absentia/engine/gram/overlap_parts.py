"""What each pattern brings to ``overlap_tiles.py``: ``F``, and where its columns stand in it.

With ``E = inv(G[L,L])`` in units in which ``C0 = I``, on what a pattern misses,
``F = E inv(I + E) = inv((I + G)[L,L])``: one inverse of a sum of positive definite matrices, in
which nothing cancels. Patterns that miss little are inverted eight at a time, in lanes; the
matrices of eight that miss much would not stay in the cache, and are left to LAPACK. Which of the
two it is depends on the pattern alone, and so do the bits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor, sweep
from absentia.engine.lanes import LANES, aligned_empty

__all__ = ["overlap_parts_in_lanes", "overlap_parts_one_by_one"]


@compiled(error_model="numpy")
def overlap_parts_in_lanes(start, stop, order, sums, index, sizes, starts, F, log_ratios):
    """Fill the parts of patterns ``order[start:stop]``, of nearly the same size.

    Parameters
    ----------
    order : int array, patterns in the order of their sizes
    sums : array of shape (d, d), ``I + G``
    index, sizes : int arrays of shape (n_groups, d) and (n_groups,)
        What a pattern misses, ascending, and how much.
    starts : int array of shape (n_groups,)
        Where in ``F`` the matrix of a pattern begins.
    F : flat array, to be filled with the matrices
    log_ratios : array of shape (n_groups,), to be filled with ``log det(I + E)``
    """
    if start == stop:
        return
    most = sizes[order[stop - 1]]
    matrix = aligned_empty(most * most * LANES)
    work = aligned_empty(most * most * LANES)
    pivots = aligned_empty(most * LANES)
    determinant = aligned_empty(2 * LANES)
    vector = np.zeros((most + 1) * LANES)
    everything = np.arange(most).reshape(1, most)
    # Zero, which the compiler does not know: one compiled version serves all callers.
    at = len(everything) - 1
    for first in range(start, stop, LANES):
        n_lanes = min(LANES, stop - first)
        padded = sizes[order[first + n_lanes - 1]]
        for lane in range(LANES):
            g = order[first + min(lane, n_lanes - 1)]
            for r in range(padded):
                row = r * padded * LANES + lane
                for c in range(r + 1):
                    matrix[row + c * LANES] = 0.0
                if r < sizes[g]:
                    for c in range(r + 1):
                        matrix[row + c * LANES] = sums[index[g, r], index[g, c]]
                else:
                    matrix[row + r * LANES] = 1.0
        sweep(matrix, padded, pivots, determinant)
        for lane in range(LANES):
            g = order[first + min(lane, n_lanes - 1)]
            size = sizes[g]
            for r in range(padded):
                row = r * padded * LANES + lane
                if r < size:
                    for c in range(r + 1):
                        entry = -matrix[row + c * LANES]
                        F[starts[g] + r * size + c] = entry
                        F[starts[g] + c * size + r] = entry
                    matrix[row + r * LANES] += 1.0
                else:
                    matrix[row + r * LANES] = 1.0
        # inv(I + E) = I - F
        factor(
            matrix,
            padded,
            everything,
            padded,
            work,
            pivots,
            determinant,
            False,
            at,
            vector,
        )
        for lane in range(n_lanes):
            # Into [1/2, 1), however often the exponent was taken out before.
            mantissa, exponent = math.frexp(determinant[lane])
            log_determinant = np.log(mantissa) + (exponent + determinant[LANES + lane]) * np.log(
                2.0
            )
            log_ratios[order[first + lane]] = -log_determinant


def overlap_parts_one_by_one(
    start: int,
    stop: int,
    order: NDArray[np.intp],
    sums: NDArray[np.float64],
    index: NDArray[np.intp],
    sizes: NDArray[np.intp],
    starts: NDArray[np.intp],
    F: NDArray[np.float64],
    log_ratios: NDArray[np.float64],
) -> None:
    """Fill the parts of patterns ``order[start:stop]`` by LAPACK: ``overlap_parts_in_lanes``."""
    for g in order[start:stop]:
        size, members = int(sizes[g]), index[g, : sizes[g]]
        root = dpotrf(sums[members[:, None], members], lower=1, clean=0, overwrite_a=1)[0]
        lower = np.tril(dpotri(root, lower=1, overwrite_c=1)[0])
        inverse = F[starts[g] : starts[g] + size * size].reshape(size, size)
        np.add(lower, lower.T, out=inverse)
        diagonal = np.einsum("ii->i", inverse)
        diagonal *= 0.5
        rest = -inverse
        np.einsum("ii->i", rest)[:] += 1.0
        log_ratios[g] = -2 * np.log(np.diagonal(dpotrf(rest, lower=1, clean=0)[0])).sum()
