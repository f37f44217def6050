"""Several fitted members that answer as one, with weights by how much a row misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from absentia.automatic.blending import tempered, weights_of_rows
from absentia.automatic.member_plans import FittedMember, as_rows, rows_for
from absentia.automatic.novelty import MissingNorm
from absentia.automatic.row_draws import columns_of, over_draws
from absentia.beliefs.draws import DrawPoints
from absentia.densities.fit_density import DensityEstimator
from absentia.tables import FloatArray, Table
from absentia.tables.stored import Stored

__all__ = ["Committee", "answer_with_holes"]


def answer_with_holes(
    member: FittedMember,
    rows: FloatArray | Table,
    norm: MissingNorm,
    density: BaseEstimator,
    points: DrawPoints,
) -> FloatArray:
    """Return a member's answers to rows that may miss more than training rows did.

    Members that know missing values only from training get such rows as draws of what they could
    be, and their answers are averaged, as :class:`~absentia.MarginalClassifier` does.
    """
    table = as_rows(rows)
    mask = table.unknown
    new = np.flatnonzero(norm.is_new(mask)) if member.averages else np.array([], dtype=int)
    if not len(new):
        return member.answer(rows_for(member.takes_limits, table, density))
    columns = columns_of(density, table)

    def mean_answer(draws: FloatArray) -> FloatArray:
        n, m, _ = draws.shape
        complete = np.full((n * m, table.shape[1]), np.nan)
        complete[:, columns] = draws.reshape(n * m, -1)
        means: FloatArray = member.answer(complete).reshape(n, m, -1).mean(axis=1)
        return means

    averaged = over_draws(mean_answer, table[new], density, points)
    answers = np.empty((len(table), averaged.shape[1]))
    answers[new] = averaged
    rest = np.setdiff1d(np.arange(len(table)), new)
    if len(rest):
        answers[rest] = member.answer(rows_for(member.takes_limits, table[rest], density))
    return answers


@dataclass(frozen=True, eq=False)
class Committee(Stored):
    """Fitted members, their weights, and what they need to answer rows with new holes.

    Attributes
    ----------
    members : tuple of FittedMember
    levels : ndarray of shape (n_levels,)
        Excess of missing values at which the weights were chosen; the first is 0.
    weights : ndarray of shape (n_levels, n_members)
    temperatures : ndarray of shape (n_levels,)
        Of the averaged probabilities; one for regressors.
    norm : MissingNorm
    density : density
        What the missing values could be.
    points : DrawPoints
    """

    members: tuple[FittedMember, ...]
    levels: FloatArray
    weights: FloatArray
    temperatures: FloatArray
    norm: MissingNorm
    density: DensityEstimator
    points: DrawPoints

    def validate(self) -> None:
        """Raise ValueError unless there is a weight per level and member."""
        self._require_type("norm", MissingNorm)
        self._require_array("levels", np.float64, (None,))
        self._require_array("weights", np.float64, (len(self.levels), len(self.members)))
        self._require_array("temperatures", np.float64, (len(self.levels),))
        if not (np.diff(self.levels) > 0).all() or not (self.temperatures > 0).all():
            raise ValueError("Committee: levels must increase and temperatures be positive.")

    def answer(self, rows_given: FloatArray | Table) -> FloatArray:
        """Return probabilities, or numbers in one column; NaN where missing is welcome."""
        table = as_rows(rows_given)
        excess = self.norm.excess(table.unknown)
        weights = weights_of_rows(excess, self.levels, self.weights)
        total: FloatArray | None = None
        for member, column in zip(self.members, weights.T, strict=True):
            rows = np.flatnonzero(column > 0)
            if not len(rows):
                continue
            answers = answer_with_holes(member, table[rows], self.norm, self.density, self.points)
            if total is None:
                total = np.zeros((len(table), answers.shape[1]))
            total[rows] += column[rows, None] * answers
        assert total is not None  # weights have the sum one
        if total.shape[1] == 1:
            return total
        temperature = np.exp(np.interp(excess, self.levels, np.log(self.temperatures)))
        return tempered(total, temperature)
