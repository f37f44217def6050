"""Rows completed in the units of their table: conditional means and quantiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from absentia.beliefs.beliefs import Beliefs
from absentia.parameters import numbers
from absentia.tables import FloatArray, IntArray

# Halvings of an interval of at most some dozen deviations: to the last bit.
_HALVINGS = 60


def completed(beliefs: Beliefs, values: FloatArray) -> FloatArray:
    """Return values with conditional means where one is missing.

    Of beliefs about scores these are the means of the values that the scores stand for: for a
    piecewise linear curve a sum over its knots. ``values`` are in the units of the table, NaN
    where missing.
    """
    if beliefs.margins is None:
        return beliefs.mean()
    filled = values.copy()
    for j, curve in enumerate(beliefs.margins.curves):
        rows = np.flatnonzero(np.isnan(values[:, j]))
        weights, means, deviations = marginals(beliefs, rows, j)
        expected = (weights * curve.expected_values(means, deviations)).sum(axis=1)
        filled[rows, j] = curve.to_support(expected)
    return filled


def conditional_quantiles(
    beliefs: Beliefs,
    values: FloatArray,
    levels: ArrayLike,
    limits: tuple[FloatArray, FloatArray] | None = None,
    unlimited: Beliefs | None = None,
) -> FloatArray:
    """Return quantiles of missing numbers, (n_levels, n_samples, n_features); see Density.

    ``limits`` are in the units of the beliefs, and ``unlimited`` the beliefs before them. A value
    that is the only one with limits in its row has the quantiles of truncated Gaussians; of several
    the Gaussians with the moments that are left are taken, cut off at the limits.
    """
    asked = np.atleast_1d(numbers("levels", levels, "numbers between 0 and 1"))
    if asked.ndim != 1 or not ((asked > 0) & (asked < 1)).all():
        raise ValueError(f"levels must be numbers between 0 and 1, found {levels!r}.")
    out = np.repeat(values[None], len(asked), axis=0)
    if limits is not None:
        limited = np.isfinite(limits[0]) | np.isfinite(limits[1])
    for j in range(values.shape[1]):
        rows = np.flatnonzero(np.isnan(values[:, j]))
        found = _mixture_quantiles(*marginals(beliefs, rows, j), asked)
        if limits is not None and unlimited is not None:
            lower, upper = limits[0][rows, j], limits[1][rows, j]
            alone = np.flatnonzero(limited[rows, j] & (limited[rows].sum(axis=1) == 1))
            if len(alone):
                _, means, deviations = marginals(unlimited, rows[alone], j)
                weights = beliefs.weights()[rows[alone]]
                ends = lower[alone], upper[alone]
                found[:, alone] = _mixture_quantiles(weights, means, deviations, asked, ends)
            found = np.clip(found, lower, upper)
        if beliefs.margins is not None:
            found = beliefs.margins.curves[j].backward(found)
        out[:, rows, j] = found
    return out


def component_quantiles(
    means: FloatArray,
    deviations: FloatArray,
    standard: FloatArray,
    limits: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Return quantiles (n_levels, n_rows, k) of Gaussians (n_rows, k) at levels ``Phi(standard)``.

    The Gaussians are cut off at ``limits`` (n_rows,), where there are any. The quantile of a number
    without spread is itself, within the limits.
    """
    if limits is None:
        return means + deviations * standard[:, None, None]
    from scipy.stats import truncnorm  # takes long to import

    lower, upper = (end[:, None] for end in limits)
    safe = np.where(deviations > 0, deviations, 1.0)
    ends = (lower - means) / safe, (upper - means) / safe
    found = truncnorm.ppf(ndtr(standard)[:, None, None], *ends, loc=means, scale=safe)
    return np.where(deviations > 0, found, np.clip(means, lower, upper))


def marginals(
    beliefs: Beliefs, rows: IntArray, number: int | IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weights, means and deviations of a number of each of some rows, each (n_rows, k)."""
    at = np.broadcast_to(number, rows.shape)[:, None], np.arange(beliefs.n_components)
    variances = beliefs.covariances.diagonals()[beliefs.group_of_row[rows, None], at[1], at[0]]
    means = beliefs.means[rows[:, None], at[1], at[0]]
    return beliefs.weights()[rows], means, np.sqrt(np.maximum(variances, 0.0))


def _mixture_quantiles(
    weights: FloatArray,
    means: FloatArray,
    deviations: FloatArray,
    levels: FloatArray,
    limits: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Return the quantiles of mixtures of Gaussians on a line, (n_levels, n_rows).

    Between those of the lowest and of the highest component, by bisection. The Gaussians are cut
    off at ``limits``, where there are any.
    """
    of_components = component_quantiles(means, deviations, ndtri(levels), limits)
    low, high = of_components.min(axis=2), of_components.max(axis=2)
    if weights.shape[1] == 1:
        return low
    safe = np.where(deviations > 0, deviations, np.finfo(float).tiny)
    distribution: Callable[[FloatArray], FloatArray] = ndtr
    if limits is not None:
        from scipy.stats import truncnorm

        ends = [(end[:, None] - means) / safe for end in limits]
        distribution = truncnorm(*ends).cdf
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        reached = distribution((middle[:, :, None] - means) / safe)
        below = (weights * reached).sum(axis=2) < levels[:, None]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
