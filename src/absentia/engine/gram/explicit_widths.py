"""Sums over pairs of derivatives by the widths of columns, from covariances.

For measurement error, and where precisions cost digits: every pair of groups is inverted whole,
eight rows at a time.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import sweep
from absentia.engine.gram.output import over_root_of_determinant
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    load8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["explicit_width_rows"]


@compiled(error_model="numpy")
def explicit_width_rows(
    start,
    stop,
    totals,
    weights,
    scaled,
    variances,
    first_column,
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
    """Add ``sum_j weights[i, j] d k_ij / d log c`` to ``totals[i]``, rows ``start`` to ``stop``.

    As ``width_rows``, with ``row_covariances`` (n_groups, d, d) holding ``C0 + A`` and
    ``column_covariances`` (n_groups, d, d) holding ``B``; the constants hold ``log det(C0) / 2``.
    Columns count from ``first_column``.

    Parameters
    ----------
    variances : array of shape (d,), the diagonal of ``C0``
    """
    d = row_means.shape[1]
    rows_matrix = aligned_empty(d * d * LANES)
    work = aligned_empty(d * d * LANES)
    means = aligned_empty(d * LANES)
    vector = aligned_empty(d * LANES)
    scratch = aligned_empty(d * LANES)
    determinant = aligned_empty(2 * LANES)
    constants = np.empty(LANES)
    sums = aligned_empty(d * LANES)
    own_weights = np.empty(LANES)
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
        sums[:] = 0.0
        last_column = min(len(columns), first + n_rows - first_column)
        run = -1
        for j in range(last_column):
            if j >= run_starts[run + 1]:
                run += 1
                covariance = column_covariances[run_groups[run]]
                for r in range(d):
                    for c in range(r + 1):
                        place = (r * d + c) * LANES
                        total = add8(load8(rows_matrix, place), splat8(covariance[r, c]))
                        store8(work, place, total)
                sweep(work, d, scratch, determinant)
            for lane in range(LANES):
                present = lane < n_rows and first_column + j <= first + lane
                own_weights[lane] = weights[first + lane, first_column + j] if present else 0.0
            for r in range(d):
                difference = subtract8(load8(means, r * LANES), splat8(columns[j, r]))
                store8(vector, r * LANES, difference)
            quadratic = splat8(0.0)
            for r in range(d):
                total = splat8(0.0)
                for c in range(d):
                    place = r * d + c if r >= c else c * d + r
                    total = multiply_add8(
                        load8(work, place * LANES), load8(vector, c * LANES), total
                    )
                store8(scratch, r * LANES, total)  # minus the solution
                quadratic = multiply_add8(negate8(total), load8(vector, r * LANES), quadratic)
            weight = load8(own_weights, 0)
            log_value = add8(load8(constants, 0), splat8(column_constants[j]))
            log_value = multiply_add8(splat8(-0.5), quadratic, log_value)
            weight = multiply8(weight, over_root_of_determinant(log_value, determinant, scaled))
            for r in range(d):
                solved = load8(scratch, r * LANES)
                term = multiply8(solved, solved)
                if scaled:
                    term = add8(term, load8(work, (r * d + r) * LANES))
                term = multiply8(splat8(0.5 * variances[r]), term)
                if scaled:
                    term = add8(splat8(0.5), term)
                total = multiply_add8(weight, term, load8(sums, r * LANES))
                store8(sums, r * LANES, total)
        for lane in range(n_rows):
            for r in range(d):
                totals[first + lane, r] += sums[r * LANES + lane]
