"""The most likely point of a Gaussian within limits."""

from __future__ import annotations

import numpy as np

from absentia.tables import FloatArray

__all__ = ["nearest_within"]

# Correlations of one exactly are moved by this much, so that every system has a solution.
_JITTER = 1e-15
# Multipliers beyond this many times the limits belong to limits that contradict one another, of
# columns that determine one another.
_STEEPEST = 1e8
# Limits count as kept up to this share of the largest.
_SLACK = 1e-10


def nearest_within(
    R: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the points ``x`` within limits with the least ``x' inv(R) x``, and ``inv(R) x``.

    By the method of Lawson and Hanson (1974, chapter 23) for the multipliers ``g = inv(R) x``, of
    all rows at once: columns that a point violates are put at their limit, the one that is farthest
    outside first, and columns whose multiplier has changed its sign are set free.

    Parameters
    ----------
    R : ndarray of shape (n, q, q)
        Correlations.
    lower, upper : ndarray of shape (n, q)

    Returns
    -------
    points, multipliers : ndarray of shape (n, q)
        Zero for rows without such a point.
    """
    n, q = lower.shape
    R = R + _JITTER * np.eye(q)
    multipliers, ends = np.zeros((2, n, q))
    signs = np.zeros((n, q))  # 1 for columns at their lower limit, -1 at their upper
    settled = np.ones(n, dtype=bool)
    sizes = np.where(np.isfinite(lower), np.abs(lower), 0.0)
    sizes = np.maximum(sizes, np.where(np.isfinite(upper), np.abs(upper), 0.0))
    slack = _SLACK * sizes.max(axis=1, initial=0.0)
    rows = np.arange(n)
    for _ in range(10 * q + 10):
        points = (R @ multipliers[..., None])[..., 0]
        outside = np.maximum(lower - points, points - upper)
        outside[signs != 0] = -np.inf
        worst = outside.argmax(axis=1)
        joining = settled & (outside[rows, worst] > slack)
        if not joining.any() and settled.all():
            break
        at, column = rows[joining], worst[joining]
        below = points[at, column] < lower[at, column]
        signs[at, column] = np.where(below, 1.0, -1.0)
        ends[at, column] = np.where(below, lower[at, column], upper[at, column])
        fixed = signs != 0
        both = fixed[:, :, None] & fixed[:, None, :]
        system = np.where(both, R, 0.0) + np.eye(q) * ~fixed[:, None, :]
        wanted = np.linalg.solve(system, np.where(fixed, ends, 0.0)[..., None])[..., 0]
        wrong = fixed & (wanted * signs < 0)
        settled = ~wrong.any(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = np.where(wrong, multipliers / (multipliers - wanted), 1.0)
        step = np.nan_to_num(steps, nan=0.0).min(axis=1, keepdims=True)
        leaving = wrong & (steps <= step)
        multipliers += step * (wanted - multipliers)
        multipliers[leaving] = ends[leaving] = signs[leaving] = 0.0
    points = np.where(signs != 0, ends, (R @ multipliers[..., None])[..., 0])
    found = settled & (points >= lower - slack[:, None]).all(axis=1)
    found &= (points <= upper + slack[:, None]).all(axis=1)
    steepest = _STEEPEST * sizes.max(axis=1, initial=0.0)
    found &= (np.abs(multipliers) <= steepest[:, None]).all(axis=1)
    return np.where(found[:, None], points, 0.0), np.where(found[:, None], multipliers, 0.0)
