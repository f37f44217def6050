"""Log determinants of principal submatrices, one to each pattern."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["principal_log_determinants"]


@njit(nogil=True, cache=True)
def principal_log_determinants(matrix, masks):  # type: ignore[no-untyped-def]
    """Return ``log det matrix[mask, mask]`` for each row of ``masks``; zero for an empty one."""
    n, d = masks.shape
    out = np.empty(n)
    index = np.empty(d, dtype=np.intp)
    root = np.empty((d, d))
    for p in range(n):
        size = 0
        for k in range(d):
            if masks[p, k]:
                index[size] = k
                size += 1
        total = 0.0
        for r in range(size):
            for c in range(r + 1):
                entry = matrix[index[r], index[c]]
                for k in range(c):
                    entry -= root[r, k] * root[c, k]
                if c < r:
                    root[r, c] = entry / root[c, c]
                else:
                    root[r, r] = math.sqrt(entry)
                    total += math.log(entry)
        out[p] = total
    return out
