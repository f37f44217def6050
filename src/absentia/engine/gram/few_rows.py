"""A few rows against many columns: eight *columns* at a time.

``pair_tiles.py`` puts eight rows into the lanes of the vector unit, because then all lanes read the
same submatrix. A single new row leaves seven of them empty. Here the lanes are columns: those that
are computed on the same side and miss (or have) about as many values stand together, in an order
that belongs to the columns alone. The formula is that of ``pair_tiles.py``::

    missing side:   quad = d'Ud - |inv(chol H[L,L]) (Ud)[L]|^2,   log det H[L,L]
    observed side:  quad = a'inv(C)a - b'Gb + |inv(chol J[O,O]) (w - b)[O]|^2,   log det J[O,O]

``H`` and ``J`` belong to the row, so that each lane loads its submatrix entry by entry from *one*
matrix, which stays in the first-level cache. Lanes with less to factor than others are filled up
with rows and columns of the identity, which the matrix has behind its end.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import factor, solve
from absentia.engine.gram.output import over_root_of_determinant
from absentia.engine.gram.row_tiles import euclidean_information, observed_parts
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    gather_at8,
    gather_sum8,
    load8,
    multiply8,
    multiply_add8,
    negate8,
    repeat8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["few_rows"]


@compiled(error_model="numpy", makes_arrays=False)
def _embedded(lanes, lane, precision, stride, matrix):
    """Write the lower triangle of one lane's matrix plus ``precision``, the identity behind it."""
    d = len(precision)
    for r in range(d):
        for c in range(r + 1):
            matrix[r * stride + c] = lanes[(r * d + c) * LANES + lane] + precision[r, c]
    for r in range(d, stride):
        for c in range(r):
            matrix[r * stride + c] = 0.0
        matrix[r * stride + r] = 1.0


@compiled(error_model="numpy", makes_arrays=False)
def _times_differences(block, index, size, differences, images):
    """Add ``V d`` to the images of eight differences ``d``, and return ``d'Vd``.

    ``block`` is ``V[index, index]``, and ``V`` has nothing else.
    """
    quadratic = splat8(0.0)
    r = 0
    while r + 3 < size:
        t0 = splat8(0.0)
        t1 = splat8(0.0)
        t2 = splat8(0.0)
        t3 = splat8(0.0)
        place = r * size
        for c in range(size):
            difference = load8(differences, index[c] * LANES)
            t0 = multiply_add8(repeat8(block, place + c), difference, t0)
            t1 = multiply_add8(repeat8(block, place + size + c), difference, t1)
            t2 = multiply_add8(repeat8(block, place + 2 * size + c), difference, t2)
            t3 = multiply_add8(repeat8(block, place + 3 * size + c), difference, t3)
        i0 = index[r] * LANES
        i1 = index[r + 1] * LANES
        i2 = index[r + 2] * LANES
        i3 = index[r + 3] * LANES
        quadratic = multiply_add8(t0, load8(differences, i0), quadratic)
        quadratic = multiply_add8(t1, load8(differences, i1), quadratic)
        quadratic = multiply_add8(t2, load8(differences, i2), quadratic)
        quadratic = multiply_add8(t3, load8(differences, i3), quadratic)
        store8(images, i0, add8(load8(images, i0), t0))
        store8(images, i1, add8(load8(images, i1), t1))
        store8(images, i2, add8(load8(images, i2), t2))
        store8(images, i3, add8(load8(images, i3), t3))
        r += 4
    while r < size:
        t0 = splat8(0.0)
        for c in range(size):
            difference = load8(differences, index[c] * LANES)
            t0 = multiply_add8(repeat8(block, r * size + c), difference, t0)
        i0 = index[r] * LANES
        quadratic = multiply_add8(t0, load8(differences, i0), quadratic)
        store8(images, i0, add8(load8(images, i0), t0))
        r += 1
    return quadratic


