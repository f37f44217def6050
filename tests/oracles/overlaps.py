"""The covariance of the difference of two rows, ``V = I + Ei + Ej``, factored whole."""

from __future__ import annotations

import numpy as np


def log_determinant_and_length(Ei, Ej, difference):
    """``log det V`` and ``d' inv(V) d``."""
    V = np.eye(len(difference)) + Ei + Ej
    return np.linalg.slogdet(V)[1], difference @ np.linalg.solve(V, difference)


def from_overlap(Ei, Ej, difference, both):
    """The same from ``Fi = Ei inv(I + Ei)`` on the columns ``both`` that both rows miss."""
    identity = np.eye(len(difference))
    Fi, Fj = Ei @ np.linalg.inv(identity + Ei), Ej @ np.linalg.inv(identity + Ej)
    A, B = Fi[np.ix_(both, both)], Fj[np.ix_(both, both)]
    a, b = (Fi @ difference)[both], (Fj @ difference)[both]
    rest = np.eye(len(both)) - A @ B
    log_determinant = sum(np.linalg.slogdet(identity + E)[1] for E in (Ei, Ej))
    log_determinant += np.linalg.slogdet(rest)[1]
    length = difference @ difference - difference @ Fi @ difference - difference @ Fj @ difference
    length += a @ b + (b - B @ a) @ np.linalg.solve(rest, a - A @ b)
    return log_determinant, length


def genrbf(p, q, gamma):
    """genRBF of Gaussians ``(mean, covariance)``, whose determinants may overflow."""
    (a, A), (b, B) = p, q
    width = np.sqrt(2 * gamma)

    def logarithm(mean, E, other, F):
        parts = log_determinant_and_length(2 * gamma * E, 2 * gamma * F, width * (mean - other))
        return -0.5 * sum(parts)

    own = 0.5 * (logarithm(a, A, a, A) + logarithm(b, B, b, B))
    return np.exp(logarithm(a, A, b, B) - own)
