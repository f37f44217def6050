"""Gram matrices tile by tile: streamed, assembled, and squared distances without cancellation.

Squared distances by one product of matrices, ``|a|^2 + |b|^2 - 2 a'b``, have an error of ``1e-16``
times the squared lengths. Counted from where most rows are (:func:`centre_of`) these are moderate,
except for outliers; and for two outliers the distance is taken from their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.threads import (
    bounded_slices,
    cut,
    n_threads,
    run_single_threaded_blas,
    run_tiles,
)
from absentia.kernels.base import Kernel
from absentia.parameters import COUNT
from absentia.tables import FloatArray, IntArray

# A squared length, in units in which the kernel is exp(-distance^2 / 2), that leaves 1e-11.
_FAR = 1e5
# From this squared distance on a kernel is zero in double precision.
_APART = 1500.0
_SAMPLE = 512

# Rows whose mirror images are written at once: few enough that they stay in the cache.
_STRIP = 64


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
        Rows of ``P``.
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
    return _stream(kernel._checked(P, Q), P, Q, int(block_rows), n_jobs)


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


def symmetrised(K: FloatArray, threads: int = 1) -> FloatArray:
    """Copy the lower triangle of a square matrix onto the upper, in place."""
    n = len(K)

    def fill(start: int, stop: int) -> None:
        corner = K[start:stop, start:stop]
        upper = np.triu_indices(stop - start, 1)
        corner[upper] = corner.T[upper]
        K[start:stop, stop:] = K[stop:, start:stop].T

    run_tiles(fill, [(start, min(start + _STRIP, n)) for start in range(0, n, _STRIP)], threads)
    return K


def centre_of(means: FloatArray) -> FloatArray:
    """Return the median of some of the rows: among the rows, wherever outliers are."""
    return np.median(_some(means), axis=0)


def origin_of(means: FloatArray) -> FloatArray:
    """Return a round number near most rows in each column, for units in which zero is far away.

    ``(x - origin) / units`` keeps the digits in which rows differ, which ``x / units`` rounds where
    the column is far from zero. Zero for most columns.
    """
    if not len(means):
        return np.zeros(means.shape[1])
    centre = centre_of(means)
    # Half of the rows are within this distance, wherever the others are.
    return round_near(centre, np.median(np.abs(_some(means) - centre), axis=0))


def _some(means: FloatArray) -> FloatArray:
    return means[:: max(1, len(means) // _SAMPLE)]


def round_near(means: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return the multiples of steps nearest to means; a step is four to eight deviations.

    Steps are powers of two, so that to subtract their multiples rounds nothing where it matters:
    values near the mean have the digits already.
    """
    steps = np.maximum(4 * deviations, 1e-12 * np.abs(means))
    steps = np.exp2(np.ceil(np.log2(np.maximum(steps, np.finfo(float).tiny))))
    return steps * np.round(means / steps)


def far_points(squares: FloatArray) -> IntArray:
    """Return the points so far from the centre that two of them may need a difference."""
    return np.flatnonzero(squares > _FAR)


def cancelled_pairs(
    products: FloatArray,
    row_squares: FloatArray,
    column_squares: FloatArray,
    *,
    scale: float = 1.0,
    close: float = 1e-14,
) -> tuple[IntArray, IntArray]:
    """Return rows and columns of the pairs whose distance must be taken from their difference.

    ``products`` is ``a'b``, (n, m), the squares are ``|a|^2`` and ``|b|^2``, and the kernel is
    ``exp(-scale |a - b|^2 / 2)``. Pairs whose squared distance may be less than the share ``close``
    of the squared lengths count too; the default is the rounding error, for kernels that vanish
    with the distance.
    """
    rows, columns = far_points(row_squares * scale), far_points(column_squares * scale)
    if not len(rows) or not len(columns):
        return rows[:0], columns[:0]
    sums = row_squares[rows, None] + column_squares[columns]
    estimates = sums - 2 * products[np.ix_(rows, columns)]
    i, j = np.nonzero(estimates <= _APART / scale + close * sums)
    return rows[i], columns[j]


def squared_distances(
    products: FloatArray,
    row_squares: FloatArray,
    column_squares: FloatArray,
    *,
    scale: float,
    close: float = 1e-14,
) -> tuple[FloatArray, tuple[IntArray, IntArray]]:
    """Overwrite ``a'b`` with ``|a - b|²``; return the pairs that must be recomputed."""
    far = cancelled_pairs(products, row_squares, column_squares, scale=scale, close=close)
    products *= -2
    # One rounding per entry after this, and none that could leave the sum below zero.
    products += row_squares[:, None]
    products += column_squares
    return np.maximum(products, 0, out=products), far


def distances_of(
    x: FloatArray,
    y: FloatArray,
    differences: Callable[[IntArray, IntArray], FloatArray],
    *,
    scale: float,
) -> FloatArray:
    """Return the squared distances of all points; of pairs that would cancel, from differences."""
    K, far = squared_distances(x @ y.T, squares_of(x), squares_of(y), scale=scale)
    for i, j in in_parts(far, x.shape[1]):
        K[i, j] = squares_of(differences(i, j))
    return K


def in_parts(
    pairs: tuple[IntArray, IntArray], floats_per_pair: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Cut pairs into parts of bounded memory, with so many numbers to a pair."""
    for part in bounded_slices(len(pairs[0]), floats_per_pair):
        yield pairs[0][part], pairs[1][part]


def squares_of(points: FloatArray) -> FloatArray:
    """Return the squared length of each row."""
    return np.einsum("ij,ij->i", points, points)
