"""Expected gains of measuring missing values, one or two steps ahead.

Two ways: :func:`gains_of_one` tries values of each missing cell, :func:`gains_from_draws` divides
one set of draws of the whole row into groups, by the values of one column or of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from absentia.beliefs.column_trials import BeliefColumn
from absentia.beliefs.draws import DrawPoints
from absentia.decisions.trial_model import Loss, TrialModel
from absentia.densities.missing_values import MissingValues
from absentia.machines.averaging import LEVELS, over_draws, over_values
from absentia.tables import BoolArray, FloatArray, IntArray, Table

#: Gains are resolved relative to the largest of the row, or to this share of the loss.
_SCALE = 1e-3
#: Draws of a row, for the variance of a model that does not report one.
_DRAWS = 64
#: Pairs are tried where the best single value gains less than this share of what all of them
#: together gain. For a product of two columns that share is zero before one of them is known.
_ENOUGH = 0.1
#: Gains below this share of the loss are rounding.
_ROUNDING = 1e-13
#: The number of groups of draws by the value of a column of numbers.
_GROUPS = 8


@dataclass(frozen=True, eq=False)
class Setting:
    """Rows whose missing values may be measured, and the model that predicts them.

    ``candidates`` are the cells of the user's columns that may be measured, (n_samples, n_columns).
    """

    model: TrialModel
    unknowns: MissingValues
    table: Table
    candidates: BoolArray
    loss: Loss
    costs: FloatArray
    budget: float | None

    def __getitem__(self, rows: IntArray) -> Setting:
        """Return some of the rows."""
        return replace(
            self,
            model=self.model.about(rows),
            table=self.table[rows],
            candidates=self.candidates[rows],
        )


@dataclass(frozen=True, eq=False)
class Gains:
    """Expected gains of single measurements.

    ``gain`` and the expected loss ``after`` the measurement, (n_samples, n_columns), are NaN where
    a cell is no candidate; ``before`` is the expected loss without a measurement, (n_samples,).
    """

    gain: FloatArray
    after: FloatArray
    before: FloatArray


def gains_of_one(of: Setting) -> Gains:
    """Return the gain of each candidate cell, and the loss before.

    The gain is ``L(mean prediction) - mean L(prediction)`` over what the cell could be. The
    variance of a regressor is that of a mixture: the mean of its own variances, which the
    measurement would leave, and the variance of its means, which the measurement would explain.
    A conformal region is no probability that could be averaged: there the gain is how much smaller
    it is expected to be than now.
    """
    model, answers = of.model, of.model(of.table, np.arange(len(of.table)))
    present = of.loss(answers)
    before = present if model.reports_variance else _variance_over_draws(of)

    def moments(rows: Table, origin: IntArray) -> FloatArray:
        found = model(rows, origin)
        if not model.reports_variance:
            found[:, 1] = 0.0
        squares = np.zeros(len(found))
        if model.region is None:  # about a prediction nearby, so that few digits are lost
            squares = (found - answers[origin])[:, 0] ** 2
        return np.column_stack([found, of.loss(found), squares])

    def gains(expected: FloatArray, rows: IntArray) -> FloatArray:
        mean, after = expected[:, :-2].copy(), expected[:, -2]
        if model.region is not None:
            now = present[rows]
            with np.errstate(invalid="ignore"):
                return np.where(np.isinf(after) & np.isinf(now), 0.0, now - after)[:, None]
        if not model.classifies:
            variance = expected[:, -1] - (mean - answers[rows])[:, 0] ** 2
            mean[:, 1] += np.maximum(variance, 0.0)
        gain = of.loss(mean) - after
        # Without this, rounding would be worth a measurement.
        return np.where(np.abs(gain) <= _ROUNDING * np.abs(after), 0.0, gain)[:, None]

    # Regions have steps everywhere, which no rule resolves.
    levels = LEVELS if model.region is None else 2
    scale = _SCALE * np.abs(before)[:, None]
    found, expected = over_values(
        moments, gains, of.unknowns, of.table, of.candidates, scale, levels
    )
    gain, after = (np.full(of.candidates.shape, np.nan) for _ in range(2))
    if len(found):
        gain[of.candidates], after[of.candidates] = found[:, 0], expected[:, -2]
    if not model.reports_variance:  # predictions ignore what stays missing
        after = np.maximum(before[:, None] - gain, 0.0)
    return Gains(gain, after, before)


def _variance_over_draws(of: Setting) -> FloatArray:
    """Return the variance of the predictions over draws of each row."""

    def variance(complete: FloatArray, rows: IntArray) -> tuple[FloatArray]:
        return (_Drawn.of(of, complete, rows).answers[:, :, 0].var(axis=1),)

    points = DrawPoints.sobol(_DRAWS, of.unknowns.n_drawn, seed=0)
    return over_draws(variance, of.unknowns, of.table, points)[0]


def gains_from_draws(
    of: Setting, n_draws: int, lookahead: Literal[1, 2, "auto"]
) -> tuple[FloatArray, Gains]:
    """Return the gain of each candidate cell, and the gains of one step with the losses.

    Complete rows ``x_1 ... x_m`` are drawn from the belief about a row, and the model predicts each
    of them once. To measure column ``j`` is to learn which group ``b`` of draws the row belongs
    to: eight groups of equal size by the value of ``x_j``, or one per category. With ``a_b`` the
    mean prediction in a group of share ``w_b``,

        ``gain_j = L(sum_b w_b a_b) - sum_b w_b L(a_b)``,

    which takes ``m`` predictions per row, however many columns are missing. Groups of draws differ
    by chance also where ``x_j`` is uninformative; groups made at random show by how much. That is
    subtracted, in proportion to what ``x_j`` leaves open.

    Two steps ahead, the gain ``G_jk`` of a pair comes from the same draws, in groups by both
    values. Where ``k`` gains more after ``j`` than any column other than ``j`` does now, ``j`` gets
    the difference as well, at the average cost of the two. Without interactions this is the gain
    of one step; a plain sum of the two also rewards columns for being weak alone, and was worse on
    real tables.
    """

    def of_chunk(complete: FloatArray, rows: IntArray) -> tuple[FloatArray, ...]:
        drawn, wanted = _Drawn.of(of, complete, rows), of.candidates[rows]
        one = np.full(wanted.shape, np.nan)
        tried = np.flatnonzero(wanted.any(axis=0)).tolist()
        for j in tried:
            one[:, j] = drawn.gain(_groups(complete, of.unknowns.columns[j], _GROUPS))
        one[~wanted] = np.nan
        gain = one.copy()
        if lookahead != 1 and len(tried) > 1:
            best = np.nan_to_num(one).max(axis=1)
            some = np.flatnonzero((lookahead == 2) | (best < _ENOUGH * drawn.possible))
            if len(some):
                # Fewer groups by each value: those of a pair should not be too small.
                few = {
                    j: _groups(complete[some], of.unknowns.columns[j], _GROUPS // 2) for j in tried
                }
                gain[some] = _gains_of_pairs(of, drawn[some], one[some], few)
        return gain, one, drawn.before

    points = DrawPoints.sobol(n_draws, of.unknowns.n_drawn, seed=0)
    gain, one, before = over_draws(of_chunk, of.unknowns, of.table, points)
    return gain, Gains(one, before[:, None] - one, before)


def _gains_of_pairs(
    of: Setting, drawn: _Drawn, one: FloatArray, groups: dict[int, IntArray]
) -> FloatArray:
    """Return gains that include what a second measurement gains beyond the best one now."""
    alone, gain = np.nan_to_num(one), one.copy()
    for j, k in combinations(groups, 2):
        total = of.costs[j] + of.costs[k]
        if of.budget is not None and total > of.budget:
            continue
        both = drawn.gain(groups[j] * (int(groups[k].max()) + 1) + groups[k])
        for here, there in ((j, k), (k, j)):
            others = alone.copy()
            others[:, here] = 0.0
            synergy = np.maximum(both - alone[:, here] - others.max(axis=1), 0.0)
            share = of.costs[here] / total if total > 0 else 0.5
            # NaN where either is no candidate.
            found = one[:, here] + 2.0 * share * synergy + 0.0 * one[:, there]
            gain[:, here] = np.fmax(gain[:, here], found)
    return gain


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Predictions for draws of rows, (n, m, n_outputs); the loss of their mean, and its gain."""

    setting: Setting
    answers: FloatArray
    before: FloatArray
    possible: FloatArray

    @classmethod
    def of(cls, setting: Setting, complete: FloatArray, rows: IntArray) -> _Drawn:
        n, m, d = complete.shape
        flat = Table(complete.reshape(n * m, d), columns_checked=True)
        answers = setting.model(flat, np.repeat(rows, m)).reshape(n, m, -1)
        if not setting.model.reports_variance:
            answers[:, :, 1] = 0.0
        before = _expected_loss(setting, answers, np.zeros((n, m), dtype=np.intp))
        last = setting.loss(answers.reshape(n * m, -1)).reshape(n, m).mean(axis=1)
        return cls(setting, answers, before, np.maximum(before - last, 0.0))

    def __getitem__(self, rows: IntArray) -> _Drawn:
        return _Drawn(self.setting, self.answers[rows], self.before[rows], self.possible[rows])

    def gain(self, groups: IntArray) -> FloatArray:
        """Return the gain of learning the group of a row, groups of shape (n, n_draws)."""
        found = self.before - _expected_loss(self.setting, self.answers, groups)
        mixed = np.random.default_rng(0).permutation(groups.shape[1])
        chance = self.before - _expected_loss(self.setting, self.answers, groups[:, mixed])
        left = np.divide(
            self.possible - found, self.possible, out=np.zeros(len(found)), where=self.possible > 0
        )
        return np.clip(found - chance * np.clip(left, 0.0, 1.0), 0.0, self.possible)


