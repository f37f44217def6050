"""One triangle of a Gram matrix copied onto the other."""

from __future__ import annotations

import numpy as np

from absentia.tables import FloatArray

__all__ = ["symmetrised"]

# How many rows of a matrix are worked on at once: large enough for BLAS, small enough that the
# few temporaries of a tile stay in the cache.
_TILE = 512


def symmetrised(K: FloatArray) -> FloatArray:
    """Copy the lower triangle of a square matrix onto the upper, in place."""
    n = len(K)
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        corner = K[start:stop, start:stop]
        upper = np.triu_indices(stop - start, 1)
        corner[upper] = corner.T[upper]
        K[start:stop, stop:] = K[stop:, start:stop].T
    return K
