"""By how much measuring a missing value is expected to lower a loss, one or two steps ahead."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from absentia.beliefs.column_trials import ColumnTrials
from absentia.decisions.model_answers import Loss, Questions
from absentia.densities.missing_values import Unknowns
from absentia.tables import BoolArray, FloatArray, IntArray, Table

__all__ = ["ENOUGH", "Gains", "gains_of_one", "gains_of_two", "needs_two"]

#: Nodes per component of the belief about a value, with one step and with two.
_POINTS, _POINTS_OF_TWO = 7, 3
#: Of this many columns every pair is looked at.
_BEAM = 6
#: Draws of what a row could be, for the variance of a model that does not report one.
_DRAWS = 64
#: The same, for what a column gains when all others are known.
_DRAWS_OF_LAST = 6
#: Where the best single value gains less than this share of what all of them together gain,
#: pairs are looked at. Of a product of two columns that share is zero before one of them is known.
ENOUGH = 0.1
#: Gains below this share of the loss are rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Gains:
    """Expected gains of single measurements.

    Attributes
    ----------
    gain : ndarray of shape (n_samples, n_features)
        NaN where a cell is no candidate.
    after : ndarray of shape (n_samples, n_features)
        The loss that is expected with the measurement, NaN likewise.
    before : ndarray of shape (n_samples,)
        The loss that is expected without a measurement.
    """

    gain: FloatArray
    after: FloatArray
    before: FloatArray


def gains_of_one(
    ask: Questions, unknowns: Unknowns, table: Table, candidates: BoolArray, loss: Loss
) -> Gains:
    """Return the gain of each candidate cell, and the loss before."""
    n = len(table)
    trials = unknowns.trials(table, candidates, _POINTS)
    # Rows as they are and rows that are tried, in one call: a call has a price of its own.
    origin = np.concatenate([np.arange(n), trials.origin])
    answers = ask(_stacked(table, trials.table), origin)
    present = loss(answers[:n])
    before = present if ask.tells_variance else _spread_over_beliefs(ask, unknowns, table)
    gain, after = np.full(candidates.shape, np.nan), np.full(candidates.shape, np.nan)
    if candidates.any():
        cells = trials.row, trials.column
        gain[cells], after[cells] = _gains(ask, trials, answers[n:], present, loss)
        if not ask.tells_variance:  # answers ignore what stays missing
            after[cells] = np.maximum(before[trials.row] - gain[cells], 0.0)
    return Gains(gain, after, before)


def gains_of_two(
    ask: Questions,
    unknowns: Unknowns,
    table: Table,
    candidates: BoolArray,
    loss: Loss,
    costs: FloatArray,
    budget: float | None,
    one: Gains,
) -> Gains:
    """Return gains that count what could be measured afterwards as well.

    With ``g_j`` the gain of column ``j`` alone and ``g_k|v`` that of ``k`` once ``x_j = v`` is
    known, the best plan after ``v`` measures the ``k`` with the largest ``g_k|v / cost_k``. Where
    that gains more than any other column does now, ``j`` gets the difference as well,

        ``g_j + max(0, E g_k|v - max_k g_k) * 2 cost_j / (cost_j + E cost_k)``,

    at the average cost of the two. Without interactions this is the gain of one step; a plain sum
    ``g_j + E g_k|v`` also rewards columns for being weak alone, and was worse on real tables.
    """
    if not candidates.any():
        return one
    kept = _most_promising(ask, unknowns, table, candidates, loss, costs, one.gain)
    trials = unknowns.trials(table, kept, _POINTS_OF_TWO)
    row, column = trials.origin, np.repeat(trials.column, trials.counts)
    following = kept[row]
    following[np.arange(len(row)), column] = False
    if budget is not None:
        following &= costs[column][:, None] + costs <= budget
    then, spent = np.zeros(len(row)), np.zeros(len(row))
    if following.any():
        second = unknowns.trials(trials.table, following, _POINTS_OF_TWO)
        gain = np.full(following.shape, -np.inf)
        gain[second.row, second.column], _ = _asked_gains(ask, second, trials.table, row, loss)
        best = _worth(gain, costs, following).argmax(axis=1)
        then = gain[np.arange(len(row)), best]
        pays = then > 0
        then, spent = np.where(pays, then, 0.0), np.where(pays, costs[best], 0.0)
    cost = costs[trials.column]
    alone = one.gain[trials.row, trials.column]
    others = np.where(kept, one.gain, 0.0)[trials.row]
    others[np.arange(len(others)), trials.column] = 0.0
    synergy = np.maximum(trials.expected(then) - others.max(axis=1), 0.0)
    total = cost + trials.expected(spent)
    share = np.divide(cost, total, out=np.ones_like(cost), where=total > 0)
    gain = one.gain.copy()
    gain[trials.row, trials.column] = alone + 2.0 * share * synergy
    return Gains(gain, one.after, one.before)


def needs_two(
    ask: Questions, unknowns: Unknowns, table: Table, loss: Loss, one: Gains
) -> BoolArray:
    """Return the rows where no value gains much alone of what all missing values gain together.

    What all gain is ``L(mean answer) - mean L(answer)`` over draws of what the row could be: for
    the log loss the mutual information between the class and all missing values. Without a
    probability to average (conformal regions, regressors without a variance) every row is looked
    at.
    """
    best = np.where(np.isnan(one.gain), 0.0, one.gain).max(axis=1, initial=0.0)
    several = (~np.isnan(one.gain)).sum(axis=1) > 1
    if ask.region is not None or not ask.tells_variance:
        return several
    n = len(table)
    draws = unknowns.believe(table).sample(_DRAWS, random_state=0).transpose(1, 0, 2)
    rows = unknowns.completed(table, draws).reshape(-1, table.n_features)
    origin = np.repeat(np.arange(n), _DRAWS)
    answers = ask(Table(rows, columns_checked=True), origin).reshape(n, _DRAWS, -1)
    mean = answers.mean(axis=1)
    if not ask.classifies:
        mean[:, 1] += answers[:, :, 0].var(axis=1)
    after = loss(answers.reshape(n * _DRAWS, -1)).reshape(n, _DRAWS).mean(axis=1)
    needed: BoolArray = several & (best < ENOUGH * (loss(mean) - after))
    return needed


def _worth(gain: FloatArray, costs: FloatArray, candidates: BoolArray) -> FloatArray:
    """Return gains per cost, minus infinity where a cell is no candidate."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(candidates, np.nan_to_num(gain / costs, nan=0.0), -np.inf)


