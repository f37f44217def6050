"""Rows times columns: the expected RBF of every pair, eight rows at a time.

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
from absentia.engine.gram.output import TILE, over_root_of_determinant, write_tile
from absentia.engine.gram.row_tiles import (
    add_precision,
    euclidean_information,
    given_information,
    load_rows,
    observed_constants,
    observed_parts,
    uncertain_parts,
)
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    gather8,
    integer_at,
    load8,
    multiply8,
    multiply_add8,
    repeat8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["TILE", "any_missing_side", "gram_rows", "uncertain_products"]


@compiled(error_model="numpy", makes_arrays=False)
def any_missing_side(run, stop, run_starts, run_observed):
    """Return whether a run from ``run`` on that begins before column ``stop`` needs products."""
    while run < len(run_observed) and run_starts[run] < stop:
        if not run_observed[run]:
            return True
        run += 1
    return False


@compiled(error_model="numpy", makes_arrays=False)
def uncertain_products(
    means, columns_in_lanes, first, index, d, sizes, blocks, differences, products, quadratics
):
    """Multiply ``V = U - base * I`` of eight rows with their differences to eight columns.

    ``products[(lane * d + feature) * LANES + j]`` receives ``(V d)[feature]`` for the features
    that the row of a lane misses, and ``quadratics[lane * LANES + j]`` receives ``d'Vd``, for the
    columns from ``first`` on. The lanes are columns here, so that nothing need be gathered; and
    they are no more than eight, so that the products stay in the first-level cache.
    """
    for lane in range(LANES):
        own = lane * d
        block = lane * d * d
        size = sizes[lane]
        for r in range(size):
            feature = integer_at(index, own + r)
            column = load8(columns_in_lanes, first * d + feature * LANES)
            centre = repeat8(means, feature * LANES + lane)
            store8(differences, r * LANES, subtract8(centre, column))
        r = 0
        while r < size and size > 4:
            # The last five may overlap the ones before: computed again, to the same bits.
            r = min(r, size - 5)
            t0 = splat8(0.0)
            t1 = splat8(0.0)
            t2 = splat8(0.0)
            t3 = splat8(0.0)
            t4 = splat8(0.0)
            place = block + r * size
            for c in range(size):
                difference = load8(differences, c * LANES)
                t0 = multiply_add8(repeat8(blocks, place + c), difference, t0)
                t1 = multiply_add8(repeat8(blocks, place + size + c), difference, t1)
                t2 = multiply_add8(repeat8(blocks, place + 2 * size + c), difference, t2)
                t3 = multiply_add8(repeat8(blocks, place + 3 * size + c), difference, t3)
                t4 = multiply_add8(repeat8(blocks, place + 4 * size + c), difference, t4)
            store8(products, (own + integer_at(index, own + r)) * LANES, t0)
            store8(products, (own + integer_at(index, own + r + 1)) * LANES, t1)
            store8(products, (own + integer_at(index, own + r + 2)) * LANES, t2)
            store8(products, (own + integer_at(index, own + r + 3)) * LANES, t3)
            store8(products, (own + integer_at(index, own + r + 4)) * LANES, t4)
            r += 5
        while r < size:
            t0 = splat8(0.0)
            place = block + r * size
            for c in range(size):
                difference = load8(differences, c * LANES)
                t0 = multiply_add8(repeat8(blocks, place + c), difference, t0)
            store8(products, (own + integer_at(index, own + r)) * LANES, t0)
            r += 1
        quadratic = splat8(0.0)
        for r in range(size):
            product = load8(products, (own + integer_at(index, own + r)) * LANES)
            quadratic = multiply_add8(product, load8(differences, r * LANES), quadratic)
        store8(quadratics, lane * LANES, quadratic)


@compiled(error_model="numpy")
def gram_rows(
    start,
    stop,
    out,
    first_column,
    symmetric,
    accumulate,
    mirror,
    scaled,
    base,
    row_means,
    row_constants,
    row_groups,
    row_masks,
    row_precision,
    row_information,
    columns,
    columns_in_lanes,
    column_constants,
    run_starts,
    run_index,
    run_sizes,
    run_observed,
    precision,
    row_bounds,
    column_bounds,
    negligible,
):
    """Fill rows ``start`` to ``stop`` of a Gram matrix of expected RBFs.

    Parameters
    ----------
    out : array of shape (n, m)
    first_column : int
        Where in ``out`` the columns begin.
    symmetric : bool
        Rows and columns are the same: only columns up to the row are computed.
    accumulate : bool
        Add to ``out`` instead of writing it (further components of a mixture).
    mirror : bool
        Copy what is computed to above the diagonal (the last component of a symmetric matrix).
    scaled : bool
        Keep the determinants; without them the unscaled form of [Anderson2011]_.
    base : float
        ``2 gamma`` in the Euclidean metric; zero when ``row_information`` is given.
    row_means : array of shape (n, d), relative to the mean of the columns' density
    row_constants : array of shape (n,), added to the logarithm
    row_groups : int array of shape (n,), into ``row_masks`` or ``row_information``
    row_masks : bool array of shape (n_groups, d)
    row_precision : array of shape (d, d), of the rows' own density
    row_information : array of shape (n_groups, d, d), or empty
        ``inv(C0 + S)`` of each group, where the metric or the covariance is a general one.
    columns : array of shape (m - first_column, d), relative to the mean of their density
    columns_in_lanes : flat lanes, the same as ``row_products.in_lanes`` has it
        Filled up with zeros to a multiple of ``TILE`` columns.
    column_constants : array of shape (m,), added to the logarithm
    run_starts : int array of shape (n_runs + 1,)
        Neighbouring columns with one pattern form a run; each run is factored once.
    run_index : int array of shape (n_runs, d)
        The columns that a run misses (or has), ascending, in its first ``run_sizes`` entries.
    run_observed : bool array of shape (n_runs,)
        Whether a run is computed on the observed side.
    precision : array of shape (d, d), of the columns' density
    row_bounds, column_bounds : arrays of shape (n,) and (m - first_column,)
        What is added to an entry is at most their product.
    negligible : float
        Where it accumulates, additions of less than this share of an entry are left out.
    """
    d = row_means.shape[1]
    m = len(columns)
    conditioned = len(row_information) == 0
    any_observed = False
    any_missing = False
    for run in range(len(run_sizes)):
        if run_observed[run]:
            any_observed = True
        else:
            any_missing = True
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
    work = aligned_empty(d * d * LANES)
    pivots = aligned_empty(d * LANES)
    products = aligned_empty(LANES * d * LANES)
    quadratics = aligned_empty(LANES * LANES)
    differences = aligned_empty(d * LANES)
    blocks = np.empty(LANES * d * d)
    block_index = np.zeros((LANES, d), dtype=np.intp)
    block_sizes = np.zeros(LANES, dtype=np.intp)
    block_masks = np.zeros((LANES, d), dtype=np.bool_)
    row_part = np.empty(LANES)
    observed_part = np.empty(LANES)
    values = aligned_empty(TILE * LANES)
    counts = np.empty(TILE, dtype=np.bool_)
    base_lanes = splat8(base)
    for first in range(start, stop, LANES):
        n_rows = min(LANES, stop - first)
        load_rows(row_means, row_groups, row_masks, first, n_rows, means, block_masks)
        if conditioned:
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
        else:
            given_information(row_information, row_groups, first, n_rows, matrix)
        for lane in range(LANES):
            row = first + min(lane, n_rows - 1)
            row_part[lane] = row_constants[row] - (0.5 * log_norm[lane] if scaled else 0.0)
        uncertain_parts(matrix, block_masks, base, any_missing, block_index, block_sizes, blocks)
        if any_observed:
            observed_parts(
                matrix,
                precision,
                means,
                inverse,
                scratch,
                determinant,
                vector,
                shrunk,
                constant,
            )
            observed_constants(row_part, constant, scaled, observed_part)
        add_precision(matrix, precision)
        products[:] = 0.0
        last_column = min(m, first + n_rows - first_column) if symmetric else m
        run = 0
        factored = -1
        for tile in range(0, last_column, TILE):
            tile_stop = min(tile + TILE, last_column)
            any_counts = False
            for j in range(tile, tile_stop):
                counts[j - tile] = not accumulate
                if accumulate:
                    # Above the diagonal nothing has been written.
                    start_row = max(first, first_column + j) if symmetric else first
                    for row in range(start_row, first + n_rows):
                        bound = row_bounds[row] * column_bounds[j]
                        if bound > negligible * out[row, first_column + j]:
                            counts[j - tile] = True
                            break
                any_counts = any_counts or counts[j - tile]
            for j in range(tile, tile_stop):
                while j >= run_starts[run + 1]:
                    run += 1
                if (
                    any_counts
                    and (j - tile) % LANES == 0
                    and any_missing_side(run, min(j + LANES, tile_stop), run_starts, run_observed)
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
                if not counts[j - tile]:
                    store8(values, (j - tile) * LANES, splat8(0.0))
                    continue
                at = run * d
                size = run_sizes[run]
                observed = run_observed[run]
                if observed:
                    corner = splat8(0.0)
                    for r in range(size):
                        feature = integer_at(run_index, at + r)
                        target = repeat8(columns, j * d + feature)
                        store8(vector, r * LANES, subtract8(load8(shrunk, feature * LANES), target))
                else:
                    corner = gather8(quadratics, (j - tile) % LANES, LANES)
                    if base > 0.0:
                        s0 = splat8(0.0)
                        s1 = splat8(0.0)
                        own = j * d
                        k = 0
                        while k + 1 < d:
                            d0 = subtract8(load8(means, k * LANES), repeat8(columns, own + k))
                            d1 = subtract8(
                                load8(means, (k + 1) * LANES), repeat8(columns, own + k + 1)
                            )
                            s0 = multiply_add8(d0, d0, s0)
                            s1 = multiply_add8(d1, d1, s1)
                            k += 2
                        if k < d:
                            d0 = subtract8(load8(means, k * LANES), repeat8(columns, own + k))
                            s0 = multiply_add8(d0, d0, s0)
                        corner = multiply_add8(base_lanes, add8(s0, s1), corner)
                    for r in range(size):
                        feature = integer_at(run_index, at + r)
                        target = repeat8(columns, j * d + feature)
                        difference = subtract8(load8(means, feature * LANES), target)
                        place = feature * LANES + (j - tile) % LANES
                        product = gather8(products, place, d * LANES)
                        store8(vector, r * LANES, multiply_add8(base_lanes, difference, product))
                if factored == run:
                    quadratic = solve(work, pivots, size, vector, corner)
                else:
                    source = inverse if observed else matrix
                    store8(vector, size * LANES, corner)
                    factor(source, d, run_index, size, work, pivots, determinant, False, at, vector)
                    quadratic = load8(vector, size * LANES)
                    factored = run
                if observed:
                    # What comes back is minus the squared length that the observed side adds.
                    quadratic = multiply8(splat8(-1.0), quadratic)
                    log_value = load8(observed_part, 0)
                else:
                    log_value = load8(row_part, 0)
                log_value = multiply_add8(splat8(-0.5), quadratic, log_value)
                log_value = add8(log_value, splat8(column_constants[j]))
                value = over_root_of_determinant(log_value, determinant, scaled)
                store8(values, (j - tile) * LANES, value)
                if accumulate:
                    # One by one, so that an entry does not depend on the rows around it.
                    start_row = max(first, first_column + j) if symmetric else first
                    for row in range(start_row, first + n_rows):
                        bound = row_bounds[row] * column_bounds[j]
                        if not bound > negligible * out[row, first_column + j]:
                            values[(j - tile) * LANES + row - first] = 0.0
            write_tile(
                out,
                values,
                first,
                n_rows,
                first_column + tile,
                first_column + tile_stop,
                symmetric,
                accumulate,
                mirror,
            )
