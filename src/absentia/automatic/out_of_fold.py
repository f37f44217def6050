"""Predictions of members for held-out rows, as these rows are and with more cells hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from absentia.automatic.committee import MissingNorm, answer_with_holes, hide_cells
from absentia.automatic.member_tuning import LearningRows
from absentia.automatic.nested_selection import Candidates, Splits
from absentia.beliefs.draws import DrawPoints
from absentia.densities.fit_density import DensityLike, fit_density
from absentia.hidden_warnings import hidden_warnings
from absentia.tables import FloatArray, Table

__all__ = ["Folds", "HiddenLevels", "make_splits"]


def make_splits(rows: LearningRows, n_splits: int, groups: ArrayLike | None, seed: int) -> Splits:
    """Return shuffled folds, stratified by class; rows of one group stay together.

    The only row of a class is in every training set, so that every fold has every class.
    """
    y, n = rows.y, len(rows.y)
    classifies = rows.n_classes is not None
    alone = np.zeros(n, dtype=bool)
    if classifies:
        counts = np.bincount(y, minlength=rows.n_classes or 0)
        alone = counts[y] < 2
        rarest = int(counts[counts > 1].min(initial=n))
        n_splits = min(n_splits, max(2, rarest))
    n_splits = max(2, min(n_splits, n))
    kind: type[BaseEstimator] = StratifiedKFold if classifies else KFold
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError("groups has one group only: expected at least two, one per fold.")
        kind, n_splits = StratifiedGroupKFold if classifies else GroupKFold, min(n_splits, n_groups)
    splitter = kind(n_splits, shuffle=True, random_state=seed)
    with hidden_warnings("The least populated class"):
        found = list(splitter.split(np.zeros((n, 1)), y, groups))
    lonely = np.flatnonzero(alone)
    return [
        (np.union1d(train, lonely), np.setdiff1d(test, lonely))
        for train, test in found
        if len(np.setdiff1d(test, lonely))
    ]


@dataclass(frozen=True, eq=False)
class HiddenLevels:
    """The same rows with more and more cells hidden; the first level hides nothing.

    Attributes
    ----------
    shares : tuple of float
        Share of the observed cells that is hidden at each level.
    tables : tuple of Table, each of shape (n_samples, n_features)
    judged : ndarray of bool, shape (n_samples,)
        The rows that are scored at the levels that hide something: a sample of many.
    """

    shares: tuple[float, ...]
    tables: tuple[Table, ...]
    judged: np.ndarray

    @classmethod
    def of(cls, table: Table, shares: tuple[float, ...], most_rows: int, seed: int) -> HiddenLevels:
        """Hide cells at random, more at each level."""
        tables = (table, *(hide_cells(table, share, seed) for share in shares))
        judged = np.zeros(len(table), dtype=bool)
        judged[np.random.default_rng(seed).permutation(len(table))[:most_rows]] = True
        return cls((0.0, *shares), tables, judged)


class Folds:
    """Repeated folds of training rows, with a density per fold that is fitted when needed."""

    def __init__(
        self,
        rows: LearningRows,
        repeats: list[Splits],
        levels: HiddenLevels,
        norm: MissingNorm,
        density: DensityLike,
        points: DrawPoints,
    ):
        self.rows, self.levels, self.norm, self.points = rows, levels, norm, points
        self.splits = [
            (repeat, train, test) for repeat, splits in enumerate(repeats) for train, test in splits
        ]
        self.first = repeats[0]
        self._density = density
        self._densities: dict[int, BaseEstimator] = {}

    def __len__(self) -> int:
        """Return how many fits a member takes."""
        return len(self.splits)

    def add_predictions(
        self, candidates: Candidates, fold: int, sums: FloatArray, counts: FloatArray
    ) -> None:
        """Fit a member to one fold, and add its predictions of the held-out rows.

        The candidate is the one that all rows but the held-out ones would choose. ``sums`` of
        predictions (n_levels, n_samples, n_outputs) and their ``counts`` (n_levels, n_samples)
        are added to.
        """
        repeat, train, test = self.splits[fold]
        candidate = candidates.for_fold(fold, test)
        plan = candidates.plan_of(candidate)
        rows, centre = self.rows[train].centred()
        limited = rows.table.lower is not None
        density = self._density_of(fold) if plan.averages or limited else None
        # A fit of the search saw means within limits that come from the density of all rows.
        member = None if limited else candidates.fits.get((candidate, fold))
        if member is None:
            member = plan.fitted(rows.seen_by(plan.takes_limits, density))
        for level, table in enumerate(self.levels.tables):
            if level and repeat:
                break  # once is enough for rows with more hidden
            some = test if level == 0 else test[self.levels.judged[test]]
            if not len(some):
                continue
            sums[level, some] += centre + answer_with_holes(
                member, table[some], self.norm, density, self.points
            )
            counts[level, some] += 1

    def _density_of(self, fold: int) -> BaseEstimator:
        if fold not in self._densities:
            train = self.splits[fold][1]
            self._densities[fold] = fit_density(self._density, self.rows.table[train])
        return self._densities[fold]