@compiled(error_model="numpy", makes_arrays=False)
def _missing_side(means, at, row_means, row, base, block, index, size, differences, images):
    """Write ``U d`` of one row and eight columns to ``images``, and return ``d'Ud``.

    ``U`` is ``base * I`` and ``block`` on what the row misses.
    """
    d = row_means.shape[1]
    s0 = splat8(0.0)
    s1 = splat8(0.0)
    k = 0
    while k + 1 < d:
        d0 = subtract8(splat8(row_means[row, k]), load8(means, at + k * LANES))
        d1 = subtract8(splat8(row_means[row, k + 1]), load8(means, at + (k + 1) * LANES))
        store8(differences, k * LANES, d0)
        store8(differences, (k + 1) * LANES, d1)
        p0 = multiply8(base, d0)
        p1 = multiply8(base, d1)
        store8(images, k * LANES, p0)
        store8(images, (k + 1) * LANES, p1)
        s0 = multiply_add8(d0, p0, s0)
        s1 = multiply_add8(d1, p1, s1)
        k += 2
    if k < d:
        d0 = subtract8(splat8(row_means[row, k]), load8(means, at + k * LANES))
        store8(differences, k * LANES, d0)
        p0 = multiply8(base, d0)
        store8(images, k * LANES, p0)
        s0 = multiply_add8(d0, p0, s0)
    quadratic = _times_differences(block, index, size, differences, images)
    return add8(add8(s0, s1), quadratic)


@compiled(error_model="numpy", makes_arrays=False)
def _submatrices(matrix, member_rows, members, start, size, dense):
    """Load the lower triangles of eight principal submatrices of one matrix into lanes."""
    for r in range(size):
        for c in range(r + 1):
            entry = gather_sum8(matrix, member_rows, start + r * LANES, members, start + c * LANES)
            store8(dense, (r * size + c) * LANES, entry)


