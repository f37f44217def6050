"""Values of which only limits are known: truncated Gaussians, matched in mean and covariance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, logsumexp

from absentia.beliefs.covariances import ExplicitCovariances
from absentia.engine.slices import bounded_slices
from absentia.tables import FloatArray, IntArray
from absentia.tables.bounded_table import broadcast_limits
from absentia.tables.stored import frozen

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["limited", "limited_rows", "log_masses", "truncated_moments", "truncated_to"]

_ROOT_2_PI = float(np.sqrt(2 * np.pi))

# Expectation propagation: sweeps over the limited columns of a row, until none moves by more than
# this many standard deviations.
_MOST_SWEEPS = 100
_EP_TOLERANCE = 1e-10
# From this many standard deviations on, or up to this length, an interval is integrated by nodes
# of Gauss and Legendre, as far as its density matters.
_FAR = 10.0
_SHORT = 0.1
_REACH = 40.0
_NODES, _NODE_WEIGHTS = (part / 2 for part in leggauss(48))
_NODES = _NODES + 0.5
# The least precision, relative to all, that is left to a column without its own factor, and the
# largest of a factor, relative to that of its column: what a narrower interval leaves is rounding.
_LEAST_SHARE = 1e-12
_LARGEST_SHARE = 1e10


def limited(beliefs: Beliefs, lower: ArrayLike, upper: ArrayLike) -> Beliefs:
    """Return the beliefs with missing numbers between limits; see :meth:`Beliefs.within`."""
    low, high = broadcast_limits(lower, upper, beliefs.shape)
    if not (low < high).all():
        row, column = np.argwhere(~(low < high))[0]
        raise ValueError(
            f"Every lower limit must be below its upper limit, but row {row} has "
            f"{low[row, column]:g} and {high[row, column]:g} in column {column}."
        )
    rows, low, high = limited_rows(beliefs, low, high)
    if not len(rows):
        return beliefs
    spread = beliefs.covariances.dense(beliefs.group_of_row[rows])
    log_masses, moved, narrowed = truncated_to(beliefs.means[rows], spread, low, high)
    log_weights, means = np.array(beliefs.log_weights), np.array(beliefs.means)
    groups = np.array(beliefs.group_of_row)
    log_joint = log_weights[rows] + log_masses
    log_weights[rows] = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
    means[rows] = moved
    groups[rows] = beliefs.covariances.n_groups + np.arange(len(rows))
    table = ExplicitCovariances(frozen(np.concatenate([beliefs.covariances.dense(), narrowed])))
    return replace(
        beliefs, log_weights=log_weights, means=means, covariances=table, group_of_row=groups
    ).labelled(beliefs.__dict__.get("_labels"))


def limited_rows(
    beliefs: Beliefs, lower: FloatArray, upper: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return which rows miss a number that has a limit, and the limits of these rows."""
    has_limit = (np.isfinite(lower) | np.isfinite(upper)) & beliefs.mask
    rows = np.flatnonzero(has_limit.any(axis=1))
    kept = has_limit[rows]
    return rows, np.where(kept, lower[rows], -np.inf), np.where(kept, upper[rows], np.inf)


