"""The logistic sigmoid under Gaussian log-odds: its average, several classes, its entropy.

Several classes are combined from processes that each separate one class from the rest. ``P_k`` is
the probability of class ``k`` against all others; together they need not sum to one, and become

    ``p_k = P_k / (1 - P_k)^s / sum_j P_j / (1 - P_j)^s``,  ``0 <= s <= 1``.

With ``s = 0`` they are divided by their sum. That is right if they sum to one already, as they do
if classes overlap and rows are many: each process then knows its class's share. With ``s = 1`` each
class counts with its odds, as if the processes were independent witnesses. That is right if every
process is in doubt by itself (few rows, many columns or many missing values, so that averages over
wide posteriors draw each ``P_k`` towards one half), but all agree on the class. The ``P_k`` of a
row do not show which of the two holds, so ``s`` is learned from the probabilities of the training
labels by processes that have not seen them.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import brentq
from scipy.special import erfcx, expit, log_expit, logsumexp, softmax

from absentia.beliefs.draws import DrawPoints
from absentia.engine.threads import bounded_slices
from absentia.machines.uncertainty import entropy
from absentia.tables import FloatArray, IntArray

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
# Quadrature nodes, draws and grid of the expected entropy.
_NODES, _DRAWS = 32, 64
_GRID = np.linspace(-40.0, 40.0, 321)


def average_sigmoid(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return ``E[1 / (1 + exp(-f))]`` for ``f ~ N(mean, variance)``, to 1e-12."""
    return np.exp(sigmoid_moments(mean, variance)[0])


def sigmoid_moments(
    mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``log Z``, its slope and minus its second derivative by the mean, elementwise.

    ``Z = E[s(f)]`` with ``s(f) = 1 / (1 + exp(-f))`` and ``f ~ N(mean, variance)``. The Gaussian
    with the moments of ``N(f; mean, variance) s(f) / Z`` has the mean ``mean + variance * slope``
    and the variance ``variance - variance^2 * bend``; ``bend`` is not negative. For narrow
    Gaussians ``s`` is averaged over the Gaussian; for wide ones ``s`` is a step by comparison, and
    the normal distribution function is averaged over the logistic density, which is the same
    integral. In the lower tail ``Z(m, v) = exp(m + v/2) Z(-m - v, v)``, since
    ``s(f) = exp(f) s(-f)``, keeps all digits.
    """
    mean, variance = np.broadcast_arrays(
        np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    )
    tail = mean < -0.5 * variance
    m = np.where(tail, -mean - variance, mean).ravel()
    deviation = np.sqrt(variance).ravel()
    found = np.empty((3, m.size))
    narrow = variance.ravel() <= 1.0
    for chosen, averaged, nodes in (
        (narrow, _over_normal, _NORMAL_NODES),
        (~narrow, _over_logistic, _LOGISTIC_NODES),
    ):
        places = np.flatnonzero(chosen)
        for part in bounded_slices(len(places), _ARRAYS * len(nodes)):
            rows = places[part]
            found[:, rows] = averaged(m[rows, None], deviation[rows, None])
    log_z, slope, bend = found.reshape(-1, *mean.shape)
    log_z = np.where(tail, mean + 0.5 * variance + log_z, log_z)
    return log_z, np.where(tail, 1.0 - slope, slope), np.maximum(bend, 0.0)


def _over_normal(m: FloatArray, deviation: FloatArray) -> tuple[FloatArray, ...]:
    f = m + deviation * _NORMAL_NODES
    slopes = expit(-f)
    return _summed(_LOG_NORMAL + log_expit(f), slopes, expit(f) * slopes)


def _over_logistic(m: FloatArray, deviation: FloatArray) -> tuple[FloatArray, ...]:
    u = np.minimum((m + _LOGISTIC_NODES) / deviation, _CERTAIN)
    scaled_tail = 0.5 * erfcx(-np.sqrt(0.5) * u)  # the distribution function times exp(u^2 / 2)
    slopes = 1.0 / (np.sqrt(2 * np.pi) * deviation * scaled_tail)
    logs = _LOG_LOGISTIC + (np.log(scaled_tail) - 0.5 * u**2)
    return _summed(logs, slopes, slopes * (u / deviation + slopes))


def _summed(
    logs: FloatArray, slopes: FloatArray, bends: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log of a sum of exponentials, its slope, and minus its second derivative."""
    highest = logs.max(axis=1, keepdims=True, initial=-np.inf)
    weights = np.exp(logs - highest)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    slope = (weights * slopes).sum(axis=1)
    spread = (weights * (slopes - slope[:, None]) ** 2).sum(axis=1)
    return (highest + np.log(total))[:, 0], slope, (weights * bends).sum(axis=1) - spread


def coupled_probabilities(
    means: FloatArray, variances: FloatArray, rest_exponent: float
) -> FloatArray:
    """Return the probabilities of classes whose one-against-rest log-odds are Gaussian.

    All of shape (n_samples, n_classes); ``rest_exponent`` is ``s``.
    """
    log_class, rest_gain = _log_scores(means, variances)
    probabilities: FloatArray = softmax(log_class + rest_exponent * rest_gain, axis=1)
    return probabilities


def coupled_when_known(f: FloatArray, rest_exponent: float) -> FloatArray:
    """Return the probabilities of classes along the last axis for known log-odds.

    The same combination: ``log P - s log(1 - P) = (1 - s) log P + s f`` for ``P`` the sigmoid of
    ``f``, which is the softmax of the log-odds at ``s = 1``.
    """
    scores = (1.0 - rest_exponent) * log_expit(f) + rest_exponent * f
    probabilities: FloatArray = softmax(scores, axis=-1)
    return probabilities


def fitted_rest_exponent(means: FloatArray, variances: FloatArray, labels: IntArray) -> float:
    """Return the exponent in [0, 1] under which rows that were left out are most probable.

    Zero for two classes, which have one column and probabilities that sum to one.
    ``means`` and ``variances``, (n_samples, n_classes), are those of the log-odds of the training
    rows by processes that have not seen their labels. The log loss of a softmax of scores that are
    linear in ``s`` is convex in ``s``, so that its minimum is where its slope
    ``sum_i sum_k p_ik g_ik - g_iy`` with ``g = -log(1 - P)`` changes its sign, or at an end.
    """
    if means.shape[1] == 1:
        return 0.0
    log_class, rest_gain = _log_scores(means, variances)
    of_label = np.take_along_axis(rest_gain, labels[:, None], axis=1)[:, 0]

    def slope(exponent: float) -> float:
        p = softmax(log_class + exponent * rest_gain, axis=1)
        return float(((p * rest_gain).sum(axis=1) - of_label).mean())

    if slope(0.0) >= 0.0:
        return 0.0
    if slope(1.0) <= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0))