@compiled(error_model="numpy")
def few_rows(
    out,
    accumulate,
    scaled,
    base,
    row_means,
    row_constants,
    row_groups,
    row_masks,
    row_precision,
    column_constants,
    order,
    own_constants,
    means,
    sizes,
    starts,
    observed,
    repeats,
    stride,
    members,
    member_rows,
    member_lanes,
    precision,
    row_bounds,
    column_bounds,
    negligible,
):
    """Fill a Gram matrix of expected RBFs that has few rows.

    Parameters
    ----------
    out : array of shape (n, m)
    accumulate, scaled, row_constants, row_groups, row_masks, row_precision
        As in ``gram_rows``; rows are conditioned and the metric is Euclidean.
    base : float, ``2 gamma``
    row_means : array of shape (n, d), relative to the mean of the columns' density
    column_constants : array of shape (m,), added to the logarithm
    order : int array of shape (n_groups * LANES,)
        Which column is in which lane; minus one in lanes that are left over.
    own_constants : array of shape (n_groups * LANES,)
        What the side of a column adds to the logarithm.
    means : flat lanes of ``n_groups * d`` groups, relative to the mean of their density
    sizes, starts : int arrays of shape (n_groups,)
        How many values are factored, and where in ``members`` they are listed.
    observed : bool array of shape (n_groups,)
        Whether the columns are computed on the observed side.
    repeats : bool array of shape (n_groups,)
        Whether all columns have the patterns of the group before, which are factored already.
    stride : int
        Columns of the table, and as many more as the smallest lane of any group is filled up by.
    members, member_rows, member_lanes : flat lanes of int32
        The columns of the table to factor, ascending; the same times ``stride``; the same times
        ``LANES`` plus the lane.
    precision : array of shape (d, d), of the columns' density
    row_bounds, column_bounds, negligible
        As in ``gram_rows``.
    """
    n, d = row_means.shape
    most = 0
    any_observed = False
    for group in range(len(sizes)):
        most = max(most, sizes[group])
        any_observed = any_observed or observed[group]
    matrix = aligned_empty(d * d * LANES)
    inverse = aligned_empty(d * d * LANES if any_observed else 0)
    work = aligned_empty(d * d * LANES)
    scratch = aligned_empty(d * LANES)
    determinant = aligned_empty(2 * LANES)
    log_norm = np.zeros(LANES)
    constant = aligned_empty(2 * LANES)
    row_lanes = aligned_empty(d * LANES)
    shrunk = aligned_empty(d * LANES)
    vector = aligned_empty((d + 1) * LANES)
    index = np.empty(d, dtype=np.intp)
    masks = np.empty((LANES, d), dtype=np.bool_)
    H = aligned_empty(stride * stride)
    J = aligned_empty(stride * stride if any_observed else 0)
    block = np.empty(d * d)
    differences = aligned_empty(d * LANES)
    images = aligned_empty(stride * LANES)
    dense = aligned_empty(most * most * LANES)
    pivots = aligned_empty(d * LANES)
    everything = np.arange(most)
    values = aligned_empty(LANES)
    nothing = np.zeros((d, d))
    base_lanes = splat8(base)
    images[:] = 0.0
    for first in range(0, n, LANES):
        n_rows = min(LANES, n - first)
        for lane in range(LANES):
            row = first + min(lane, n_rows - 1)
            for k in range(d):
                row_lanes[k * LANES + lane] = row_means[row, k]
                masks[lane, k] = row_masks[row_groups[row], k]
        euclidean_information(
            masks,
            row_precision,
            base,
            matrix,
            vector,
            index,
            work,
            scratch,
            determinant,
            log_norm,
        )
        if any_observed:
            observed_parts(
                matrix,
                precision,
                row_lanes,
                inverse,
                scratch,
                determinant,
                vector,
                shrunk,
                constant,
            )
        for lane in range(n_rows):
            row = first + lane
            row_part = row_constants[row] - (0.5 * log_norm[lane] if scaled else 0.0)
            observed_part = row_part
            size = 0
            for k in range(d):
                if masks[lane, k]:
                    index[size] = k
                    size += 1
            for r in range(size):
                for c in range(size):
                    block[r * size + c] = matrix[(index[r] * d + index[c]) * LANES + lane]
                block[r * size + r] -= base
            _embedded(matrix, lane, precision, stride, H)
            if any_observed:
                _embedded(inverse, lane, nothing, stride, J)
                observed_part -= 0.5 * constant[lane]
                if scaled:
                    observed_part -= 0.5 * constant[LANES + lane]
            factored = -2
            for group in range(len(sizes)):
                here = group * LANES
                counts = not accumulate
                for other in range(LANES):
                    j = order[here + other]
                    if not counts and j >= 0:
                        bound = row_bounds[row] * column_bounds[j]
                        counts = bound > negligible * out[row, j]
                if not counts:
                    continue
                at = here * d
                start = starts[group]
                count = sizes[group]
                if not (repeats[group] and factored == group - 1):
                    chosen = J if observed[group] else H
                    _submatrices(chosen, member_rows, members, start, count, dense)
                    factor(dense, count, everything, count, work, pivots, determinant)
                factored = group
                if observed[group]:
                    for k in range(d):
                        own = splat8(shrunk[k * LANES + lane])
                        store8(images, k * LANES, subtract8(own, load8(means, at + k * LANES)))
                    corner = splat8(0.0)
                else:
                    corner = _missing_side(
                        means,
                        at,
                        row_means,
                        row,
                        base_lanes,
                        block,
                        index,
                        size,
                        differences,
                        images,
                    )
                for r in range(count):
                    own = gather_at8(images, member_lanes, start + r * LANES)
                    store8(vector, r * LANES, own)
                quadratic = solve(work, pivots, count, vector, corner)
                part = row_part
                if observed[group]:
                    # solve() returns minus the squared length that the observed side adds.
                    quadratic = negate8(quadratic)
                    part = observed_part
                log_value = multiply_add8(splat8(-0.5), quadratic, splat8(part))
                log_value = add8(log_value, load8(own_constants, here))
                for other in range(LANES):
                    j = max(0, order[here + other])
                    values[other] = column_constants[j]
                log_value = add8(log_value, load8(values, 0))
                store8(values, 0, over_root_of_determinant(log_value, determinant, scaled))
                for other in range(LANES):
                    j = order[here + other]
                    if j < 0:
                        continue
                    if not accumulate:
                        out[row, j] = values[other]
                    elif row_bounds[row] * column_bounds[j] > negligible * out[row, j]:
                        out[row, j] += values[other]