def log_masses(beliefs: Beliefs, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the log-probability that each component of each row keeps to the limits, (n, k)."""
    rows, low, high = limited_rows(beliefs, lower, upper)
    out = np.zeros(beliefs.log_weights.shape)
    for part in bounded_slices(len(rows), beliefs.n_components * beliefs.n_features**2):
        some = rows[part]
        spread = beliefs.covariances.dense(beliefs.group_of_row[some])
        out[some] = truncated_to(beliefs.means[some], spread, low[part], high[part])[0]
    return out


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


def truncated_to(
    means: FloatArray, covariances: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the moments of Gaussians of which some columns lie within limits.

    One limited column is exact: it gets the moments of the truncated normal, and the others follow
    by regression on it. Several are approximated by expectation propagation (Minka, 2001;
    Cunningham, Hennig and Lacoste-Julien, 2011): each limit is replaced by a Gaussian factor of its
    column, chosen so that the column has the moments of the truncated normal given the factors of
    the others.

    Parameters
    ----------
    means : ndarray of shape (n, k, d)
    covariances : ndarray of shape (n, k, d, d)
    lower, upper : ndarray of shape (n, d)
        Infinite where there is no limit; at least one limit per row.

    Returns
    -------
    log_masses : ndarray of shape (n, k)
        Log-probabilities of the limits.
    means, covariances
        Of the shapes given.
    """
    # A column without any variance left cannot move.
    uncertain = (np.diagonal(covariances, axis1=2, axis2=3) > 0).all(axis=1)
    lower, upper = np.where(uncertain, lower, -np.inf), np.where(uncertain, upper, np.inf)
    # The limited columns of each row, gathered; rows with fewer are filled up with columns that
    # have nothing to do with the others.
    has_limit = np.isfinite(lower) | np.isfinite(upper)
    q = max(1, int(has_limit.sum(axis=1).max()))
    columns = np.argsort(~has_limit, axis=1, kind="stable")[:, :q]
    filled = ~np.take_along_axis(has_limit, columns, axis=1)[:, None]
    cross = np.take_along_axis(covariances, columns[:, None, None, :], axis=3)
    cross[np.broadcast_to(filled[:, :, None], cross.shape)] = 0.0
    S = np.take_along_axis(cross, columns[:, None, :, None], axis=2)
    S[np.broadcast_to(filled[..., None], S.shape)] = 0.0
    S += filled[..., None] * np.eye(q)
    # Limits relative to the means, so that columns far from zero lose no digits.
    centres = np.take_along_axis(means, columns[:, None, :], axis=2)
    low = np.take_along_axis(lower, columns, axis=1)[:, None] - centres
    high = np.take_along_axis(upper, columns, axis=1)[:, None] - centres
    log_masses, precisions, pushes = _propagated(S, low, high)
    narrowed, shifts, _ = _with_factors(covariances, cross, S, precisions, pushes)
    lost = np.diagonal(narrowed, axis1=2, axis2=3) < 0
    if lost.any():  # an interval so narrow that nothing but rounding is left of its variance
        narrowed[lost[..., :, None] | lost[..., None, :]] = 0.0
    return log_masses, np.clip(means + shifts, lower[:, None], upper[:, None]), narrowed


def _propagated(
    S: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Run expectation propagation on Gaussians of mean zero within limits.

    Parameters
    ----------
    S : ndarray of shape (n, k, q, q)
    lower, upper : ndarray of shape (n, k, q)

    Returns
    -------
    log_masses : ndarray of shape (n, k)
    precisions, pushes : ndarray of shape (n, k, q)
        The factor of each column is ``exp(push x - precision x^2 / 2)``, up to a constant.
    """
    n, k, q = lower.shape
    precisions, pushes = np.zeros((2, n, k, q))
    masses = np.zeros((n, k))
    active = np.arange(n)
    spread, mean = S.copy(), np.zeros((n, k, q))
    for _ in range(_MOST_SWEEPS):
        T, h = precisions[active], pushes[active]
        totals, change = np.zeros((len(active), k)), np.zeros((len(active), k))
        for j in range(q):
            variance, centre = spread[..., j, j].copy(), mean[..., j].copy()
            # The column under the factors of the others alone.
            rest = np.maximum(1 / variance - T[..., j], _LEAST_SHARE / variance)
            middle = (centre / variance - h[..., j]) / rest
            deviation = 1 / np.sqrt(rest)
            log_mass, shift, share = truncated_moments(
                (lower[active, :, j] - middle) / deviation,
                (upper[active, :, j] - middle) / deviation,
            )
            precision = np.clip(rest * (1 / share - 1), 0.0, _LARGEST_SHARE / S[active, :, j, j])
            push = middle * precision + shift * deviation * (rest + precision)
            more, further = precision - T[..., j], push - h[..., j]
            inflation = 1 + more * variance
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
        precisions[active], pushes[active] = T, h
        if q == 1:  # exact after one sweep
            return log_mass, precisions, pushes
        spread, mean, logs = _with_factors(S[active], S[active], S[active], T, h)
        masses[active] = totals + logs
        going_on = (change > _EP_TOLERANCE).any(axis=1)
        active, spread, mean = active[going_on], spread[going_on], mean[going_on]
        if not len(active):
            break
    # All limits together are no likelier than any of them; with limits thousands of deviations out
    # the sums above are differences of far larger numbers.
    deviations = np.sqrt(np.diagonal(S, axis1=2, axis2=3))
    alone = truncated_moments(lower / deviations, upper / deviations)[0]
    return np.minimum(masses, alone.min(axis=-1)), precisions, pushes


def _with_factors(
    covariances: FloatArray,
    cross: FloatArray,
    S: FloatArray,
    precisions: FloatArray,
    pushes: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Multiply Gaussians of mean zero by factors ``exp(push x - precision x^2 / 2)`` of columns.

    With ``T`` the precisions and ``B = I + T^(1/2) S T^(1/2)`` the covariance becomes
    ``C - S_c T^(1/2) inv(B) T^(1/2) S_c'``. No matrix but ``B`` is inverted, whose eigenvalues are
    at least one: Rasmussen and Williams (2006), Section 3.6.

    Parameters
    ----------
    covariances : ndarray of shape (n, k, d, d)
    cross : ndarray of shape (n, k, d, q)
        ``S_c``: covariances of all columns with those that have a factor.
    S : ndarray of shape (n, k, q, q)
        Of those that have a factor.
    precisions, pushes : ndarray of shape (n, k, q)

    Returns
    -------
    covariances : ndarray of shape (n, k, d, d)
    means : ndarray of shape (n, k, d)
    log_masses : ndarray of shape (n, k)
        Logarithms of the integrals.
    """
    roots = np.sqrt(precisions)
    B = np.eye(S.shape[-1]) + roots[..., :, None] * S * roots[..., None, :]
    scaled = roots[..., :, None] * cross.swapaxes(-1, -2)
    gains = np.linalg.solve(B, scaled)
    spread = covariances - scaled.swapaxes(-1, -2) @ gains
    image = (S @ pushes[..., None])[..., 0]
    means = (cross @ pushes[..., None])[..., 0]
    means -= (gains.swapaxes(-1, -2) @ (roots * image)[..., None])[..., 0]
    reduced = np.linalg.solve(B, (roots * image)[..., None])[..., 0]
    quadratics = (pushes * image).sum(axis=-1) - (roots * image * reduced).sum(axis=-1)
    log_masses = 0.5 * (quadratics - np.linalg.slogdet(B)[1])
    return (spread + spread.swapaxes(-1, -2)) / 2, means, log_masses


def _mills(x: FloatArray) -> FloatArray:
    """Return ``(1 - Phi(x)) / phi(x)``, Mills' ratio."""
    ratio: FloatArray = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    return ratio


def _density(x: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * x**2) / _ROOT_2_PI
    return density
