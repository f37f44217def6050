"""Products of rows with columns, and results: bits do not depend on which rows come together.

A matrix product by BLAS groups its sums by the shape of the whole matrix, so that the last digit of
a row's entries moves with the rows around it. Here an entry is one sum over the features, in their
order, wherever its row stands. Columns come in lanes (:func:`in_lanes`): eight side by side,
feature by feature. Arrays of two dimensions are read as flat ones from a given place, because a
view of one of their rows would be reference-counted, which takes time.
"""

from __future__ import annotations

import math

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add8,
    add_products,
    divide8,
    exp8,
    integer_at,
    load8,
    minimum8,
    multiply_add8,
    no_products,
    repeat8,
    splat8,
    square_root8,
    store8,
    subtract8,
)

# Rows that go over a lane group of columns together: they stay in the cache until the next one.
_PANEL = 128
# Columns that are computed before their results are written: four lane groups.
TILE = 32

_HALF_LOG_2 = 0.5 * math.log(2.0)


def in_lanes(points):
    """Return points (m, d) as flat lanes, the last eight filled up with zeros."""
    m, d = points.shape
    padded = np.zeros((-(-m // LANES) * LANES, d))
    padded[:m] = points
    return padded.reshape(-1, LANES, d).transpose(0, 2, 1).ravel()


@compiled(error_model="numpy")
def row_products(rows, lanes, width):
    """Return the inner products of rows (n, d) with ``width`` points in lanes, shape (n, width)."""
    n, d = rows.shape
    out = np.empty((n, width))
    values = np.empty(LANES)
    for i in range(n):
        for j in range(0, width, LANES):
            total = splat8(0.0)
            for k in range(d):
                total = multiply_add8(splat8(rows[i, k]), load8(lanes, j * d + k * LANES), total)
            store8(values, 0, total)
            for c in range(min(LANES, width - j)):
                out[i, j + c] = values[c]
    return out


@compiled(error_model="numpy", inline="always")
def _value(product, row_part, row_cap, column_part, column_cap):
    exponent = add8(add8(product, splat8(row_part)), column_part)
    return exp8(minimum8(exponent, add8(splat8(row_cap), column_cap)))


@compiled(error_model="numpy")
def exponentials_of_distances(
    out, top, left, rows, row_part, row_cap, lanes, column_part, column_cap, accumulate
):
    """Write ``exp(row_part[i] + column_part[j] + z_i'z_j)`` for rows and columns ``z``.

    Into the part of ``out`` that begins at row ``top`` and column ``left``: a whole matrix and two
    numbers, where a view would be compiled once for each layout of memory.

    With ``row_part = row_cap - |z_i|^2 / 2``, and the columns alike, this is the exponential of
    minus half the squared distance plus constants. Where rounding makes a distance negative, the
    exponent is cut to that of distance zero, ``row_cap[i] + column_cap[j]``. The columns come from
    :func:`in_lanes`; ``accumulate`` adds to what is there.
    """
    n, d = rows.shape
    width = len(column_cap)
    values = np.empty(4 * LANES)
    parts = np.zeros(LANES)
    caps = np.zeros(LANES)
    for first in range(0, n, _PANEL):
        last = min(first + _PANEL, n)
        for j in range(0, width, LANES):
            base = j * d
            whole = j + LANES <= width
            for c in range(min(LANES, width - j)):
                parts[c] = column_part[j + c]
                caps[c] = column_cap[j + c]
            part = load8(parts, 0)
            cap = load8(caps, 0)
            for i in range(first, last, 4):
                # Behind the last row it is computed again, to the same bits.
                i1 = min(i + 1, last - 1)
                i2 = min(i + 2, last - 1)
                i3 = min(i + 3, last - 1)
                s0 = splat8(0.0)
                s1 = splat8(0.0)
                s2 = splat8(0.0)
                s3 = splat8(0.0)
                for k in range(d):
                    column = load8(lanes, base + k * LANES)
                    s0 = multiply_add8(splat8(rows[i, k]), column, s0)
                    s1 = multiply_add8(splat8(rows[i1, k]), column, s1)
                    s2 = multiply_add8(splat8(rows[i2, k]), column, s2)
                    s3 = multiply_add8(splat8(rows[i3, k]), column, s3)
                s0 = _value(s0, row_part[i], row_cap[i], part, cap)
                s1 = _value(s1, row_part[i1], row_cap[i1], part, cap)
                s2 = _value(s2, row_part[i2], row_cap[i2], part, cap)
                s3 = _value(s3, row_part[i3], row_cap[i3], part, cap)
                if whole and not accumulate:
                    store8(out[top + i], left + j, s0)
                    store8(out[top + i1], left + j, s1)
                    store8(out[top + i2], left + j, s2)
                    store8(out[top + i3], left + j, s3)
                    continue
                store8(values, 0, s0)
                store8(values, LANES, s1)
                store8(values, 2 * LANES, s2)
                store8(values, 3 * LANES, s3)
                for r in range(min(4, last - i)):
                    for c in range(min(LANES, width - j)):
                        value = values[r * LANES + c]
                        if accumulate:
                            value += out[top + i + r, left + j + c]
                        out[top + i + r, left + j + c] = value


@compiled(inline="always")
def _position(index, own_index, r, scattered):
    return (integer_at(index, own_index + r) if scattered else r) * LANES


@compiled(error_model="numpy", makes_arrays=False)
def times_differences(
    matrices, start, index, own_index, size, centres, own, step, others, first, n_groups, d,
    differences, products, place, stride, scattered, quadratics, total,
):  # fmt: skip
    """Multiply the matrix ``F`` of one row with its differences ``x`` to groups of others.

    - ``F`` has ``size`` rows from ``matrices[start]`` on, and is about ``size`` features that
      ``index`` lists from ``own_index`` on.
    - The row has feature ``k`` at ``centres[own + k * step]``; the others are ``n_groups`` lane
      groups of ``d`` features from ``others[first]`` on.
    - Group ``r`` of ``products`` from ``place + v * stride`` on becomes ``(F x)[r]`` of group
      ``v``; ``scattered`` numbers these groups by features instead.
    - ``quadratics`` becomes ``x'Fx``, from ``total`` on; ``differences`` is scratch.
    """
    for v in range(n_groups):
        for r in range(size):
            feature = integer_at(index, own_index + r)
            other = load8(others, first + (v * d + feature) * LANES)
            centre = repeat8(centres, own + feature * step)
            store8(differences, r * LANES, subtract8(centre, other))
        out = place + v * stride
        r = 0
        while r < size and size > 4:
            # The last five may overlap the ones before: computed again, to the same bits.
            r = min(r, size - 5)
            row = start + r * size
            sums = no_products()
            for c in range(size):
                sums = add_products(sums, matrices, row + c, size, load8(differences, c * LANES))
            t0, t1, t2, t3, t4 = sums
            store8(products, out + _position(index, own_index, r, scattered), t0)
            store8(products, out + _position(index, own_index, r + 1, scattered), t1)
            store8(products, out + _position(index, own_index, r + 2, scattered), t2)
            store8(products, out + _position(index, own_index, r + 3, scattered), t3)
            store8(products, out + _position(index, own_index, r + 4, scattered), t4)
            r += 5
        while r < size:
            t0 = splat8(0.0)
            for c in range(size):
                difference = load8(differences, c * LANES)
                t0 = multiply_add8(repeat8(matrices, start + r * size + c), difference, t0)
            store8(products, out + _position(index, own_index, r, scattered), t0)
            r += 1
        quadratic = splat8(0.0)
        for r in range(size):
            product = load8(products, out + _position(index, own_index, r, scattered))
            quadratic = multiply_add8(product, load8(differences, r * LANES), quadratic)
        store8(quadratics, total + v * LANES, quadratic)


@compiled(error_model="numpy", makes_arrays=False)
def squared_distances(centres, own, others, first, n_groups, d, distances, total):
    """Write the squared distances of one row to groups of others, as in `times_differences`."""
    for v in range(n_groups):
        s0 = splat8(0.0)
        s1 = splat8(0.0)
        place = first + v * d * LANES
        k = 0
        while k + 1 < d:
            d0 = subtract8(repeat8(centres, own + k), load8(others, place + k * LANES))
            d1 = subtract8(repeat8(centres, own + k + 1), load8(others, place + (k + 1) * LANES))
            s0 = multiply_add8(d0, d0, s0)
            s1 = multiply_add8(d1, d1, s1)
            k += 2
        if k < d:
            d0 = subtract8(repeat8(centres, own + k), load8(others, place + k * LANES))
            s0 = multiply_add8(d0, d0, s0)
        store8(distances, total + v * LANES, add8(s0, s1))


@compiled(error_model="numpy", inline="always")
def over_root_of_determinant(log_value, determinant, scaled):
    """Return ``exp(log_value) / sqrt(determinant)`` in eight lanes, without the root unscaled.

    ``determinant`` holds mantissa and exponent, as ``factor`` leaves them.
    """
    if scaled:
        log_value = multiply_add8(splat8(-_HALF_LOG_2), load8(determinant, LANES), log_value)
        return divide8(exp8(log_value), square_root8(load8(determinant, 0)))
    return exp8(log_value)


@compiled(makes_arrays=False)
def write_tile(target, values, first, n_rows, left, right):
    """Write the results of ``n_rows`` rows from ``first`` on against columns ``left`` to ``right``.

    ``values`` has a group of lanes to each column of the tile.
    """
    out = target.out
    for lane in range(n_rows):
        row = first + lane
        stop = min(right, row + 1) if target.symmetric else right
        if target.accumulate:
            for j in range(left, stop):
                out[row, j] += values[(j - left) * LANES + lane]
        else:
            for j in range(left, stop):
                out[row, j] = values[(j - left) * LANES + lane]


@compiled()
def reorder(K, row_order, column_order):
    """Move row ``a`` to ``row_order[a]`` and column ``b`` to ``column_order[b]``, in place.

    Follows the cycles of the rows with two rows of scratch; each row is read and written once.
    """
    n, m = K.shape
    moved = np.zeros(n, dtype=np.bool_)
    carried = np.empty(m)
    displaced = np.empty(m)
    for begin in range(n):
        if moved[begin]:
            continue
        for b in range(m):
            carried[b] = K[begin, b]
        source = begin
        while True:
            target = row_order[source]
            for b in range(m):
                displaced[b] = K[target, b]
            for b in range(m):
                K[target, column_order[b]] = carried[b]
            moved[target] = True
            carried, displaced = displaced, carried
            source = target
            if target == begin:
                break
