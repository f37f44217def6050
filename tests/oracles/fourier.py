"""Expected waves of conditioned Gaussian mixtures: one row and one frequency at a time."""

from __future__ import annotations

import numpy as np


def conditioned(weights, means, covariances, x):
    """Return what a row could have been: a list of (weight, mean, covariance)."""
    missing = np.isnan(x)
    observed = ~missing
    components = []
    for weight, m, S in zip(weights, means, covariances, strict=True):
        a, A = x.copy(), np.zeros_like(S)
        density = 1.0
        gain = np.zeros((missing.sum(), observed.sum()))
        if observed.any():
            inverse = np.linalg.inv(S[np.ix_(observed, observed)])
            e = x[observed] - m[observed]
            gain = S[np.ix_(missing, observed)] @ inverse
            density = np.exp(-0.5 * e @ inverse @ e) / np.sqrt(
                np.linalg.det(2 * np.pi * S[np.ix_(observed, observed)])
            )
            a[missing] = m[missing] + gain @ e
        else:
            a[missing] = m[missing]
        A[np.ix_(missing, missing)] = (
            S[np.ix_(missing, missing)] - gain @ S[np.ix_(observed, missing)]
        )
        components.append([weight * density, a, A])
    total = sum(component[0] for component in components)
    return [(w / total, a, A) for w, a, A in components]


def expected_waves(components, w):
    """Return ``E[cos(w'x)]`` and ``E[sin(w'x)]``: the characteristic function of the mixture."""
    value = sum(weight * np.exp(1j * (w @ a) - 0.5 * w @ A @ w) for weight, a, A in components)
    return value.real, value.imag


def draws(components, size, rng):
    """Draw from a mixture."""
    weights = [component[0] for component in components]
    picks = rng.choice(len(weights), size=size, p=weights)
    out = np.empty((size, len(components[0][1])))
    for c, (_, a, A) in enumerate(components):
        rows = picks == c
        out[rows] = rng.multivariate_normal(a, A, size=rows.sum(), method="eigh")
    return out
