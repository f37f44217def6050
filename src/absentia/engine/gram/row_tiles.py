"""Eight rows of a Gram matrix, prepared: what their beliefs contribute to every pair.

Write ``B = C0 + S`` for the smoothed covariance of a row's belief, ``U = inv(B)``, ``G`` for the
precision of the density behind the *columns* and ``H = G + U``. Each pair then needs only a
principal submatrix of ``H`` (what the column misses) or of ``J = inv(H)`` (what it has):
docs/engine.md derives it. In the Euclidean metric ``C0 = I / base`` with ``base = 2 gamma``,
and ``U`` differs from ``base * I`` only inside the columns that the row misses.
"""

from __future__ import annotations

import math

from absentia.engine.compiling import compiled
from absentia.engine.elimination import sweep
from absentia.engine.lanes import (
    LANES,
    add8,
    integer_at,
    load8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
    subtract8,
)

__all__ = [
    "add_precision",
    "euclidean_information",
    "given_information",
    "load_rows",
    "observed_constants",
    "observed_parts",
    "uncertain_parts",
]

_LOG_2 = math.log(2.0)


@compiled(error_model="numpy", inline="always")
def load_rows(row_means, row_groups, row_masks, first, n_rows, means, masks):
    """Load eight rows from ``first`` on: means into lanes, and what each of them misses.

    Behind ``n_rows`` the last row is repeated. Without ``row_masks`` a row misses everything.
    """
    d = row_means.shape[1]
    for lane in range(LANES):
        row = first + min(lane, n_rows - 1)
        for k in range(d):
            means[k * LANES + lane] = row_means[row, k]
            masks[lane, k] = row_masks[row_groups[row], k] if len(row_masks) > 0 else True


@compiled(error_model="numpy")
def euclidean_information(
    masks, precision, base, matrix, missing, index, work, scratch, determinant, log_norm
):
    """Fill ``matrix`` with ``U`` of eight conditioned rows, in the Euclidean metric.

    ``inv(U[K,K]) = I / base + inv(G[K,K])`` on what a row misses, ``base * I`` elsewhere: two
    inversions, both of sums of positive definite matrices, so that nothing cancels whether
    ``base`` is large or small beside ``G``. The lanes miss different columns: on those that any
    of them misses, each matrix is embedded in the identity, which inverts to itself.

    Parameters
    ----------
    masks : bool array of shape (LANES, d)
    precision : array of shape (d, d), ``G`` of the rows' own density
    matrix : flat lanes of d * d groups, to be filled (both triangles)
    missing : flat lanes of d groups, scratch for the masks as ones and zeros
    index : int array of shape (d,), scratch for the columns that any lane misses
    work : flat lanes of d * d groups, scratch
    log_norm : array of LANES doubles, to be filled with ``log det(I + base * S)``
    """
    d = precision.shape[0]
    one = splat8(1.0)
    size = 0
    for k in range(d):
        any_lane = False
        for lane in range(LANES):
            missing[size * LANES + lane] = 1.0 if masks[lane, k] else 0.0
            any_lane = any_lane or masks[lane, k]
        if any_lane:
            index[size] = k
            size += 1
    for r in range(size):
        row = load8(missing, r * LANES)
        for c in range(r):
            both = multiply8(row, load8(missing, c * LANES))
            entry = splat8(precision[index[r], index[c]])
            store8(work, (r * size + c) * LANES, multiply8(entry, both))
        # G on the diagonal where missing, one elsewhere; chosen, for a sum would round a small G.
        own = splat8(precision[index[r], index[r]])
        chosen = multiply_add8(own, row, subtract8(one, row))
        store8(work, (r * size + r) * LANES, chosen)
    sweep(work, size, scratch, determinant)
    for r in range(size):
        row = load8(missing, r * LANES)
        for c in range(r):
            place = (r * size + c) * LANES
            store8(work, place, negate8(load8(work, place)))
        place = (r * size + r) * LANES
        spread = multiply8(row, subtract8(splat8(1.0 / base), load8(work, place)))
        store8(work, place, add8(spread, subtract8(one, row)))
    sweep(work, size, scratch, determinant)
    log_base = math.log(base)
    for lane in range(LANES):
        n_missing = 0.0
        for r in range(size):
            n_missing += missing[r * LANES + lane]
        log_norm[lane] = (
            math.log(determinant[lane]) + determinant[LANES + lane] * _LOG_2 + n_missing * log_base
        )
    matrix[:] = 0.0
    for k in range(d):
        store8(matrix, (k * d + k) * LANES, splat8(base))
    for r in range(size):
        row = load8(missing, r * LANES)
        for c in range(r):
            entry = negate8(load8(work, (r * size + c) * LANES))
            store8(matrix, (index[r] * d + index[c]) * LANES, entry)
            store8(matrix, (index[c] * d + index[r]) * LANES, entry)
        inside = multiply8(row, load8(work, (r * size + r) * LANES))
        entry = subtract8(multiply8(splat8(base), subtract8(one, row)), inside)
        store8(matrix, (index[r] * d + index[r]) * LANES, entry)


