"""One row against a tile of others: products of its matrix with the differences, and distances.

For ``overlap_tiles.py``. The lanes are the others, so that nothing need be gathered, and no sum
depends on how many they are. They come in groups of lanes, feature by feature: see
``row_products.in_lanes``. Arrays of two dimensions are read as flat ones from a place that is
given: a view of one of their rows would be counted as an owner of the memory, which takes time.
"""

from __future__ import annotations

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add8,
    integer_at,
    load8,
    multiply_add8,
    repeat8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["put_in_lanes", "row_times_others", "squared_distances"]


@compiled(error_model="numpy", makes_arrays=False)
def put_in_lanes(points, first, count, n_groups, out):
    """Write ``points[first : first + count]`` in lanes, filled up with zeros."""
    d = points.shape[1]
    for group in range(n_groups):
        for lane in range(LANES):
            point = group * LANES + lane
            place = group * d * LANES + lane
            if point < count:
                for k in range(d):
                    out[place + k * LANES] = points[first + point, k]
            else:
                for k in range(d):
                    out[place + k * LANES] = 0.0


@compiled(error_model="numpy", makes_arrays=False)
def row_times_others(
    F, start, size, index, own_index, centres, own, others, first, n_groups, d, differences,
    products, place, stride, quadratics, total,
):  # fmt: skip
    """Multiply ``F`` of one row with its differences ``x`` to groups of others.

    Parameters
    ----------
    F, start, size : flat array, int, int
        The matrix of the row, from ``F[start]`` on.
    index, own_index : int array, int
        What the row misses, from this place on.
    centres, own : array, int
        The row itself, from this place on.
    others, first, n_groups, d : flat lanes, int, int, int
        The others, so many groups from this place on, of ``d`` features.
    differences : flat lanes, ``size`` groups of scratch
    products, place, stride : flat lanes, int, int
        Group ``r`` from ``place + v * stride`` on becomes ``(F x)[r]`` of group ``v``.
    quadratics, total : array, int
        Becomes ``x'Fx``, from this place on.
    """
    for v in range(n_groups):
        for r in range(size):
            feature = integer_at(index, own_index + r)
            other = load8(others, first + (v * d + feature) * LANES)
            store8(differences, r * LANES, subtract8(repeat8(centres, own + feature), other))
        out = place + v * stride
        r = 0
        while r < size and size > 5:
            # The last six may overlap the ones before: computed again, to the same bits.
            r = min(r, size - 6)
            row = start + r * size
            t0 = splat8(0.0)
            t1 = splat8(0.0)
            t2 = splat8(0.0)
            t3 = splat8(0.0)
            t4 = splat8(0.0)
            t5 = splat8(0.0)
            for c in range(size):
                difference = load8(differences, c * LANES)
                t0 = multiply_add8(repeat8(F, row + c), difference, t0)
                t1 = multiply_add8(repeat8(F, row + size + c), difference, t1)
                t2 = multiply_add8(repeat8(F, row + 2 * size + c), difference, t2)
                t3 = multiply_add8(repeat8(F, row + 3 * size + c), difference, t3)
                t4 = multiply_add8(repeat8(F, row + 4 * size + c), difference, t4)
                t5 = multiply_add8(repeat8(F, row + 5 * size + c), difference, t5)
            store8(products, out + r * LANES, t0)
            store8(products, out + (r + 1) * LANES, t1)
            store8(products, out + (r + 2) * LANES, t2)
            store8(products, out + (r + 3) * LANES, t3)
            store8(products, out + (r + 4) * LANES, t4)
            store8(products, out + (r + 5) * LANES, t5)
            r += 6
        while r < size:
            t0 = splat8(0.0)
            row = start + r * size
            for c in range(size):
                t0 = multiply_add8(repeat8(F, row + c), load8(differences, c * LANES), t0)
            store8(products, out + r * LANES, t0)
            r += 1
        quadratic = splat8(0.0)
        for r in range(size):
            product = load8(products, out + r * LANES)
            quadratic = multiply_add8(product, load8(differences, r * LANES), quadratic)
        store8(quadratics, total + v * LANES, quadratic)


@compiled(error_model="numpy", makes_arrays=False)
def squared_distances(centres, own, others, first, n_groups, d, distances, total):
    """Write the squared distances of one row to groups of others: ``row_times_others``."""
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
