"""Where the results of lanes go: from tiles of eight rows into a matrix, and above its diagonal."""

from __future__ import annotations

import math

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    divide8,
    exp8,
    load8,
    multiply_add8,
    splat8,
    square_root8,
)

__all__ = ["TILE", "over_root_of_determinant", "write_tile"]

# Columns that are computed before their results are written: four lane groups.
TILE = 32

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
def write_tile(out, values, first, n_rows, left, right, symmetric, accumulate, mirror):
    """Write the results of rows ``first`` and following against columns ``left`` to ``right``.

    Parameters
    ----------
    out : array of shape (n, m)
    values : flat lanes, a group to each column of the tile
    n_rows : int
        How many of the eight lanes stand for rows.
    symmetric : bool
        Write only what is on or below the diagonal.
    accumulate : bool
        Add to what is there.
    mirror : bool
        Copy what is written to above the diagonal.
    """
    for lane in range(n_rows):
        row = first + lane
        stop = min(right, row + 1) if symmetric else right
        if accumulate:
            for j in range(left, stop):
                out[row, j] += values[(j - left) * LANES + lane]
        else:
            for j in range(left, stop):
                out[row, j] = values[(j - left) * LANES + lane]
    if mirror:
        for j in range(left, right):
            for row in range(max(first, j + 1), first + n_rows):
                out[j, row] = out[row, j]