@compiled(error_model="numpy", makes_arrays=False)
def given_information(information, row_groups, first, n_rows, matrix):
    """Fill ``matrix`` with ``U`` of eight rows from a table of such matrices."""
    d = information.shape[1]
    for lane in range(LANES):
        group = row_groups[first + min(lane, n_rows - 1)]
        for r in range(d):
            for c in range(d):
                matrix[(r * d + c) * LANES + lane] = information[group, r, c]


@compiled(error_model="numpy", makes_arrays=False)
def _lanes_to_matrix(lanes, lane, index, d, size, base, blocks):
    """Copy ``(U - base * I)[index, index]`` of one lane into its block, contiguous."""
    own = lane * d
    block = lane * d * d
    for r in range(size):
        row = integer_at(index, own + r) * d
        for c in range(size):
            place = row + integer_at(index, own + c)
            blocks[block + r * size + c] = lanes[place * LANES + lane]
        blocks[block + r * size + r] -= base


@compiled(error_model="numpy", inline="always")
def uncertain_parts(matrix, masks, base, with_blocks, index, sizes, blocks):
    """List what each of eight rows misses, and copy ``U - base * I`` on it, where it is needed.

    Parameters
    ----------
    matrix : flat lanes of ``U``
    masks : bool array of shape (LANES, d)
    with_blocks : bool
    index, sizes : int arrays of shape (LANES, d) and (LANES,), to be filled
    blocks : flat array of LANES * d * d doubles, to be filled
    """
    d = masks.shape[1]
    for lane in range(LANES):
        size = 0
        for k in range(d):
            if masks[lane, k]:
                index[lane, size] = k
                size += 1
        sizes[lane] = size
        if with_blocks:
            _lanes_to_matrix(matrix, lane, index, d, size, base, blocks)


@compiled(error_model="numpy", makes_arrays=False)
def add_precision(matrix, precision):
    """Turn ``U`` into ``H = U + G``, in place (both triangles)."""
    d = precision.shape[0]
    for r in range(d):
        for c in range(d):
            place = (r * d + c) * LANES
            store8(
                matrix,
                place,
                add8(splat8(precision[r, c]), load8(matrix, place)),
            )


@compiled(error_model="numpy")
def observed_parts(
    information, precision, means, inverse, scratch, determinant, weighted, shrunk, constant
):
    """Fill ``J``, and per row ``w = J U a`` and ``a' inv(C) a``, for the observed side.

    Parameters
    ----------
    information : flat lanes of ``U``
    precision : array of shape (d, d), ``G`` of the columns' density
    means : flat lanes of d groups: ``a``, relative to the mean of the columns' density
    inverse : flat lanes of d * d groups, to be filled with ``J`` (lower triangle)
    weighted, shrunk : flat lanes of d groups: scratch for ``U a``, and ``w`` to be filled
    constant : array of 2 * LANES doubles, to be filled with ``a' inv(C) a`` and ``log det H``
    """
    d = precision.shape[0]
    for r in range(d):
        for c in range(r + 1):
            place = (r * d + c) * LANES
            entry = add8(splat8(precision[r, c]), load8(information, place))
            store8(inverse, place, entry)
    sweep(inverse, d, scratch, determinant)
    for lane in range(LANES):
        constant[LANES + lane] = math.log(determinant[lane]) + determinant[LANES + lane] * _LOG_2
    for r in range(d):
        total = splat8(0.0)
        for c in range(d):
            entry = load8(information, (r * d + c) * LANES)
            total = multiply_add8(entry, load8(means, c * LANES), total)
        store8(weighted, r * LANES, total)
    for r in range(d):
        for c in range(r + 1):
            place = (r * d + c) * LANES
            store8(inverse, place, negate8(load8(inverse, place)))
    for r in range(d):
        total = splat8(0.0)
        for c in range(d):
            place = r * d + c if r >= c else c * d + r
            entry = load8(inverse, place * LANES)
            total = multiply_add8(entry, load8(weighted, c * LANES), total)
        store8(shrunk, r * LANES, total)
    # a' inv(C) a = w' G a, since inv(C) = U - U J U and G = H - U.
    total = splat8(0.0)
    for r in range(d):
        product = splat8(0.0)
        for c in range(d):
            product = multiply_add8(splat8(precision[r, c]), load8(means, c * LANES), product)
        total = multiply_add8(product, load8(shrunk, r * LANES), total)
    store8(constant, 0, total)


@compiled(error_model="numpy", inline="always")
def observed_constants(row_part, constant, scaled, observed_part):
    """Fill what rows add to the logarithm on the observed side, of :func:`observed_parts`."""
    for lane in range(LANES):
        observed_part[lane] = row_part[lane] - 0.5 * constant[lane]
        if scaled:
            observed_part[lane] -= 0.5 * constant[LANES + lane]
