"""Completed rows: conditional means, quantiles, and trial values for single missing cells.

A column of words is several indicator columns of a table, or one column of codes; beliefs keep
codes apart from numbers. :class:`BeliefColumn` has the position of one of the user's columns in
either, and its categories, so that results can be about the column that the user knows.

The belief about a number is a mixture of Gaussians on a line, and each component gets the nodes of
a rule for the standard normal distribution. For a censored number it is a mixture of truncated
Gaussians: a node ``t`` becomes their quantile at ``Phi(t)``. The trial values of a category are its
words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from absentia.beliefs.beliefs import Beliefs
from absentia.parameters import numbers
from absentia.tables import BoolArray, FloatArray, IntArray, Table
from absentia.tables.stored import frozen

#: Nodes and weights for the standard normal distribution; the weights sum to one.
Rule = tuple[FloatArray, FloatArray]
#: Trapezoidal rules end at this many deviations.
_REACH = 5.0


@dataclass(frozen=True, eq=False)
class BeliefColumn:
    """Position of one of the user's columns in the table and in beliefs.

    Its columns in the table are ``places``, none where it is left out. Among the numbers of a
    belief these are ``numbers``, none for codes and for a column that the density does not know;
    ``category`` is its place among the columns of codes. ``options`` of shape (n_options,
    len(places)) are what the table holds for each category, None for a number.
    """

    name: str
    places: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    category: int | None = None
    options: FloatArray | None = None

    @property
    def believed(self) -> bool:
        """Whether beliefs say what its missing values could be."""
        return self.category is not None or bool(self.numbers)


def number_columns(names: Sequence[str]) -> tuple[BeliefColumn, ...]:
    """Return the columns of a table of numbers, all of which the beliefs are about."""
    return tuple(BeliefColumn(str(name), (j,), (j,)) for j, name in enumerate(names))


def missing_cells(table: FloatArray, columns: Sequence[BeliefColumn]) -> BoolArray:
    """Return which of the user's cells are missing and believed something about, (n, n_columns)."""
    mask = np.isnan(table)
    missing = np.zeros((len(table), len(columns)), dtype=np.bool_)
    for at, column in enumerate(columns):
        if column.believed:
            missing[:, at] = mask[:, list(column.places)].any(axis=1)
    return missing


def option_probabilities(beliefs: Beliefs, column: BeliefColumn) -> FloatArray:
    """Return how probable each category of a column is in each row, (n_samples, n_options).

    Codes have the probabilities of the belief. The mean of an indicator is a linear prediction of
    its probability, which may leave the interval from 0 to 1: it is cut off there, and the
    probabilities of a column are divided by their sum.
    """
    assert column.options is not None
    if column.category is not None:
        return beliefs.probabilities(column.category)
    means = beliefs.to_table_units(beliefs.mean())[:, list(column.numbers)]
    if len(column.numbers) == 1:  # one indicator for two categories
        low, high = column.options[:, 0]
        second = np.clip((means[:, 0] - low) / (high - low), 0.0, 1.0)
        return np.column_stack([1.0 - second, second])
    places = np.arange(len(column.options))
    high = column.options[places, places]
    low = column.options[places - 1, places]
    shares = np.maximum((means - low) / (high - low), 0.0)
    total = shares.sum(axis=1, keepdims=True)
    even = np.full_like(shares, 1.0 / shares.shape[1])
    return np.divide(shares, total, out=even, where=total > 0)


@dataclass(frozen=True, eq=False)
class ColumnTrials:
    """Rows of a table, each with one of the user's missing cells filled in by each of its points.

    ``row`` and ``column`` of shape (n_cells,) say which cells are tried, ``counts`` how many points
    each has. ``weights`` of the points sum to one for each cell. ``table`` has the trial rows,
    those of a cell one after the other, NaN where values are still missing.
    """

    row: IntArray
    column: IntArray
    counts: IntArray
    weights: FloatArray
    table: Table

    @property
    def starts(self) -> IntArray:
        """The first trial row of each cell."""
        return np.cumsum(self.counts) - self.counts

    @property
    def origin(self) -> IntArray:
        """Row of the table that each trial row was made from."""
        return np.repeat(self.row, self.counts)

    def expected(self, values: FloatArray) -> FloatArray:
        """Return the mean over the points of each cell, of one value (or array) per trial row."""
        weighted = values * self.weights.reshape((-1,) + (1,) * (values.ndim - 1))
        return np.add.reduceat(weighted, self.starts, axis=0)