def _groups(complete: FloatArray, column: BeliefColumn, n_groups: int) -> IntArray:
    """Return the group of each draw of each row by the value of a column, shape (n, m)."""
    values = complete[:, :, list(column.places)]
    if column.options is not None:  # draws of indicators are near a category, not in it
        apart = [((values - option) ** 2).sum(axis=2) for option in column.options]
        return np.argmin(apart, axis=0)
    n, m, _ = values.shape
    order = values[:, :, 0].argsort(axis=1, kind="stable")
    groups = np.empty((n, m), dtype=np.intp)
    np.put_along_axis(groups, order, np.arange(m)[None, :] * n_groups // m, axis=1)
    return groups


def _expected_loss(of: Setting, answers: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean over draws of the loss of the mean prediction of their group, per row."""
    n, m, k = answers.shape
    n_groups = int(groups.max()) + 1
    cell = (np.arange(n)[:, None] * n_groups + groups).ravel()
    count = np.bincount(cell, minlength=n * n_groups)
    some = np.maximum(count, 1)

    def mean(values: FloatArray) -> FloatArray:
        return np.bincount(cell, values.ravel(), minlength=n * n_groups) / some

    means = np.column_stack([mean(answers[:, :, at]) for at in range(k)])
    if not of.model.classifies:  # the variance of a mixture
        deviations = answers[:, :, 0].ravel() - means[cell, 0]
        means[:, 1] += mean(deviations**2)
    full = count > 0
    losses = np.zeros(n * n_groups)
    losses[full] = of.loss(means[full])
    return (losses * count).reshape(n, n_groups).sum(axis=1) / m
