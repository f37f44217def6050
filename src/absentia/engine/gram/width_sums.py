"""Sums that derivatives by widths are added up in: inverses of submatrices, outer products.

Eight symmetric matrices side by side, of which the lower triangles are stored; the slow twin is
``tests/oracles/widths.py``.
"""

from __future__ import annotations

from absentia.engine.compiling import compiled
from absentia.engine.elimination import sweep
from absentia.engine.gram.output import TILE
from absentia.engine.lanes import LANES, load8, multiply8, multiply_add8, negate8, splat8, store8

__all__ = ["add_inverse", "add_outer_products", "invert_principal", "solved", "symmetric_entry"]


@compiled(error_model="numpy", makes_arrays=False)
def invert_principal(matrix, stride, index, size, work, scratch, determinant):
    """Fill the lower triangle of ``work`` with *minus* the inverses of principal submatrices."""
    for r in range(size):
        for c in range(r + 1):
            entry = load8(matrix, (index[r] * stride + index[c]) * LANES)
            store8(work, (r * size + c) * LANES, entry)
    sweep(work, size, scratch, determinant)


@compiled(error_model="numpy", makes_arrays=False)
def solved(work, size, vector, solution):
    """Fill ``solution`` with the inverses times ``vector``; return the product of the two."""
    quadratic = splat8(0.0)
    for r in range(size):
        total = splat8(0.0)
        for c in range(r + 1):
            total = multiply_add8(
                load8(work, (r * size + c) * LANES), load8(vector, c * LANES), total
            )
        for c in range(r + 1, size):
            total = multiply_add8(
                load8(work, (c * size + r) * LANES), load8(vector, c * LANES), total
            )
        total = negate8(total)
        store8(solution, r * LANES, total)
        quadratic = multiply_add8(total, load8(vector, r * LANES), quadratic)
    return quadratic


@compiled(error_model="numpy", makes_arrays=False)
def add_inverse(sums, stride, index, size, work, weight, sign):
    """Add ``sign * weight * work`` to the principal submatrices of ``sums``, lower triangles."""
    factor = multiply8(load8(weight, 0), splat8(sign))
    for r in range(size):
        for c in range(r + 1):
            place = (index[r] * stride + index[c]) * LANES
            entry = load8(work, (r * size + c) * LANES)
            store8(sums, place, multiply_add8(entry, factor, load8(sums, place)))
    store8(weight, 0, splat8(0.0))


@compiled(error_model="numpy", makes_arrays=False)
def add_outer_products(sums, d, vectors, weighted, n_columns):
    """Add ``weighted vectors'`` of a tile of columns to the lower triangles of ``sums``.

    Entry ``k`` of column ``j`` is the lane group ``k * TILE + j`` of both.
    """
    for r in range(d):
        c = 0
        while c <= r:
            left = r * TILE * LANES
            a = c * TILE * LANES
            if c + 3 <= r:
                b = a + TILE * LANES
                e = b + TILE * LANES
                f = e + TILE * LANES
                t0 = load8(sums, (r * d + c) * LANES)
                t1 = load8(sums, (r * d + c + 1) * LANES)
                t2 = load8(sums, (r * d + c + 2) * LANES)
                t3 = load8(sums, (r * d + c + 3) * LANES)
                for j in range(n_columns):
                    step = j * LANES
                    x = load8(weighted, left + step)
                    t0 = multiply_add8(x, load8(vectors, a + step), t0)
                    t1 = multiply_add8(x, load8(vectors, b + step), t1)
                    t2 = multiply_add8(x, load8(vectors, e + step), t2)
                    t3 = multiply_add8(x, load8(vectors, f + step), t3)
                store8(sums, (r * d + c) * LANES, t0)
                store8(sums, (r * d + c + 1) * LANES, t1)
                store8(sums, (r * d + c + 2) * LANES, t2)
                store8(sums, (r * d + c + 3) * LANES, t3)
                c += 4
            else:
                t0 = load8(sums, (r * d + c) * LANES)
                for j in range(n_columns):
                    step = j * LANES
                    t0 = multiply_add8(load8(weighted, left + step), load8(vectors, a + step), t0)
                store8(sums, (r * d + c) * LANES, t0)
                c += 1


@compiled(error_model="numpy", makes_arrays=False)
def symmetric_entry(matrix, d, r, c):
    """Return entry ``(r, c)`` of symmetric matrices of which the lower triangle is stored."""
    place = r * d + c if r >= c else c * d + r
    return load8(matrix, place * LANES)
