"""Passes over whole tiles of a Gram matrix: exponentials of distances, mirroring, reordering."""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.lanes import LANES, add8, exp8, load8, minimum8, splat8, store8

__all__ = ["exponential_of_distances", "mirror_rows", "reorder"]

_MIRROR = 32


@compiled(error_model="numpy")
def exponential_of_distances(out, top, left, row_part, row_cap, column_part, column_cap):
    """Turn inner products ``z_i'z_j`` into ``exp(row_part[i] + column_part[j] + z_i'z_j)``.

    In the part of ``out`` that begins at row ``top`` and column ``left``: a whole matrix and two
    numbers, where a view would be compiled once for each layout of memory.

    With ``row_part = row_cap - |z_i|^2 / 2``, and the columns alike, this is the exponential of
    minus half the squared distance plus constants. Where rounding makes a distance negative, the
    exponent is cut to that of distance zero, ``row_cap[i] + column_cap[j]``.
    """
    height, width = len(row_part), len(column_part)
    whole = width - width % LANES
    for i in range(height):
        row = out[top + i]
        part = splat8(row_part[i])
        cap = splat8(row_cap[i])
        for j in range(0, whole, LANES):
            exponent = add8(add8(load8(row, left + j), part), load8(column_part, j))
            exponent = minimum8(exponent, add8(cap, load8(column_cap, j)))
            store8(row, left + j, exp8(exponent))
        for j in range(whole, width):
            exponent_j = row[left + j] + row_part[i] + column_part[j]
            row[left + j] = np.exp(min(exponent_j, row_cap[i] + column_cap[j]))


@compiled()
def mirror_rows(start, stop, K):
    """Copy the entries below the diagonal in rows ``start`` to ``stop`` to above it."""
    for top in range(start, stop, _MIRROR):
        bottom = min(top + _MIRROR, stop)
        for left in range(0, bottom, _MIRROR):
            right = min(left + _MIRROR, bottom)
            for j in range(left, right):
                for i in range(max(top, j + 1), bottom):
                    K[j, i] = K[i, j]


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
