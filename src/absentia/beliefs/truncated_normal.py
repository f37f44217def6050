"""The standard normal within limits: log-probability, mean and variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import erfcx, log_ndtr

from absentia.tables import FloatArray

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
    limits far in a tail have their digits. ``lower < upper``, infinite where there is no limit.
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
    return np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))


def _density(x: FloatArray) -> FloatArray:
    return np.exp(-0.5 * x**2) / _ROOT_2_PI


# Correlations of one exactly are moved by this much, so that every system has a solution.
_JITTER = 1e-15
# Multipliers beyond this many times the limits belong to limits that contradict one another, of
# columns that determine one another.
_STEEPEST = 1e8
# Limits count as kept up to this share of the largest.
_SLACK = 1e-10


def nearest_within(
    R: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the points ``x`` within limits with the least ``x' inv(R) x``, and ``inv(R) x``.

    By the method of Lawson and Hanson (1974, chapter 23) for the multipliers ``g = inv(R) x``, of
    all rows at once: columns that a point violates are put at their limit, the one that is farthest
    outside first, and columns whose multiplier has changed its sign are set free. ``R`` (n, q, q)
    are correlations, limits are (n, q); both results are zero for rows without such a point.
    """
    n, q = lower.shape
    R = R + _JITTER * np.eye(q)
    multipliers, ends = np.zeros((2, n, q))
    signs = np.zeros((n, q))  # 1 for columns at their lower limit, -1 at their upper
    settled = np.ones(n, dtype=bool)
    limits = np.concatenate([lower, upper], axis=1)
    sizes = np.abs(np.where(np.isfinite(limits), limits, 0.0)).max(axis=1, initial=0.0)
    slack = _SLACK * sizes
    rows = np.arange(n)
    for _ in range(10 * q + 10):
        points = (R @ multipliers[..., None])[..., 0]
        outside = np.maximum(lower - points, points - upper)
        outside[signs != 0] = -np.inf
        worst = outside.argmax(axis=1)
        joining = settled & (outside[rows, worst] > slack)
        if not joining.any() and settled.all():
            break
        at, column = rows[joining], worst[joining]
        below = points[at, column] < lower[at, column]
        signs[at, column] = np.where(below, 1.0, -1.0)
        ends[at, column] = np.where(below, lower[at, column], upper[at, column])
        fixed = signs != 0
        both = fixed[:, :, None] & fixed[:, None, :]
        system = np.where(both, R, 0.0) + np.eye(q) * ~fixed[:, None, :]
        wanted = np.linalg.solve(system, np.where(fixed, ends, 0.0)[..., None])[..., 0]
        wrong = fixed & (wanted * signs < 0)
        settled = ~wrong.any(axis=1)
        steps = np.ones((n, q))
        np.divide(multipliers, multipliers - wanted, out=steps, where=wrong)
        step = steps.min(axis=1, keepdims=True)
        leaving = wrong & (steps <= step)
        multipliers += step * (wanted - multipliers)
        multipliers[leaving] = ends[leaving] = signs[leaving] = 0.0
    points = np.where(signs != 0, ends, (R @ multipliers[..., None])[..., 0])
    found = settled & (points >= lower - slack[:, None]).all(axis=1)
    found &= (points <= upper + slack[:, None]).all(axis=1)
    found &= (np.abs(multipliers) <= _STEEPEST * sizes[:, None]).all(axis=1)
    return np.where(found[:, None], points, 0.0), np.where(found[:, None], multipliers, 0.0)


# Sweeps over the limited columns of a row, until none moves by more than this many standard
# deviations.
_MOST_SWEEPS = 100
_EP_TOLERANCE = 1e-10
# The least precision, relative to all, that is left to a column without its own factor, and the
# largest of a factor, relative to that of its column: what a narrower interval leaves is rounding.
_LEAST_SHARE = 1e-12
_LARGEST_SHARE = 1e10
# Rows with a limit beyond this many standard deviations are seen from the most likely point within
# the limits: seen from the mean, the sums below are differences of numbers of the size of the
# fourth power of the limits, which had errors of 1 % at 1e3 deviations and no digit at 1e4.
_FAR_LIMIT = 10.0


class Factored(NamedTuple):
    """A Gaussian of mean zero and variances one, multiplied by the factors of its columns.

    ``pulls`` (n, k, q) are ``inv(R) @ means`` without the inverse: columns with covariances ``c``
    to these move by ``c @ pulls``. With ``T`` the precisions of the factors, ``gains`` (n, k, q, q)
    are ``inv(I + R T)``: such columns have the covariances ``c @ gains.T`` now. ``losses`` are
    ``inv(R + inv(T))``: they lose ``c @ losses @ c.T``. ``log_masses`` (n, k) are log-probabilities
    of the limits.
    """

    log_masses: FloatArray
    means: FloatArray
    pulls: FloatArray
    gains: FloatArray
    losses: FloatArray


