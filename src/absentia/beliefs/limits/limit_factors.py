"""Expectation propagation: limits of several columns as Gaussian factors of the columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from absentia.beliefs.limits.nearest_within import nearest_within
from absentia.beliefs.limits.truncated_normal import truncated_moments
from absentia.tables import FloatArray

__all__ = ["Factored", "propagated"]

# Sweeps over the limited columns of a row, until none moves by more than this many standard
# deviations.
_MOST_SWEEPS = 100
_EP_TOLERANCE = 1e-10
# The least precision, relative to all, that is left to a column without its own factor, and the
# largest of a factor, relative to that of its column: what a narrower interval leaves is rounding.
_LEAST_SHARE = 1e-12
_LARGEST_SHARE = 1e10
# Rows with a limit beyond this many standard deviations are seen from the most likely point within
# the limits: seen from the mean, the sums below are differences of numbers of the size of the
# fourth power of the limits, which had errors of 1 % at 1e3 deviations and no digit at 1e4.
_FAR = 10.0


class Factored(NamedTuple):
    """A Gaussian of mean zero and variances one, multiplied by the factors of its columns.

    Attributes
    ----------
    log_masses : ndarray of shape (n, k)
        Log-probabilities of the limits.
    means : ndarray of shape (n, k, q)
    pulls : ndarray of shape (n, k, q)
        ``inv(R) @ means``, without the inverse: columns with covariances ``c`` to these move by
        ``c @ pulls``.
    gains : ndarray of shape (n, k, q, q)
        ``inv(I + R T)``, with ``T`` the precisions of the factors: columns with covariances ``c``
        to these have the covariances ``c @ gains.T`` now.
    losses : ndarray of shape (n, k, q, q)
        ``inv(R + inv(T))``: columns with covariances ``c`` lose ``c @ losses @ c.T``.
    """

    log_masses: FloatArray
    means: FloatArray
    pulls: FloatArray
    gains: FloatArray
    losses: FloatArray


def propagated(R: FloatArray, lower: FloatArray, upper: FloatArray) -> Factored:
    """Replace limits of Gaussians of mean zero and variances one by Gaussian factors.

    Parameters
    ----------
    R : ndarray of shape (n, k, q, q)
        Correlations.
    lower, upper : ndarray of shape (n, k, q)
    """
    origins, slopes = _origins(R, lower, upper)
    low, high = lower - origins, upper - origins
    precisions, pushes = _exponential_factors(slopes)
    masses = np.zeros(lower.shape[:2])
    active = np.arange(len(R))
    for _ in range(_MOST_SWEEPS):
        T, h = precisions[active], pushes[active]
        some = R[active], low[active], high[active], slopes[active]
        totals, change, last = _sweep(*some, T, h)
        precisions[active], pushes[active] = T, h
        if R.shape[-1] == 1:  # exact after one sweep
            masses = last
            break
        masses[active] = totals + _solved(R[active], T, h - slopes[active])[-1]
        active = active[(change > _EP_TOLERANCE).any(axis=1)]
        if not len(active):
            break
    gains, pulls, _ = _solved(R, precisions, pushes - slopes)
    masses -= 0.5 * (origins * slopes).sum(axis=-1) * (R.shape[-1] > 1)
    # All limits together are no likelier than any of them alone.
    masses = np.minimum(masses, truncated_moments(lower, upper)[0].min(axis=-1))
    means = origins + (R @ pulls[..., None])[..., 0]
    return Factored(masses, means, pulls + slopes, gains, precisions[..., :, None] * gains)


def _origins(R: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where each row is seen from, and ``inv(R)`` times it: zero where limits are near."""
    origins, slopes = np.zeros((2, *lower.shape))
    if R.shape[-1] > 1:
        far = ((lower > _FAR) | (upper < -_FAR)).any(axis=-1)
        origins[far], slopes[far] = nearest_within(R[far], lower[far], upper[far])
    return origins, slopes


