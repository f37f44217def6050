"""Expectation propagation for Gaussian process classifiers, and sigmoids under Gaussian log-odds.

The posterior of the latent values ``f`` at the training rows is replaced by a Gaussian whose mean
and variance at each row agree with those of the true likelihood in the context of all other rows.
Minka (2001); Section 3.6 of Rasmussen and Williams, Gaussian Processes for Machine Learning. The
Gaussian at the *mode* (Laplace's approximation) is cheaper, but for separable classes it gives
probabilities near one half where the true average is near one (Kuss and Rasmussen, Assessing
Approximate Inference for Binary Gaussian Process Classification, JMLR 2005).

Several classes are combined from processes that each separate one class from the rest. ``P_k`` is
the probability of class ``k`` against all others; together they need not sum to one, and become

    ``p_k = P_k / (1 - P_k)^s / sum_j P_j / (1 - P_j)^s``,  ``0 <= s <= 1``.

With ``s = 0`` they are divided by their sum, which is right if they sum to one already: classes
overlap and rows are many. With ``s = 1`` each class counts with its odds, which is right if every
process is in doubt by itself (few rows, many missing values), but all agree on the class. The
``P_k`` of a row do not show which of the two holds, so ``s`` is learned from the probabilities of
the training labels by processes that have not seen them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import brentq
from scipy.special import erfcx, expit, log_expit, logsumexp, softmax

from absentia.beliefs.draws import DrawPoints
from absentia.engine.threads import bounded_slices
from absentia.machines.newton import factor_identity_plus
from absentia.machines.uncertainty import entropy
from absentia.progress import SolverStatus
from absentia.tables import BoolArray, FloatArray, IntArray

#: Number of sweeps before the last one that are mixed.
_MEMORY = 5
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
    return softmax(log_class + rest_exponent * rest_gain, axis=1)


def coupled_when_known(f: FloatArray, rest_exponent: float) -> FloatArray:
    """Return the probabilities of classes along the last axis for known log-odds.

    The same combination: ``log P - s log(1 - P) = (1 - s) log P + s f`` for ``P`` the sigmoid of
    ``f``, which is the softmax of the log-odds at ``s = 1``.
    """
    scores = (1.0 - rest_exponent) * log_expit(f) + rest_exponent * f
    return softmax(scores, axis=-1)


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
    return np.where(deviation[:, 0] < 1.0, near, far)


def _binary_entropy(f: FloatArray) -> FloatArray:
    """Return the entropy of two classes with log-odds ``f``."""
    size = np.abs(f)
    return np.log1p(np.exp(-size)) + size * expit(-size)


@dataclass(frozen=True, eq=False)
class Sites:
    """Gaussians in place of the likelihoods of the rows, ``exp(-precision f^2 / 2 + shift f)``."""

    precisions: FloatArray
    shifts: FloatArray


@dataclass(frozen=True, eq=False)
class Propagation:
    """A Gaussian approximation of the posterior of a binary classifier's latent values.

    The posterior mean is ``f = K coefficients``; ``root`` are the square roots of the precisions
    ``T`` of the sites, and ``factor`` is the lower Cholesky factor of ``I + T^(1/2) K T^(1/2)``.
    The cavity ``N(f; m, v)`` of a row is its latent value by all sites but its own,
    ``1 / v = 1 / S_ii - T_i`` and ``m / v = f_i / S_ii - shift_i``: the prediction for a row whose
    label the process has not seen. It has converged if the sites agree with one another.
    """

    sites: Sites
    coefficients: FloatArray
    root: FloatArray
    factor: FloatArray
    log_evidence: float
    cavity_means: FloatArray
    cavity_variances: FloatArray
    status: SolverStatus

    @classmethod
    def of(
        cls,
        K: FloatArray,
        positive: BoolArray,
        *,
        max_iter: int = 100,
        tol: float = 1e-6,
        start: Sites | None = None,
    ) -> Propagation:
        """Move all sites at once until they agree; 4/3 n^3 multiplications a sweep.

        Moving all at once overshoots for rows that are alike, so that the sweeps are mixed by
        Anderson's method. ``K`` is the covariance of the latent values, ``start`` the sites of a
        neighbouring ``K``. A sweep has converged that would change the mean and the variance of no
        latent value by more than ``tol``, in units of its deviation and variance.
        """
        signs = np.where(positive, 1.0, -1.0)
        sites = _sites_of(np.zeros(len(K)), np.diagonal(K), signs)[0] if start is None else start
        status, mixing = SolverStatus.EXHAUSTED, _Mixing()
        for sweep in range(max_iter + 1):
            root = np.sqrt(sites.precisions)
            factor = np.tril(factor_identity_plus(K, root)[0])
            explained = solve_triangular(factor, root[:, None] * K, lower=True, check_finite=False)
            variances = np.maximum(np.diagonal(K) - (explained**2).sum(axis=0), 0.0)
            inner = cho_solve((factor, True), root * (K @ sites.shifts), check_finite=False)
            coefficients = sites.shifts - root * inner
            means = K @ coefficients
            # The cavity of a row: its marginal without its own site.
            left = np.maximum(1.0 - sites.precisions * variances, np.finfo(float).eps)
            cavity_variances = variances / left
            cavity_means = (means - variances * sites.shifts) / left
            wanted, log_z, wanted_means, wanted_variances = _sites_of(
                cavity_means, cavity_variances, signs
            )
            deviations = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
            change = max(
                float(np.max(np.abs(wanted_means - means) / deviations, initial=0.0)),
                float(np.max(np.abs(wanted_variances - variances) / deviations**2, initial=0.0)),
            )
            if change <= tol:
                status = SolverStatus.CONVERGED
                break
            if sweep == max_iter:
                break
            sites = mixing.next(sites, wanted, variances)
        T, nu, v, m = sites.precisions, sites.shifts, cavity_variances, cavity_means
        gained = (2 * m * nu + nu**2 * v - T * m**2) / (1 + T * v)
        log_evidence = (
            (log_z + 0.5 * np.log1p(T * v) - 0.5 * gained).sum()
            + 0.5 * nu @ means
            - np.log(np.diagonal(factor)).sum()
        )
        return cls(sites, coefficients, root, factor, float(log_evidence), m, v, status)

    def kernel_weights(self) -> FloatArray:
        """Return the derivatives of the evidence by the entries of ``K``, ``1/2 (c c' - R)``.

        ``R = T^(1/2) inv(B) T^(1/2)``: the evidence is stationary in the sites, so that only the
        explicit part is left.
        """
        R = cho_solve((self.factor, True), np.diag(self.root), check_finite=False)
        R *= self.root[:, None]
        c = self.coefficients
        return 0.5 * (np.outer(c, c) - R)


class _Mixing:
    """Anderson's acceleration of a fixed-point iteration on sites.

    The next point is the combination of the last few whose residual is the smallest; Walker and
    Ni, SIAM Journal on Numerical Analysis 49, 2011. Precisions count in units of one over the
    variance of the row, shifts in units of one over its deviation.
    """

    def __init__(self) -> None:
        self.points: list[FloatArray] = []
        self.residuals: list[FloatArray] = []

    def next(self, sites: Sites, wanted: Sites, variances: FloatArray) -> Sites:
        """Return where to go from sites whose sweep leads to the ones wanted."""
        n = len(variances)
        point = np.concatenate([sites.precisions, sites.shifts])
        residual = np.concatenate([wanted.precisions, wanted.shifts]) - point
        self.points = [*self.points[-_MEMORY:], point]
        self.residuals = [*self.residuals[-_MEMORY:], residual]
        if len(self.points) > 1:
            units = np.concatenate([variances, np.sqrt(variances)])
            moves = np.diff(self.points, axis=0).T
            changes = np.diff(self.residuals, axis=0).T
            shares = np.linalg.lstsq(units[:, None] * changes, units * residual, rcond=1e-8)[0]
            mixed = point + residual - (moves + changes) @ shares
            if (mixed[:n] > 0).all():
                return Sites(mixed[:n], mixed[n:])
        # A precision below zero is no site: go half the plain way, which cannot lead there.
        half = point + residual / 2
        return Sites(half[:n], half[n:])


def _sites_of(
    means: FloatArray, variances: FloatArray, signs: FloatArray
) -> tuple[Sites, FloatArray, FloatArray, FloatArray]:
    """Return the sites that have the effect of the sigmoids on given Gaussians.

    Also the logarithms of the integrals of Gaussian times sigmoid, their means and variances.
    """
    log_z, slope, bend = sigmoid_moments(signs * means, variances)
    slope = signs * slope
    kept = np.maximum(1.0 - bend * variances, np.finfo(float).eps)
    sites = Sites(bend / kept, (slope + means * bend) / kept)
    return sites, log_z, means + slope * variances, variances * kept


def latent(
    coefficients: FloatArray,
    root: FloatArray,
    factor: FloatArray,
    K_new: FloatArray,
    diagonal: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the latent value of new rows, from those of a Propagation.

    ``K_new`` has shape (n_new, n_samples); ``diagonal`` is the prior variance of each new row.
    """
    explained = solve_triangular(factor, root[:, None] * K_new.T, lower=True, check_finite=False)
    variance = np.maximum(diagonal - (explained**2).sum(axis=0), 0.0)
    return K_new @ coefficients, variance
