"""Rows times columns from covariances: measurement error, and where precisions cost digits.

Nothing is shared between pairs here, so every pair of groups is factored whole, eight rows at a
time: ``d^3 / 6`` multiply-adds a pair of groups, ``d^2 / 2`` for each further column of a group.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor, solve
from absentia.engine.gram.output import TILE, over_root_of_determinant, write_tile
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    load8,
    multiply_add8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["explicit_rows"]


@compiled(error_model="numpy")
def explicit_rows(
    start,
    stop,
    out,
    first_column,
    symmetric,
    accumulate,
    mirror,
    scaled,
    row_means,
    row_constants,
    row_groups,
    row_covariances,
    columns,
    column_constants,
    run_starts,
    run_groups,
    column_covariances,
):
    """Fill rows ``start`` to ``stop`` of a Gram matrix of expected RBFs.

    As ``gram_rows``, with ``row_covariances`` (n_groups, d, d) holding ``C0 + A`` and
    ``column_covariances`` (n_groups, d, d) holding ``B``; the constants hold ``log det(C0) / 2``.
    """
    d = row_means.shape[1]
    index = np.arange(d)
    rows_matrix = aligned_empty(d * d * LANES)
    matrix = aligned_empty(d * d * LANES)
    work = aligned_empty(d * d * LANES)
    pivots = aligned_empty(d * LANES)
    means = aligned_empty(d * LANES)
    vector = aligned_empty(d * LANES)
    determinant = aligned_empty(2 * LANES)
    constants = np.empty(LANES)
    values = aligned_empty(TILE * LANES)
    for first in range(start, stop, LANES):
        n_rows = min(LANES, stop - first)
        for lane in range(LANES):
            row = first + min(lane, n_rows - 1)
            constants[lane] = row_constants[row]
            covariance = row_covariances[row_groups[row]]
            for r in range(d):
                means[r * LANES + lane] = row_means[row, r]
                for c in range(r + 1):
                    rows_matrix[(r * d + c) * LANES + lane] = covariance[r, c]
        last_column = len(columns)
        if symmetric:
            last_column = min(last_column, first + n_rows - first_column)
        run = -1
        left = 0
        for j in range(last_column):
            if j >= run_starts[run + 1]:
                run += 1
                covariance = column_covariances[run_groups[run]]
                for r in range(d):
                    for c in range(r + 1):
                        place = (r * d + c) * LANES
                        total = add8(load8(rows_matrix, place), splat8(covariance[r, c]))
                        store8(matrix, place, total)
                factor(matrix, d, index, d, work, pivots, determinant, True)
            for r in range(d):
                difference = subtract8(load8(means, r * LANES), splat8(columns[j, r]))
                store8(vector, r * LANES, difference)
            minus_quadratic = solve(work, pivots, d, vector, splat8(0.0))
            log_value = add8(load8(constants, 0), splat8(column_constants[j]))
            log_value = multiply_add8(splat8(0.5), minus_quadratic, log_value)
            value = over_root_of_determinant(log_value, determinant, scaled)
            store8(values, (j - left) * LANES, value)
            if j + 1 == last_column or j + 1 - left == TILE:
                write_tile(
                    out,
                    values,
                    first,
                    n_rows,
                    first_column + left,
                    first_column + j + 1,
                    symmetric,
                    accumulate,
                    mirror,
                )
                left = j + 1
