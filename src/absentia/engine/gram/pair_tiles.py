"""Rows times columns: the expected RBF of every pair, eight rows or eight columns at a time.

The slow twin is ``tests/oracles/kernels.py``. The rows come as beliefs of any covariance, the
columns as beliefs conditioned on one Gaussian with precision ``G``. With the notation of
``row_tiles.py``, ``d`` the difference of the means, and ``L``, ``O`` what the column misses and
has::

    missing side:   quad = d'Ud - |inv(chol H[L,L]) (Ud)[L]|^2,   log det H[L,L]
    observed side:  quad = a'inv(C)a - b'Gb + |inv(chol J[O,O]) (w - b)[O]|^2,   log det J[O,O]

The observed side needs no product of a matrix with ``d`` at all; it holds because the mean ``b``
of a conditioned row satisfies ``(Gb)[L] = 0``. Cost of a pair: ``min(|L|, |O|)^3 / 6``
multiply-adds and, on the missing side, ``|K|^2`` for the part of ``Ud`` that is not a multiple of
``d``, ``K`` being what the row misses.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor, solve
from absentia.engine.gram.products import (
    TILE,
    over_root_of_determinant,
    squared_distances,
    times_differences,
    write_tile,
)
from absentia.engine.gram.row_tiles import prepare_rows, row_lanes
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    eight_integers,
    gather8,
    gather_behind8,
    gather_rows8,
    integer_at,
    load8,
    multiply_add8,
    negate8,
    repeat8,
    splat8,
    store8,
    subtract8,
)


@compiled(error_model="numpy", makes_arrays=False)
def any_missing_side(start, stop, groups, observed):
    """Return whether a column from ``start`` to ``stop`` needs products."""
    missing = False
    for j in range(start, stop):
        missing = missing or not observed[groups[j]]
    return missing


@compiled(error_model="numpy", makes_arrays=False)
def uncertain_products(lanes, columns_in_lanes, first, d, differences, products, quadratics):
    """Multiply ``V = U - base * I`` of eight rows with their differences to eight columns.

    ``products[(lane * d + feature) * LANES + j]`` receives ``(V d)[feature]`` for the features
    that the row of a lane misses, and ``quadratics[lane * LANES + j]`` receives ``d'Vd``, for the
    columns from ``first`` on. No more than eight columns, so that the products stay in the
    first-level cache.
    """
    for lane in range(LANES):
        times_differences(
            lanes.blocks, lane * d * d, lanes.members, lane * d, lanes.sizes[lane],
            lanes.means, lane, LANES, columns_in_lanes, first * d, 1, d,
            differences, products, lane * d * LANES, 0, True, quadratics, lane * LANES,
        )  # fmt: skip


@compiled(error_model="numpy")
def gram_rows(start, stop, target, rows, columns):
    """Fill rows ``start`` to ``stop`` of a Target from LaneRows and LaneColumns."""
    first_column, symmetric, scaled = target.first_column, target.symmetric, target.scaled
    base, precision = rows.base, columns.precision
    column_means, columns_in_lanes = columns.means, columns.lanes
    column_constants, column_groups = columns.constants, columns.groups
    index, sizes, on_observed = columns.members, columns.sizes, columns.observed
    m, d = column_means.shape
    any_observed, any_missing = on_observed.any(), not on_observed.all()
    lanes = row_lanes(d, any_observed)
    matrix, inverse, means, shrunk = lanes.matrix, lanes.inverse, lanes.means, lanes.shrunk
    row_part, observed_part = lanes.row_part, lanes.observed_part
    vector, work, determinant = lanes.vector, lanes.work, lanes.determinant
    pivots = aligned_empty(d * LANES)
    products = aligned_empty(LANES * d * LANES)
    quadratics = aligned_empty(LANES * LANES)
    differences = aligned_empty(d * LANES)
    distances = aligned_empty(LANES)
    values = aligned_empty(TILE * LANES)
    base_lanes = splat8(base)
    for first in range(start, stop, LANES):
        n_rows = min(LANES, stop - first)
        prepare_rows(lanes, rows, precision, first, n_rows, scaled, any_missing)
        products[:] = 0.0
        last_column = min(m, first + n_rows - first_column) if symmetric else m
        factored = -1
        for tile in range(0, last_column, TILE):
            tile_stop = min(tile + TILE, last_column)
            for j in range(tile, tile_stop):
                if (j - tile) % LANES == 0 and any_missing_side(
                    j, min(j + LANES, tile_stop), column_groups, on_observed
                ):
                    uncertain_products(
                        lanes, columns_in_lanes, j, d, differences, products, quadratics
                    )
                group = column_groups[j]
                at = group * d
                size = sizes[group]
                observed = on_observed[group]
                if observed:
                    corner = splat8(0.0)
                    for r in range(size):
                        feature = integer_at(index, at + r)
                        column = repeat8(column_means, j * d + feature)
                        store8(vector, r * LANES, subtract8(load8(shrunk, feature * LANES), column))
                else:
                    corner = gather8(quadratics, (j - tile) % LANES, LANES)
                    if base > 0.0:
                        squared_distances(column_means, j * d, means, 0, 1, d, distances, 0)
                        corner = multiply_add8(base_lanes, load8(distances, 0), corner)
                    for r in range(size):
                        feature = integer_at(index, at + r)
                        column = repeat8(column_means, j * d + feature)
                        difference = subtract8(load8(means, feature * LANES), column)
                        place = feature * LANES + (j - tile) % LANES
                        product = gather8(products, place, d * LANES)
                        store8(vector, r * LANES, multiply_add8(base_lanes, difference, product))
                if factored == group:
                    quadratic = solve(work, pivots, size, vector, corner)
                else:
                    source = inverse if observed else matrix
                    quadratic = factor(
                        source, d, index, at, size, work, pivots, determinant, False, vector,
                        corner, -np.inf,
                    )  # fmt: skip
                    factored = group
                if observed:
                    # The solution is minus the squared length that the observed side adds.
                    quadratic = negate8(quadratic)
                    log_value = load8(observed_part, 0)
                else:
                    log_value = load8(row_part, 0)
                log_value = multiply_add8(splat8(-0.5), quadratic, log_value)
                log_value = add8(log_value, splat8(column_constants[j]))
                value = over_root_of_determinant(log_value, determinant, scaled)
                store8(values, (j - tile) * LANES, value)
            write_tile(target, values, first, n_rows, first_column + tile, first_column + tile_stop)


@compiled(error_model="numpy", makes_arrays=False)
def _embedded(lanes, lane, d, stride, matrix):
    """Write the lower triangle of one lane's matrix, and the identity behind it."""
    for r in range(d):
        for c in range(r + 1):
            matrix[r * stride + c] = lanes[(r * d + c) * LANES + lane]
    for r in range(d, stride):
        for c in range(r):
            matrix[r * stride + c] = 0.0
        matrix[r * stride + r] = 1.0


