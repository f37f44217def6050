"""The logistic sigmoid averaged over a Gaussian, its logarithm and the derivatives of that."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, expit, log_expit, logsumexp

from absentia.engine.threads import bounded_slices
from absentia.tables import FloatArray

__all__ = ["average_sigmoid", "log_average_sigmoid", "sigmoid_moments"]

# Trapezoidal rules, which converge exponentially for functions that are analytic around the real
# line and vanish on both ends.
_NORMAL_NODES = np.arange(-22, 23) * 0.4
_LOGISTIC_NODES = np.arange(-95, 96) * 0.6
_LOG_NORMAL = -0.5 * _NORMAL_NODES**2 - logsumexp(-0.5 * _NORMAL_NODES**2)
_LOG_LOGISTIC = log_expit(_LOGISTIC_NODES) + log_expit(-_LOGISTIC_NODES)
_LOG_LOGISTIC -= logsumexp(_LOG_LOGISTIC)
_ARRAYS = 8  # of a value per node that are held at a time
# Beyond so many deviations the normal distribution function is one.
_CERTAIN = 35.0


def average_sigmoid(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return ``E[1 / (1 + exp(-f))]`` for ``f ~ N(mean, variance)``, to 1e-12.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.gaussian_process.sigmoid_moments import average_sigmoid
    >>> average_sigmoid(np.array([0.0, 2.0]), np.array([9.0, 9.0])).round(4)
    array([0.5   , 0.7174])
    """
    return np.exp(log_average_sigmoid(mean, variance))


def log_average_sigmoid(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return ``log Z`` of :func:`sigmoid_moments` alone, in a fraction of the time."""
    return _found(mean, variance, with_derivatives=False)[0]


def sigmoid_moments(
    mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``log Z``, its slope and minus its second derivative by the mean.

    ``Z = E[s(f)]`` with ``s(f) = 1 / (1 + exp(-f))`` and ``f ~ N(mean, variance)``. The Gaussian
    with the moments of ``N(f; mean, variance) s(f) / Z`` has the mean ``mean + variance * slope``
    and the variance ``variance - variance^2 * bend``. For narrow Gaussians ``s`` is averaged over
    the Gaussian; for wide ones ``s`` is a step by comparison, and the normal distribution function
    is averaged over the logistic density instead, which is the same integral. In the lower tail
    ``Z(m, v) = exp(m + v/2) Z(-m - v, v)``, since ``s(f) = exp(f) s(-f)``, keeps all digits.

    Parameters
    ----------
    mean, variance : ndarray of the same shape

    Returns
    -------
    log_z, slope, bend : ndarray of the same shape
        ``bend`` is not negative: the average of a log-concave function is log-concave.
    """
    log_z, slope, bend = _found(mean, variance, with_derivatives=True)
    return log_z, slope, bend


def _found(
    mean: FloatArray, variance: FloatArray, *, with_derivatives: bool
) -> tuple[FloatArray, ...]:
    mean, variance = np.broadcast_arrays(
        np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    )
    tail = mean < -0.5 * variance
    m = np.where(tail, -mean - variance, mean).ravel()
    deviation = np.sqrt(variance).ravel()
    found = np.empty((3 if with_derivatives else 1, m.size))
    narrow = variance.ravel() <= 1.0
    for chosen, averaged, nodes in (
        (narrow, _over_normal, _NORMAL_NODES),
        (~narrow, _over_logistic, _LOGISTIC_NODES),
    ):
        places = np.flatnonzero(chosen)
        for part in bounded_slices(len(places), _ARRAYS * len(nodes)):
            rows = places[part]
            found[:, rows] = averaged(m[rows, None], deviation[rows, None], with_derivatives)
    log_z, *derivatives = found.reshape(-1, *mean.shape)
    log_z = np.where(tail, mean + 0.5 * variance + log_z, log_z)
    if not derivatives:
        return (log_z,)
    slope, bend = derivatives
    return log_z, np.where(tail, 1.0 - slope, slope), np.maximum(bend, 0.0)


def _over_normal(
    m: FloatArray, deviation: FloatArray, with_derivatives: bool
) -> tuple[FloatArray, ...]:
    f = m + deviation * _NORMAL_NODES
    log_z, weights = _summed(_LOG_NORMAL + log_expit(f))
    if not with_derivatives:
        return (log_z,)
    slopes = expit(-f)
    return log_z, *_derivatives(weights, slopes, expit(f) * slopes)


def _over_logistic(
    m: FloatArray, deviation: FloatArray, with_derivatives: bool
) -> tuple[FloatArray, ...]:
    u = np.minimum((m + _LOGISTIC_NODES) / deviation, _CERTAIN)
    scaled_tail = 0.5 * erfcx(-np.sqrt(0.5) * u)  # the distribution function times exp(u^2 / 2)
    log_z, weights = _summed(_LOG_LOGISTIC + (np.log(scaled_tail) - 0.5 * u**2))
    if not with_derivatives:
        return (log_z,)
    slopes = 1.0 / (np.sqrt(2 * np.pi) * deviation * scaled_tail)
    return log_z, *_derivatives(weights, slopes, slopes * (u / deviation + slopes))


def _summed(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log of a sum of exponentials, and the share of each."""
    highest = logs.max(axis=1, keepdims=True, initial=-np.inf)
    weights = np.exp(logs - highest)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return (highest + np.log(total))[:, 0], weights


def _derivatives(
    weights: FloatArray, slopes: FloatArray, bends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the slope of such a logarithm, and minus its second derivative."""
    slope = (weights * slopes).sum(axis=1)
    spread = (weights * (slopes - slope[:, None]) ** 2).sum(axis=1)
    return slope, (weights * bends).sum(axis=1) - spread