def _most_promising(
    ask: Questions,
    unknowns: Unknowns,
    table: Table,
    candidates: BoolArray,
    loss: Loss,
    costs: FloatArray,
    first: FloatArray,
) -> BoolArray:
    """Return the few columns of each row whose pairs are looked at.

    Half of them gain most as the first measurement, half of them as the last, when all others are
    known: a column that is informative only together with others is found there.
    """
    if candidates.sum(axis=1).max() <= _BEAM:
        return candidates
    last = np.zeros(candidates.shape)
    row, column = np.nonzero(candidates)
    cells = np.zeros((len(row), candidates.shape[1]), dtype=np.bool_)
    cells[np.arange(len(row)), column] = True
    beliefs = unknowns.believe(table)
    for draw in beliefs.sample(_DRAWS_OF_LAST, random_state=0):
        known = unknowns.completed(table, draw[:, None])[:, 0][row]
        for c in np.unique(column):
            of = np.flatnonzero(column == c)
            known[np.ix_(of, list(unknowns.columns[c].places))] = np.nan
        rows = Table(known, columns_checked=True)
        trials = unknowns.trials(rows, cells, _POINTS_OF_TWO)
        last[row, column] += _asked_gains(ask, trials, rows, row, loss)[0]
    kept = np.zeros_like(candidates)
    for worth in (_worth(first, costs, candidates), _worth(last, costs, candidates)):
        order = np.argsort(np.where(kept, -np.inf, worth) * -1.0, axis=1, kind="stable")
        np.put_along_axis(kept, order[:, : _BEAM // 2], True, axis=1)
    return kept & candidates


def _stacked(first: Table, second: Table) -> Table:
    """Return the rows of two tables with the same columns."""
    lower = upper = None
    if first.lower is not None and second.lower is not None:
        lower = np.concatenate([first.lower, second.lower])
    if first.upper is not None and second.upper is not None:
        upper = np.concatenate([first.upper, second.upper])
    array = np.concatenate([first.array, second.array])
    return replace(first, array=array, lower=lower, upper=upper, _whole=None, _known={})


def _asked_gains(
    ask: Questions, trials: ColumnTrials, rows: Table, origin: IntArray, loss: Loss
) -> tuple[FloatArray, FloatArray]:
    """Return what :func:`_gains` does, of trials that the model has not been asked about yet.

    ``rows`` are those that trials were made of, and ``origin`` says which of the user's rows each
    of them comes from.
    """
    answers = ask(trials.table, origin[trials.origin])
    present = np.empty(0) if ask.region is None else loss(ask(rows, origin))
    return _gains(ask, trials, answers, present, loss)


def _gains(
    ask: Questions, trials: ColumnTrials, answers: FloatArray, present: FloatArray, loss: Loss
) -> tuple[FloatArray, FloatArray]:
    """Return ``L(mean answer) - mean L(answer)`` of each cell, and ``mean L(answer)``.

    The variance of a regressor is that of a mixture: the mean of its own variances, which the
    measurement would leave, and the variance of its means, which the measurement would explain.
    A conformal region is no probability that could be averaged: there the gain is how much smaller
    it is expected to be than ``present``, the loss of each row that trials were made of.
    """
    if ask.region is not None:
        after = trials.expected(loss(answers))
        now = present[trials.row]
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(after) & np.isinf(now), 0.0, now - after), after
    if not ask.tells_variance:
        answers[:, 1] = 0.0
    mean = trials.expected(answers)
    if not ask.classifies:
        deviations = answers[:, 0] - np.repeat(mean[:, 0], trials.counts)
        mean[:, 1] += trials.expected(deviations**2)
    after = trials.expected(loss(answers))
    gain = loss(mean) - after
    # What rounding leaves is no gain, or "stop" would never be said.
    return np.where(np.abs(gain) <= _ROUNDING * np.abs(after), 0.0, gain), after


def _spread_over_beliefs(ask: Questions, unknowns: Unknowns, table: Table) -> FloatArray:
    """Return the variance of the predictions over what each row could be."""
    draws = unknowns.believe(table).sample(_DRAWS, random_state=0).transpose(1, 0, 2)
    rows = unknowns.completed(table, draws).reshape(-1, table.n_features)
    origin = np.repeat(np.arange(len(table)), _DRAWS)
    answers = ask(Table(rows, columns_checked=True), origin)[:, 0].reshape(-1, _DRAWS)
    variance: FloatArray = answers.var(axis=1)
    return variance
