"""Expected RBFs of beliefs that are factors and noise, one row times eight columns at a time.

The slow twin is ``tests/oracles/kernels.py``; ``docs/engine.md`` derives the formula. The
covariance of a difference is ``V = D + U inv(G) U'`` with ``D`` diagonal, ``U`` the loadings on
what either row misses and ``G = blockdiag(G_i, G_j)``, so that a pair needs one system of as many
equations as both rows have factors::

    quad    = d' inv(D) d - r' inv(M) r,   r = U' inv(D) d,   M = G + U' inv(D) U
    log det = log det D + log det M - log det G_i - log det G_j

``U' inv(D) U`` differs from sums that belong to one row by sums over the columns that both miss;
these come as ``overlaps``, a product of matrices.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor
from absentia.engine.gram.products import over_root_of_determinant
from absentia.engine.lanes import (
    LANES,
    add8,
    add_products,
    aligned_empty,
    load8,
    multiply8,
    multiply_add8,
    no_products,
    splat8,
    store8,
    subtract8,
)


@compiled(error_model="numpy", makes_arrays=False)
def _project(loadings, index, size, scaled, vector, first):
    """Write the sums of ``loadings[k]' scaled[k]`` over ``index[:size]`` to ``vector[first:]``.

    Five factors at a time, as many sums as there are registers for, so that what is scaled is read
    once for all of them.
    """
    q = loadings.shape[1]
    c = 0
    while c + 4 < q:
        sums = no_products()
        for place in range(size):
            k = index[place]
            sums = add_products(sums, loadings, k * q + c, 1, load8(scaled, k * LANES))
        t0, t1, t2, t3, t4 = sums
        store8(vector, (first + c) * LANES, t0)
        store8(vector, (first + c + 1) * LANES, t1)
        store8(vector, (first + c + 2) * LANES, t2)
        store8(vector, (first + c + 3) * LANES, t3)
        store8(vector, (first + c + 4) * LANES, t4)
        c += 5
    while c < q:
        t0 = splat8(0.0)
        for place in range(size):
            k = index[place]
            t0 = multiply_add8(splat8(loadings[k, c]), load8(scaled, k * LANES), t0)
        store8(vector, (first + c) * LANES, t0)
        c += 1


@compiled(error_model="numpy")
def factor_tile(target, top, rows, columns, column_constants, overlaps, places, bounds):
    """Fill a tile of a Gram matrix of expected RBFs: a few rows, so that columns stay in the cache.

    ``rows`` is a RowPanel from row ``top`` on, ``columns`` a ColumnTile. ``overlaps`` (n_rows,
    n_terms, at least n_groups * LANES) are sums over what both miss, the last of them twice the
    part of the logarithm; not read for a complete row. ``places`` numbers them in the two diagonal
    blocks and in the block between them.
    """
    out, _, symmetric, accumulate, scaled = target
    means, constants, missing, n_missing, weights, slopes, loadings, precisions = rows
    left, n_columns, column_means, column_masks, column_loadings, column_precisions = columns
    own_place, other_place, cross_place = places
    row_bounds, column_bounds, negligible = bounds
    n_rows, d = means.shape
    n_terms = overlaps.shape[1]
    most = loadings.shape[1]
    p = column_loadings.shape[1]
    index = np.arange(most + p).reshape(1, -1)
    everything = np.arange(d)
    scaled_difference = aligned_empty(d * LANES)
    masked = aligned_empty(d * LANES)
    matrix = aligned_empty((most + p) * (most + p) * LANES)
    work = aligned_empty((most + p) * (most + p) * LANES)
    pivots = aligned_empty((most + p) * LANES)
    vector = aligned_empty((most + p) * LANES)
    determinant = aligned_empty(2 * LANES)
    values = np.empty(LANES)
    for group in range(len(column_means)):
        j = group * LANES
        others = column_means[group]
        other_masks = column_masks[group]
        for row in range(n_rows):
            stop = min(n_columns, top + row + 1 - left) if symmetric else n_columns
            if j >= stop:
                continue
            counts = not accumulate
            for lane in range(min(LANES, stop - j) if accumulate else 0):
                bound = row_bounds[row] * column_bounds[j + lane]
                if bound > negligible * out[top + row, left + j + lane]:
                    counts = True
            if not counts:
                continue
            both = n_missing[row] > 0
            q = most if both else 0
            size = q + p
            corner = splat8(0.0)
            for k in range(d):
                difference = subtract8(splat8(means[row, k]), load8(others, k * LANES))
                mask = load8(other_masks, k * LANES)
                weight = multiply_add8(splat8(slopes[row, k]), mask, splat8(weights[row, k]))
                product = multiply8(difference, weight)
                corner = multiply_add8(difference, product, corner)
                store8(scaled_difference, k * LANES, product)
                store8(masked, k * LANES, multiply8(product, mask))
            own = overlaps[row]
            if both:
                _project(loadings, missing[row], n_missing[row], scaled_difference, vector, 0)
                for r in range(q):
                    for c in range(r + 1):
                        entry = splat8(precisions[row, r, c])
                        entry = subtract8(entry, load8(own[own_place[r, c]], j))
                        store8(matrix, (r * size + c) * LANES, entry)
            _project(column_loadings, everything, d, masked, vector, q)
            for r in range(p):
                for c in range(q):
                    entry = load8(own[cross_place[c, r]], j)
                    store8(matrix, ((q + r) * size + c) * LANES, entry)
                for c in range(r + 1):
                    entry = load8(column_precisions[group], (r * (r + 1) // 2 + c) * LANES)
                    if both:
                        entry = subtract8(entry, load8(own[other_place[r, c]], j))
                    store8(matrix, ((q + r) * size + q + c) * LANES, entry)
            quadratic = factor(
                matrix, size, index, np.intp(0), size, work, pivots, determinant, False, vector,
                corner, -np.inf,
            )  # fmt: skip
            log_value = add8(splat8(constants[row]), load8(column_constants[group], 0))
            log_value = multiply_add8(splat8(-0.5), quadratic, log_value)
            if both and scaled:
                log_value = multiply_add8(splat8(-0.5), load8(own[n_terms - 1], j), log_value)
            store8(values, 0, over_root_of_determinant(log_value, determinant, scaled))
            for lane in range(min(LANES, stop - j)):
                column = left + j + lane
                if accumulate:
                    # One by one, so that an entry does not depend on the columns around it.
                    bound = row_bounds[row] * column_bounds[j + lane]
                    if bound > negligible * out[top + row, column]:
                        out[top + row, column] += values[lane]
                else:
                    out[top + row, column] = values[lane]
