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
    piecewise linear curve a sum over its knots.

    Parameters
    ----------
    beliefs : Beliefs
    values : ndarray of shape (n_samples, n_features)
        In the units of the table, NaN where missing.
    """
    if beliefs.margins is None:
        return beliefs.mean()
    filled = values.copy()
    for j, curve in enumerate(beliefs.margins.curves):
        rows = np.flatnonzero(np.isnan(values[:, j]))
        weights, means, deviations = _one_column(beliefs, rows, j)
        filled[rows, j] = (weights * curve.expected_values(means, deviations)).sum(axis=1)
    return filled


def conditional_quantiles(
    beliefs: Beliefs,
    values: FloatArray,
    levels: ArrayLike,
    limits: tuple[FloatArray, FloatArray] | None = None,
    unlimited: Beliefs | None = None,
) -> FloatArray:
    """Return quantiles of missing numbers, (n_levels, n_samples, n_features); see Density.

    Parameters
    ----------
    beliefs : Beliefs
    values : ndarray of shape (n_samples, n_features)
        In the units of the table, NaN where missing.
    levels : array-like of shape (n_levels,)
    limits, unlimited : pair of ndarray like ``values``, Beliefs
        Limits in the units of the beliefs, and what was believed before them. A value that is the
        only one with limits in its row has the quantiles of truncated Gaussians; of several the
        Gaussians with the moments that are left are taken, cut off at the limits.
    """
    asked = np.atleast_1d(numbers("levels", levels, "numbers between 0 and 1"))
    if asked.ndim != 1 or not ((asked > 0) & (asked < 1)).all():
        raise ValueError(f"levels must be numbers between 0 and 1, found {levels!r}.")
    out = np.repeat(values[None], len(asked), axis=0)
    if limits is not None:
        n_limited = (np.isfinite(limits[0]) | np.isfinite(limits[1])).sum(axis=1)
    for j in range(values.shape[1]):
        rows = np.flatnonzero(np.isnan(values[:, j]))
        found = _mixture_quantiles(*_one_column(beliefs, rows, j), asked)
        if limits is not None and unlimited is not None:
            lower, upper = limits[0][rows, j], limits[1][rows, j]
            alone = np.flatnonzero(n_limited[rows] == 1)
            alone = alone[np.isfinite(lower[alone]) | np.isfinite(upper[alone])]
            if len(alone):
                _, means, deviations = _one_column(unlimited, rows[alone], j)
                weights = beliefs.weights()[rows[alone]]
                ends = lower[alone], upper[alone]
                found[:, alone] = _truncated_mixture_quantiles(
                    weights, means, deviations, asked, *ends
                )
            found = np.clip(found, lower, upper)
        if beliefs.margins is not None:
            found = beliefs.margins.curves[j].backward(found)
        out[:, rows, j] = found
    return out


def truncated_quantiles(
    means: FloatArray,
    deviations: FloatArray,
    levels: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> FloatArray:
    """Return the quantiles of Gaussians between limits.

    Parameters
    ----------
    means, deviations : ndarray of shape (n_rows, k)
    levels : ndarray of shape (n_levels,)
    lower, upper : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_levels, n_rows, k)
        Of a number without spread, itself within the limits.
    """
    from scipy.stats import truncnorm  # takes long to import

    safe = np.where(deviations > 0, deviations, 1.0)
    ends = (lower[:, None] - means) / safe, (upper[:, None] - means) / safe
    found = truncnorm.ppf(levels[:, None, None], *ends, loc=means, scale=safe)
    certain = np.clip(means, lower[:, None], upper[:, None])
    return np.where(deviations > 0, found, certain)


def _one_column(
    beliefs: Beliefs, rows: IntArray, column: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weights, means and deviations of the components of a column, each (n_rows, k)."""
    variances = beliefs.covariances.diagonals()[:, :, column]
    deviations = np.sqrt(np.maximum(variances[beliefs.group_of_row[rows]], 0.0))
    return beliefs.weights()[rows], beliefs.means[rows, :, column], deviations


def _mixture_quantiles(
    weights: FloatArray, means: FloatArray, deviations: FloatArray, levels: FloatArray
) -> FloatArray:
    """Return the quantiles of mixtures of Gaussians on a line, (n_levels, n_rows).

    Between those of the lowest and of the highest component, by bisection.
    """
    of_components = means[None] + deviations[None] * ndtri(levels)[:, None, None]
    if weights.shape[1] == 1:
        single: FloatArray = of_components[:, :, 0]
        return single
    safe = np.where(deviations > 0, deviations, np.finfo(float).tiny)
    return _between_components(
        of_components, weights, levels, lambda x: ndtr((x[:, :, None] - means) / safe)
    )


def _between_components(
    of_components: FloatArray,
    weights: FloatArray,
    levels: FloatArray,
    reached: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the quantiles of mixtures from those of their components, by bisection.

    Parameters
    ----------
    of_components : ndarray of shape (n_levels, n_rows, k)
    weights : ndarray of shape (n_rows, k)
    levels : ndarray of shape (n_levels,)
    reached : callable
        From points of shape (n_levels, n_rows) to the distribution functions of the components.
    """
    low, high = of_components.min(axis=2), of_components.max(axis=2)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = (weights * reached(middle)).sum(axis=2) < levels[:, None]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def _truncated_mixture_quantiles(
    weights: FloatArray,
    means: FloatArray,
    deviations: FloatArray,
    levels: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> FloatArray:
    """Return the quantiles of mixtures of Gaussians between limits, (n_levels, n_rows)."""
    of_components = truncated_quantiles(means, deviations, levels, lower, upper)
    if weights.shape[1] == 1:
        single: FloatArray = of_components[:, :, 0]
        return single
    from scipy.stats import truncnorm  # takes long to import

    safe = np.where(deviations > 0, deviations, np.finfo(float).tiny)
    ends = (lower[:, None] - means) / safe, (upper[:, None] - means) / safe
    return _between_components(
        of_components,
        weights,
        levels,
        lambda x: truncnorm.cdf(x[:, :, None], *ends, loc=means, scale=safe),
    )
