"""Sums over pairs of derivatives by the widths of columns, eight rows at a time.

The slow twin is ``tests/oracles/widths.py``. With the notation of ``pair_tiles.py``, ``V`` the sum
of ``C0 = I / base`` and both covariances, and ``u = inv(V) d``::

    d log k / d log c_j = (1 - inv(V)[j,j] / base + u[j]^2 / base) / 2
    missing side:   inv(V) = U - U inv(H[L,L]) U,              u = U v,  v = d - inv(H[L,L]) (Ud)[L]
    observed side:  inv(H[L,L]) = J - J inv(J[O,O]) J,         v = a - w + J q,
                    q = inv(J[O,O]) (w - b)[O]

``U`` and ``J`` belong to the row. So a pair only adds ``inv(H[L,L]) + v v'``, or
``q q' - inv(J[O,O])`` and ``q``, to sums of the row, and the products with ``U`` and ``J`` are
taken once per row, not once per pair. ``n x n x d`` numbers are never stored.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import sweep, symmetric_products
from absentia.engine.gram.pair_tiles import any_missing_side, uncertain_products
from absentia.engine.gram.products import TILE, over_root_of_determinant
from absentia.engine.gram.row_tiles import prepare_rows, row_lanes
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    gather8,
    load8,
    multiply8,
    multiply_add8,
    splat8,
    store8,
    subtract8,
)


@compiled(error_model="numpy", makes_arrays=False)
def _invert_principal(matrix, stride, index, size, work, scratch, determinant):
    """Fill the lower triangle of ``work`` with *minus* the inverses of principal submatrices."""
    for r in range(size):
        for c in range(r + 1):
            entry = load8(matrix, (index[r] * stride + index[c]) * LANES)
            store8(work, (r * size + c) * LANES, entry)
    sweep(work, size, scratch, determinant)


@compiled(error_model="numpy", makes_arrays=False)
def _add_inverse(sums, stride, index, size, work, weight, sign):
    """Add ``sign * weight * work`` to the principal submatrices of ``sums``, lower triangles."""
    factor = multiply8(load8(weight, 0), splat8(sign))
    for r in range(size):
        for c in range(r + 1):
            place = (index[r] * stride + index[c]) * LANES
            entry = load8(work, (r * size + c) * LANES)
            store8(sums, place, multiply_add8(entry, factor, load8(sums, place)))
    store8(weight, 0, splat8(0.0))


@compiled(error_model="numpy", makes_arrays=False)
def _add_outer_products(sums, missed, vectors, weighted, n_columns):
    """Add ``weighted vectors'`` of a tile of columns to the lower triangles of ``sums``.

    Entry ``k`` of column ``j`` is the lane group ``k * TILE + j`` of both. Off the diagonal only
    the entries of features that one of the rows ``missed`` are needed.
    """
    d = len(missed)
    for r in range(d):
        for c in range(0 if missed[r] else r, r + 1):
            if c < r and not missed[c]:
                continue
            total = load8(sums, (r * d + c) * LANES)
            left, right = r * TILE * LANES, c * TILE * LANES
            for j in range(0, n_columns * LANES, LANES):
                total = multiply_add8(load8(weighted, left + j), load8(vectors, right + j), total)
            store8(sums, (r * d + c) * LANES, total)


@compiled(error_model="numpy", makes_arrays=False)
def _symmetric_entry(matrix, d, r, c):
    """Return entry ``(r, c)`` of symmetric matrices of which the lower triangle is stored."""
    place = r * d + c if r >= c else c * d + r
    return load8(matrix, place * LANES)


@compiled(error_model="numpy", makes_arrays=False)
def _add_observed(sums, outer, linear, sum_observed, lanes, scaled, along):
    """Add what columns on the observed side contribute, from their sums, to those of the row."""
    inverse, means, shrunk = lanes.inverse, lanes.means, lanes.shrunk
    work, offset = lanes.work, lanes.vector
    d = len(means) // LANES
    for r in range(d):
        for c in range(d):
            total = splat8(0.0)
            for k in range(d):
                total = multiply_add8(
                    _symmetric_entry(outer, d, r, k), _symmetric_entry(inverse, d, k, c), total
                )
            store8(work, (r * d + c) * LANES, total)
    for r in range(d):
        store8(offset, r * LANES, subtract8(load8(means, r * LANES), load8(shrunk, r * LANES)))
    symmetric_products(inverse, d, linear, along)
    count = load8(sum_observed, 0)
    for r in range(d):
        own = load8(offset, r * LANES)
        for c in range(r + 1):
            other = load8(offset, c * LANES)
            total = load8(sums, (r * d + c) * LANES)
            for k in range(d):
                total = multiply_add8(
                    _symmetric_entry(inverse, d, r, k), load8(work, (k * d + c) * LANES), total
                )
            total = multiply_add8(own, load8(along, c * LANES), total)
            total = multiply_add8(other, load8(along, r * LANES), total)
            constant = multiply8(own, other)
            if scaled:
                constant = add8(constant, _symmetric_entry(inverse, d, r, c))
            total = multiply_add8(count, constant, total)
            store8(sums, (r * d + c) * LANES, total)


@compiled(error_model="numpy", makes_arrays=False)
def _finish_row(totals, sums, count, lane, index, size, mask, block, base, scaled):
    """Add the derivatives of one row: the diagonal of ``U sums U``, less ``count U``.

    ``block`` holds ``U - base * I`` on the columns ``index`` that the row misses.
    """
    d = len(mask)
    for k in range(d):
        if not mask[k]:
            totals[k] += 0.5 * base * sums[(k * d + k) * LANES + lane]
    for r in range(size):
        length = 0.0
        for s in range(size):
            product = 0.0
            for t in range(size):
                row, column = max(index[s], index[t]), min(index[s], index[t])
                entry = block[r * size + t]
                if t == r:
                    entry += base
                product += sums[(row * d + column) * LANES + lane] * entry
            entry = block[r * size + s]
            if s == r:
                entry += base
            length += product * entry
        if scaled:
            length -= count * block[r * size + r]
        totals[index[r]] += 0.5 * length / base


@compiled(error_model="numpy")
def width_rows(start, stop, totals, weights, scaled, rows, columns):
    """Add ``sum_j weights[i, j] d k_ij / d log c`` to ``totals[i]``, rows ``start`` to ``stop``.

    LaneRows, conditioned and in the Euclidean metric, and LaneColumns are the same rows; a row is
    paired with the columns up to itself, and weights above the diagonal are never read.
    """
    base, precision = rows.base, columns.precision
    column_means, columns_in_lanes = columns.means, columns.lanes
    column_constants, groups = columns.constants, columns.groups
    members, sizes, observed = columns.members, columns.sizes, columns.observed
    d = column_means.shape[1]
    any_observed = observed.any()
    lanes = row_lanes(d, any_observed)
    matrix, inverse, means, shrunk = lanes.matrix, lanes.inverse, lanes.means, lanes.shrunk
    row_part, observed_part = lanes.row_part, lanes.observed_part
    vector, work, scratch = lanes.vector, lanes.work, lanes.scratch
    determinant = lanes.determinant
    solution = aligned_empty(d * LANES)  # minus it
    products = aligned_empty(LANES * d * LANES)
    quadratics = aligned_empty(LANES * LANES)
    differences = aligned_empty(d * LANES)
    tile_weights = aligned_empty(TILE * LANES)
    vectors = aligned_empty(d * TILE * LANES)
    weighted = aligned_empty(d * TILE * LANES)
    sums = aligned_empty(d * d * LANES)
    outer = aligned_empty(d * d * LANES if any_observed else 0)
    linear = aligned_empty(d * LANES)
    missed = np.empty(d, dtype=np.bool_)
    count = np.empty(LANES)
    count_observed = np.empty(LANES)
    count_run = np.empty(LANES)
    base_lanes = splat8(base)
    for first in range(start, stop, LANES):
        n_rows = min(LANES, stop - first)
        prepare_rows(lanes, rows, precision, first, n_rows, scaled, True)
        for k in range(d):
            missed[k] = lanes.masks[:, k].any()
        products[:] = 0.0
        sums[:] = 0.0
        outer[:] = 0.0
        linear[:] = 0.0
        count[:] = 0.0
        count_observed[:] = 0.0
        count_run[:] = 0.0
        last_column = first + n_rows
        factored = -1
        for tile in range(0, last_column, TILE):
            tile_stop = min(tile + TILE, last_column)
            for lane in range(LANES):
                for j in range(tile, tile_stop):
                    present = lane < n_rows and j <= first + lane
                    tile_weights[(j - tile) * LANES + lane] = (
                        weights[first + lane, j] if present else 0.0
                    )
            n_vectors = 0
            for j in range(tile, tile_stop):
                if (j - tile) % LANES == 0 and any_missing_side(
                    j, min(j + LANES, tile_stop), groups, observed
                ):
                    uncertain_products(
                        lanes, columns_in_lanes, j, d, differences, products, quadratics
                    )
                group = groups[j]
                index = members[group]
                size = sizes[group]
                if factored != group:
                    if factored >= 0 and scaled:
                        target = outer if observed[factored] else sums
                        sign = 1.0 if observed[factored] else -1.0
                        own = members[factored]
                        _add_inverse(target, d, own, sizes[factored], work, count_run, sign)
                    source = inverse if observed[group] else matrix
                    _invert_principal(source, d, index, size, work, scratch, determinant)
                    factored = group
                weight = load8(tile_weights, (j - tile) * LANES)
                if observed[group]:
                    for r in range(size):
                        own = load8(shrunk, index[r] * LANES)
                        difference = subtract8(own, splat8(column_means[j, index[r]]))
                        store8(vector, r * LANES, difference)
                    quadratic = symmetric_products(work, size, vector, solution)
                    log_value = multiply_add8(splat8(0.5), quadratic, load8(observed_part, 0))
                    log_value = add8(log_value, splat8(column_constants[j]))
                    value = over_root_of_determinant(log_value, determinant, scaled)
                    weight = multiply8(weight, value)
                    for r in range(size):
                        q = multiply8(weight, load8(solution, r * LANES))
                        place = index[r] * LANES
                        store8(linear, place, subtract8(load8(linear, place), q))
                        for c in range(r + 1):
                            place = (index[r] * d + index[c]) * LANES
                            entry = load8(outer, place)
                            entry = multiply_add8(q, load8(solution, c * LANES), entry)
                            store8(outer, place, entry)
                    store8(count_observed, 0, add8(weight, load8(count_observed, 0)))
                else:
                    place_of = n_vectors * LANES
                    square = splat8(0.0)
                    for k in range(d):
                        difference = subtract8(load8(means, k * LANES), splat8(column_means[j, k]))
                        store8(vectors, k * TILE * LANES + place_of, difference)
                        square = multiply_add8(difference, difference, square)
                    for r in range(size):
                        feature = index[r]
                        difference = load8(vectors, feature * TILE * LANES + place_of)
                        place = feature * LANES + (j - tile) % LANES
                        product = gather8(products, place, d * LANES)
                        store8(vector, r * LANES, multiply_add8(base_lanes, difference, product))
                    quadratic = symmetric_products(work, size, vector, solution)
                    corner = gather8(quadratics, (j - tile) % LANES, LANES)
                    corner = multiply_add8(base_lanes, square, corner)
                    log_value = multiply_add8(
                        splat8(-0.5), add8(corner, quadratic), load8(row_part, 0)
                    )
                    log_value = add8(log_value, splat8(column_constants[j]))
                    value = over_root_of_determinant(log_value, determinant, scaled)
                    weight = multiply8(weight, value)
                    for r in range(size):
                        place = index[r] * TILE * LANES + place_of
                        entry = add8(load8(vectors, place), load8(solution, r * LANES))
                        store8(vectors, place, entry)
                    for k in range(d):
                        place = k * TILE * LANES + place_of
                        store8(weighted, place, multiply8(weight, load8(vectors, place)))
                    n_vectors += 1
                store8(count, 0, add8(weight, load8(count, 0)))
                store8(count_run, 0, add8(weight, load8(count_run, 0)))
            if n_vectors:
                _add_outer_products(sums, missed, vectors, weighted, n_vectors)
        if scaled:
            target = outer if observed[factored] else sums
            sign = 1.0 if observed[factored] else -1.0
            _add_inverse(target, d, members[factored], sizes[factored], work, count_run, sign)
        if any_observed:
            _add_observed(sums, outer, linear, count_observed, lanes, scaled, solution)
        for lane in range(n_rows):
            block = lanes.blocks[lane * d * d : (lane + 1) * d * d]
            _finish_row(
                totals[first + lane], sums, count[lane], lane, lanes.members[lane],
                lanes.sizes[lane], lanes.masks[lane], block, base, scaled,
            )  # fmt: skip
