"""Values of which only limits are known: truncated Gaussians, matched in mean and covariance."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from absentia.tables import FloatArray

__all__ = ["truncated_moments", "truncated_to"]

_ROOT_2_PI = float(np.sqrt(2 * np.pi))


def truncated_moments(
    lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-probability, mean and variance of a standard normal within limits.

    With ``Z`` the probability of the interval from ``a`` to ``b`` and ``phi`` the density, the mean
    is ``(phi(a) - phi(b)) / Z`` and the variance ``1 + (a phi(a) - b phi(b)) / Z - mean^2``
    (Johnson, Kotz and Balakrishnan, 1994). Ratios are taken by scaled error functions, so that
    limits far in a tail have their digits.

    Parameters
    ----------
    lower, upper : ndarray of the same shape
        ``lower < upper``; infinite where there is no limit.
    """
    # Mirrored so that the interval's end nearer to zero comes first in the upper tail.
    mirror = lower + upper < 0
    a = np.where(mirror, -upper, lower)
    b = np.where(mirror, -lower, upper)
    tail = a > 0
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        # In the tail, all in units of phi(a): Z / phi(a) = R(a) - R(b) exp((a^2 - b^2) / 2).
        ratio = np.exp(np.where(np.isinf(b), -np.inf, 0.5 * (a - b) * (a + b)))
        far_b = np.where(np.isinf(b), 0.0, ratio * _mills(np.where(np.isinf(b), 0.0, b)))
        tail_mass = _mills(np.where(tail, a, 0.0)) - far_b
        phi_a, phi_b = _density(a), _density(b)
        mass = np.exp(log_ndtr(b)) - np.exp(log_ndtr(a))
        scale = np.where(tail, tail_mass, mass)
        at_a, at_b = np.where(tail, 1.0, phi_a), np.where(tail, ratio, phi_b)
        finite_a, finite_b = np.where(np.isinf(a), 0.0, a), np.where(np.isinf(b), 0.0, b)
        mean = (at_a - at_b) / scale
        variance = 1 + (finite_a * at_a - finite_b * at_b) / scale - mean**2
        log_mass = np.where(tail, np.log(tail_mass) - 0.5 * a**2 - np.log(_ROOT_2_PI), np.log(mass))
    # An interval so narrow or so far that its digits are lost: uniform on what is left of it.
    width = np.minimum(b - a, 1 / np.maximum(a, 1.0))
    good = np.isfinite(mean) & (mean >= a) & (mean <= b) & (variance > 0) & (b - a > 1e-4)
    mean = np.where(good, mean, finite_a + 0.5 * width)
    variance = np.where(good, variance, width**2 / 12)
    log_mass = np.where(
        np.isfinite(log_mass) & good,
        log_mass,
        np.log(width) - 0.5 * finite_a**2 - np.log(_ROOT_2_PI),
    )
    return log_mass, np.where(mirror, -mean, mean), np.minimum(variance, 1.0)


def truncated_to(
    log_weights: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the moments of mixtures of which each column lies within limits.

    One limited column is exact: it gets the moments of the truncated normal, the others follow by
    regression on it (their covariance with it scales by the ratio of the variances), and the
    weight of a component gains the probability of the interval. Several are taken one after the
    other, each time with the Gaussian of these moments: assumed density filtering (Minka, 2001).

    Parameters
    ----------
    log_weights : ndarray of shape (n, k)
    means : ndarray of shape (n, k, d)
    covariances : ndarray of shape (n, k, d, d)
    lower, upper : ndarray of shape (n, d)

    Returns
    -------
    log_weights, means, covariances
        Of the same shapes; log-weights are not normalised.
    """
    log_weights, means, covariances = log_weights.copy(), means.copy(), covariances.copy()
    for j in np.flatnonzero((np.isfinite(lower) | np.isfinite(upper)).any(axis=0)):
        rows = np.flatnonzero(np.isfinite(lower[:, j]) | np.isfinite(upper[:, j]))
        variances = covariances[rows, :, j, j]
        rows = rows[(variances > 0).all(axis=1)]
        variances = covariances[rows, :, j, j]
        deviations = np.sqrt(variances)
        centres = means[rows, :, j]
        log_mass, shifts, shares = truncated_moments(
            (lower[rows, j, None] - centres) / deviations,
            (upper[rows, j, None] - centres) / deviations,
        )
        slopes = covariances[rows, :, :, j] / variances[:, :, None]
        means[rows] += slopes * (shifts * deviations)[:, :, None]
        outer = slopes[:, :, :, None] * slopes[:, :, None, :]
        covariances[rows] -= outer * (variances * (1 - shares))[:, :, None, None]
        means[rows, :, j] = np.clip(means[rows, :, j], lower[rows, j, None], upper[rows, j, None])
        log_weights[rows] += log_mass
    return log_weights, means, covariances


def _mills(x: FloatArray) -> FloatArray:
    """Return ``(1 - Phi(x)) / phi(x)``, Mills' ratio."""
    ratio: FloatArray = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    return ratio


def _density(x: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * x**2) / _ROOT_2_PI
    return density