def propagated(R: FloatArray, lower: FloatArray, upper: FloatArray) -> Factored:
    """Replace limits (n, k, q) of Gaussians of mean zero and correlations ``R`` by factors."""
    # Where each row is seen from, and inv(R) times it: zero where limits are near.
    origins, slopes = np.zeros((2, *lower.shape))
    if R.shape[-1] > 1:
        far = ((lower > _FAR_LIMIT) | (upper < -_FAR_LIMIT)).any(axis=-1)
        origins[far], slopes[far] = nearest_within(R[far], lower[far], upper[far])
    low, high = lower - origins, upper - origins
    # A density that falls by `slope` per unit is exponential, of mean 1 / slope and its square as
    # variance: factors to begin with.
    steep = np.abs(slopes) > 1.0
    precisions, pushes = np.where(steep, slopes**2, 0.0), np.where(steep, 2 * slopes, 0.0)
    masses = np.empty(lower.shape[:2])
    active = np.arange(len(R))
    for _ in range(_MOST_SWEEPS):
        T, h = precisions[active], pushes[active]
        some = R[active], low[active], high[active], slopes[active]
        totals, change, last = _sweep(*some, T, h)
        precisions[active], pushes[active] = T, h
        if R.shape[-1] == 1:  # exact after one sweep
            masses = last
            break
        masses[active] = totals + _solved(R[active], T, h - slopes[active])[-1]
        active = active[(change > _EP_TOLERANCE).any(axis=1)]
        if not len(active):
            break
    gains, pulls, _ = _solved(R, precisions, pushes - slopes)
    masses -= 0.5 * (origins * slopes).sum(axis=-1) * (R.shape[-1] > 1)
    # All limits together are no likelier than any of them alone.
    masses = np.minimum(masses, truncated_moments(lower, upper)[0].min(axis=-1))
    means = origins + (R @ pulls[..., None])[..., 0]
    return Factored(masses, means, pulls + slopes, gains, precisions[..., :, None] * gains)


def _sweep(
    R: FloatArray,
    low: FloatArray,
    high: FloatArray,
    slopes: FloatArray,
    T: FloatArray,
    h: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Renew the factors ``exp(h x - T x^2 / 2)`` of all columns in turn, in place.

    Returns what the columns add to the log-masses, the largest change in standard deviations, and
    the log-mass of the limits of the last column given the factors of the others, each (n, k).
    """
    gains, pulls, _ = _solved(R, T, h - slopes)
    spread = gains @ R
    spread = (spread + spread.swapaxes(-1, -2)) / 2
    mean = (R @ pulls[..., None])[..., 0]
    totals, change, log_mass = np.zeros((3, *T.shape[:2]))
    for j in range(T.shape[-1]):
        least = _LEAST_SHARE / (1 + T[..., j])  # where columns determine one another
        variance, centre = np.maximum(spread[..., j, j], least), mean[..., j].copy()
        # The column under the factors of the others alone.
        rest = np.maximum(1 / variance - T[..., j], _LEAST_SHARE / variance)
        middle = (centre / variance - h[..., j]) / rest
        deviation = 1 / np.sqrt(rest)
        log_mass, shift, share = truncated_moments(
            (low[..., j] - middle) / deviation, (high[..., j] - middle) / deviation
        )
        largest = _LARGEST_SHARE + 2 * slopes[..., j] ** 2
        precision = np.clip(rest * (1 / share - 1), 0.0, largest)
        push = middle * precision + shift * deviation * (rest + precision)
        more, further = precision - T[..., j], push - h[..., j]
        inflation = np.maximum(1 + more * variance, _LEAST_SHARE)
        step = (further - more * centre) / inflation
        column = spread[..., j].copy()
        mean += column * step[..., None]
        shrink = (more / inflation)[..., None, None]
        spread -= shrink * column[..., :, None] * column[..., None, :]
        T[..., j], h[..., j] = precision, push
        change = np.maximum(change, np.abs(step) * np.sqrt(variance))
        change = np.maximum(change, np.abs(more) * variance / np.maximum(1.0, inflation))
        scale = 1 + precision / rest
        totals += log_mass + 0.5 * np.log(scale)
        totals -= (push * (2 * middle + push / rest) - precision * middle**2) / (2 * scale)
    return totals, change, log_mass


def _solved(
    R: FloatArray, T: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Multiply Gaussians of covariance ``R`` by factors ``exp(h x - T x^2 / 2)`` of columns.

    The covariance becomes ``inv(I + R T) R`` and the mean ``R inv(I + T R) h``. What is inverted is
    ``(I + R T) inv(I + T)``, whose diagonal is one: large precisions cost no digits. Returns
    ``inv(I + R T)``, ``inv(I + T R) h`` and the logarithms of the integrals (n, k).
    """
    inflation = 1 + T
    scaled = (np.eye(R.shape[-1]) + R * T[..., None, :]) / inflation[..., None, :]
    gains = np.linalg.inv(scaled) / inflation[..., :, None]
    pulls = (gains.swapaxes(-1, -2) @ h[..., None])[..., 0]
    quadratics = (pulls[..., None, :] @ R @ h[..., None])[..., 0, 0]
    logs = np.linalg.slogdet(scaled)[1] + np.log(inflation).sum(axis=-1)
    return gains, pulls, 0.5 * (quadratics - logs)
