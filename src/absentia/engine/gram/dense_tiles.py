"""Passes over whole tiles of a Gram matrix: mirroring, reordering."""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled

__all__ = ["mirror_rows", "reorder"]

_MIRROR = 32


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
