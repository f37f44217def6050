"""Gaussians on rows with holes, one row at a time, by explicit inverses."""

from __future__ import annotations

import numpy as np


def log_density(x, mean, covariance):
    """Return ``log N(x[O] | mean[O], covariance[O,O])``, O being what was observed of x."""
    o = ~np.isnan(x)
    if not o.any():
        return 0.0
    S = covariance[np.ix_(o, o)]
    y = x[o] - mean[o]
    sign, log_determinant = np.linalg.slogdet(S)
    assert sign > 0
    return -0.5 * (o.sum() * np.log(2 * np.pi) + log_determinant + y @ np.linalg.inv(S) @ y)


def conditional(x, mean, covariance):
    """Return the mean and covariance of the whole row given what was observed of it."""
    o = ~np.isnan(x)
    m = ~o
    centre, spread = np.where(o, x, mean), np.zeros_like(covariance)
    if m.any():
        gain = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
        centre[m] = mean[m] + gain @ (x[o] - mean[o])
        spread[np.ix_(m, m)] = covariance[np.ix_(m, m)] - gain @ covariance[np.ix_(o, m)]
    return centre, spread


def mixture_given(x, weights, means, covariances):
    """Return log p(x[O]), and the weights, means and covariances of the row's mixture."""
    k = len(weights)
    joint = np.array(
        [np.log(weights[c]) + log_density(x, means[c], covariances[c]) for c in range(k)]
    )
    largest = joint.max()
    total = largest + np.log(np.exp(joint - largest).sum())
    parts = [conditional(x, means[c], covariances[c]) for c in range(k)]
    return (
        total,
        np.exp(joint - total),
        np.array([part[0] for part in parts]),
        np.array([part[1] for part in parts]),
    )


def log_likelihood(X, weights, means, covariances):
    """Return the log-likelihood of what was observed of all rows."""
    return sum(mixture_given(x, weights, means, covariances)[0] for x in X)


def expected_moments(X, weights, means, covariances, row_weights=None):
    """Return EM's sums by component: totals, completed rows and outer products about the means."""
    k, d = means.shape
    totals, firsts, seconds = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
    row_weights = np.ones(len(X)) if row_weights is None else row_weights
    for x, w in zip(X, row_weights, strict=True):
        _, shares, centres, spreads = mixture_given(x, weights, means, covariances)
        for c in range(k):
            y = centres[c] - means[c]
            totals[c] += w * shares[c]
            firsts[c] += w * shares[c] * y
            seconds[c] += w * shares[c] * (np.outer(y, y) + spreads[c])
    return totals, firsts, seconds


def gaussian_gradient(X, mean, covariance):
    """Return the derivatives of the log-likelihood by the mean and by the covariance."""
    d = len(mean)
    by_mean, by_covariance = np.zeros(d), np.zeros((d, d))
    for x in X:
        o = ~np.isnan(x)
        P = np.linalg.inv(covariance[np.ix_(o, o)])
        w = P @ (x[o] - mean[o])
        by_mean[o] += w
        by_covariance[np.ix_(o, o)] += 0.5 * (np.outer(w, w) - P)
    return by_mean, by_covariance
