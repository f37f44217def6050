"""Shapley values by their definition, and conditional expectations in closed form."""

from __future__ import annotations

from itertools import permutations

import numpy as np


def shapley(v, n):
    """Return the mean gain of each of n players over all orders; ``v`` takes sets of players."""
    orders = list(permutations(range(n)))
    values = np.zeros(n)
    for order in orders:
        for place, player in enumerate(order):
            values[player] += v(frozenset(order[: place + 1])) - v(frozenset(order[:place]))
    return values / len(orders)


def conditional(mean, covariance, x, known):
    """Return mean and covariance of a Gaussian row given its values ``x[known]``."""
    known = sorted(known)
    rest = [j for j in range(len(mean)) if j not in known]
    centre, spread = np.array(x, dtype=float), np.zeros_like(covariance)
    gain = covariance[np.ix_(rest, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
    centre[rest] = mean[rest] + gain @ (np.array(x)[known] - mean[known])
    spread[np.ix_(rest, rest)] = (
        covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(known, rest)]
    )
    return centre, spread


def quadratic_expectation(mean, covariance, x, known, constant, slope, curvature):
    """Return ``E[c + w'x + x'Ax | x[known]]`` for a Gaussian row."""
    centre, spread = conditional(mean, covariance, x, known)
    return constant + slope @ centre + centre @ curvature @ centre + np.trace(curvature @ spread)


def mixture_mean(weights, means, covariances, x, known):
    """Return ``E[x | x[known]]`` for a mixture of Gaussians."""
    known = sorted(known)
    logs, centres = [], []
    for weight, mean, covariance in zip(weights, means, covariances, strict=True):
        within = covariance[np.ix_(known, known)]
        d = np.array(x)[known] - mean[known]
        log_density = -0.5 * (d @ np.linalg.solve(within, d) + np.linalg.slogdet(within)[1])
        logs.append(np.log(weight) + log_density)
        centres.append(conditional(mean, covariance, x, known)[0])
    share = np.exp(np.array(logs) - max(logs))
    return (share / share.sum()) @ np.array(centres)
