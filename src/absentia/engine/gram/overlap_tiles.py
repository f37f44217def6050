"""Expected RBFs from what *both* rows of a pair miss: tiles of rows times columns.

The slow twin is ``tests/oracles/overlaps.py``. In units in which ``C0 = I`` the covariance of a
difference is ``V = I + Ei + Ej``, with ``Ei`` zero outside the columns that row ``i`` misses. Put
``Fi = Ei inv(I + Ei)``, which belongs to the row alone. Then ``inv(I + Ei) = I - Fi`` and::

    inv(I + Ei) V inv(I + Ej) = I - Fi Fj
    log det V   = log det(I + Ei) + log det(I + Ej) + log det(I - A B)
    d' inv(V) d = d'd - d'Fi d - d'Fj d + a'b + (b - Ba)' inv(I - A B) (a - Ab)

where ``A`` and ``B`` are ``Fi`` and ``Fj`` on the columns that both miss, ``a`` and ``b`` the same
entries of ``Fi d`` and ``Fj d``. A pair costs ``|Li|^2 + |Lj|^2`` multiply-adds for the products
with ``d``, at the speed of a product of matrices, and ``5/6 |Li & Lj|^3`` on the overlap
(``overlap_elimination.py``): of 100 columns of which 30 % are missing 30 are missing in a row, 9 in
both. Everything starts from differences, so that rows far from all others keep their digits.

The pairs of a tile are ordered by the size of their overlap, so that eight that are computed
together waste little. A smaller overlap is padded behind its end, which changes no bit of it.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.gram.output import over_root_of_determinant
from absentia.engine.gram.overlap_elimination import eliminate, overlap_matrix
from absentia.engine.gram.overlap_products import row_times_others, squared_distances, transposed
from absentia.engine.lanes import (
    LANES,
    add8,
    copy_entry,
    count_ones,
    exponent8,
    from_starts8,
    integer_at,
    load8,
    lowest_one,
    mantissa8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["overlap_rows"]

# The smallest pivot of A: of columns that hardly vary beside the RBF. The matrix changes by that.
_LEAST = 1e-14


@compiled(error_model="numpy")
def _pack(
    F,
    start,
    size,
    rank,
    group,
    words,
    other_words,
    other_groups,
    first,
    count,
    pair_at,
    base,
    step,
    begins,
    products,
    width,
    places,
    packed,
):
    """Write ``F`` and ``F d`` of one row on its overlaps with a tile of others to ``packed``.

    Row after row of the lower triangle, each with its entry of ``F d`` behind the diagonal: a
    smaller overlap is the beginning of a larger one. Other ``t`` is pair ``pair_at[base + t *
    step]`` of the tile, or none where that is negative.
    """
    n_words = words.shape[1]
    for t in range(count):
        pair = pair_at[base + t * step]
        if pair < 0:
            continue
        begin = begins[pair]
        other_group = other_groups[first + t]
        overlap = 0
        for w in range(n_words):
            common = words[group, w] & other_words[other_group, w]
            while common:
                place = rank[group, 64 * w + lowest_one(common)]
                common &= common - np.uint64(1)
                places[overlap] = place
                overlap += 1
                row = start + place * size
                # Four at a time: what is written behind the row is overwritten by the next.
                for c in range(0, overlap, 4):
                    copy_entry(F, row + integer_at(places, c), packed, begin + c)
                    copy_entry(F, row + integer_at(places, c + 1), packed, begin + c + 1)
                    copy_entry(F, row + integer_at(places, c + 2), packed, begin + c + 2)
                    copy_entry(F, row + integer_at(places, c + 3), packed, begin + c + 3)
                copy_entry(products, place * width + t, packed, begin + overlap)
                begin += overlap + 1


@compiled(error_model="numpy")
def _overlap_sizes(words, group, other_words, other_groups, first, count, sizes):
    """Write how many columns one row misses in common with each of some others."""
    for t in range(count):
        other_group = other_groups[first + t]
        size = 0
        for w in range(words.shape[1]):
            size += count_ones(words[group, w] & other_words[other_group, w])
        sizes[t] = size


@compiled(error_model="numpy")
def _unpack(packed, begins, sizes, padded, both, last, matrix, vector):
    """Put eight packed overlaps into lanes: entry ``(r, c)`` at group ``c * padded + r``.

    The lower triangle, or both. Behind the end of an overlap are zeros, and ``last`` on the
    diagonal.
    """
    offset = 0
    for r in range(padded):
        for c in range(r + 1):
            entry = from_starts8(packed, begins, offset + c)
            store8(matrix, (c * padded + r) * LANES, entry)
            if both:
                store8(matrix, (r * padded + c) * LANES, entry)
        store8(vector, r * LANES, from_starts8(packed, begins, offset + r + 1))
        offset += r + 2
    for lane in range(LANES):
        for r in range(sizes[lane], padded):
            for c in range(r):
                matrix[(c * padded + r) * LANES + lane] = 0.0
                if both:
                    matrix[(r * padded + c) * LANES + lane] = 0.0
            matrix[(r * padded + r) * LANES + lane] = last
            vector[r * LANES + lane] = 0.0


@compiled(error_model="numpy")
def overlap_rows(
    start,
    stop,
    out,
    first_column,
    symmetric,
    accumulate,
    mirror,
    scaled,
    base,
    tile_rows,
    tile_columns,
    row_means,
    row_constants,
    row_groups,
    row_F,
    row_starts,
    row_index,
    row_sizes,
    row_rank,
    row_words,
    columns,
    column_constants,
    column_groups,
    column_F,
    column_starts,
    column_index,
    column_sizes,
    column_rank,
    column_words,
    row_bounds,
    column_bounds,
    negligible,
):
    """Fill rows ``start`` to ``stop`` of a Gram matrix of expected RBFs.

    Parameters
    ----------
    out, first_column, symmetric, accumulate, mirror, scaled
        As in ``gram_rows``.
    base : float
        ``2 gamma``; the metric is Euclidean.
    tile_rows, tile_columns : int, multiples of LANES
    row_means : array of shape (n, d)
    row_constants : array of shape (n,), added to the logarithm
    row_groups : int array of shape (n,), into the following
    row_F, row_starts : flat array, int array of shape (n_groups,)
        ``F`` of each group on what it misses, ``size * size`` numbers from its start on.
    row_index, row_sizes : int arrays of shape (n_groups, d) and (n_groups,)
        What a group misses, ascending, in the first entries.
    columns, column_constants, column_groups, column_F, column_starts, column_index, column_sizes
        The same of the columns.
    column_rank : int array of shape (n_groups, d)
        Where in ``column_index`` a column of the table stands; -1 where it does not.
    row_bounds, column_bounds, negligible
        As in ``gram_rows``.
    """
    d = row_means.shape[1]
    m = len(columns)
    most_row = 1
    for g in range(len(row_sizes)):
        most_row = max(most_row, row_sizes[g])
    most_column = 1
    for g in range(len(column_sizes)):
        most_column = max(most_column, column_sizes[g])
    most = min(most_row, most_column) + 1
    n_pairs_most = tile_rows * tile_columns
    products = np.empty(max(most_row * tile_columns, most_column * tile_rows))
    own_quadratics = np.empty((tile_rows, tile_columns))
    other_quadratics = np.empty((tile_columns, tile_rows))
    distances = np.empty((tile_rows, tile_columns))
    differences = np.empty(max(most_row * tile_columns, most_column * tile_rows))
    rows_by_feature = np.empty(d * tile_rows)
    columns_by_feature = np.empty(d * tile_columns)
    places = np.zeros(most + 3, dtype=np.int64)
    pair_at = np.empty(n_pairs_most, dtype=np.int64)
    sizes = np.empty(tile_columns, dtype=np.int64)
    begins = np.empty(n_pairs_most, dtype=np.int64)
    own_packed = np.empty(0)
    other_packed = np.empty(0)
    lane_begins = np.empty(LANES, dtype=np.int64)
    lane_sizes = np.empty(LANES, dtype=np.int64)
    overlaps = np.empty(n_pairs_most, dtype=np.int64)
    pairs = np.empty(n_pairs_most, dtype=np.int64)
    ordered = np.empty(n_pairs_most, dtype=np.int64)
    ends = np.empty(most_row + 2, dtype=np.int64)
    matrix = np.empty(most * most * LANES)
    other = np.empty(most * most * LANES)
    product = np.empty(most * most * LANES)
    vector = np.empty(most * LANES)
    right_side = np.empty(most * LANES)
    pivots = np.empty(most * LANES)
    inverses = np.empty(most * LANES)
    panel = np.empty(2 * most * LANES)
    determinant = np.empty(2 * LANES)
    corner = np.empty(LANES)
    logs = np.empty(LANES)
    values = np.empty(LANES)
    for top in range(start, stop, tile_rows):
        n_rows = min(tile_rows, stop - top)
        used_rows = -(-n_rows // LANES) * LANES
        transposed(row_means, top, n_rows, tile_rows, rows_by_feature)
        last_column = min(m, top + n_rows - first_column) if symmetric else m
        for left in range(0, last_column, tile_columns):
            n_columns = min(tile_columns, last_column - left)
            used_columns = -(-n_columns // LANES) * LANES
            n_pairs = 0
            length = 0
            for i in range(n_rows):
                row = top + i
                _overlap_sizes(
                    row_words, row_groups[row], column_words, column_groups, left, n_columns, sizes
                )
                width = min(n_columns, row + 1 - first_column - left) if symmetric else n_columns
                for j in range(n_columns):
                    pair_at[i * tile_columns + j] = -1
                    if j >= width:
                        continue
                    if accumulate:
                        bound = row_bounds[row] * column_bounds[left + j]
                        if not bound > negligible * out[row, first_column + left + j]:
                            continue
                    size = sizes[j]
                    overlaps[n_pairs] = size
                    pairs[n_pairs] = i * tile_columns + j
                    pair_at[i * tile_columns + j] = n_pairs
                    begins[n_pairs] = length
                    length += size * (size + 3) // 2 + 3  # as far as the last row is overshot
                    n_pairs += 1
            # Lanes read as far behind the end of an overlap as the next larger ones reach.
            length += most * (most + 3) // 2
            if length > len(own_packed):
                own_packed = np.zeros(length + length // 4)
                other_packed = np.zeros(length + length // 4)
            if n_pairs > 0:
                transposed(columns, left, n_columns, tile_columns, columns_by_feature)
            for i in range(n_rows if n_pairs > 0 else 0):
                g = row_groups[top + i]
                own = row_means[top + i]
                squared_distances(own, columns_by_feature, tile_columns, used_columns, distances[i])
                row_times_others(
                    row_F,
                    row_starts[g],
                    row_sizes[g],
                    row_index[g],
                    own,
                    columns_by_feature,
                    tile_columns,
                    used_columns,
                    differences,
                    products,
                    own_quadratics[i],
                )
                _pack(
                    row_F,
                    row_starts[g],
                    row_sizes[g],
                    row_rank,
                    g,
                    row_words,
                    column_words,
                    column_groups,
                    left,
                    n_columns,
                    pair_at,
                    i * tile_columns,
                    1,
                    begins,
                    products,
                    tile_columns,
                    places,
                    own_packed,
                )
            for j in range(n_columns if n_pairs > 0 else 0):
                g = column_groups[left + j]
                row_times_others(
                    column_F,
                    column_starts[g],
                    column_sizes[g],
                    column_index[g],
                    columns[left + j],
                    rows_by_feature,
                    tile_rows,
                    used_rows,
                    differences,
                    products,
                    other_quadratics[j],
                )
                _pack(
                    column_F,
                    column_starts[g],
                    column_sizes[g],
                    column_rank,
                    g,
                    column_words,
                    row_words,
                    row_groups,
                    top,
                    n_rows,
                    pair_at,
                    j,
                    tile_columns,
                    begins,
                    products,
                    tile_rows,
                    places,
                    other_packed,
                )
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
                    i = pairs[t] // tile_columns
                    j = pairs[t] - i * tile_columns
                    corner[lane] = distances[i, j] - own_quadratics[i, j] - other_quadratics[j, i]
                    logs[lane] = row_constants[top + i] + column_constants[left + j]
                    lane_begins[lane] = begins[t]
                    lane_sizes[lane] = overlaps[t]
                if largest > 0:
                    _unpack(own_packed, lane_begins, lane_sizes, padded, False, 1.0, matrix, vector)
                    _unpack(
                        other_packed, lane_begins, lane_sizes, padded, True, 0.0, other, right_side
                    )
                quadratic = load8(corner, 0)
                store8(determinant, 0, splat8(1.0))
                store8(determinant, LANES, splat8(0.0))
                if largest > 0:
                    added = eliminate(matrix, padded, vector, pivots, inverses, panel, _LEAST)
                    quadratic = add8(quadratic, added)
                    overlap_matrix(matrix, pivots, other, padded, product, vector, right_side)
                    mantissa = splat8(1.0)
                    exponent = splat8(0.0)
                    for r in range(padded):
                        mantissa = multiply8(mantissa, negate8(load8(inverses, r * LANES)))
                        if r % 2:
                            exponent = add8(exponent8(mantissa), exponent)
                            mantissa = mantissa8(mantissa)
                    added = eliminate(other, padded, vector, pivots, inverses, panel, 1e-40)
                    quadratic = subtract8(quadratic, added)
                    for r in range(padded):
                        mantissa = multiply8(mantissa, load8(pivots, r * LANES))
                        if r % 2:
                            exponent = add8(exponent8(mantissa), exponent)
                            mantissa = mantissa8(mantissa)
                    store8(determinant, 0, mantissa)
                    store8(determinant, LANES, exponent)
                log_value = multiply_add8(splat8(-0.5 * base), quadratic, load8(logs, 0))
                store8(values, 0, over_root_of_determinant(log_value, determinant, scaled))
                for lane in range(n_lanes):
                    t = ordered[first + lane]
                    i = pairs[t] // tile_columns
                    row = top + i
                    column = first_column + left + pairs[t] - i * tile_columns
                    if accumulate:
                        out[row, column] += values[lane]
                    else:
                        out[row, column] = values[lane]
            if mirror:
                for i in range(n_rows):
                    row = top + i
                    for column in range(
                        first_column + left, min(first_column + left + n_columns, row)
                    ):
                        out[column, row] = out[row, column]