def column_trials(
    beliefs: Beliefs,
    table: Table,
    columns: Sequence[BeliefColumn],
    cells: BoolArray,
    rule: Rule,
    unlimited: Beliefs | None = None,
) -> ColumnTrials:
    """Return the trial rows of some missing cells, of columns that the beliefs are about.

    Every component of the belief about a number has the nodes of ``rule``. Points keep within the
    limits of a value; the trial rows have the point instead of the limits. ``unlimited`` is what
    was believed before the limits of the table, for numbers that are the only ones with limits in
    their row; other limited numbers have the Gaussians with the moments that are left.
    """
    row, column = np.nonzero(cells)
    of_number = beliefs.n_components * len(rule[0])
    sizes = np.array([of_number if c.options is None else len(c.options) for c in columns])
    counts = sizes[column]
    starts = np.cumsum(counts) - counts
    origin = np.repeat(row, counts)
    values, weights = table.array[origin], np.empty(len(origin))
    lower, upper = (None if ends is None else ends[origin] for ends in (table.lower, table.upper))

    is_number = np.array([c.options is None for c in columns])[column]
    if is_number.any():
        rows, of = row[is_number], column[is_number]
        lines = starts[is_number][:, None] + np.arange(of_number)
        place = np.array([c.places[0] if c.options is None and c.places else -1 for c in columns])
        number = np.array([c.numbers[0] if c.numbers else -1 for c in columns])[of]
        points, shares = _nodes(beliefs, rows, number, rule)
        at = np.broadcast_to(place[of][:, None], points.shape)
        if lower is not None and upper is not None:
            if unlimited is not None:
                limited = table.limited
                alone = np.flatnonzero(limited[rows, at[:, 0]] & (limited.sum(axis=1)[rows] == 1))
                ends = lower[lines[alone, 0], at[alone, 0]], upper[lines[alone, 0], at[alone, 0]]
                points[alone], shares[alone] = _nodes(
                    beliefs, rows[alone], number[alone], rule, ends, unlimited
                )
            points = np.clip(points, lower[lines, at], upper[lines, at])
        values[lines, at], weights[lines] = points, shares
    for c in np.unique(column[~is_number]):
        chosen = np.flatnonzero(column == c)
        lines = starts[chosen][:, None] + np.arange(sizes[c])
        places = np.array(columns[c].places)
        values[lines[:, :, None], places] = columns[c].options
        weights[lines] = option_probabilities(beliefs, columns[c])[row[chosen]]
    if lower is not None and upper is not None:
        known = ~np.isnan(values)
        lower, upper = np.where(known, -np.inf, lower), np.where(known, np.inf, upper)
    errors = None if table.errors is None else np.where(table.mask, 0.0, table.errors)[origin]
    parts: Any = {"lower": lower, "upper": upper, "errors": errors}
    tried = replace(table, array=values, **parts, _whole=None, _known={})
    return ColumnTrials(row, column, counts, weights, tried)


@lru_cache(maxsize=8)
def trapezoidal(level: int) -> Rule:
    """Return the rule of step one (level 0), or the nodes that halve the step another time.

    The mean of the rules of levels 0 and 1 is the rule of step 1/2; that and level 2 together are
    the rule of step 1/4, and so on. The error for a function ``exp(i a t)`` with a step ``h`` is
    about ``exp(-(2 pi / h - a)^2 / 2)``; linear functions of the value have an error below 1e-5.
    """
    step = 0.5 ** max(level - 1, 0)
    nodes = np.arange(-_REACH + (step / 2 if level else 0.0), _REACH + step / 4, step)
    weights = np.exp(-0.5 * nodes**2)
    return frozen(nodes), frozen(weights / weights.sum())


def _nodes(
    beliefs: Beliefs,
    row: IntArray,
    number: IntArray,
    rule: Rule,
    limits: tuple[FloatArray, FloatArray] | None = None,
    unlimited: Beliefs | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return points and weights for the belief about a number of each of some rows.

    The belief is ``sum_c w_c N(m_c, s_c)`` with ``w``, ``m`` and ``s`` of the row's belief; with
    ``limits``, in the units of the table as the points are, its Gaussians are those of
    ``unlimited``, cut off.
    """
    standard, share = rule
    weights, centres, deviations = marginals(beliefs, row, number)
    if limits is not None and unlimited is not None:
        _, centres, deviations = marginals(unlimited, row, number)
        lower, upper = (_by_curves(beliefs, number, end, "forward") for end in limits)
        limits = lower, upper
    points = component_quantiles(centres, deviations, standard, limits).transpose(1, 2, 0)
    flat = len(row), points.shape[1] * len(standard)  # there may be no rows
    points = _by_curves(beliefs, number, points.reshape(flat), "backward")
    return points, (weights[:, :, None] * share).reshape(flat)


def _by_curves(
    beliefs: Beliefs, number: IntArray, values: FloatArray, direction: str
) -> FloatArray:
    """Return values of one number per row by its curve, forward to scores or backward."""
    if beliefs.margins is not None:
        values = values.copy()
        for j in np.unique(number):
            of = number == j
            values[of] = getattr(beliefs.margins.curves[j], direction)(values[of])
    return values


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
