"""Members of the automatic machines: how each is tuned and fitted, and how it predicts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from absentia.automatic.blending import Candidates, losses
from absentia.automatic.tree_ensemble import TreeEnsemble
from absentia.densities.fit_density import filled_within_limits
from absentia.engine.threads import n_threads
from absentia.machines.losses import probabilities_of
from absentia.machines.targets import Task
from absentia.predictions.wrapped_model import class_probabilities, fit_weighted
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.known_limits import KeepsLimits
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    from absentia.automatic.folds import Folds, OutOfFold

_TREES = (BaseForest, HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Folds on which candidates are compared: the second chooses for the first.
_COMPARED = 2
#: Trees of fewer rows have too little work for threads, which then wait for each other.
ROWS_FOR_THREADS = 20_000
#: Pieces in which trees are grown where time is limited.
_PIECES = 4


def as_rows(table: FloatArray | Table) -> Table:
    """Return an array as a table, and a table as it is."""
    return table if isinstance(table, Table) else Table(table, columns_checked=True)


def rows_for(takes_limits: bool, table: Table, density: BaseEstimator) -> Table:
    """Return rows as a member sees them: with their limits, or with means within the limits."""
    if table.lower is None or takes_limits:
        return table
    return filled_within_limits(density, table)


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Training rows: class codes from 0 or numbers, weights or None. Arrays become tables."""

    table: Table
    y: np.ndarray
    weights: FloatArray | None
    n_classes: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", as_rows(self.table))

    def __getitem__(self, rows: IntArray) -> LearningRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, table=self.table[rows], y=self.y[rows], weights=weights)

    def seen_by(self, takes_limits: bool, density: BaseEstimator) -> LearningRows:
        """Return the rows as a member sees them, see :func:`rows_for`."""
        return replace(self, table=rows_for(takes_limits, self.table, density))

    def centred(self) -> tuple[LearningRows, float]:
        """Return the rows with targets of mean zero, and their mean; classes as they are.

        Kernel ridge regression has no intercept: far from all rows it predicts zero, which must be
        the mean of the rows that it was trained on, not of others too.
        """
        if self.n_classes is not None:
            return self, 0.0
        centre = float(np.average(self.y, weights=self.weights))
        return replace(self, y=self.y - centre), centre

    def can_train(self, rows: IntArray) -> bool:
        """Return whether there are such rows, of positive weight, and in every class."""
        counted = rows if self.weights is None else rows[self.weights[rows] > 0]
        if self.n_classes is None:
            return len(counted) > 0
        return len(np.unique(self.y[counted])) == self.n_classes

    def answers_of(self, scores: FloatArray) -> FloatArray:
        """Return probabilities, or numbers as they are, from scores (..., n_scores)."""
        return scores if self.n_classes is None else probabilities_of(scores)

    @property
    def task(self) -> Task:
        """Classification or regression."""
        return "regression" if self.n_classes is None else "classification"

    @property
    def row_weights(self) -> FloatArray:
        """The weights of the rows, one where there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights


@dataclass(frozen=True, eq=False)
class FittedMember(Stored):
    """A fitted model (trees or an estimator) that predicts tables of float64 with NaN.

    If ``averages``, rows that miss more than training rows did are predicted by an average over
    draws; members on beliefs handle such rows by themselves. ``n_classes`` is None for regressors.
    """

    name: str
    model: BaseEstimator
    averages: bool
    n_classes: int | None

    def validate(self) -> None:
        """Raise ValueError unless the member has a name."""
        self._require_type("name", str)
        self._require_type("averages", bool)

    @property
    def takes_limits(self) -> bool:
        """Whether the model uses limits of values."""
        return _carries_limits(self.model)

    def answer(self, rows: FloatArray | Table) -> FloatArray:
        """Return probabilities of all classes, or numbers in one column."""
        table = rows if self.takes_limits else np.asarray(rows)
        if isinstance(self.model, TreeEnsemble):
            return self.model.answer(np.asarray(table))
        if self.n_classes is None:
            return np.asarray(self.model.predict(table), dtype=np.float64).reshape(-1, 1)
        return class_probabilities(self.model, table, np.arange(self.n_classes))


@dataclass(frozen=True, eq=False)
class MemberPlan(ABC):
    """A model that may become a member; ``averages`` as in :class:`FittedMember`."""

    name: str = field(default="", kw_only=True)
    description: str = field(default="", kw_only=True)
    averages: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def takes_limits(self) -> bool:
        """Whether the member uses limits of values."""

    @abstractmethod
    def run(self, folds: Folds, out: OutOfFold) -> None:
        """Choose parameters, fit the member to all rows, and predict the rows of every fold."""


@dataclass(frozen=True, eq=False)
class EstimatorPlan(MemberPlan):
    """An estimator that takes NaN, with a small grid of its parameters.

    ``stages`` are numbers of boosted trees to choose from, all of them from one fit.
    """

    estimator: BaseEstimator
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    stages: tuple[int, ...] = ()

    @property
    def takes_limits(self) -> bool:
        return _carries_limits(self.estimator)

    def run(self, folds: Folds, out: OutOfFold) -> None:
        rows = folds.rows.seen_by(self.takes_limits, folds.density)
        models, candidates, known = self._compared(rows, folds)
        n_first, begun = len(folds.first), time.monotonic()
        out.fitted = self._member(models[candidates.without([])], rows, folds)
        seconds = time.monotonic() - begun
        for fold, (_, train, test) in enumerate(folds.splits):
            folds.check(seconds * max(1, n_first - fold))
            begun, candidate = time.monotonic(), candidates.for_fold(fold, test)
            own, centre = rows[train].centred()
            member = known.get((candidate, fold)) or self._member(models[candidate], own, folds)
            for level, some in folds.rows_to_predict(fold):
                out.add(fold, level, some, centre + folds.answer(member, level, some))
            seconds = time.monotonic() - begun

    def _compared(
        self, rows: LearningRows, folds: Folds
    ) -> tuple[list[BaseEstimator], Candidates, dict[tuple[int, int], FittedMember]]:
        """Return the candidates, their losses on the first folds, and members fitted for that."""
        sizes = [{"max_iter": stage} for stage in self.stages] or [{}]
        models = [
            clone(self.estimator).set_params(**candidate, **size)
            for candidate in ParameterGrid(dict(self.grid))
            for size in sizes
        ]
        if len(models) == 1:
            return models, Candidates(), {}
        known, found = {}, np.full((len(models), len(rows.y)), np.nan)
        for fold, (train, test) in enumerate(folds.first[:_COMPARED]):
            learned, centre = rows[train].centred()
            held_out, n = rows[test], len(sizes)
            for place, model in enumerate(models):
                if place % n == 0:  # the largest size has the trees of all
                    grown = self._fit(clone(models[place + n - 1]), learned, folds)
                stage = model.max_iter if self.stages else None
                member = known[place, fold] = self._as_member(grown, rows.n_classes, stage)
                answers = centre + member.answer(held_out.table)
                found[place, test] = losses(answers, held_out.y, rows.task)
        return models, Candidates(found, rows.weights), known

    def _member(self, model: BaseEstimator, rows: LearningRows, folds: Folds) -> FittedMember:
        """Fit a copy of an estimator."""
        return self._as_member(self._fit(clone(model), rows, folds), rows.n_classes)

    def _as_member(
        self, model: BaseEstimator, n_classes: int | None, stage: int | None = None
    ) -> FittedMember:
        if isinstance(model, _TREES):
            model = TreeEnsemble.of(model, n_classes, stage)
        return FittedMember(self.name, model, self.averages, n_classes)

    def _fit(self, model: BaseEstimator, rows: LearningRows, folds: Folds) -> BaseEstimator:
        folds.check()
        threads = n_threads(folds.settings.n_jobs) if len(rows.table) >= ROWS_FOR_THREADS else 1
        table = rows.table if self.takes_limits else rows.table.array
        with threadpool_limits(threads, user_api="openmp"):
            if not isinstance(model, _TREES):
                return fit_weighted(model, table, rows.y, rows.weights)
            # A column without a value makes boosting fail; a constant is never split on.
            table = np.where(rows.table.mask.all(axis=0), 0.0, rows.table.array)
            size = "n_estimators" if isinstance(model, BaseForest) else "max_iter"
            n_trees, pieces = model.get_params()[size], 1 if folds.deadline is None else _PIECES
            for piece in range(1, pieces + 1):
                begun = time.monotonic()
                model.set_params(warm_start=piece > 1, **{size: -(-n_trees * piece // pieces)})
                fit_weighted(model, table, rows.y, rows.weights)
                folds.check((pieces - piece) * (time.monotonic() - begun))
        return model


def _carries_limits(model: Any) -> bool:
    """Return whether the first step of a pipeline passes limits on to a machine on beliefs."""
    return isinstance(model, Pipeline) and isinstance(model.steps[0][1], KeepsLimits)
