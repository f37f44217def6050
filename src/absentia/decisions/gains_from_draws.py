"""Expected gains of all missing values of a row from one set of draws of the whole row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from absentia.beliefs.column_trials import BeliefColumn
from absentia.beliefs.quasi_random import DrawPoints, map_draws, rows_by_pattern
from absentia.decisions.expected_gains import ENOUGH, Gains
from absentia.decisions.model_answers import Loss, Questions
from absentia.densities.missing_values import Unknowns
from absentia.tables import BoolArray, FloatArray, IntArray, Table

__all__ = ["gains_from_draws"]

#: The draws are divided into this many groups by the value of a column of numbers.
_GROUPS = 8


def gains_from_draws(
    ask: Questions,
    unknowns: Unknowns,
    table: Table,
    candidates: BoolArray,
    loss: Loss,
    n_draws: int,
    costs: FloatArray,
    budget: float | None,
    lookahead: Literal[1, 2, "auto"],
) -> tuple[FloatArray, Gains]:
    """Return the gain of each candidate cell, and the gains of one step with the losses.

    Complete rows ``x_1 ... x_m`` are drawn from the belief about a row, and the model answers each
    of them once. To measure column ``j`` is to learn which group ``b`` of draws the row belongs
    to: eight groups of equal size by the value of ``x_j``, or one per category. With ``a_b`` the
    mean answer in a group of share ``w_b``,

        ``gain_j = L(sum_b w_b a_b) - sum_b w_b L(a_b)``,

    which takes ``m`` predictions per row, however many columns are missing. Groups of draws differ
    by chance also where ``x_j`` says nothing; groups made at random show by how much. That is
    subtracted, in proportion to what ``x_j`` leaves open.

    Two steps ahead, the gain ``G_jk`` of a pair comes from the same draws, in groups by both
    values. Where ``k`` gains more after ``j`` than any column other than ``j`` does now, ``j`` gets
    the difference as well, at the average cost of the two, as in ``gains_of_two``.
    """
    points = DrawPoints.sobol(n_draws, unknowns.n_drawn, seed=0)
    order = rows_by_pattern(table)
    rows, wanted = table[order], candidates[order]

    def of_chunk(draws: FloatArray, chunk: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        n, m, _ = draws.shape
        complete = unknowns.completed(rows[chunk], draws)
        flat = Table(complete.reshape(n * m, -1), columns_checked=True)
        answers = ask(flat, np.repeat(order[chunk], m)).reshape(n, m, -1)
        if not ask.tells_variance:
            answers[:, :, 1] = 0.0
        drawn = _Drawn.of(ask.classifies, answers, loss)
        one = np.full(wanted[chunk].shape, np.nan)
        tried = np.flatnonzero(wanted[chunk].any(axis=0)).tolist()
        for j in tried:
            one[:, j] = drawn.gain(_groups(complete, unknowns.columns[j], _GROUPS))
        one[~wanted[chunk]] = np.nan
        gain = one.copy()
        if lookahead != 1 and len(tried) > 1:
            best = np.nan_to_num(one).max(axis=1)
            far = (lookahead == 2) | (best < ENOUGH * drawn.possible)
            of = np.flatnonzero(far)
            if len(of):
                # Fewer groups by each value: those of a pair should not be too small.
                few = {j: _groups(complete[of], unknowns.columns[j], _GROUPS // 2) for j in tried}
                gain[of] = _gains_of_pairs(drawn.about(of), one[of], few, costs, budget)
        return gain, one, drawn.before

    parts = map_draws(of_chunk, unknowns.believe, rows, points)
    back = np.argsort(order)
    gain, one, before = (np.concatenate(part)[back] for part in zip(*parts, strict=True))
    return gain, Gains(one, before[:, None] - one, before)


def _gains_of_pairs(
    drawn: _Drawn,
    one: FloatArray,
    groups: dict[int, IntArray],
    costs: FloatArray,
    budget: float | None,
) -> FloatArray:
    """Return gains that count what a second measurement gains beyond the best that there is now."""
    alone, gain = np.nan_to_num(one), one.copy()
    for j, k in combinations(groups, 2):
        total = costs[j] + costs[k]
        if budget is not None and total > budget:
            continue
        both = drawn.gain(groups[j] * (int(groups[k].max()) + 1) + groups[k])
        for here, there in ((j, k), (k, j)):
            others = alone.copy()
            others[:, here] = 0.0
            synergy = np.maximum(both - alone[:, here] - others.max(axis=1), 0.0)
            share = costs[here] / total if total > 0 else 0.5
            # NaN where either is no candidate.
            found = one[:, here] + 2.0 * share * synergy + 0.0 * one[:, there]
            gain[:, here] = np.fmax(gain[:, here], found)
    return gain


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What a model answers about draws of rows.

    Attributes
    ----------
    classifies : bool
    answers : ndarray of shape (n_samples, n_draws, n_answers)
    loss : callable
    before : ndarray of shape (n_samples,)
        The loss of the mean answer.
    possible : ndarray of shape (n_samples,)
        What all missing values together gain.
    """

    classifies: bool
    answers: FloatArray
    loss: Loss
    before: FloatArray
    possible: FloatArray

    @classmethod
    def of(cls, classifies: bool, answers: FloatArray, loss: Loss) -> _Drawn:
        n, m, k = answers.shape
        nothing = np.zeros((n, m), dtype=np.intp)
        before = _expected_loss(classifies, answers, nothing, loss)
        last = loss(answers.reshape(n * m, k)).reshape(n, m).mean(axis=1)
        return cls(classifies, answers, loss, before, np.maximum(before - last, 0.0))

    def about(self, rows: IntArray) -> _Drawn:
        """Return the same for some of the rows."""
        return replace(
            self,
            answers=self.answers[rows],
            before=self.before[rows],
            possible=self.possible[rows],
        )

    def gain(self, groups: IntArray) -> FloatArray:
        """Return what it is worth to learn the group of a row, groups of shape (n, n_draws)."""
        found = self._plain_gain(groups)
        mixed = np.random.default_rng(0).permutation(groups.shape[1])
        chance = self._plain_gain(groups[:, mixed])
        left = np.divide(
            self.possible - found, self.possible, out=np.zeros(len(found)), where=self.possible > 0
        )
        return np.clip(found - chance * np.clip(left, 0.0, 1.0), 0.0, self.possible)

    def _plain_gain(self, groups: IntArray) -> FloatArray:
        return self.before - _expected_loss(self.classifies, self.answers, groups, self.loss)


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


def _expected_loss(
    classifies: bool, answers: FloatArray, groups: IntArray, loss: Loss
) -> FloatArray:
    """Return the mean over draws of the loss of the mean answer of their group, one per row."""
    n, m, k = answers.shape
    n_groups = int(groups.max()) + 1
    cell = (np.arange(n)[:, None] * n_groups + groups).ravel()
    count = np.bincount(cell, minlength=n * n_groups)
    some = np.maximum(count, 1)

    def mean(values: FloatArray) -> FloatArray:
        return np.bincount(cell, values.ravel(), minlength=n * n_groups) / some

    means = np.column_stack([mean(answers[:, :, at]) for at in range(k)])
    if not classifies:  # the variance of a mixture
        deviations = answers[:, :, 0].ravel() - means[cell, 0]
        means[:, 1] += mean(deviations**2)
    full = count > 0
    losses = np.zeros(n * n_groups)
    losses[full] = loss(means[full])
    expected: FloatArray = (losses * count).reshape(n, n_groups).sum(axis=1) / m
    return expected
