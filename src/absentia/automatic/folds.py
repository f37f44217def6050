"""Folds of the training rows, the same rows with cells hidden, and what all members share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from absentia.automatic.committee import MissingNorm, answer_with_holes, hide_cells
from absentia.automatic.member_tuning import FittedMember, LearningRows, MemberPlan
from absentia.beliefs.draws import DrawPoints
from absentia.densities import GaussianDensity
from absentia.densities.fit_density import DensityLike, fit_density
from absentia.engine.threads import computed_once
from absentia.hidden_warnings import hidden_warnings
from absentia.machines.validation import Split
from absentia.progress import Bar
from absentia.tables import FloatArray, IntArray

_DRAWS = 32
#: Rows with more hidden are scored on a sample of this size, smaller in wide tables: the cost of
#: such a row grows at least with the square of its columns.
_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS = 400, 80_000
#: Columns from which the density of a table is fitted to fewer digits: 5 steps instead of 45 on 480
#: rows of 590 columns, and an objective that is lower by 0.1 per row of 193.
_WIDE, _TOL_OF_WIDE = 100, 1e-2
#: Rows to which densities are fitted at most.
DENSITY_ROWS = 20_000
#: Beyond this many rows only the first folds are predicted: they have thousands of rows each.
_ROWS_FOR_FEW_FOLDS, _FEW_FOLDS = 20_000, 2


class TimeUpError(Exception):
    """The time for a member is up."""


@dataclass(frozen=True)
class Settings:
    """Parameters of an automatic machine."""

    members: Any = "default"
    density: DensityLike = "gaussian"
    hidden: tuple[float, ...] = (0.3, 0.6)
    n_splits: int = 5
    n_repeats: int = 1
    time_budget: float | None = None
    on_interrupt: str = "raise"
    progress: bool = False
    n_jobs: int | None = None
    seed: int = 0


class Folds:
    """Repeated folds of training rows, levels of hidden cells, the density and draws.

    ``tables`` are the rows with a share (``shares``) of the observed cells hidden at each level;
    the first level hides nothing. Where something is hidden only the rows in ``judged`` are
    scored, a sample of many. ``first`` are the folds of the first repeat, and ``splits`` those of
    all: (repeat, train, test). Rows of one group are never on both sides of a fold. The density
    sees no targets: that of all rows serves every fold. Members call :meth:`check` between pieces
    of work, so that they end when their time is up.
    """

    def __init__(self, rows: LearningRows, settings: Settings, groups: ArrayLike | None = None):
        self.rows, self.settings = rows, settings
        self.norm = MissingNorm.of(rows.table.unknown)
        self.shares = (0.0, *settings.hidden)
        hidden = (hide_cells(rows.table, share, settings.seed) for share in settings.hidden)
        self.tables = (rows.table, *hidden)
        n, d = rows.table.shape
        self._order = np.random.default_rng(settings.seed).permutation(n)
        repeats = [
            make_splits(rows, settings.n_splits, groups, settings.seed + repeat)
            for repeat in range(settings.n_repeats)
        ]
        if n > _ROWS_FOR_FEW_FOLDS:
            repeats = [repeats[0][:_FEW_FOLDS]]
        self.first = repeats[0]
        self.splits = [(k, train, test) for k, own in enumerate(repeats) for train, test in own]
        most = max(100, min(_MOST_HIDDEN_ROWS, _MOST_HIDDEN_CELLS // max(1, d)))
        scored = np.concatenate([test for _, test in self.first])
        self.judged = np.zeros(n, dtype=bool)
        self.judged[self._order[np.isin(self._order, scored)][:most]] = True
        self.deadline: float | None = None
        self.n_components = 0  # Fourier features of kernel members, once the first has chosen
        self.bar = Bar()

    @computed_once
    def density(self) -> BaseEstimator:
        """The density of all rows, or of a sample of many."""
        begun, some = time.monotonic(), self.rows[self.sample(DENSITY_ROWS)]
        fitted = fit_density(self.settings.density, some.table, some.weights)
        self.density_seconds = time.monotonic() - begun
        return fitted

    @computed_once
    def points(self) -> DrawPoints:
        """Points for draws of the missing values."""
        n_columns = len(getattr(self.density, "columns_", range(self.rows.table.shape[1])))
        return DrawPoints.sobol(_DRAWS, n_columns, self.settings.seed)

    def sample(self, most: int) -> IntArray:
        """Return at most so many rows at random, in increasing order."""
        return np.sort(self._order[:most])

    def rows_to_predict(self, fold: int) -> Iterator[tuple[int, IntArray]]:
        """Yield levels of hidden cells with the rows of a fold that are predicted there.

        Rows with more hidden are predicted in the first repeat only.
        """
        repeat, _, test = self.splits[fold]
        yield 0, test
        some = test[self.judged[test]]
        if repeat == 0 and len(some):
            yield from ((level, some) for level in range(1, len(self.tables)))

    def answer(self, member: FittedMember, level: int, rows: IntArray) -> FloatArray:
        """Return a member's predictions of rows with the cells of a level hidden."""
        table = self.tables[level][rows]
        return answer_with_holes(member, table, self.norm, self.density, self.points)

    def check(self, seconds: float = 0.0) -> None:
        """Raise TimeUpError if the deadline has passed, or will have in so many seconds."""
        if self.deadline is not None and time.monotonic() + seconds > self.deadline:
            raise TimeUpError


class OutOfFold:
    """Predictions of held-out rows by one member, and the member fitted to all rows.

    ``nested`` (n_levels, n_samples, n_outputs) are those of the first repeat, NaN for rows without
    one, whose parameters were chosen without the targets of the fold: they score the average. A
    member that was left out has a ``remark``.
    """

    def __init__(self, folds: Folds, plan: MemberPlan):
        self.folds, self.name, self.description = folds, plan.name, plan.description
        self.fitted: FittedMember | None = None
        self.remark, self.seconds = "", 0.0
        shape = (len(folds.tables), len(folds.rows.y), folds.rows.n_classes or 1)
        self.nested = np.full(shape, np.nan)
        self._sums, self._counts = np.zeros(shape), np.zeros(shape[:2])
        self._left = {
            (fold, level)
            for fold in range(len(folds.first))
            for level, _ in folds.rows_to_predict(fold)
        }

    def add(self, fold: int, level: int, rows: IntArray, answers: FloatArray) -> None:
        """Add predictions of held-out rows."""
        if fold < len(self.folds.first):
            self.nested[level, rows] = answers
        self._sums[level, rows] += answers
        self._counts[level, rows] += 1
        self._left.discard((fold, level))
        if level == 0:
            self.folds.bar.advance(self.name)

    @property
    def is_complete(self) -> bool:
        """Whether the member is fitted and all folds of the first repeat are predicted."""
        return self.fitted is not None and not self._left

    @property
    def answers(self) -> FloatArray:
        """The mean over repeats, NaN for rows without a prediction."""
        with np.errstate(invalid="ignore"):
            return self._sums / self._counts[..., None]


def make_splits(
    rows: LearningRows, n_splits: int, groups: ArrayLike | None, seed: int
) -> list[Split]:
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
