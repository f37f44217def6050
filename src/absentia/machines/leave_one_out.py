"""Choosing gamma on the training rows by the leave-one-out error of kernel ridge regression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from absentia.beliefs import Beliefs
from absentia.tables import FloatArray

__all__ = ["choose_gamma", "leave_one_out_error"]

_RIDGES = np.logspace(-4, 1, 11)


def leave_one_out_error(K: FloatArray, codes: FloatArray, ridges: FloatArray) -> FloatArray:
    """Return the mean squared leave-one-out error of kernel ridge, for many ridges at once.

    With ``G = inv(K + ridge I)`` the error of row ``i``, had it been left out, is
    ``(G codes)[i] / G[i, i]``; one eigendecomposition of ``K`` serves all ridges.
    """
    values, vectors = eigh(K)
    values = np.maximum(values, 0.0)
    inverse = 1.0 / (values[:, None] + ridges)
    projected = vectors.T @ codes
    denominators = vectors**2 @ inverse
    errors = np.zeros(len(ridges))
    for column in projected.T:
        residuals = (vectors @ (inverse * column[:, None])) / denominators
        errors += (residuals**2).mean(axis=0)
    return errors


def choose_gamma(
    gram: Callable[[float, Beliefs], FloatArray],
    beliefs: Beliefs,
    codes: FloatArray,
    start: float,
) -> float:
    """Return the gamma with the least leave-one-out error, on a grid around ``start``."""
    grid = start * np.logspace(-3, 3, 7, base=4)
    errors = [leave_one_out_error(gram(g, beliefs), codes, _RIDGES).min() for g in grid]
    return float(grid[int(np.argmin(errors))])
