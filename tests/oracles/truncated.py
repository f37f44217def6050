"""Gaussians within limits by numerical integration, and likelihoods of rows with limits."""

from __future__ import annotations

from itertools import product

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


def nearest_within(covariance, lower, upper):
    """Return the most likely point within limits of a Gaussian of mean zero, and its multipliers.

    Every choice of columns that stand at a limit is tried; the right one is within the limits, and
    its multipliers ``inv(S) x`` push outwards from none of them.
    """
    q, deviations = len(covariance), np.sqrt(np.diag(covariance))
    for choice in product((0, -1, 1), repeat=q):
        at = np.array([c != 0 for c in choice])
        bounds = np.where(np.array(choice) < 0, lower, upper)[at]
        if not np.isfinite(bounds).all():
            continue
        pull = np.zeros(q)
        if at.any():
            pull[at] = np.linalg.solve(covariance[np.ix_(at, at)], bounds)
        point = covariance @ pull
        slack = 1e-12 * np.abs(point / deviations).max() * deviations
        within = (point >= lower - slack) & (point <= upper + slack)
        outwards = pull * deviations * choice
        if (within | at).all() and (outwards <= 1e-12 * np.abs(outwards).max()).all():
            point[at] = bounds
            return point, pull
    raise ValueError("no point is within the limits")


def far_moments(covariance, lower, upper, n_nodes=80):
    """Return log-mass, most likely point, mean relative to it, and covariance, limits far out.

    For a Gaussian of mean zero with at most three columns. With ``m`` the most likely point and
    ``g = inv(S) m`` the density of ``z = x - m`` is ``exp(-m' g / 2 - g' z - z' inv(S) z / 2)``
    times a constant: nodes of Gauss and Legendre up to ``45 / g`` for columns that stand at a
    limit, and within 12 conditional deviations for the others.
    """
    point, pull = nearest_within(covariance, lower, upper)
    precision = np.linalg.inv(covariance)
    at = pull != 0
    free_deviations = 1 / np.sqrt(np.diag(precision))
    free = ~at
    if free.any():
        free_deviations[free] = np.sqrt(np.diag(np.linalg.inv(precision[np.ix_(free, free)])))
    reach = np.where(at, 45 / np.maximum(np.abs(pull), 1e-300), REACH * free_deviations)
    low, high = np.maximum(lower - point, -reach), np.minimum(upper - point, reach)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    axes = [a + (b - a) * (nodes + 1) / 2 for a, b in zip(low, high, strict=True)]
    z = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(point))
    share = np.prod(np.stack(np.meshgrid(*[weights / 2] * len(point), indexing="ij"), -1), -1)
    density = share.ravel() * np.exp(-z @ pull - 0.5 * np.einsum("ni,ij,nj->n", z, precision, z))
    total = density.sum()
    mean = density @ z / total
    spread = (density[:, None] * (z - mean)).T @ (z - mean) / total
    log_mass = np.log(total) + np.log(high - low).sum() - 0.5 * point @ pull
    log_mass -= 0.5 * (len(point) * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1])
    return log_mass, point, mean, spread
