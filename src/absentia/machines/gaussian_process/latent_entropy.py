"""How uncertain a class stays once its log-odds are known: the noise in a classifier's doubt."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from absentia.beliefs.draws import DrawPoints
from absentia.engine.threads import bounded_slices
from absentia.machines.gaussian_process.class_coupling import coupled_when_known
from absentia.machines.uncertainty import entropy
from absentia.tables import FloatArray

__all__ = ["expected_entropy"]

_NODES, _DRAWS = 32, 64
_GRID = np.linspace(-40.0, 40.0, 321)


def expected_entropy(
    means: FloatArray, variances: FloatArray, rest_exponent: float = 1.0
) -> FloatArray:
    """Return ``E[H(p(f))]`` in nats for Gaussian log-odds, shape (n_samples, 1).

    Parameters
    ----------
    means, variances : ndarray of shape (n_samples, n_problems)
        One problem is that of two classes, whose log-odds are ``f`` and 0: a quadrature. More are
        the log-odds of one class each, independent of each other: quasi-random draws.
    rest_exponent : float, default=1
        How more than two classes are combined (:mod:`.class_coupling`); one is the softmax.

    Returns
    -------
    ndarray of shape (n_samples, 1)
    """
    out = np.empty((len(means), 1))
    for rows in bounded_slices(len(means), 6 * len(_GRID)):
        deviations = np.sqrt(variances[rows])
        if means.shape[1] == 1:
            out[rows, 0] = _of_two_classes(means[rows], deviations)
        else:
            points = DrawPoints.sobol(_DRAWS, means.shape[1], seed=0).normals
            f = means[rows, None] + deviations[:, None] * points
            out[rows, 0] = entropy(coupled_when_known(f, rest_exponent)).mean(axis=1)
    return out


def _of_two_classes(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the entropies for log-odds of shape (n_samples, 1), to eight digits.

    Where the log-odds are nearly known, Gauss-Hermite nodes; elsewhere a trapezoidal rule on the
    log-odds themselves, beyond which the class is certain.
    """
    nodes, weights = hermegauss(_NODES)
    near = _binary_entropy(mean + deviation * nodes) @ (weights / weights.sum())
    wide = np.maximum(deviation, 1.0)
    density = np.exp(-0.5 * ((_GRID - mean) / wide) ** 2) / (wide * np.sqrt(2 * np.pi))
    far = density @ _binary_entropy(_GRID) * (_GRID[1] - _GRID[0])
    chosen: FloatArray = np.where(deviation[:, 0] < 1.0, near, far)
    return chosen


def _binary_entropy(f: FloatArray) -> FloatArray:
    """Return the entropy of two classes with log-odds ``f``."""
    size = np.abs(f)
    doubt: FloatArray = np.log1p(np.exp(-size)) + size * expit(-size)
    return doubt
