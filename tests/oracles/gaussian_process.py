"""Gaussian processes by the textbook: explicit inverses, determinants and numerical gradients."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
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


def laplace(K, signs):
    """Return the mode of the latent values and the approximate evidence, by a general optimiser."""
    inverse = np.linalg.inv(K)

    def loss(f):
        return 0.5 * f @ inverse @ f + np.log1p(np.exp(-signs * f)).sum()

    def slope(f):
        return inverse @ f - signs * expit(-signs * f)

    mode = minimize(loss, np.zeros(len(K)), jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    W = np.diag(expit(mode) * expit(-mode))
    log_det = np.linalg.slogdet(np.eye(len(K)) + K @ W)[1]
    return mode, -loss(mode) - 0.5 * log_det


def average_sigmoid(mean, variance):
    """Return the probability of the class averaged over a Gaussian log-odds, by quadrature."""
    deviation = np.sqrt(variance)
    points = [mean + k * deviation for k in range(-9, 10)] + [0.0]
    points = sorted(p for p in points if abs(p - mean) < 9.5 * deviation)

    def integrand(f):
        return expit(f) * norm.pdf(f, mean, deviation)

    ends = mean - 9.5 * deviation, mean + 9.5 * deviation
    return quad(integrand, *ends, points=points, limit=500, epsabs=1e-14, epsrel=1e-13)[0]
