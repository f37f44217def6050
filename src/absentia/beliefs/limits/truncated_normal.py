"""The standard normal within limits: log-probability, mean and variance."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import erfcx, log_ndtr

from absentia.tables import FloatArray

__all__ = ["truncated_moments"]

_ROOT_2_PI = float(np.sqrt(2 * np.pi))

# From this many standard deviations on, or up to this length, an interval is integrated by nodes
# of Gauss and Legendre, as far as its density matters.
_FAR = 10.0
_SHORT = 0.1
_REACH = 40.0
_NODES, _NODE_WEIGHTS = (part / 2 for part in leggauss(48))
_NODES = _NODES + 0.5


def truncated_moments(
    lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-probability, mean and variance of a standard normal within limits.

    With ``Z`` the probability of the interval from ``a`` to ``b`` and ``phi`` the density, the mean
    is ``(phi(a) - phi(b)) / Z`` and the variance ``1 + (a phi(a) - b phi(b)) / Z - mean^2``
    (Johnson, Kotz and Balakrishnan, 1994). Ratios are taken by scaled error functions, so that
    limits far in a tail have their digits.

    Parameters
    ----------
    lower, upper : ndarray of the same shape
        ``lower < upper``; infinite where there is no limit.
    """
    # Mirrored so that the interval's end nearer to zero comes first in the upper tail.
    mirror = lower < -upper
    a = np.where(mirror, -upper, lower)
    b = np.where(mirror, -lower, upper)
    tail = a > 0
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        # In the tail, all in units of phi(a): Z / phi(a) = R(a) - R(b) exp((a^2 - b^2) / 2).
        ratio = np.exp(np.where(np.isinf(b), -np.inf, 0.5 * (a - b) * (a + b)))
        far_b = np.where(np.isinf(b), 0.0, ratio * _mills(np.where(np.isinf(b), 0.0, b)))
        tail_mass = _mills(np.where(tail, a, 0.0)) - far_b
        phi_a, phi_b = _density(a), _density(b)
        mass = np.exp(log_ndtr(b)) - np.exp(log_ndtr(a))
        scale = np.where(tail, tail_mass, mass)
        at_a, at_b = np.where(tail, 1.0, phi_a), np.where(tail, ratio, phi_b)
        finite_a, finite_b = np.where(np.isinf(a), 0.0, a), np.where(np.isinf(b), 0.0, b)
        mean = (at_a - at_b) / scale
        variance = 1 + (finite_a * at_a - finite_b * at_b) / scale - mean**2
        log_mass = np.where(tail, np.log(tail_mass) - 0.5 * a**2 - np.log(_ROOT_2_PI), np.log(mass))
    # Where the interval is short, or so far out that little of it counts, these are differences of
    # nearly equal numbers.
    short = (a > _FAR) | (b - a < _SHORT)
    if short.any():
        log_mass[short], mean[short], variance[short] = _short_interval(a[short], b[short])
    return log_mass, np.where(mirror, -mean, mean), np.minimum(variance, 1.0)


def _short_interval(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the same by quadrature, relative to ``a``: ``x = a + t`` has ``exp(-a t - t^2 / 2)``.

    What is left of an interval without length, by rounding, is the distance to the next number.
    """
    length = np.maximum(b - a, np.spacing(np.abs(a)))
    # Farther than this no mass is left; so far out that the next number is, too.
    length = np.minimum(length, _REACH / np.maximum(a, 1.0))
    t = length[:, None] * _NODES
    density = _NODE_WEIGHTS * np.exp(-t * (a[:, None] + 0.5 * t))
    total = density.sum(axis=1)
    offset = (density * t).sum(axis=1) / total
    variance = (density * (t - offset[:, None]) ** 2).sum(axis=1) / total
    log_mass = np.log(total * length) - 0.5 * a**2 - np.log(_ROOT_2_PI)
    return log_mass, a + offset, variance


def _mills(x: FloatArray) -> FloatArray:
    """Return ``(1 - Phi(x)) / phi(x)``, Mills' ratio."""
    ratio: FloatArray = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    return ratio


def _density(x: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * x**2) / _ROOT_2_PI
    return density
