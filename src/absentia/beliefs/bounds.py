"""Values of which only limits are known: truncated Gaussians, matched in mean and covariance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, logsumexp

from absentia.beliefs.covariances import ExplicitCovariances
from absentia.tables import FloatArray
from absentia.tables.stored import frozen

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["limited", "truncated_moments", "truncated_to"]

_ROOT_2_PI = float(np.sqrt(2 * np.pi))


def limited(beliefs: Beliefs, lower: ArrayLike, upper: ArrayLike) -> Beliefs:
    """Return the beliefs with missing numbers between limits; see :meth:`Beliefs.within`."""
    try:
        low = np.broadcast_to(np.asarray(lower, dtype=np.float64), beliefs.shape)
        high = np.broadcast_to(np.asarray(upper, dtype=np.float64), beliefs.shape)
    except ValueError:
        raise ValueError(
            f"lower and upper must broadcast to {beliefs.shape}, one limit per value, found "
            f"shapes {np.shape(lower)} and {np.shape(upper)}."
        ) from None
    if not (low < high).all():
        row, column = np.argwhere(~(low < high))[0]
        raise ValueError(
            f"Every lower limit must be below its upper limit, but row {row} has "
            f"{low[row, column]:g} and {high[row, column]:g} in column {column}."
        )
    has_limit = (np.isfinite(low) | np.isfinite(high)) & beliefs.mask
    rows = np.flatnonzero(has_limit.any(axis=1))
    if not len(rows):
        return beliefs
    spread = beliefs.covariances.dense(beliefs.group_of_row[rows])
    low, high = np.where(has_limit, low, -np.inf)[rows], np.where(has_limit, high, np.inf)[rows]
    log_joint, moved, narrowed = truncated_to(
        beliefs.log_weights[rows], beliefs.means[rows], spread, low, high
    )
    log_weights, means = np.array(beliefs.log_weights), np.array(beliefs.means)
    groups = np.array(beliefs.group_of_row)
    log_weights[rows] = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
    means[rows] = moved
    groups[rows] = beliefs.covariances.n_groups + np.arange(len(rows))
    table = ExplicitCovariances(frozen(np.concatenate([beliefs.covariances.dense(), narrowed])))
    return replace(
        beliefs, log_weights=log_weights, means=means, covariances=table, group_of_row=groups
    ).labelled(beliefs.__dict__.get("_labels"))


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
