"""Expected RBFs from what *both* rows of a pair miss: tiles of rows times columns.

The slow twin is ``tests/oracles/overlaps.py``; docs/engine.md derives the formulas. In units in
which ``C0 = I``, with ``F = E inv(I + E) = inv((I + G)[L,L])`` for the covariance ``E`` of a row::

    log det V   = log det(I + Ei) + log det(I + Ej) + log det(I - A B)
    d' inv(V) d = d'd - d'Fi d - d'Fj d + a'b + (b - Ba)' inv(I - A B) (a - Ab)

where ``A`` and ``B`` are ``Fi`` and ``Fj`` on the columns that both miss, ``a`` and ``b`` the same
entries of ``Fi d`` and ``Fj d`` (``overlap_lanes.py``). Everything starts from differences, so that
rows far from all others keep their digits. The pairs of a tile are ordered by the size of their
overlap, so that eight that are computed together waste little.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor, log_determinant_in, sweep
from absentia.engine.gram.overlap_lanes import (
    list_overlaps,
    load_overlaps,
    overlap_matrix,
    overlap_sizes,
)
from absentia.engine.gram.products import (
    over_root_of_determinant,
    squared_distances,
    times_differences,
)
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    divide8,
    exponent8,
    load8,
    mantissa8,
    multiply_add8,
    splat8,
    store8,
    subtract8,
)
from absentia.engine.principal import put_submatrix

# The smallest pivot of A, where columns hardly vary beside the RBF. The matrix changes by that.
_LEAST = 1e-14


@compiled(error_model="numpy")
def overlap_parts(start, stop, order, sums, index, sizes, starts, F, log_ratios):
    """Fill the parts of patterns ``order[start:stop]``, in the order of their sizes.

    ``sums`` is ``I + G``. Pattern ``g`` misses the first ``sizes[g]`` columns of ``index[g]``; its
    matrix begins at ``F[starts[g]]``, and ``log det(I + E)`` goes to ``log_ratios[g]``.
    """
    if start == stop:
        return
    most = sizes[order[stop - 1]]
    matrix = aligned_empty(most * most * LANES)
    work = aligned_empty(most * most * LANES)
    pivots = aligned_empty(most * LANES)
    determinant = aligned_empty(2 * LANES)
    vector = np.zeros(most * LANES)
    everything = np.arange(most).reshape(1, most)
    for first in range(start, stop, LANES):
        n_lanes = min(LANES, stop - first)
        padded = sizes[order[first + n_lanes - 1]]
        for lane in range(LANES):
            g = order[first + min(lane, n_lanes - 1)]
            put_submatrix(sums, index[g], sizes[g], padded, lane, matrix)
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
            matrix, padded, everything, np.intp(0), padded, work, pivots, determinant, False,
            vector, splat8(0.0), -np.inf,
        )  # fmt: skip
        for lane in range(n_lanes):
            log_ratios[order[first + lane]] = -log_determinant_in(determinant, lane)


@compiled(error_model="numpy")
def overlap_rows(start, stop, target, base, tile_rows, tile_columns, rows, columns, bounds):
    """Fill rows ``start`` to ``stop`` of a Target from two sides, in the Euclidean metric.

    ``base`` is ``2 gamma``; a tile has multiples of LANES rows and columns.
    """
    out, first_column, symmetric, accumulate, scaled = target
    row_means, row_constants, row_groups = rows.means, rows.constants, rows.groups
    row_F, row_starts, row_index, row_sizes = rows.F, rows.starts, rows.members, rows.sizes
    column_means, columns_in_lanes = columns.means, columns.lanes
    column_constants, column_groups = columns.constants, columns.groups
    column_F, column_starts, column_index = columns.F, columns.starts, columns.members
    column_sizes, row_words, column_words = columns.sizes, rows.words, columns.words
    row_bounds, column_bounds, negligible = bounds
    m, d = column_means.shape
    most_row = 1
    for g in range(len(row_sizes)):
        most_row = max(most_row, row_sizes[g])
    most_column = 1
    for g in range(len(column_sizes)):
        most_column = max(most_column, column_sizes[g])
    most = min(most_row, most_column) + 1
    n_pairs_most = tile_rows * tile_columns
    row_lanes = tile_rows // LANES
    column_lanes = tile_columns // LANES
    # Products of a row, or a column, with the groups of the others one after the other.
    own_group = most_row * LANES
    other_group = most_column * LANES
    own_stride = column_lanes * own_group
    other_stride = row_lanes * other_group
    own_products = aligned_empty(tile_rows * own_stride)
    other_products = aligned_empty(tile_columns * other_stride)
    own_quadratics = aligned_empty(n_pairs_most)
    other_quadratics = aligned_empty(n_pairs_most)
    distances = aligned_empty(n_pairs_most)
    differences = aligned_empty(max(most_row, most_column) * LANES)
    sizes = np.empty(tile_columns, dtype=np.int64)
    lists = np.empty(4 * most * LANES, dtype=np.int64)
    lane_groups = np.empty(LANES, dtype=np.int64)
    lane_others = np.empty(LANES, dtype=np.int64)
    lane_overlaps = np.empty(LANES, dtype=np.int64)
    counts = np.empty(LANES)
    own_at = np.empty(LANES, dtype=np.int64)
    other_at = np.empty(LANES, dtype=np.int64)
    overlaps = np.empty(n_pairs_most, dtype=np.int64)
    pairs = np.empty(n_pairs_most, dtype=np.int64)
    ordered = np.empty(n_pairs_most, dtype=np.int64)
    ends = np.empty(most_row + 2, dtype=np.int64)
    matrix = aligned_empty(most * most * LANES)
    other = aligned_empty(most * most * LANES)
    product = aligned_empty(most * most * LANES)
    vector = aligned_empty(most * LANES)
    right_side = aligned_empty(most * LANES)
    pivots = aligned_empty(most * LANES)
    work = aligned_empty(most * most * LANES)
    everything = np.arange(most).reshape(1, most)
    determinant = aligned_empty(2 * LANES)
    ratio = aligned_empty(2 * LANES)
    corner = np.empty(LANES)
    logs = np.empty(LANES)
    values = np.empty(LANES)
    for top in range(start, stop, tile_rows):
        n_rows = min(tile_rows, stop - top)
        used_rows = -(-n_rows // LANES)
        last_column = min(m, top + n_rows - first_column) if symmetric else m
        for left in range(0, last_column, tile_columns):
            n_columns = min(tile_columns, last_column - left)
            used_columns = -(-n_columns // LANES)
            first_other = left * d
            n_pairs = 0
            for i in range(n_rows):
                row = top + i
                overlap_sizes(
                    row_words, row_groups[row], column_words, column_groups, left, n_columns, sizes
                )
                width = min(n_columns, row + 1 - first_column - left) if symmetric else n_columns
                for j in range(width):
                    if accumulate:
                        bound = row_bounds[row] * column_bounds[left + j]
                        if not bound > negligible * out[row, first_column + left + j]:
                            continue
                    overlaps[n_pairs] = sizes[j]
                    pairs[n_pairs] = (i << 32) | j
                    n_pairs += 1
            for i in range(n_rows if n_pairs > 0 else 0):
                g = row_groups[top + i]
                own = (top + i) * d
                place = i * tile_columns
                squared_distances(
                    row_means, own, columns_in_lanes, first_other, used_columns, d, distances, place
                )
                times_differences(
                    row_F, row_starts[g], row_index, g * d, row_sizes[g], row_means, own, 1,
                    columns_in_lanes, first_other, used_columns, d, differences,
                    own_products, i * own_stride, own_group, False, own_quadratics, place,
                )  # fmt: skip
            for j in range(n_columns if n_pairs > 0 else 0):
                g = column_groups[left + j]
                times_differences(
                    column_F, column_starts[g], column_index, g * d, column_sizes[g],
                    column_means, (left + j) * d, 1, rows.lanes, (top - rows.first) * d, used_rows,
                    d, differences, other_products, j * other_stride, other_group, False,
                    other_quadratics, j * tile_rows,
                )  # fmt: skip
            # By counting: where the pairs of each size of the overlap end.
            ends[:] = 0
            for t in range(n_pairs):
                ends[overlaps[t] + 1] += 1
            for size in range(1, len(ends)):
                ends[size] += ends[size - 1]
            for t in range(n_pairs):
                ordered[ends[overlaps[t]]] = t
                ends[overlaps[t]] += 1
            for first in range(0, n_pairs, LANES):
                n_lanes = min(LANES, n_pairs - first)
                largest = overlaps[ordered[first + n_lanes - 1]]
                padded = largest + largest % 2
                for lane in range(LANES):
                    t = ordered[first + min(lane, n_lanes - 1)]
                    i = pairs[t] >> 32
                    j = pairs[t] & 0xFFFFFFFF
                    pair = i * tile_columns + j
                    corner[lane] = (
                        distances[pair] - own_quadratics[pair] - other_quadratics[j * tile_rows + i]
                    )
                    logs[lane] = row_constants[top + i] + column_constants[left + j]
                    lane_groups[lane] = row_groups[top + i]
                    lane_others[lane] = column_groups[left + j]
                    lane_overlaps[lane] = overlaps[t]
                    counts[lane] = overlaps[t]
                    own_at[lane] = i * own_stride + (j // LANES) * own_group + j % LANES
                    other_at[lane] = j * other_stride + (i // LANES) * other_group + i % LANES
                quadratic = load8(corner, 0)
                store8(determinant, 0, splat8(1.0))
                store8(determinant, LANES, splat8(0.0))
                if largest > 0:
                    list_overlaps(
                        rows, lane_groups, columns, lane_others, lane_overlaps, padded, lists
                    )
                    # Behind the end of an overlap A is the identity and B is zero.
                    load_overlaps(
                        row_F, own_products, own_at, lists, 0, padded, counts, 1.0, matrix, vector
                    )
                    load_overlaps(
                        column_F, other_products, other_at, lists, 2 * padded * LANES, padded,
                        counts, 0.0, other, right_side,
                    )  # fmt: skip
                    added = factor(
                        matrix, padded, everything, np.intp(0), padded, work, pivots, determinant,
                        False, vector, splat8(0.0), _LEAST,
                    )  # fmt: skip
                    quadratic = subtract8(quadratic, added)
                    overlap_matrix(work, pivots, other, padded, product, vector, right_side)
                    quadratic = factor(
                        other, padded, everything, np.intp(0), padded, work, pivots, ratio, False,
                        vector, quadratic, 1e-40,
                    )  # fmt: skip
                    # det S / det D, with a mantissa in [1, 2) however large the overlap is padded
                    mantissa = divide8(load8(ratio, 0), load8(determinant, 0))
                    exponent = subtract8(load8(ratio, LANES), load8(determinant, LANES))
                    store8(determinant, 0, mantissa8(mantissa))
                    store8(determinant, LANES, add8(exponent, exponent8(mantissa)))
                log_value = multiply_add8(splat8(-0.5 * base), quadratic, load8(logs, 0))
                store8(values, 0, over_root_of_determinant(log_value, determinant, scaled))
                for lane in range(n_lanes):
                    pair = pairs[ordered[first + lane]]
                    row = top + (pair >> 32)
                    column = first_column + left + (pair & 0xFFFFFFFF)
                    if accumulate:
                        out[row, column] += values[lane]
                    else:
                        out[row, column] = values[lane]
