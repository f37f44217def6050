"""Folds of the training rows, the same rows with cells hidden, and what all members share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from absentia.automatic.committee import MissingNorm, answer_with_holes, hide_cells
from absentia.automatic.member_specs import Settings
from absentia.automatic.member_tuning import LearningRows
from absentia.automatic.nested_selection import Candidates, Splits
from absentia.beliefs.draws import DrawPoints
from absentia.densities import GaussianDensity
from absentia.densities.fit_density import DensityLike, fit_density
from absentia.engine.threads import computed_once
from absentia.hidden_warnings import hidden_warnings
from absentia.tables import FloatArray

_DRAWS = 32
#: Rows with more hidden are scored on a sample of this size, smaller in wide tables: the cost of
#: such a row grows at least with the square of its columns.
_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS = 600, 120_000
#: Columns from which the density of a table is fitted to fewer digits: 5 steps instead of 45 on 480
#: rows of 590 columns, and an objective that is lower by 0.1 per row of 193.
_WIDE, _TOL_OF_WIDE = 100, 1e-2


class Folds:
    """Repeated folds of training rows, levels of hidden cells, densities and draws.

    ``tables`` are the rows with a share (``shares``) of the observed cells hidden at each level;
    the first level hides nothing. Where something is hidden only the rows in ``judged`` are
    scored, a sample of many. ``first`` are the folds of the first repeat, and ``splits`` those of
    all: (repeat, train, test). Rows of one group are never on both sides of a fold.
    """

    def __init__(self, rows: LearningRows, settings: Settings, groups: ArrayLike | None = None):
        self.rows, self.settings = rows, settings
        self.norm = MissingNorm.of(rows.table.unknown)
        self.shares = (0.0, *settings.hidden)
        hidden = (hide_cells(rows.table, share, settings.seed) for share in settings.hidden)
        self.tables = (rows.table, *hidden)
        n, d = rows.table.shape
        most = max(100, min(_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS // max(1, d)))
        self.judged = np.zeros(n, dtype=bool)
        self.judged[np.random.default_rng(settings.seed).permutation(n)[:most]] = True
        repeats = [
            make_splits(rows, settings.n_splits, groups, settings.seed + repeat)
            for repeat in range(settings.n_repeats)
        ]
        self.first = repeats[0]
        self.splits = [(k, train, test) for k, own in enumerate(repeats) for train, test in own]
        self._densities: dict[int, BaseEstimator] = {}

    @computed_once
    def density(self) -> BaseEstimator:
        """The density of all rows."""
        return fit_density(self.settings.density, self.rows.table, self.rows.weights)

    @computed_once
    def points(self) -> DrawPoints:
        """Points for draws of the missing values."""
        n_columns = len(getattr(self.density, "columns_", range(self.rows.table.shape[1])))
        return DrawPoints.sobol(_DRAWS, n_columns, self.settings.seed)

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
        for level, table in enumerate(self.tables):
            if level and repeat:
                break  # once is enough for rows with more hidden
            some = test if level == 0 else test[self.judged[test]]
            if len(some):
                sums[level, some] += centre + answer_with_holes(
                    member, table[some], self.norm, density, self.points
                )
                counts[level, some] += 1

    def _density_of(self, fold: int) -> BaseEstimator:
        if fold not in self._densities:
            train = self.splits[fold][1]
            self._densities[fold] = fit_density(self.settings.density, self.rows.table[train])
        return self._densities[fold]


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


def density_for(n_columns: int, density: DensityLike) -> DensityLike:
    """Return the density that is fitted to the table and to every fold.

    On a wide table most steps of EM are for digits that no prediction shows, and they would take
    most of the time that members have.
    """
    by_name = isinstance(density, str) and density == "gaussian"
    return GaussianDensity(tol=_TOL_OF_WIDE) if n_columns > _WIDE and by_name else density
