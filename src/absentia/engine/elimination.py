"""Small symmetric eliminations, eight at a time.

All matrices here are positive definite, so that no pivoting is needed. The unit of storage is the
lane group: entry ``(r, c)`` of eight matrices side by side, at offset ``(r * stride + c) * LANES``.
"""

from __future__ import annotations

import math

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add8,
    add_outer,
    divide8,
    exponent8,
    integer_at,
    load8,
    mantissa8,
    maximum8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
    store_block,
)

# Pivots multiplied up between two extractions of the exponent, where each lies in 1e-75..1e75.
_PIVOTS_PER_EXTRACTION = 4
_LOG_2 = math.log(2.0)


@compiled(error_model="numpy", makes_arrays=False)
def factor(
    matrix, stride, index, first, size, work, pivots, determinant, any_range, vector, corner, least
):
    """Factor the principal submatrices ``M = matrix[index, index]`` of eight matrices.

    Returns ``corner - y' inv(M) y`` of eight vectors ``y``, as :func:`solve` does.

    Left-looking ``L D L'``, two columns at a time and in blocks of two by two: one division a
    pivot, no square root, as many loads as multiply-adds, and each entry is stored once. The
    vectors are solved for on the way, to the same bits as by :func:`solve`: alone that waits for
    every entry in turn.

    ``matrix`` has ``stride`` columns, of which the lower triangle is read, and ``index`` has
    ``size`` ascending entries from ``first`` on. On return group ``c * size + r`` of ``work`` holds
    ``(L D)[r, c]`` for ``r > c``, ``pivots`` holds ``-1 / D``, and ``determinant`` mantissa and
    exponent (base two). ``any_range`` allows pivots outside 1e-75 to 1e75, for an extraction of the
    exponent a pivot. ``vector`` (flat lanes, ``size`` groups) becomes ``-inv(L D) y``. Pivots are
    raised to ``least``. A zero is given as ``np.intp(0)`` and an index has two dimensions, so that
    one compiled version serves all callers.
    """
    one = splat8(1.0)
    floor = splat8(least)
    mantissa = one
    exponent = splat8(0.0)
    step = size * LANES
    since_extraction = 0
    for c in range(0, size - 1, 2):
        left = c * step
        right = left + step
        left_column = integer_at(index, first + c)
        right_column = integer_at(index, first + c + 1)
        y0 = load8(vector, c * LANES)
        y1 = load8(vector, (c + 1) * LANES)
        # -L of these two rows, where the upper triangle of the two columns would be.
        for k in range(c):
            pivot = load8(pivots, k * LANES)
            place = k * step + c * LANES
            z0 = load8(work, place)
            z1 = load8(work, place + LANES)
            store8(work, left + k * LANES, multiply8(z0, pivot))
            store8(work, right + k * LANES, multiply8(z1, pivot))
            scaled = load8(vector, k * LANES)
            y0 = multiply_add8(scaled, z0, y0)
            y1 = multiply_add8(scaled, z1, y1)
        # The diagonal block
        row = right_column * stride
        d0 = load8(matrix, (left_column * stride + left_column) * LANES)
        coupling = load8(matrix, (row + left_column) * LANES)
        d1 = load8(matrix, (row + right_column) * LANES)
        for k in range(c):
            u0 = load8(work, left + k * LANES)
            z0 = load8(work, k * step + c * LANES)
            z1 = load8(work, k * step + (c + 1) * LANES)
            d0 = multiply_add8(z0, u0, d0)
            coupling = multiply_add8(z1, u0, coupling)
            d1 = multiply_add8(z1, load8(work, right + k * LANES), d1)
        d0 = maximum8(floor, d0)
        inverse = negate8(divide8(one, d0))
        ratio = multiply8(coupling, inverse)
        d1 = maximum8(floor, multiply_add8(coupling, ratio, d1))
        next_inverse = negate8(divide8(one, d1))
        store8(pivots, c * LANES, inverse)
        store8(pivots, (c + 1) * LANES, next_inverse)
        scaled = multiply8(y0, inverse)
        store8(vector, c * LANES, scaled)
        corner = multiply_add8(scaled, y0, corner)
        y1 = multiply_add8(scaled, coupling, y1)
        scaled = multiply8(y1, next_inverse)
        store8(vector, (c + 1) * LANES, scaled)
        corner = multiply_add8(scaled, y1, corner)
        store8(work, left + (c + 1) * LANES, coupling)
        mantissa = multiply8(mantissa, d0)
        if any_range:
            exponent = add8(exponent8(mantissa), exponent)
            mantissa = mantissa8(mantissa)
        mantissa = multiply8(mantissa, d1)
        since_extraction += 2
        if any_range or since_extraction >= _PIVOTS_PER_EXTRACTION:
            exponent = add8(exponent8(mantissa), exponent)
            mantissa = mantissa8(mantissa)
            since_extraction = 0
        for r in range(c + 2, size - 1, 2):
            row = integer_at(index, first + r) * stride
            next_row = integer_at(index, first + r + 1) * stride
            block = (
                load8(matrix, (row + left_column) * LANES),
                load8(matrix, (next_row + left_column) * LANES),
                load8(matrix, (row + right_column) * LANES),
                load8(matrix, (next_row + right_column) * LANES),
            )
            for k in range(c):
                at = k * step + r * LANES
                block = add_outer(block, work, at, LANES, work, left + k * LANES, step)
            m00, m10, m01, m11 = block
            block = m00, m10, multiply_add8(m00, ratio, m01), multiply_add8(m10, ratio, m11)
            store_block(work, left + r * LANES, step, block)
        if size % 2:
            r = size - 1
            row = integer_at(index, first + r) * stride
            m00 = load8(matrix, (row + left_column) * LANES)
            m01 = load8(matrix, (row + right_column) * LANES)
            for k in range(c):
                z0 = load8(work, k * step + r * LANES)
                m00 = multiply_add8(z0, load8(work, left + k * LANES), m00)
                m01 = multiply_add8(z0, load8(work, right + k * LANES), m01)
            store8(work, left + r * LANES, m00)
            store8(work, right + r * LANES, multiply_add8(m00, ratio, m01))
    if size % 2:
        c = size - 1
        d0 = load8(matrix, integer_at(index, first + c) * (stride + 1) * LANES)
        y0 = load8(vector, c * LANES)
        for k in range(c):
            z0 = load8(work, k * step + c * LANES)
            d0 = multiply_add8(z0, multiply8(z0, load8(pivots, k * LANES)), d0)
            y0 = multiply_add8(load8(vector, k * LANES), z0, y0)
        d0 = maximum8(floor, d0)
        inverse = negate8(divide8(one, d0))
        store8(pivots, c * LANES, inverse)
        scaled = multiply8(y0, inverse)
        store8(vector, c * LANES, scaled)
        corner = multiply_add8(scaled, y0, corner)
        mantissa = multiply8(mantissa, d0)
        if any_range:
            exponent = add8(exponent8(mantissa), exponent)
            mantissa = mantissa8(mantissa)
    store8(determinant, 0, mantissa)
    store8(determinant, LANES, exponent)
    return corner


