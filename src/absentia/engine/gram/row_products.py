"""Products of rows with columns, whose bits do not depend on which rows are computed together.

A matrix product by BLAS groups its sums by the shape of the whole matrix, so that the last digit of
a row's entries moves with the rows around it. Here an entry is one sum over the features, in their
order, wherever its row stands; and the exponential follows while it is still in a register.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add8,
    exp8,
    load8,
    minimum8,
    multiply_add8,
    splat8,
    store8,
)

__all__ = ["exponentials_of_distances", "in_lanes", "row_products"]

# Rows that go over a lane group of columns together: they stay in the cache until the next one.
_PANEL = 128


def in_lanes(points):
    """Return points (m, d) as flat lanes: eight of them side by side, feature by feature.

    The last eight are filled up with zeros.
    """
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
    exponent is cut to that of distance zero, ``row_cap[i] + column_cap[j]``.

    Parameters
    ----------
    rows : array of shape (n, d)
    lanes : the columns, from :func:`in_lanes`
    column_part, column_cap : arrays of shape (m,)
    accumulate : bool
        Add to what is there.
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
