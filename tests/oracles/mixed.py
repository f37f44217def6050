"""Mixtures of numbers and categories by enumeration: every combination written out."""

from __future__ import annotations

from itertools import product

import numpy as np


def gaussian_log_density(x, mean, covariance):
    d = x - mean
    sign, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    assert len(x) == 0 or sign > 0
    return -0.5 * (log_det + d @ np.linalg.solve(covariance, d)) if len(x) else 0.0


def row_belief(x, codes, weights, means, covariances, tables):
    """Return weights, means, covariances and category probabilities of a row, and its log p."""
    seen = ~np.isnan(x)
    log_joint, row_means, row_covariances, row_tables = [], [], [], []
    for c in range(len(weights)):
        S, m = covariances[c], means[c]
        log_p = np.log(weights[c])
        log_p += gaussian_log_density(x[seen], m[seen], S[np.ix_(seen, seen)])
        own = []
        for j, code in enumerate(codes):
            if code >= 0:
                log_p += np.log(tables[j][c, code])
                own.append(np.eye(tables[j].shape[1])[code])
            else:
                own.append(tables[j][c])
        gain = S[np.ix_(~seen, seen)] @ np.linalg.inv(S[np.ix_(seen, seen)])
        mean, covariance = x.copy(), np.zeros_like(S)
        mean[~seen] = m[~seen] + gain @ (x[seen] - m[seen])
        covariance[np.ix_(~seen, ~seen)] = S[np.ix_(~seen, ~seen)] - gain @ S[np.ix_(seen, ~seen)]
        log_joint.append(log_p)
        row_means.append(mean)
        row_covariances.append(covariance)
        row_tables.append(own)
    log_joint = np.array(log_joint)
    total = np.log(np.exp(log_joint - log_joint.max()).sum()) + log_joint.max()
    return np.exp(log_joint - total), row_means, row_covariances, row_tables, total


def category_similarity(p, q, category_weights):
    """Return E exp(-sum w [x != y]) by adding up all combinations of both rows."""
    total = 0.0
    ranges = [range(len(column)) for column in p]
    for x in product(*ranges):
        for y in product(*ranges):
            probability = np.prod([p[j][x[j]] * q[j][y[j]] for j in range(len(p))])
            differing = sum(category_weights[j] for j in range(len(p)) if x[j] != y[j])
            total += probability * np.exp(-differing)
    return total


def expected_kernel(first, second, gamma, category_weights, similarities=None):
    """Return the expected kernel of two beliefs made by :func:`row_belief`."""
    total = 0.0
    for c in range(len(first[0])):
        for e in range(len(second[0])):
            d = first[1][c] - second[1][e]
            S = first[2][c] + second[2][e]
            spread = np.eye(len(d)) + 2 * gamma * S
            numbers = np.exp(-gamma * d @ np.linalg.solve(spread, d)) / np.sqrt(
                np.linalg.det(spread)
            )
            words = (
                category_similarity(first[3][c], second[3][e], category_weights)
                if similarities is None
                else similar_categories(first[3][c], second[3][e], category_weights, similarities)
            )
            total += first[0][c] * second[0][e] * numbers * words
    return total


def similar_categories(p, q, category_weights, similarities):
    """Return E prod_j (exp(-w_j) + (1 - exp(-w_j)) S_j[x_j, y_j]) over all combinations."""
    total = 0.0
    ranges = [range(len(column)) for column in p]
    for x in product(*ranges):
        for y in product(*ranges):
            value = np.prod([p[j][x[j]] * q[j][y[j]] for j in range(len(p))])
            for j, S in enumerate(similarities):
                different = np.exp(-category_weights[j])
                value *= different + (1 - different) * S[x[j], y[j]]
            total += value
    return total
