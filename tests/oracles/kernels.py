"""Kernels of two mixtures of Gaussians, one pair at a time, by explicit inverses and plain sums.

A mixture is a list of components ``(weight, mean, covariance)``. Each function is written from the
definition of its kernel (an integral, or a moment), not from the closed form that the library uses,
wherever the two differ.
"""

from __future__ import annotations

from itertools import product

import numpy as np


def mixture_pairs(p, q):
    for (v, a, A), (w, b, B) in product(p, q):
        yield v * w, a, A, b, B


def expected_rbf(p, q, gamma, M=None, scaled=True):
    """Anderson2011 Eq. (3): the density of N(b, A + B + C0) at a, times the volume of the RBF."""
    d = len(p[0][1])
    C0 = np.linalg.inv(2 * gamma * (np.eye(d) if M is None else M))
    total = 0.0
    for weight, a, A, b, B in mixture_pairs(p, q):
        C = C0 + A + B
        value = np.exp(-0.5 * (a - b) @ np.linalg.inv(C) @ (a - b))
        if scaled:
            value *= np.sqrt(np.linalg.det(C0) / np.linalg.det(C))
        total += weight * value
    return total


def genrbf(p, q, gamma, M=None):
    """Smieja2018 Eq. (20)-(21), as the cosine of two expected kernels."""
    return expected_rbf(p, q, gamma, M) / np.sqrt(
        expected_rbf(p, p, gamma, M) * expected_rbf(q, q, gamma, M)
    )


def mean(p):
    return sum(w * m for w, m, _ in p)


def covariance(p):
    centre = mean(p)
    return sum(w * (S + np.outer(m - centre, m - centre)) for w, m, S in p)


def expected_linear(p, q):
    return mean(p) @ mean(q)


def raw_moment(p, indices):
    """``E[x_i x_j ...]`` by Isserlis' theorem: each factor alone (its mean), or with a partner."""
    return sum(weight * _gaussian_moment(m, S, tuple(indices)) for weight, m, S in p)


def _gaussian_moment(m, S, indices):
    if not indices:
        return 1.0
    first, rest = indices[0], indices[1:]
    total = m[first] * _gaussian_moment(m, S, rest)
    for position, partner in enumerate(rest):
        others = rest[:position] + rest[position + 1 :]
        total += S[first, partner] * _gaussian_moment(m, S, others)
    return total


def inner_product_moment(p, q, power):
    """``E (x'y)^power``: a sum over all tuples of columns of products of raw moments."""
    d = len(p[0][1])
    tuples = product(range(d), repeat=power)
    return sum(raw_moment(p, columns) * raw_moment(q, columns) for columns in tuples)


def square_norm_moment(p, power):
    """``E (x'x)^power``."""
    d = len(p[0][1])
    tuples = product(range(d), repeat=power)
    return sum(raw_moment(p, columns + columns) for columns in tuples)


def _binomial(moment, gamma, coef0, degree):
    choose = {2: (1, 2, 1), 3: (1, 3, 3, 1)}[degree]
    return sum(choose[j] * gamma**j * coef0 ** (degree - j) * moment(j) for j in range(degree + 1))


def expected_polynomial(p, q, degree, gamma, coef0):
    return _binomial(lambda j: inner_product_moment(p, q, j), gamma, coef0, degree)


def polynomial_of_same_row(p, degree, gamma, coef0):
    return _binomial(lambda j: square_norm_moment(p, j), gamma, coef0, degree)


def difference(p, q, root=None):
    """The mixture of ``root (x - y)`` for independent ``x``, ``y``."""
    R = np.eye(len(p[0][1])) if root is None else root
    return [(w, R @ (a - b), R @ (A + B) @ R.T) for w, a, A, b, B in mixture_pairs(p, q)]


def squared_distance_moments(p, q, root=None, independent=False):
    """Mean and variance of ``|x - y|²``; with columns taken as independent, as Mesquita does."""
    w = difference(p, q, root)
    columns = range(len(w[0][1]))
    expectation = sum(raw_moment(w, (i, i)) for i in columns)
    if independent:
        variance = sum(raw_moment(w, (i,) * 4) - raw_moment(w, (i, i)) ** 2 for i in columns)
    else:
        second = sum(raw_moment(w, (i, i, j, j)) for i, j in product(columns, columns))
        variance = second - expectation**2
    return expectation, variance


def esd(p, q, gamma, root=None):
    return np.exp(-gamma * squared_distance_moments(p, q, root)[0])


def egk(p, q, gamma, root=None, independent=False):
    """Mesquita: the moment generating function of a Gamma variable, at -gamma."""
    expectation, variance = squared_distance_moments(p, q, root, independent)
    if variance < 1e-13 * max(1.0, expectation**2):  # nothing uncertain, up to rounding
        return np.exp(-gamma * expectation)
    alpha, beta = expectation**2 / variance, expectation / variance
    return (beta / (beta + gamma)) ** alpha


def mask_similarity(missing, other, weight):
    weights = np.broadcast_to(weight, len(missing))
    value = 1.0
    for mine, theirs, w in zip(missing, other, weights, strict=True):
        value *= np.exp(-w) if mine != theirs else 1.0
    return value


def draws(p, size, rng):
    """Draw from a mixture, by eigenvectors so that covariances may be singular."""
    weights = np.array([w for w, _, _ in p])
    chosen = rng.choice(len(p), size=size, p=weights / weights.sum())
    out = np.empty((size, len(p[0][1])))
    for c, (_, m, S) in enumerate(p):
        values, vectors = np.linalg.eigh(S)
        root = vectors * np.sqrt(np.maximum(values, 0))
        rows = np.flatnonzero(chosen == c)
        out[rows] = m + rng.standard_normal((len(rows), len(m))) @ root.T
    return out


def z_score(samples, expected):
    """How many standard errors the mean of some samples is away from what is expected."""
    error = samples.std(ddof=1) / np.sqrt(len(samples))
    gap = samples.mean() - expected
    if error < 1e-9 * max(1.0, abs(expected)):  # the samples are all alike, up to rounding
        return 0.0 if abs(gap) < 1e-9 * max(1.0, abs(expected)) else np.inf
    return gap / error
