"""Small symmetric eliminations, eight at a time.

All matrices here are positive definite, so that no pivoting is needed. The unit of storage is the
lane group: entry ``(r, c)`` of eight matrices side by side, at offset ``(r * stride + c) * LANES``.
"""

from __future__ import annotations

from absentia.engine.compiling import compiled
from absentia.engine.lanes import (
    LANES,
    add8,
    divide8,
    exponent8,
    load8,
    mantissa8,
    multiply8,
    multiply_add8,
    negate8,
    splat8,
    store8,
)

__all__ = ["factor", "solve", "sweep"]

# Pivots multiplied up between two extractions of the exponent, where each lies in 1e-75..1e75.
_PIVOTS_PER_EXTRACTION = 4


@compiled(error_model="numpy")
def factor(matrix, stride, index, size, work, pivots, determinant, any_range=False):
    """Factor the principal submatrices ``matrix[index, index]`` of eight matrices.

    Right-looking ``L D L'``, two pivots at a time: one division a pivot, no square root.

    Parameters
    ----------
    matrix : flat lanes of eight matrices of ``stride`` columns; the lower triangle is read
    index : int array, ascending
    size : int, how many entries of ``index`` to use
    work : flat lanes, at least ``size ** 2`` groups
        On return group ``c * size + r`` holds ``(L D)[r, c]``.
    pivots : flat lanes, at least ``size`` groups
        On return ``-1 / D``.
    determinant : flat lanes, two groups
        On return mantissa and exponent (base two) of the determinants.
    any_range : bool
        Whether pivots may lie outside 1e-75 to 1e75; costs an extraction of the exponent a pivot.
    """
    for c in range(size):
        column = index[c]
        for r in range(c, size):
            entry = load8(matrix, (index[r] * stride + column) * LANES)
            store8(work, (c * size + r) * LANES, entry)
    one = splat8(1.0)
    mantissa = one
    exponent = splat8(0.0)
    step = size * LANES
    since_extraction = 0
    k = 0
    while k < size:
        left = k * step
        d0 = load8(work, left + k * LANES)
        inverse0 = negate8(divide8(one, d0))
        store8(pivots, k * LANES, inverse0)
        mantissa = multiply8(mantissa, d0)
        if any_range:
            exponent = add8(exponent8(mantissa), exponent)
            mantissa = mantissa8(mantissa)
        if k + 1 == size:
            k += 1
        else:
            right = left + step
            coupling = load8(work, left + (k + 1) * LANES)
            ratio = multiply8(coupling, inverse0)
            d1 = multiply_add8(coupling, ratio, load8(work, right + (k + 1) * LANES))
            inverse1 = negate8(divide8(one, d1))
            store8(work, right + (k + 1) * LANES, d1)
            store8(pivots, (k + 1) * LANES, inverse1)
            mantissa = multiply8(mantissa, d1)
            for r in range(k + 2, size):
                z0 = load8(work, left + r * LANES)
                z1 = multiply_add8(z0, ratio, load8(work, right + r * LANES))
                store8(work, right + r * LANES, z1)
            for c in range(k + 2, size):
                u0 = multiply8(load8(work, left + c * LANES), inverse0)
                u1 = multiply8(load8(work, right + c * LANES), inverse1)
                target = c * step
                for r in range(c, size):
                    z0 = load8(work, left + r * LANES)
                    z1 = load8(work, right + r * LANES)
                    entry = multiply_add8(z0, u0, load8(work, target + r * LANES))
                    store8(work, target + r * LANES, multiply_add8(z1, u1, entry))
            k += 2
        since_extraction += 2
        if any_range or since_extraction >= _PIVOTS_PER_EXTRACTION:
            exponent = add8(exponent8(mantissa), exponent)
            mantissa = mantissa8(mantissa)
            since_extraction = 0
    store8(determinant, 0, mantissa)
    store8(determinant, LANES, exponent)


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
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