def _exponential_factors(slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors to begin with: a density that falls by ``slope`` per unit is exponential.

    Its mean is ``1 / slope`` and its variance the square of that; columns without slope have none.
    """
    steep = np.abs(slopes) > 1.0
    return np.where(steep, slopes**2, 0.0), np.where(steep, 2 * slopes, 0.0)


def _sweep(
    R: FloatArray,
    low: FloatArray,
    high: FloatArray,
    slopes: FloatArray,
    T: FloatArray,
    h: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Renew the factors ``exp(h x - T x^2 / 2)`` of all columns in turn, in place.

    Returns
    -------
    totals : ndarray of shape (n, k)
        What the columns add to the log-masses.
    change : ndarray of shape (n, k)
        The largest, in standard deviations.
    log_mass : ndarray of shape (n, k)
        Of the limits of the last column, given the factors of the others.
    """
    gains, pulls, _ = _solved(R, T, h - slopes)
    spread = gains @ R
    spread = (spread + spread.swapaxes(-1, -2)) / 2
    mean = (R @ pulls[..., None])[..., 0]
    totals, change, log_mass = np.zeros((3, *T.shape[:2]))
    for j in range(T.shape[-1]):
        least = _LEAST_SHARE / (1 + T[..., j])  # where columns determine one another
        variance, centre = np.maximum(spread[..., j, j], least), mean[..., j].copy()
        # The column under the factors of the others alone.
        rest = np.maximum(1 / variance - T[..., j], _LEAST_SHARE / variance)
        middle = (centre / variance - h[..., j]) / rest
        deviation = 1 / np.sqrt(rest)
        log_mass, shift, share = truncated_moments(
            (low[..., j] - middle) / deviation, (high[..., j] - middle) / deviation
        )
        largest = _LARGEST_SHARE + 2 * slopes[..., j] ** 2
        precision = np.clip(rest * (1 / share - 1), 0.0, largest)
        push = middle * precision + shift * deviation * (rest + precision)
        more, further = precision - T[..., j], push - h[..., j]
        inflation = np.maximum(1 + more * variance, _LEAST_SHARE)
        step = (further - more * centre) / inflation
        column = spread[..., j].copy()
        mean += column * step[..., None]
        shrink = (more / inflation)[..., None, None]
        spread -= shrink * column[..., :, None] * column[..., None, :]
        T[..., j], h[..., j] = precision, push
        change = np.maximum(change, np.abs(step) * np.sqrt(variance))
        change = np.maximum(change, np.abs(more) * variance / np.maximum(1.0, inflation))
        scale = 1 + precision / rest
        totals += log_mass + 0.5 * np.log(scale)
        totals -= (push * (2 * middle + push / rest) - precision * middle**2) / (2 * scale)
    return totals, change, log_mass


def _solved(
    R: FloatArray, T: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Multiply Gaussians of covariance ``R`` by factors ``exp(h x - T x^2 / 2)`` of columns.

    The covariance becomes ``inv(I + R T) R`` and the mean ``R inv(I + T R) h``. What is inverted is
    ``(I + R T) inv(I + T)``, whose diagonal is one: large precisions cost no digits.

    Returns
    -------
    gains : ndarray of shape (n, k, q, q)
        ``inv(I + R T)``.
    pulls : ndarray of shape (n, k, q)
        ``inv(I + T R) h``.
    log_masses : ndarray of shape (n, k)
        Logarithms of the integrals.
    """
    inflation = 1 + T
    scaled = (np.eye(R.shape[-1]) + R * T[..., None, :]) / inflation[..., None, :]
    gains = np.linalg.inv(scaled) / inflation[..., :, None]
    pulls = (gains.swapaxes(-1, -2) @ h[..., None])[..., 0]
    quadratics = (pulls[..., None, :] @ R @ h[..., None])[..., 0, 0]
    logs = np.linalg.slogdet(scaled)[1] + np.log(inflation).sum(axis=-1)
    return gains, pulls, 0.5 * (quadratics - logs)
