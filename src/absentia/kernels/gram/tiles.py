"""Gram matrices tile by tile: streamed when they are too large to hold, and assembled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.threads import n_threads, run_single_threaded_blas
from absentia.kernels.base import Kernel, check_compared
from absentia.parameters import COUNT
from absentia.tables import FloatArray

__all__ = ["assembled", "cut", "gram_blocks", "symmetrised"]

# Rows of a matrix that are worked on at once: many enough for BLAS, few enough that the temporaries
# of a tile stay in the cache.
_TILE = 512


def gram_blocks(
    kernel: Kernel,
    P: Beliefs,
    Q: Beliefs | None = None,
    *,
    block_rows: int = 1024,
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, FloatArray]]:
    """Stream a Gram matrix in blocks of rows, for matrices that are too large to hold.

    The blocks one below the other are ``kernel(P, Q)``: to the last bit, whatever ``block_rows``,
    for expected RBFs and genRBF on beliefs of dense covariances; up to rounding for low-rank
    densities, for products with a mask kernel and for other kernels, whose sums may be grouped by
    the number of rows. Without ``Q`` they are ``kernel(P)`` with its diagonal up to rounding: each
    entry above the diagonal is recomputed, not copied from below it.

    Parameters
    ----------
    kernel : Kernel
    P : Beliefs of n rows
    Q : Beliefs of m rows, optional
        Without it the rows of ``P`` are compared with each other.
    block_rows : int, default=1024
        Rows per block; the memory in use is that of one block, ``8 * block_rows * m`` bytes,
        and the kernel's bounded workspace.
    n_jobs : int, optional
        Threads; by default as many as BLAS would use.

    Yields
    ------
    rows : slice
        Which rows of ``P``.
    block : ndarray of shape (len(P[rows]), m)
        The caller's own, to keep or to change.

    Examples
    --------
    The norm of a matrix that is never whole:

    >>> import numpy as np
    >>> from absentia import GaussianDensity, GenRBF
    >>> from absentia.kernels import gram_blocks
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[::3, 1] = np.nan
    >>> P = GaussianDensity().fit(X).condition(X)
    >>> total = sum((block**2).sum() for rows, block in gram_blocks(GenRBF(), P, block_rows=32))
    >>> bool(np.isclose(total, (GenRBF()(P) ** 2).sum()))
    True
    """
    COUNT.check("block_rows", block_rows)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel such as GenRBF(), found {kernel!r}.")
    check_compared(P, Q)
    resolved = kernel._resolved_for(P, Q)
    return _stream(resolved, P, Q, int(block_rows), n_jobs)


def _stream(
    kernel: Kernel, P: Beliefs, Q: Beliefs | None, block_rows: int, n_jobs: int | None
) -> Iterator[tuple[slice, FloatArray]]:
    for rows in cut(len(P), block_rows):
        some = P.tile(rows)
        tile = kernel(some, P if Q is None else Q, n_jobs=n_jobs)
        if Q is None:
            within = np.arange(rows.stop - rows.start)
            tile[within, rows.start + within] = kernel.diag(some)
        yield rows, tile


def assembled(
    tile: Callable[[slice, slice], FloatArray],
    shape: tuple[int, int],
    *,
    symmetric: bool,
    tile_rows: int,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the matrix whose tiles a function computes.

    ``tile(I, J)`` returns the entries of rows ``I`` and columns ``J``. A symmetric matrix is
    computed on and below the diagonal and mirrored, so that it is symmetric to the last bit.
    Tiles are distributed over threads; each writes its own part of the matrix.
    """
    out = np.empty(shape)

    def fill(rows: slice, columns: slice) -> None:
        out[rows, columns] = tile(rows, columns)
        if symmetric and rows == columns:
            symmetrised(out[rows, columns])
        elif symmetric:
            out[columns, rows] = out[rows, columns].T

    tasks = [
        (rows, columns)
        for rows in cut(shape[0], tile_rows)
        for columns in cut(shape[1], tile_rows)
        if not symmetric or columns.start <= rows.start
    ]
    run_single_threaded_blas(fill, tasks, n_threads(n_jobs))
    return out


def cut(n_rows: int, step: int) -> list[slice]:
    """Cut ``n_rows`` into slices of at most ``step`` rows."""
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


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
