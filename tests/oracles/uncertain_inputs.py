"""Gaussian processes at uncertain inputs, by the formulas as printed and by brute force."""

from __future__ import annotations

import numpy as np


def _bell(z, V):
    """Return ``det(V)^(-1/2) exp(-1/2 z' inv(V) z)``."""
    return np.exp(-0.5 * z @ np.linalg.inv(V) @ z) / np.sqrt(np.linalg.det(V))


def bump(x, b, B, C0):
    """Return the expected RBF between a known row and a Gaussian row."""
    return np.sqrt(np.linalg.det(C0)) * _bell(x - b, C0 + B)


def second_moment(a, A, b_i, B_i, b_j, B_j, C0):
    """Return ``E[k_i(x) k_j(x)]`` for ``x ~ N(a, A)``: product of bumps, then their average."""
    V_i, V_j = C0 + B_i, C0 + B_j
    P_i, P_j = np.linalg.inv(V_i), np.linalg.inv(V_j)
    W = np.linalg.inv(P_i + P_j)
    m = W @ (P_i @ b_i + P_j @ b_j)
    # The product of two Gaussian densities integrates as n(b_i - b_j; V_i + V_j) n(a - m; W + A).
    return np.linalg.det(C0) * _bell(b_i - b_j, V_i + V_j) * _bell(a - m, W + A)


def second_moments(row, rows, C0):
    """Return the matrix of second moments; rows are lists of (weight, mean, covariance)."""
    n = len(rows)
    Q = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for w, a, A in row:
                for u, b_i, B_i in rows[i]:
                    for v, b_j, B_j in rows[j]:
                        Q[i, j] += w * u * v * second_moment(a, A, b_i, B_i, b_j, B_j, C0)
    return Q


def first_moments(row, rows, C0):
    """Return ``E[k_i(x)]`` for each training row."""
    return np.array(
        [
            sum(w * u * bump(a, b, A + B, C0) for w, a, A in row for u, b, B in training)
            for training in rows
        ]
    )


def parts(row, rows, C0, y, K, scale, noise):
    """Return mean, missing part and model part of a process."""
    inverse = np.linalg.inv(scale * K + noise * np.eye(len(K)))
    alpha = inverse @ y
    Q = second_moments(row, rows, C0)
    mean = scale * first_moments(row, rows, C0) @ alpha
    return mean, scale**2 * alpha @ Q @ alpha - mean**2, scale - scale**2 * np.trace(inverse @ Q)


def girard(u, Sigma, X, y, gamma, scale, noise):
    """Return mean and variance (without noise) as in Girard et al. 2003, complete training rows."""
    n, d = X.shape
    Lam = np.eye(d) / (2 * gamma)
    inv_Lam = np.linalg.inv(Lam)
    K = scale * np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    inverse = np.linalg.inv(K + noise * np.eye(n))
    beta = inverse @ y
    k = scale * np.exp(-gamma * ((X - u) ** 2).sum(axis=1))
    shrunk = np.linalg.inv(Sigma + Lam)
    exponents = np.array([-0.5 * (u - x) @ shrunk @ (u - x) for x in X])
    mean = beta @ (scale * np.exp(exponents) / np.sqrt(np.linalg.det(inv_Lam @ Sigma + np.eye(d))))
    inner = inv_Lam @ np.linalg.inv(2 * inv_Lam + np.linalg.inv(Sigma)) @ inv_Lam
    L = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            v = u - (X[i] + X[j]) / 2
            L[i, j] = k[i] * k[j] * np.exp(2 * v @ inner @ v)
    L /= np.sqrt(np.linalg.det(2 * inv_Lam @ Sigma + np.eye(d)))
    return mean, scale - np.trace((inverse - np.outer(beta, beta)) @ L) - mean**2
