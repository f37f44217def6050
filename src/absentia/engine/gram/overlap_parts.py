"""What each pattern brings to ``overlap_tiles.py``: ``F``, and where its columns stand in it."""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled
from absentia.engine.em.principal import REORDER, factor_principal, invert_from_root

__all__ = ["overlap_parts"]


@compiled(fastmath=REORDER)
def overlap_parts(start, stop, sums, masks, starts, F, index, rank, log_ratios):
    """Fill the parts of patterns ``start`` to ``stop``.

    With ``E = inv(G[L,L])`` in units in which ``C0 = I``, on what a pattern misses,
    ``F = E inv(I + E) = inv((I + G)[L,L])``: one inverse of a sum of positive definite matrices,
    in which nothing cancels.

    Parameters
    ----------
    sums : array of shape (d, d), ``I + G``
    masks : bool array of shape (n_groups, d)
    starts : int array of shape (n_groups,)
        Where in ``F`` the matrix of a pattern begins.
    F : flat array, to be filled with the matrices
    index, rank : int arrays of shape (n_groups, d), to be filled
        What a pattern misses, ascending; where in that list a column stands, -1 where it does not.
    log_ratios : array of shape (n_groups,), to be filled with ``log det(I + E)``
    """
    d = len(sums)
    most = 1
    for g in range(start, stop):
        most = max(most, masks[g].sum())
    # Of no more rows than are needed, so that they stay in the cache.
    root = np.empty((most, most))
    scratch = np.empty((most, most))
    inverse = np.empty((most, most))
    everything = np.arange(most)
    for g in range(start, stop):
        size = 0
        for k in range(d):
            rank[g, k] = -1
            if masks[g, k]:
                index[g, size] = k
                rank[g, k] = size
                size += 1
        factor_principal(sums, index[g], size, root)
        invert_from_root(root, size, scratch, inverse)
        place = starts[g]
        for r in range(size):
            for c in range(size):
                F[place] = inverse[r, c]
                place += 1
                inverse[r, c] = -inverse[r, c]
            inverse[r, r] += 1.0
        # inv(I + E) = I - F
        log_ratios[g] = -factor_principal(inverse, everything, size, root)