@compiled(error_model="numpy", makes_arrays=False)
def _submatrices(matrix, member_rows, members, start, size, dense):
    """Load the lower triangles of eight principal submatrices of one matrix into lanes."""
    for r in range(size):
        starts = eight_integers(member_rows, start + r * LANES)
        for c in range(r + 1):
            entry = gather_rows8(matrix, starts, members, start + c * LANES)
            store8(dense, (r * size + c) * LANES, entry)


@compiled(error_model="numpy")
def few_rows(out, accumulate, scaled, rows, columns):
    """Fill a Gram matrix that has no more rows than lanes: eight *columns* at a time.

    Columns that are computed on the same side and miss (or have) about as many values stand
    together. ``H`` and ``J`` belong to the row, so that each lane loads its submatrix entry by
    entry from *one* matrix, which has the identity behind its end for lanes with less to factor.
    ``rows`` are LaneRows, conditioned and in the Euclidean metric, ``columns`` ColumnLanes.
    """
    order, constants, means, sizes, starts, observed, repeats = columns[:7]
    stride, members, member_rows, precision = columns[7:]
    row_means, base = rows.means, rows.base
    n, d = row_means.shape
    most = 0
    for size in sizes:
        most = max(most, size)
    any_observed = observed.any()
    lanes = row_lanes(d, any_observed)
    shrunk, work, vector, determinant = lanes.shrunk, lanes.work, lanes.vector, lanes.determinant
    blocks, index, block_sizes = lanes.blocks, lanes.members, lanes.sizes
    row_part, observed_part = lanes.row_part, lanes.observed_part
    H = aligned_empty(stride * stride)
    J = aligned_empty(stride * stride if any_observed else 0)
    differences = aligned_empty(d * LANES)
    images = aligned_empty(stride * LANES)
    products = aligned_empty(d * LANES)
    quadratics = aligned_empty(LANES)
    dense = aligned_empty(most * most * LANES)
    pivots = aligned_empty(d * LANES)
    everything = np.arange(most).reshape(1, most)
    lane_numbers = np.arange(LANES)
    values = aligned_empty(LANES)
    base_lanes = splat8(base)
    images[:] = 0.0
    prepare_rows(lanes, rows, precision, 0, n, scaled, True)
    for row in range(n):
        products[:] = 0.0
        _embedded(lanes.matrix, row, d, stride, H)
        if any_observed:
            _embedded(lanes.inverse, row, d, stride, J)
        for group in range(len(sizes)):
            here = group * LANES
            at = here * d
            start = starts[group]
            count = sizes[group]
            if observed[group]:
                for k in range(d):
                    own = splat8(shrunk[k * LANES + row])
                    store8(images, k * LANES, subtract8(own, load8(means, at + k * LANES)))
                corner = splat8(0.0)
                part = observed_part[row]
            else:
                times_differences(
                    blocks, row * d * d, index, row * d, block_sizes[row],
                    row_means, row * d, 1, means, at, 1, d,
                    differences, products, 0, 0, True, quadratics, 0,
                )  # fmt: skip
                squared_distances(row_means, row * d, means, at, 1, d, values, 0)
                corner = multiply_add8(base_lanes, load8(values, 0), load8(quadratics, 0))
                for k in range(d):
                    own = subtract8(splat8(row_means[row, k]), load8(means, at + k * LANES))
                    own = multiply_add8(base_lanes, own, load8(products, k * LANES))
                    store8(images, k * LANES, own)
                part = row_part[row]
            for r in range(count):
                own = gather_behind8(images, lane_numbers, members, start + r * LANES)
                store8(vector, r * LANES, own)
            if repeats[group]:
                quadratic = solve(work, pivots, count, vector, corner)
            else:
                chosen = J if observed[group] else H
                _submatrices(chosen, member_rows, members, start, count, dense)
                quadratic = factor(
                    dense, count, everything, np.intp(0), count, work, pivots, determinant, False,
                    vector, corner, -np.inf,
                )  # fmt: skip
            if observed[group]:
                # The solution is minus the squared length that the observed side adds.
                quadratic = negate8(quadratic)
            log_value = multiply_add8(splat8(-0.5), quadratic, splat8(part))
            log_value = add8(log_value, load8(constants, here))
            store8(values, 0, over_root_of_determinant(log_value, determinant, scaled))
            for other in range(LANES):
                j = order[here + other]
                if j < 0:
                    continue
                if not accumulate:
                    out[row, j] = values[other]
                else:
                    out[row, j] += values[other]
