"""Gaussian processes by the textbook: explicit inverses, determinants and numerical gradients."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm


def log_marginal_likelihood(K, Y, scale, noise):
    """Return the evidence of targets, by inverse and determinant."""
    S = scale * K + noise * np.eye(len(K))
    sign, log_det = np.linalg.slogdet(S)
    assert sign > 0
    values = [
        -0.5 * y @ np.linalg.inv(S) @ y - 0.5 * log_det - 0.5 * len(y) * np.log(2 * np.pi)
        for y in np.asarray(Y).reshape(len(K), -1).T
    ]
    return sum(values)


def posterior(K, y, K_new, K_new_new, scale, noise):
    """Return mean and covariance of new observations."""
    inverse = np.linalg.inv(scale * K + noise * np.eye(len(K)))
    mean = scale * K_new @ inverse @ y
    covariance = scale * K_new_new - scale**2 * K_new @ inverse @ K_new.T
    return mean, covariance + noise * np.eye(len(K_new))


def numerical_gradient(function, point, step=1e-5):
    """Return central differences of a function of a vector."""
    point = np.asarray(point, dtype=float)
    gradient = np.empty(len(point))
    for j in range(len(point)):
        h = np.zeros(len(point))
        h[j] = step
        gradient[j] = (function(point + h) - function(point - h)) / (2 * step)
    return gradient


def logistic_objective(K, signs, weights, coefficients, intercept):
    """Return the penalised loss of a kernel logistic regression of two classes."""
    f = K @ coefficients + intercept
    return 0.5 * coefficients @ K @ coefficients + weights @ np.log1p(np.exp(-signs * f))


def tilted(mean, variance, sign):
    """Return log-integral, mean and variance of a Gaussian times a sigmoid, on a fine grid."""
    deviation = np.sqrt(variance)
    peak = max(sign * mean, min(0.0, sign * mean + variance))
    low = min(peak - 40 * deviation, -60.0 if deviation > 1 else peak)
    # A smooth function: the error falls exponentially with the number of points in the width of
    # the Gaussian and in that of the sigmoid.
    high = peak + 40 * deviation
    f, step = np.linspace(low, high, max(3001, int(3 * (high - low))), retstep=True)
    logs = -((f - sign * mean) ** 2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)
    logs += log_expit(f) + np.log(step)
    total = logsumexp(logs)
    weights = np.exp(logs - total)
    centre = weights @ f
    return total, sign * centre, weights @ (f - centre) ** 2


def expectation_propagation(K, signs, sweeps=15):
    """Return mean, variance and evidence of the latent values, one row after the other."""
    mean, covariance, evidence = _posterior_by_propagation(K, signs, sweeps)
    return mean, np.diag(covariance), evidence


def _posterior_by_propagation(K, signs, sweeps=15):
    n = len(K)
    precisions, shifts, logs = np.zeros(n), np.zeros(n), np.zeros(n)
    inverse = np.linalg.inv(K)
    for _ in range(sweeps):
        for i in range(n):
            S = np.linalg.inv(inverse + np.diag(precisions))
            mu = S @ shifts
            v = 1 / (1 / S[i, i] - precisions[i])
            m = v * (mu[i] / S[i, i] - shifts[i])
            log_z, mean, variance = tilted(m, v, signs[i])
            precisions[i] = 1 / variance - 1 / v
            shifts[i] = mean / variance - m / v
            # So that the site, in the place of the sigmoid, integrates to the same.
            logs[i] = log_z + 0.5 * np.log(v / variance) - 0.5 * mean**2 / variance
            logs[i] += 0.5 * m**2 / v
    S = np.linalg.inv(inverse + np.diag(precisions))
    log_det = np.linalg.slogdet(np.eye(n) + K * precisions)[1]
    evidence = logs.sum() + 0.5 * shifts @ S @ shifts - 0.5 * log_det
    return S @ shifts, S, evidence


def left_out_by_refitting(K, signs):
    """Return mean and variance of each latent value by a process of the other rows alone."""
    moments = []
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        inner = K[np.ix_(rest, rest)]
        mean, variance_inside, _ = _posterior_by_propagation(inner, signs[rest])
        weights = np.linalg.solve(inner, K[rest, i])
        gained = K[i, i] - weights @ K[rest, i]
        moments.append((weights @ mean, gained + weights @ variance_inside @ weights))
    return np.array(moments).T


def left_out_by_regression(K, precisions, shifts):
    """Return mean and variance of each latent value by regression on the sites of the others.

    A site ``exp(-T f^2 / 2 + shift f)`` is an observation ``shift / T`` with noise ``1 / T``.
    """
    moments = []
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        inverse = np.linalg.inv(K[np.ix_(rest, rest)] + np.diag(1 / precisions[rest]))
        across = K[i, rest]
        mean = across @ inverse @ (shifts[rest] / precisions[rest])
        moments.append((mean, K[i, i] - across @ inverse @ across))
    return np.array(moments).T


def coupled(P, exponent):
    """Return one-against-rest probabilities of each row combined to a distribution."""
    weights = P / (1 - P) ** exponent
    return weights / weights.sum(axis=1, keepdims=True)


def best_exponent(P, labels):
    """Return the exponent of the lowest log loss, from a thousand and one."""
    tried = np.linspace(0.0, 1.0, 1001)
    rows = np.arange(len(labels))
    return tried[np.argmin([-np.log(coupled(P, s)[rows, labels]).sum() for s in tried])]


def average_sigmoid(mean, variance):
    """Return the probability of the class averaged over a Gaussian log-odds, by quadrature."""
    deviation = np.sqrt(variance)
    points = [mean + k * deviation for k in range(-9, 10)] + [0.0]
    points = sorted(p for p in points if abs(p - mean) < 9.5 * deviation)

    def integrand(f):
        return expit(f) * norm.pdf(f, mean, deviation)

    ends = mean - 9.5 * deviation, mean + 9.5 * deviation
    return quad(integrand, *ends, points=points, limit=500, epsabs=1e-14, epsrel=1e-13)[0]