def _log_scores(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``log P`` and ``-log(1 - P)``, two integrals: ``1 - P`` would lose all digits."""
    return sigmoid_moments(means, variances)[0], -sigmoid_moments(-means, variances)[0]


def expected_entropy(
    means: FloatArray, variances: FloatArray, rest_exponent: float = 1.0
) -> FloatArray:
    """Return ``E[H(p(f))]`` in nats for Gaussian log-odds, shape (n_samples, 1).

    ``means`` and ``variances`` have shape (n_samples, n_problems). One problem is that of two
    classes, with log-odds ``f`` and 0: a quadrature. More are the log-odds of one class each,
    independent of each other: quasi-random draws.
    """
    out = np.empty((len(means), 1))
    for rows in bounded_slices(len(means), 6 * len(_GRID)):
        deviations = np.sqrt(variances[rows])
        if means.shape[1] == 1:
            out[rows, 0] = _entropy_of_two_classes(means[rows], deviations)
        else:
            points = DrawPoints.sobol(_DRAWS, means.shape[1], seed=0).normals
            f = means[rows, None] + deviations[:, None] * points
            out[rows, 0] = entropy(coupled_when_known(f, rest_exponent)).mean(axis=1)
    return out


def _entropy_of_two_classes(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the entropies for log-odds of shape (n_samples, 1), to eight digits.

    Gauss-Hermite nodes for log-odds that are nearly known; otherwise a trapezoidal rule on the
    log-odds themselves, beyond which the class is certain.
    """
    nodes, weights = hermegauss(_NODES)
    near = _binary_entropy(mean + deviation * nodes) @ (weights / weights.sum())
    wide = np.maximum(deviation, 1.0)
    density = np.exp(-0.5 * ((_GRID - mean) / wide) ** 2) / (wide * np.sqrt(2 * np.pi))
    far = density @ _binary_entropy(_GRID) * (_GRID[1] - _GRID[0])
    chosen: FloatArray = np.where(deviation[:, 0] < 1.0, near, far)
    return chosen


def _binary_entropy(f: FloatArray) -> FloatArray:
    """Return the entropy of two classes with log-odds ``f``."""
    size = np.abs(f)
    doubt: FloatArray = np.log1p(np.exp(-size)) + size * expit(-size)
    return doubt
