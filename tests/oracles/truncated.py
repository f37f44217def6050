"""Gaussians within limits by numerical integration, and likelihoods of rows with limits."""

from __future__ import annotations

import numpy as np
from scipy.integrate import dblquad, quad
from scipy.stats import multivariate_normal, norm

REACH = 12.0  # standard deviations beyond which nothing is left


def moments(mean, covariance, lower, upper):
    """Return mass, mean and covariance of one or two columns within limits."""
    deviations = np.sqrt(np.diag(covariance))
    low = np.maximum(lower, mean - REACH * deviations)
    high = np.minimum(upper, mean + REACH * deviations)
    density = multivariate_normal(mean, covariance).pdf

    def integral(function):
        if len(mean) == 1:
            return quad(lambda x: function(np.array([x])), low[0], high[0], epsabs=1e-13)[0]
        return dblquad(
            lambda y, x: function(np.array([x, y])), low[0], high[0], low[1], high[1], epsabs=1e-11
        )[0]

    mass = integral(density)
    centre = np.array([integral(lambda x, j=j: x[j] * density(x)) / mass for j in range(len(mean))])
    spread = np.array(
        [
            [
                integral(lambda x, i=i, j=j: (x[i] - centre[i]) * (x[j] - centre[j]) * density(x))
                / mass
                for j in range(len(mean))
            ]
            for i in range(len(mean))
        ]
    )
    return mass, centre, spread


def tail_moments(a, b):
    """Return log-mass, nearer end, mean relative to that end, and variance of a normal in a tail.

    By integration of ``exp(-|end| t - t^2 / 2)`` over the distance ``t`` from the end nearer to
    zero, of an interval that zero is not far inside of.
    """
    end, sign = (a, 1.0) if a > -b else (b, -1.0)
    near = sign * end
    unit = 1 / max(abs(near), 1.0)
    reach = min((b - a) / unit, 60.0)

    def integral(function):
        def weighted(u):
            return function(u) * np.exp(-near * unit * u - (unit * u) ** 2 / 2)

        return quad(weighted, 0, reach, epsabs=0, epsrel=1e-13, limit=200)[0]

    mass = integral(lambda u: 1.0)
    mean = integral(lambda u: u) / mass
    variance = integral(lambda u: (u - mean) ** 2) / mass
    log_mass = np.log(mass * unit) - near**2 / 2 - np.log(2 * np.pi) / 2
    return log_mass, end, sign * unit * mean, unit**2 * variance


def drawn_within(mean, covariance, lower, upper, n_draws, seed=0):
    """Return the share, mean and covariance of draws that keep to the limits."""
    draws = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=n_draws)
    kept = draws[((draws >= lower) & (draws <= upper)).all(axis=1)]
    return len(kept) / n_draws, kept.mean(axis=0), np.cov(kept.T)


def row_log_likelihood(x, lower, upper, weights, means, covariances):
    """Return log p of what is known of a row that has at most one limited value."""
    seen = ~np.isnan(x)
    limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    total = 0.0
    for weight, mean, S in zip(weights, means, covariances, strict=True):
        part = weight
        if seen.any():
            part *= multivariate_normal(mean[seen], S[np.ix_(seen, seen)]).pdf(x[seen])
        for j in limited:
            gain = np.zeros(0)
            centre, variance = mean[j], S[j, j]
            if seen.any():
                gain = np.linalg.solve(S[np.ix_(seen, seen)], S[seen, j])
                centre, variance = centre + gain @ (x - mean)[seen], variance - gain @ S[seen, j]
            within = norm(centre, np.sqrt(variance))
            part *= within.cdf(upper[j]) - within.cdf(lower[j])
        total += part
    return np.log(total)
