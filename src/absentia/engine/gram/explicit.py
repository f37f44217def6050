"""Rows times columns from covariances: measurement error, and where precisions cost digits.

Nothing is shared between pairs here, so every pair of groups is factored (for derivatives inverted)
whole, eight rows at a time: ``d^3 / 6`` multiply-adds a pair of groups, ``d^2 / 2`` for each
further column of a group.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor, solve, sweep, symmetric_products
from absentia.engine.gram.products import TILE, over_root_of_determinant, write_tile
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    load8,
    multiply8,
    multiply_add8,
    splat8,
    store8,
    subtract8,
)


@compiled(error_model="numpy", makes_arrays=False)
def _load_rows(rows, first, n_rows, means, constants, matrix):
    """Load eight rows from ``first`` on into lanes; the last is repeated."""
    d = rows.means.shape[1]
    for lane in range(LANES):
        row = first + min(lane, n_rows - 1)
        constants[lane] = rows.constants[row]
        group = rows.groups[row]
        for r in range(d):
            means[r * LANES + lane] = rows.means[row, r]
            for c in range(r + 1):
                matrix[(r * d + c) * LANES + lane] = rows.covariances[group, r, c]


@compiled(error_model="numpy", makes_arrays=False)
def _add_covariance(matrix, covariances, group, total):
    """Write the lower triangles of eight matrices plus one covariance to ``total``."""
    d = covariances.shape[1]
    for r in range(d):
        for c in range(r + 1):
            place = (r * d + c) * LANES
            entry = splat8(covariances[group, r, c])
            store8(total, place, add8(load8(matrix, place), entry))


@compiled(error_model="numpy", makes_arrays=False)
def _subtract_column(means, columns, j, vector):
    """Write the differences of eight rows and one column to ``vector``."""
    for r in range(columns.shape[1]):
        difference = subtract8(load8(means, r * LANES), splat8(columns[j, r]))
        store8(vector, r * LANES, difference)


@compiled(error_model="numpy")
def explicit_rows(start, stop, target, rows, columns):
    """Fill rows ``start`` to ``stop`` of a Target from two ExplicitSides."""
    first_column, symmetric, scaled = target.first_column, target.symmetric, target.scaled
    column_means, column_constants, column_groups, covariances = columns
    m, d = column_means.shape
    index = np.arange(d).reshape(1, d)
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
        _load_rows(rows, first, n_rows, means, constants, rows_matrix)
        last_column = min(m, first + n_rows - first_column) if symmetric else m
        left = 0
        for j in range(last_column):
            _subtract_column(means, column_means, j, vector)
            if j > 0 and column_groups[j] == column_groups[j - 1]:
                minus_quadratic = solve(work, pivots, d, vector, splat8(0.0))
            else:
                _add_covariance(rows_matrix, covariances, column_groups[j], matrix)
                minus_quadratic = factor(
                    matrix, d, index, np.intp(0), d, work, pivots, determinant, True, vector,
                    splat8(0.0), -np.inf,
                )  # fmt: skip
            log_value = add8(load8(constants, 0), splat8(column_constants[j]))
            log_value = multiply_add8(splat8(0.5), minus_quadratic, log_value)
            value = over_root_of_determinant(log_value, determinant, scaled)
            store8(values, (j - left) * LANES, value)
            if j + 1 == last_column or j + 1 - left == TILE:
                write_tile(target, values, first, n_rows, first_column + left, first_column + j + 1)
                left = j + 1


@compiled(error_model="numpy")
def explicit_width_rows(
    start, stop, totals, weights, scaled, variances, first_column, rows, columns
):
    """Add ``sum_j weights[i, j] d k_ij / d log c`` to ``totals[i]``, rows ``start`` to ``stop``.

    As ``width_rows`` of ``width_tiles.py``, with the rows and columns of :func:`explicit_rows`.
    Columns count from ``first_column``; ``variances`` is the diagonal of ``C0``.
    """
    column_means, column_constants, column_groups, covariances = columns
    m, d = column_means.shape
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
        _load_rows(rows, first, n_rows, means, constants, rows_matrix)
        sums[:] = 0.0
        last_column = min(m, first + n_rows - first_column)
        for j in range(last_column):
            if j == 0 or column_groups[j] != column_groups[j - 1]:
                _add_covariance(rows_matrix, covariances, column_groups[j], work)
                sweep(work, d, scratch, determinant)
            for lane in range(LANES):
                present = lane < n_rows and first_column + j <= first + lane
                own_weights[lane] = weights[first + lane, first_column + j] if present else 0.0
            _subtract_column(means, column_means, j, vector)
            minus_quadratic = symmetric_products(work, d, vector, scratch)  # and minus the solution
            weight = load8(own_weights, 0)
            log_value = add8(load8(constants, 0), splat8(column_constants[j]))
            log_value = multiply_add8(splat8(0.5), minus_quadratic, log_value)
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
