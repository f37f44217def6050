"""Derivatives of kernels by the widths of columns, one pair at a time.

By the closed form with explicit inverses, and by central differences of the kernel itself. A
mixture is a list of components ``(weight, mean, covariance)``, or with categories
``(weight, mean, covariance, [probabilities of each column])``; ``c`` holds the variances of the
RBF, one per column: ``C0 = diag(c)``, ``gamma_j = 1 / (2 c_j)``.
"""

from __future__ import annotations

from itertools import product

import numpy as np


def terms(p, q, c, category_weights=(), scaled=True):
    """Yield for each pair of components its kernel, ``inv(V)``, ``inv(V) d`` and agreements."""
    C0 = np.diag(c)
    for (v, a, A, *ours), (w, b, B, *theirs) in product(p, q):
        V = C0 + A + B
        inverse = np.linalg.inv(V)
        value = v * w * np.exp(-0.5 * (a - b) @ inverse @ (a - b))
        if scaled:
            value *= np.sqrt(np.linalg.det(C0) / np.linalg.det(V))
        agreements = [x @ y for x, y in zip(*ours, *theirs, strict=True)] if ours else []
        for weight, agreement in zip(category_weights, agreements, strict=True):
            value *= np.exp(-weight) + (1 - np.exp(-weight)) * agreement
        yield value, inverse, inverse @ (a - b), agreements


def expected_rbf(p, q, c, category_weights=(), scaled=True):
    return sum(value for value, *_ in terms(p, q, c, category_weights, scaled))


def genrbf(p, q, c, category_weights=()):
    own = expected_rbf(p, p, c, category_weights) * expected_rbf(q, q, c, category_weights)
    return expected_rbf(p, q, c, category_weights) / np.sqrt(own)


def log_expected_rbf_by_widths(p, q, c, category_weights=(), scaled=True):
    """``d log k / d log c_j``: of each pair of components, averaged with its share of ``k``."""
    total, by_widths = 0.0, np.zeros(len(c))
    for value, inverse, solved, _ in terms(p, q, c, category_weights, scaled):
        total += value
        by_term = c * solved**2
        if scaled:
            by_term += 1 - c * np.diag(inverse)
        by_widths += value * by_term / 2
    return by_widths / total


def log_genrbf_by_widths(p, q, c, category_weights=()):
    """As above, less half of what the self-similarities change by."""
    by_widths = [
        log_expected_rbf_by_widths(x, y, c, category_weights) for x, y in ((p, q), (p, p), (q, q))
    ]
    return by_widths[0] - by_widths[1] / 2 - by_widths[2] / 2


def log_expected_rbf_by_category_weights(p, q, c, category_weights):
    """``d log k / d log w_j`` of the weights of categories."""
    weights = np.asarray(category_weights, dtype=float)
    total, by_weights = 0.0, np.zeros(len(weights))
    for value, _, _, agreements in terms(p, q, c, category_weights):
        agree = np.array(agreements)
        different = np.exp(-weights)
        by_term = -weights * different * (1 - agree) / (different + (1 - different) * agree)
        total += value
        by_weights += value * by_term
    return by_weights / total


def log_genrbf_by_category_weights(p, q, c, category_weights):
    """As above, less half of what the self-similarities change by."""
    by_weights = [
        log_expected_rbf_by_category_weights(x, y, c, category_weights)
        for x, y in ((p, q), (p, p), (q, q))
    ]
    return by_weights[0] - by_weights[1] / 2 - by_weights[2] / 2


def mask_kernel(missing, other, weights):
    return np.exp(-sum(w for w, x, y in zip(weights, missing, other, strict=True) if x != y))


def log_mask_kernel_by_weights(missing, other, weights):
    """``d log k / d log w_j`` of the mask kernel: a column counts where one row misses it."""
    return np.array([-w * (x != y) for w, x, y in zip(weights, missing, other, strict=True)])


def by_differences(function, point, step=1e-5):
    """Derivatives of ``log function(point)`` by the logarithms of ``point``, central, O(step^2)."""
    point = np.asarray(point, dtype=float)
    found = np.zeros(len(point))
    for j in range(len(point)):
        up, down = point.copy(), point.copy()
        up[j] *= np.exp(step)
        down[j] *= np.exp(-step)
        found[j] = (np.log(function(up)) - np.log(function(down))) / (2 * step)
    return found
