"""One row against a tile of others: products of its matrix with the differences, and distances.

For ``overlap_tiles.py``. The lanes are the others, so that nothing need be gathered, and no sum
depends on how many they are.
"""

from __future__ import annotations

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add8,
    load8,
    multiply_add8,
    repeat8,
    splat8,
    store8,
    subtract8,
)

__all__ = ["row_times_others", "squared_distances", "transposed"]


@compiled(error_model="numpy")
def transposed(points, first, count, width, out):
    """Write ``points[first : first + count].T`` to ``out``, in rows of ``width``."""
    for k in range(points.shape[1]):
        for i in range(count):
            out[k * width + i] = points[first + i, k]
        for i in range(count, width):
            out[k * width + i] = 0.0


@compiled(error_model="numpy")
def _six_times_eight(F, place, size, differences, products, r, width, v):
    """Multiply six rows of a matrix with the differences to eight others."""
    t0 = splat8(0.0)
    t1 = splat8(0.0)
    t2 = splat8(0.0)
    t3 = splat8(0.0)
    t4 = splat8(0.0)
    t5 = splat8(0.0)
    for c in range(size):
        difference = load8(differences, c * width + v)
        t0 = multiply_add8(repeat8(F, place + c), difference, t0)
        t1 = multiply_add8(repeat8(F, place + size + c), difference, t1)
        t2 = multiply_add8(repeat8(F, place + 2 * size + c), difference, t2)
        t3 = multiply_add8(repeat8(F, place + 3 * size + c), difference, t3)
        t4 = multiply_add8(repeat8(F, place + 4 * size + c), difference, t4)
        t5 = multiply_add8(repeat8(F, place + 5 * size + c), difference, t5)
    store8(products, r * width + v, t0)
    store8(products, (r + 1) * width + v, t1)
    store8(products, (r + 2) * width + v, t2)
    store8(products, (r + 3) * width + v, t3)
    store8(products, (r + 4) * width + v, t4)
    store8(products, (r + 5) * width + v, t5)


@compiled(error_model="numpy")
def row_times_others(
    F, start, size, index, centre, others, width, used, differences, products, quadratics
):
    """Multiply ``F`` of one row with its differences ``d`` to a tile of others.

    ``products[r * width + j]`` becomes ``(F d)[r]`` and ``quadratics[j]`` becomes ``d'Fd``, for
    the first ``used`` of ``width`` others.
    """
    for r in range(size):
        own = repeat8(centre, index[r])
        place = index[r] * width
        for v in range(0, used, LANES):
            store8(differences, r * width + v, subtract8(own, load8(others, place + v)))
    for v in range(0, used, LANES):
        r = 0
        while r < size and size > 5:
            # The last six may overlap the ones before: computed again, to the same bits.
            r = min(r, size - 6)
            _six_times_eight(F, start + r * size, size, differences, products, r, width, v)
            r += 6
        while r < size:
            t0 = splat8(0.0)
            place = start + r * size
            for c in range(size):
                t0 = multiply_add8(repeat8(F, place + c), load8(differences, c * width + v), t0)
            store8(products, r * width + v, t0)
            r += 1
    for v in range(0, used, LANES):
        quadratic = splat8(0.0)
        for r in range(size):
            product = load8(products, r * width + v)
            quadratic = multiply_add8(product, load8(differences, r * width + v), quadratic)
        store8(quadratics, v, quadratic)


@compiled(error_model="numpy")
def squared_distances(centre, others, width, used, distances):
    """Write the squared distances of one row to a tile of others."""
    d = len(centre)
    for v in range(0, used, LANES):
        s0 = splat8(0.0)
        s1 = splat8(0.0)
        k = 0
        while k + 1 < d:
            d0 = subtract8(repeat8(centre, k), load8(others, k * width + v))
            d1 = subtract8(repeat8(centre, k + 1), load8(others, (k + 1) * width + v))
            s0 = multiply_add8(d0, d0, s0)
            s1 = multiply_add8(d1, d1, s1)
            k += 2
        if k < d:
            d0 = subtract8(repeat8(centre, k), load8(others, k * width + v))
            s0 = multiply_add8(d0, d0, s0)
        store8(distances, v, add8(s0, s1))