@compiled(error_model="numpy", makes_arrays=False)
def solve(work, pivots, size, vector, corner):
    """Return ``corner - y' inv(M) y`` for the eight factored matrices and eight vectors ``y``.

    ``vector`` (flat lanes, ``size`` groups) is overwritten.
    """
    for k in range(size):
        y = load8(vector, k * LANES)
        scaled = multiply8(y, load8(pivots, k * LANES))
        corner = multiply_add8(scaled, y, corner)
        column = k * size * LANES
        for r in range(k + 1, size):
            entry = multiply_add8(scaled, load8(work, column + r * LANES), load8(vector, r * LANES))
            store8(vector, r * LANES, entry)
    return corner


@compiled(error_model="numpy", makes_arrays=False)
def symmetric_products(matrix, size, vector, out):
    """Write ``M v`` for eight symmetric matrices, of which the lower triangles are read.

    Returns ``v'Mv``.
    """
    quadratic = splat8(0.0)
    for r in range(size):
        total = splat8(0.0)
        for c in range(size):
            place = r * size + c if r >= c else c * size + r
            total = multiply_add8(load8(matrix, place * LANES), load8(vector, c * LANES), total)
        store8(out, r * LANES, total)
        quadratic = multiply_add8(total, load8(vector, r * LANES), quadratic)
    return quadratic


@compiled(error_model="numpy", makes_arrays=False)
def log_determinant_in(determinant, lane):
    """Return the logarithm of one lane's determinant, as :func:`factor` and :func:`sweep` leave it.

    Its mantissa goes into [1/2, 1), however often the exponent was taken out before.
    """
    mantissa, exponent = math.frexp(determinant[lane])
    return math.log(mantissa) + (exponent + determinant[LANES + lane]) * _LOG_2


@compiled(error_model="numpy", makes_arrays=False)
def sweep(matrix, size, scratch, determinant):
    """Replace eight symmetric matrices by *minus* their inverses, in place.

    The lower triangles are read and updated. ``scratch`` takes ``size`` groups; ``determinant``
    (two groups) receives mantissa and exponent, as in :func:`factor`.
    """
    one = splat8(1.0)
    mantissa = one
    exponent = splat8(0.0)
    for k in range(size):
        pivot = load8(matrix, (k * size + k) * LANES)
        mantissa = multiply8(mantissa, pivot)
        exponent = add8(exponent8(mantissa), exponent)
        mantissa = mantissa8(mantissa)
        inverse = divide8(one, pivot)
        # The pivot's row and column, and zero in place of the pivot: its own row stays as it is.
        for c in range(k):
            store8(scratch, c * LANES, load8(matrix, (k * size + c) * LANES))
        store8(scratch, k * LANES, splat8(0.0))
        for r in range(k + 1, size):
            store8(scratch, r * LANES, load8(matrix, (r * size + k) * LANES))
        for r in range(size):
            ratio = negate8(multiply8(load8(scratch, r * LANES), inverse))
            row = r * size * LANES
            for c in range(r + 1):
                entry = multiply_add8(
                    ratio, load8(scratch, c * LANES), load8(matrix, row + c * LANES)
                )
                store8(matrix, row + c * LANES, entry)
        for c in range(k):
            store8(matrix, (k * size + c) * LANES, multiply8(load8(scratch, c * LANES), inverse))
        for r in range(k + 1, size):
            store8(matrix, (r * size + k) * LANES, multiply8(load8(scratch, r * LANES), inverse))
        store8(matrix, (k * size + k) * LANES, negate8(inverse))
    store8(determinant, 0, mantissa)
    store8(determinant, LANES, exponent)
