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
from absentia.engine.gram.output import TILE, over_root_of_determinant
from absentia.engine.gram.pair_tiles import (
    any_missing_side,
    uncertain_products,
)
from absentia.engine.gram.row_tiles import (
    add_precision,
    euclidean_information,
    load_rows,
    observed_constants,
    observed_parts,
    uncertain_parts,
)
from absentia.engine.gram.width_sums import (
    add_inverse,
    add_outer_products,
    invert_principal,
    solved,
    symmetric_entry,
)
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

__all__ = ["width_rows"]


@compiled(error_model="numpy", makes_arrays=False)
def _add_observed(
    sums, outer, linear, sum_observed, inverse, means, shrunk, scaled, work, offset, along
):
    """Add what columns on the observed side contribute, from their sums, to those of the row."""
    d = len(means) // LANES
    for r in range(d):
        for c in range(d):
            total = splat8(0.0)
            for k in range(d):
                total = multiply_add8(
                    symmetric_entry(outer, d, r, k), symmetric_entry(inverse, d, k, c), total
                )
            store8(work, (r * d + c) * LANES, total)
    for r in range(d):
        store8(offset, r * LANES, subtract8(load8(means, r * LANES), load8(shrunk, r * LANES)))
        total = splat8(0.0)
        for k in range(d):
            total = multiply_add8(
                symmetric_entry(inverse, d, r, k), load8(linear, k * LANES), total
            )
        store8(along, r * LANES, total)
    count = load8(sum_observed, 0)
    for r in range(d):
        own = load8(offset, r * LANES)
        for c in range(r + 1):
            other = load8(offset, c * LANES)
            total = load8(sums, (r * d + c) * LANES)
            for k in range(d):
                total = multiply_add8(
                    symmetric_entry(inverse, d, r, k), load8(work, (k * d + c) * LANES), total
                )
            total = multiply_add8(own, load8(along, c * LANES), total)
            total = multiply_add8(other, load8(along, r * LANES), total)
            constant = multiply8(own, other)
            if scaled:
                constant = add8(constant, symmetric_entry(inverse, d, r, c))
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
def width_rows(
    start,
    stop,
    totals,
    weights,
    scaled,
    base,
    row_means,
    row_constants,
    row_groups,
    row_masks,
    row_precision,
    columns,
    columns_in_lanes,
    column_constants,
    run_starts,
    run_index,
    run_sizes,
    run_observed,
    precision,
):
    """Add ``sum_j weights[i, j] d k_ij / d log c`` to ``totals[i]``, rows ``start`` to ``stop``.

    Rows and columns are the same rows; a row is paired with the columns up to itself. Parameters
    that are not listed are those of ``gram_rows``.

    Parameters
    ----------
    totals : array of shape (n, d)
    weights : array of shape (n, n)
        Of the entries below the diagonal and on it; what is above is never read.
    """
    d = row_means.shape[1]
    any_observed = False
    for run in range(len(run_sizes)):
        if run_observed[run]:
            any_observed = True
    matrix = aligned_empty(d * d * LANES)
    inverse = aligned_empty(d * d * LANES if any_observed else 0)
    index_scratch = np.empty(d, dtype=np.intp)
    scratch = aligned_empty(d * LANES)
    determinant = aligned_empty(2 * LANES)
    log_norm = np.zeros(LANES)
    constant = aligned_empty(2 * LANES)
    means = aligned_empty(d * LANES)
    shrunk = aligned_empty(d * LANES)
    vector = aligned_empty((d + 1) * LANES)
    solution = aligned_empty(d * LANES)
    work = aligned_empty(d * d * LANES)
    products = aligned_empty(LANES * d * LANES)
    quadratics = aligned_empty(LANES * LANES)
    differences = aligned_empty(d * LANES)
    blocks = np.empty(LANES * d * d)
    block_index = np.zeros((LANES, d), dtype=np.intp)
    block_sizes = np.zeros(LANES, dtype=np.intp)
    block_masks = np.zeros((LANES, d), dtype=np.bool_)
    row_part = np.empty(LANES)
    observed_part = np.empty(LANES)
    tile_weights = aligned_empty(TILE * LANES)
    vectors = aligned_empty(d * TILE * LANES)
    weighted = aligned_empty(d * TILE * LANES)
    sums = aligned_empty(d * d * LANES)
    outer = aligned_empty(d * d * LANES if any_observed else 0)
    linear = aligned_empty(d * LANES)
    count = np.empty(LANES)
    count_observed = np.empty(LANES)
    count_run = np.empty(LANES)
    base_lanes = splat8(base)
    for first in range(start, stop, LANES):
        n_rows = min(LANES, stop - first)
        load_rows(row_means, row_groups, row_masks, first, n_rows, means, block_masks)
        euclidean_information(
            block_masks,
            row_precision,
            base,
            matrix,
            vector,
            index_scratch,
            work,
            scratch,
            determinant,
            log_norm,
        )
        for lane in range(LANES):
            row = first + min(lane, n_rows - 1)
            row_part[lane] = row_constants[row] - (0.5 * log_norm[lane] if scaled else 0.0)
        uncertain_parts(matrix, block_masks, base, True, block_index, block_sizes, blocks)
        if any_observed:
            observed_parts(
                matrix, precision, means, inverse, scratch, determinant, vector, shrunk, constant
            )
            observed_constants(row_part, constant, scaled, observed_part)
        add_precision(matrix, precision)
        products[:] = 0.0
        sums[:] = 0.0
        outer[:] = 0.0
        linear[:] = 0.0
        count[:] = 0.0
        count_observed[:] = 0.0
        count_run[:] = 0.0
        last_column = first + n_rows
        run = 0
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
                while j >= run_starts[run + 1]:
                    run += 1
                if (j - tile) % LANES == 0 and any_missing_side(
                    run, min(j + LANES, tile_stop), run_starts, run_observed
                ):
                    uncertain_products(
                        means,
                        columns_in_lanes,
                        j,
                        block_index,
                        d,
                        block_sizes,
                        blocks,
                        differences,
                        products,
                        quadratics,
                    )
                if factored != run:
                    if factored >= 0 and scaled:
                        target = outer if run_observed[factored] else sums
                        sign = 1.0 if run_observed[factored] else -1.0
                        add_inverse(
                            target,
                            d,
                            run_index[factored],
                            run_sizes[factored],
                            work,
                            count_run,
                            sign,
                        )
                    source = inverse if run_observed[run] else matrix
                    invert_principal(
                        source, d, run_index[run], run_sizes[run], work, scratch, determinant
                    )
                    factored = run
                index = run_index[run]
                size = run_sizes[run]
                weight = load8(tile_weights, (j - tile) * LANES)
                if run_observed[run]:
                    for r in range(size):
                        feature = index[r]
                        target8 = splat8(columns[j, feature])
                        store8(
                            vector, r * LANES, subtract8(load8(shrunk, feature * LANES), target8)
                        )
                    quadratic = solved(work, size, vector, solution)
                    log_value = multiply_add8(splat8(-0.5), quadratic, load8(observed_part, 0))
                    log_value = add8(log_value, splat8(column_constants[j]))
                    weight = multiply8(
                        weight, over_root_of_determinant(log_value, determinant, scaled)
                    )
                    for r in range(size):
                        q = multiply8(weight, load8(solution, r * LANES))
                        place = index[r] * LANES
                        store8(linear, place, add8(q, load8(linear, place)))
                        for c in range(r + 1):
                            place = (index[r] * d + index[c]) * LANES
                            store8(
                                outer,
                                place,
                                multiply_add8(q, load8(solution, c * LANES), load8(outer, place)),
                            )
                    store8(count_observed, 0, add8(weight, load8(count_observed, 0)))
                else:
                    own = n_vectors * LANES
                    square = splat8(0.0)
                    for k in range(d):
                        difference = subtract8(load8(means, k * LANES), splat8(columns[j, k]))
                        store8(vectors, k * TILE * LANES + own, difference)
                        square = multiply_add8(difference, difference, square)
                    for r in range(size):
                        feature = index[r]
                        difference = load8(vectors, feature * TILE * LANES + own)
                        place = feature * LANES + (j - tile) % LANES
                        product = gather8(products, place, d * LANES)
                        store8(vector, r * LANES, multiply_add8(base_lanes, difference, product))
                    quadratic = solved(work, size, vector, solution)
                    corner = gather8(quadratics, (j - tile) % LANES, LANES)
                    corner = multiply_add8(base_lanes, square, corner)
                    log_value = multiply_add8(
                        splat8(-0.5), subtract8(corner, quadratic), load8(row_part, 0)
                    )
                    log_value = add8(log_value, splat8(column_constants[j]))
                    weight = multiply8(
                        weight, over_root_of_determinant(log_value, determinant, scaled)
                    )
                    for r in range(size):
                        place = index[r] * TILE * LANES + own
                        entry = subtract8(load8(vectors, place), load8(solution, r * LANES))
                        store8(vectors, place, entry)
                    for k in range(d):
                        place = k * TILE * LANES + own
                        store8(weighted, place, multiply8(weight, load8(vectors, place)))
                    n_vectors += 1
                store8(count, 0, add8(weight, load8(count, 0)))
                store8(count_run, 0, add8(weight, load8(count_run, 0)))
            if n_vectors:
                add_outer_products(sums, d, vectors, weighted, n_vectors)
        if scaled:
            target = outer if run_observed[factored] else sums
            sign = 1.0 if run_observed[factored] else -1.0
            add_inverse(target, d, run_index[factored], run_sizes[factored], work, count_run, sign)
        if any_observed:
            _add_observed(
                sums,
                outer,
                linear,
                count_observed,
                inverse,
                means,
                shrunk,
                scaled,
                work,
                vector,
                solution,
            )
        for lane in range(n_rows):
            _finish_row(
                totals[first + lane],
                sums,
                count[lane],
                lane,
                block_index[lane],
                block_sizes[lane],
                block_masks[lane],
                blocks[lane * d * d : (lane + 1) * d * d],
                base,
                scaled,
            )
