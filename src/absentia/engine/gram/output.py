"""Results: from tiles of eight rows into a Gram matrix, above its diagonal, and reordered."""

from __future__ import annotations

import math

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import LANES, divide8, exp8, load8, multiply_add8, splat8, square_root8

__all__ = ["TILE", "mirror_rows", "over_root_of_determinant", "reorder", "write_tile"]

# Columns that are computed before their results are written: four lane groups.
TILE = 32

_MIRROR = 32
_HALF_LOG_2 = 0.5 * math.log(2.0)


@compiled(error_model="numpy", inline="always")
def over_root_of_determinant(log_value, determinant, scaled):
    """Return ``exp(log_value) / sqrt(determinant)`` in eight lanes, without the root unscaled.

    ``determinant`` holds mantissa and exponent, as ``factor`` leaves them.
    """
    if scaled:
        log_value = multiply_add8(splat8(-_HALF_LOG_2), load8(determinant, LANES), log_value)
        return divide8(exp8(log_value), square_root8(load8(determinant, 0)))
    return exp8(log_value)


@compiled(makes_arrays=False)
def write_tile(target, values, first, n_rows, left, right):
    """Write the results of rows ``first`` and following against columns ``left`` to ``right``.

    Parameters
    ----------
    target : Target
    values : flat lanes, a group to each column of the tile
    n_rows : int
        The number of lanes that stand for rows.
    """
    out = target.out
    for lane in range(n_rows):
        row = first + lane
        stop = min(right, row + 1) if target.symmetric else right
        if target.accumulate:
            for j in range(left, stop):
                out[row, j] += values[(j - left) * LANES + lane]
        else:
            for j in range(left, stop):
                out[row, j] = values[(j - left) * LANES + lane]
    if target.mirror:
        for j in range(left, right):
            for row in range(max(first, j + 1), first + n_rows):
                out[j, row] = out[row, j]


@compiled()
def mirror_rows(start, stop, K):
    """Copy the entries below the diagonal in rows ``start`` to ``stop`` to above it."""
    for top in range(start, stop, _MIRROR):
        bottom = min(top + _MIRROR, stop)
        for left in range(0, bottom, _MIRROR):
            right = min(left + _MIRROR, bottom)
            for j in range(left, right):
                for i in range(max(top, j + 1), bottom):
                    K[j, i] = K[i, j]


@compiled()
def reorder(K, row_order, column_order):
    """Move row ``a`` to ``row_order[a]`` and column ``b`` to ``column_order[b]``, in place.

    Follows the cycles of the rows with two rows of scratch; each row is read and written once.
    """
    n, m = K.shape
    moved = np.zeros(n, dtype=np.bool_)
    carried = np.empty(m)
    displaced = np.empty(m)
    for begin in range(n):
        if moved[begin]:
            continue
        for b in range(m):
            carried[b] = K[begin, b]
        source = begin
        while True:
            target = row_order[source]
            for b in range(m):
                displaced[b] = K[target, b]
            for b in range(m):
                K[target, column_order[b]] = carried[b]
            moved[target] = True
            carried, displaced = displaced, carried
            source = target
            if target == begin:
                break
