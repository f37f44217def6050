"""Eight rows of a Gram matrix, prepared: what their beliefs contribute to every pair.

Write ``B = C0 + S`` for the smoothed covariance of a row's belief, ``U = inv(B)``, ``G`` for the
precision of the density behind the *columns* and ``H = G + U``. Each pair then needs only a
principal submatrix of ``H`` (what the column misses) or of ``J = inv(H)`` (what it has):
docs/engine.md derives it. In the Euclidean metric ``C0 = I / base`` with ``base = 2 gamma``,
and ``U`` differs from ``base * I`` only inside the columns that the row misses.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.elimination import log_determinant_in, sweep, symmetric_products
from absentia.engine.lanes import (
    LANES,
    add8,
    aligned_empty,
    load8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
    subtract8,
)


class RowLanes(NamedTuple):
    """Workspace of eight rows; groups of lanes are flat arrays."""

    means: Any  # d groups, relative to the mean of the columns' density
    matrix: Any  # d * d groups, ``H``, both triangles
    inverse: Any  # ``J``, lower triangle; empty where no column is on the observed side
    shrunk: Any  # d groups, ``w = J U a``
    row_part: Any  # one group, terms of the logarithm that belong to the row, missing side
    observed_part: Any  # the same, observed side
    masks: Any  # bool, (LANES, d), what the rows miss
    members: Any  # int, (LANES, d), the same as a list
    sizes: Any  # int, (LANES,)
    blocks: Any  # flat, ``U - base * I`` on what a row misses, from ``lane * d * d`` on
    log_norm: Any  # this and what follows is scratch
    constant: Any
    determinant: Any
    scratch: Any
    vector: Any  # d + 1 groups, free between calls
    work: Any  # d * d groups, free between calls
    any_missing: Any


@compiled()
def row_lanes(d, with_observed):
    """Return the workspace of eight rows of ``d`` columns."""
    return RowLanes(
        aligned_empty(d * LANES),
        aligned_empty(d * d * LANES),
        aligned_empty(d * d * LANES if with_observed else 0),
        aligned_empty(d * LANES),
        np.empty(LANES),
        np.empty(LANES),
        np.zeros((LANES, d), dtype=np.bool_),
        np.zeros((LANES, d), dtype=np.intp),
        np.zeros(LANES, dtype=np.intp),
        np.empty(LANES * d * d),
        np.zeros(LANES),
        aligned_empty(2 * LANES),
        aligned_empty(2 * LANES),
        aligned_empty(d * LANES),
        aligned_empty((d + 1) * LANES),
        aligned_empty(d * d * LANES),
        np.empty(d, dtype=np.intp),
    )


@compiled(error_model="numpy", inline="always")
def prepare_rows(lanes, rows, precision, first, n_rows, scaled, with_blocks):
    """Fill RowLanes with eight LaneRows from ``first`` on; the last of ``n_rows`` is repeated.

    ``precision`` is that of the columns' density; the missing side needs ``with_blocks``.
    """
    means, matrix, masks, index = lanes.means, lanes.matrix, lanes.masks, lanes.members
    row_means, row_masks = rows.means, rows.masks
    groups, information = rows.groups, rows.information
    d = row_means.shape[1]
    for lane in range(LANES):
        row = first + min(lane, n_rows - 1)
        for k in range(d):
            means[k * LANES + lane] = row_means[row, k]
            # Without masks a row misses everything.
            masks[lane, k] = row_masks[groups[row], k] if len(row_masks) > 0 else True
    if len(information) == 0:
        _euclidean_information(rows.precision, rows.base, lanes)
    else:
        for lane in range(LANES):
            group = groups[first + min(lane, n_rows - 1)]
            for r in range(d):
                for c in range(d):
                    matrix[(r * d + c) * LANES + lane] = information[group, r, c]
    for lane in range(LANES):
        row = first + min(lane, n_rows - 1)
        lanes.row_part[lane] = rows.constants[row]
        if scaled:
            lanes.row_part[lane] -= 0.5 * lanes.log_norm[lane]
        size = 0
        for k in range(d):
            if masks[lane, k]:
                index[lane, size] = k
                size += 1
        lanes.sizes[lane] = size
        block = lane * d * d  # (U - base * I) on what the row misses, contiguous
        for r in range(size if with_blocks else 0):
            for c in range(size):
                place = (index[lane, r] * d + index[lane, c]) * LANES + lane
                lanes.blocks[block + r * size + c] = matrix[place]
            lanes.blocks[block + r * size + r] -= rows.base
    if len(lanes.inverse) > 0:
        _observed_parts(precision, lanes)
        for lane in range(LANES):
            lanes.observed_part[lane] = lanes.row_part[lane] - 0.5 * lanes.constant[lane]
            if scaled:
                lanes.observed_part[lane] -= 0.5 * lanes.constant[LANES + lane]
    for r in range(d):
        for c in range(d):
            place = (r * d + c) * LANES
            store8(matrix, place, add8(splat8(precision[r, c]), load8(matrix, place)))


@compiled(error_model="numpy", makes_arrays=False)
def _euclidean_information(precision, base, lanes):
    """Fill ``matrix`` with ``U`` of eight conditioned rows, and ``log_norm``.

    ``inv(U[K,K]) = I / base + inv(G[K,K])`` on what a row misses, ``base * I`` elsewhere: two
    inversions, both of sums of positive definite matrices, so that nothing cancels whether
    ``base`` is large or small beside ``G``. The lanes miss different columns: on those that any
    of them misses, each matrix is embedded in the identity, which inverts to itself.
    ``precision`` is ``G`` of the rows' own density, and ``log_norm`` ``log det(I + base * S)``.
    """
    matrix, work, scratch = lanes.matrix, lanes.work, lanes.scratch
    determinant, log_norm, masks = lanes.determinant, lanes.log_norm, lanes.masks
    missing, index = lanes.vector, lanes.any_missing  # the masks as ones and zeros
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
        log_norm[lane] = log_determinant_in(determinant, lane) + n_missing * log_base
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
def _observed_parts(precision, lanes):
    """Fill ``J``, ``w = J U a``, ``a' inv(C) a`` and ``log det H`` from ``U`` in ``matrix``."""
    information, inverse, means = lanes.matrix, lanes.inverse, lanes.means
    weighted, shrunk = lanes.vector, lanes.shrunk
    determinant, constant = lanes.determinant, lanes.constant
    d = precision.shape[0]
    for r in range(d):
        for c in range(r + 1):
            place = (r * d + c) * LANES
            entry = add8(splat8(precision[r, c]), load8(information, place))
            store8(inverse, place, entry)
    sweep(inverse, d, lanes.scratch, determinant)
    for lane in range(LANES):
        constant[LANES + lane] = log_determinant_in(determinant, lane)
    symmetric_products(information, d, means, weighted)
    for r in range(d):
        for c in range(r + 1):
            place = (r * d + c) * LANES
            store8(inverse, place, negate8(load8(inverse, place)))
    symmetric_products(inverse, d, weighted, shrunk)
    # a' inv(C) a = w' G a, since inv(C) = U - U J U and G = H - U.
    total = splat8(0.0)
    for r in range(d):
        product = splat8(0.0)
        for c in range(d):
            product = multiply_add8(splat8(precision[r, c]), load8(means, c * LANES), product)
        total = multiply_add8(product, load8(shrunk, r * LANES), total)
    store8(constant, 0, total)
