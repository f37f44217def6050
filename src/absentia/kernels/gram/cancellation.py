"""Cancellation in squared distances: pairs far from the rest and close to each other.

Squared distances by one product of matrices, ``|a|^2 + |b|^2 - 2 a'b``, have an error of ``1e-16``
times the squared lengths. Counted from where most rows are (:func:`centre_of`) these are moderate,
except for outliers; and for two outliers the distance is taken from their difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from absentia.engine.threads import bounded_slices
from absentia.tables import FloatArray, IntArray

__all__ = [
    "centre_of",
    "cancelled_pairs",
    "far_points",
    "in_parts",
    "origin_of",
    "round_near",
    "squared_distances",
    "squares_of",
]

# A squared length, in units in which the kernel is exp(-distance^2 / 2), that leaves 1e-11.
_FAR = 1e5
# From this squared distance on a kernel is zero in double precision.
_APART = 1500.0
_SAMPLE = 512


def centre_of(means: FloatArray) -> FloatArray:
    """Return the median of some of the rows: among the rows, wherever outliers are."""
    centre: FloatArray = np.median(_some(means), axis=0)
    return centre


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
    nearest: FloatArray = steps * np.round(means / steps)
    return nearest


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

    Parameters
    ----------
    products : ndarray of shape (n, m)
        ``a'b``.
    row_squares, column_squares : ndarrays of shape (n,) and (m,)
        ``|a|^2`` and ``|b|^2``.
    scale : float
        The kernel is ``exp(-scale |a - b|^2 / 2)``.
    close : float
        Pairs count whose squared distance may be less than this share of the squared lengths,
        too; the default is the rounding error, for kernels that vanish with the distance.
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


def in_parts(
    pairs: tuple[IntArray, IntArray], floats_per_pair: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Cut pairs into parts of bounded memory, with so many numbers to a pair."""
    for part in bounded_slices(len(pairs[0]), floats_per_pair):
        yield pairs[0][part], pairs[1][part]


def squares_of(points: FloatArray) -> FloatArray:
    """Return the squared length of each row."""
    squares: FloatArray = np.einsum("ij,ij->i", points, points)
    return squares
