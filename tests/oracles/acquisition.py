"""Expected gains of measuring, by dense integration over the belief about one value."""

from __future__ import annotations

import numpy as np


def belief_about_value(weights, means, covariances, row, j):
    """Return weights, means and variances of the mixture of ``x_j`` given what a row has."""
    observed = np.flatnonzero(~np.isnan(row))
    log_weights, centres, variances = [], [], []
    for w, m, S in zip(weights, means, covariances, strict=True):
        A = S[np.ix_(observed, observed)]
        c = S[j, observed]
        residual = row[observed] - m[observed]
        solved = np.linalg.solve(A, residual) if len(observed) else residual
        centres.append(m[j] + c @ solved)
        variances.append(S[j, j] - (c @ np.linalg.solve(A, c) if len(observed) else 0.0))
        log_density = 0.0
        if len(observed):
            log_density = -0.5 * (residual @ solved + np.linalg.slogdet(2 * np.pi * A)[1])
        log_weights.append(np.log(w) + log_density)
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return weights / weights.sum(), np.array(centres), np.array(variances)


def gain(answers, loss, weights, means, covariances, row, j, n_grid=4001):
    """Return ``L(E a) - E L(a)`` and ``E L(a)`` over a dense grid of what ``x_j`` could be."""
    w, m, v = belief_about_value(weights, means, covariances, row, j)
    deviation = np.sqrt(v)
    grid = np.linspace((m - 9 * deviation).min(), (m + 9 * deviation).max(), n_grid)
    z = (grid[:, None] - m) / deviation
    density = (w * np.exp(-0.5 * z**2) / deviation).sum(axis=1)
    density /= density.sum()
    rows = np.tile(row, (n_grid, 1))
    rows[:, j] = grid
    found = answers(rows)
    average = density @ found
    after = density @ loss(found)
    return loss(average[None])[0] - after, after


def entropy(probabilities):
    """Return the entropy of each row in nats."""
    clipped = np.clip(probabilities, 1e-300, 1.0)
    return -(probabilities * np.log(clipped)).sum(axis=1)


def brier(probabilities):
    """Return one minus the sum of squares of each row."""
    return 1.0 - (probabilities**2).sum(axis=1)
