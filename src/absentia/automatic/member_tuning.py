"""Members of the automatic machines: how each is tuned and fitted, and how it predicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from absentia.automatic.blending import losses
from absentia.automatic.nested_selection import (
    Candidates,
    RowScorer,
    Splits,
    left_out_together,
    nested_losses,
    predictions,
)
from absentia.automatic.tree_ensemble import TreeEnsemble
from absentia.densities.fit_density import filled_within_limits
from absentia.machines.targets import Task
from absentia.predictions.wrapped_model import fit_weighted, spread_over
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.known_limits import KeepsLimits
from absentia.tables.stored import Stored

_TREES = (BaseForest, HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Rows that kernel searches solve for, over all of their folds.
_SEARCHED_ROWS = 2000
#: Up to as many rows the parameters of each fold are chosen on more groups of folds.
_THOROUGH_ROWS = 400
#: Folds on which the number of boosted trees is chosen.
_STAGED_FOLDS = 2
#: Boosting on fewer rows has too little work for threads, which then wait for each other.
_ROWS_FOR_THREADS = 20_000


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

    def has_all_classes(self, rows: IntArray) -> bool:
        """Return whether every class has one of these rows, of positive weight."""
        if self.n_classes is None:
            return True
        counted = rows if self.weights is None else rows[self.weights[rows] > 0]
        return len(np.unique(self.y[counted])) == self.n_classes

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
        return predictions(self.model, table, self.n_classes)


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
    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[Candidates, FittedMember]:
        """Score candidates on the folds; return them, and the best of them fitted to all rows."""

    def _with(self, estimator: BaseEstimator) -> EstimatorPlan:
        """Return the plan of one candidate."""
        return EstimatorPlan(
            estimator, name=self.name, description=self.description, averages=self.averages
        )


@dataclass(frozen=True, eq=False)
class EstimatorPlan(MemberPlan):
    """An estimator that takes NaN, with a small grid of its parameters."""

    estimator: BaseEstimator
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def takes_limits(self) -> bool:
        return _carries_limits(self.estimator)

    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[Candidates, FittedMember]:
        plans = [
            self._with(clone(self.estimator).set_params(**candidate))
            for candidate in ParameterGrid(dict(self.grid))
        ]
        if len(plans) == 1:
            return Candidates(plans.__getitem__), plans[0].fitted(rows)
        fits: dict[tuple[int, int], FittedMember] = {}
        found = []
        # The first fold chooses. Its own rows are predicted by the candidate that the second would
        # choose, whose fits are needed to predict the second fold in any case.
        for fold, (train, test) in enumerate(splits[:2]):
            learned, centre = rows[train].centred()
            held_out = rows[test]
            of_rows = np.full((len(plans), len(rows.y)), np.nan)
            for candidate, plan in enumerate(plans):
                member = fits[candidate, fold] = plan.fitted(learned)
                answers = centre + member.answer(held_out.table)
                of_rows[candidate, test] = losses(answers, held_out.y, rows.task)
            found.append(of_rows)
        candidates = Candidates(plans.__getitem__, tuple(found), rows.weights, fits=fits)
        return candidates, plans[candidates.without(np.array([], dtype=int))].fitted(rows)

    def fitted(self, rows: LearningRows) -> FittedMember:
        """Fit a copy of the estimator."""
        model = self._fit(clone(self.estimator), rows)
        if isinstance(model, _TREES):
            model = TreeEnsemble.of(model, rows.n_classes)
        return FittedMember(self.name, model, self.averages, rows.n_classes)

    def _fit(self, model: BaseEstimator, rows: LearningRows) -> BaseEstimator:
        threads = 1 if len(rows.table) < _ROWS_FOR_THREADS else None
        table = rows.table if self.takes_limits else rows.table.array
        if isinstance(model, _TREES):
            # A column without a value makes boosting fail; a constant is never split on.
            table = np.where(rows.table.mask.all(axis=0), 0.0, rows.table.array)
        with threadpool_limits(threads, user_api="openmp"):
            return fit_weighted(model, table, rows.y, rows.weights)


@dataclass(frozen=True, eq=False)
class StagedPlan(EstimatorPlan):
    """Boosted trees; their number is chosen among ``stages``, from one fit per candidate."""

    stages: tuple[int, ...] = (25, 50, 100, 200)

    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[Candidates, FittedMember]:
        grid, task = list(ParameterGrid(dict(self.grid))), rows.task
        places = [(stage, k) for k in range(len(grid)) for stage in self.stages]
        of_rows = np.full((len(places), len(rows.y)), np.nan)
        sums = np.zeros(len(places))
        for train, test in splits[:_STAGED_FOLDS]:
            held_out = rows[test]
            learned, centre = rows[train].centred()
            table = np.where(learned.table.mask.all(axis=0), 0.0, held_out.table.array)
            for k, candidate in enumerate(grid):
                model = clone(self.estimator).set_params(max_iter=self.stages[-1], **candidate)
                model = self._fit(model, learned)
                staged = model.staged_predict_proba if rows.n_classes else model.staged_predict
                for stage, answers in enumerate(staged(table), start=1):
                    if stage not in self.stages:
                        continue
                    if rows.n_classes is None:
                        answers = centre + np.reshape(answers, (-1, 1))
                    else:
                        answers = spread_over(np.arange(rows.n_classes), model.classes_, answers)
                    place = places.index((stage, k))
                    of_rows[place, test] = losses(answers, held_out.y, task)
                    sums[place] += np.average(of_rows[place, test], weights=held_out.weights)
        sums[np.isnan(of_rows).all(axis=1)] = np.inf

        def plan_of(place: int) -> EstimatorPlan:
            stage, k = places[place]
            return self._with(clone(self.estimator).set_params(max_iter=stage, **grid[k]))

        candidates = Candidates(plan_of, (of_rows,), rows.weights)
        return candidates, plan_of(int(sums.argmin())).fitted(rows)


@dataclass(frozen=True, eq=False)
class SearchPlan(MemberPlan):
    """A pipeline that ends in a machine which chooses its own parameters on Gram matrices."""

    before: tuple[Any, ...] = ()
    search: Any = None

    @property
    def takes_limits(self) -> bool:
        return bool(self.before) and isinstance(self.before[0], KeepsLimits)

    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[Candidates, FittedMember]:
        steps = [(f"{type(step).__name__.lower()}-{k}", step) for k, step in enumerate(self.before)]
        # Few folds of many rows choose as well as many folds of few, and solving costs the cube.
        searched = list(splits[: max(2, _SEARCHED_ROWS // len(rows.y))])
        search = clone(self.search).set_params(scoring=RowScorer(rows.n_classes))
        pipeline, of_folds = self._searched(Pipeline([*steps, ("machine", search)]), rows, searched)
        *before, (name, found) = pipeline.steps
        results = found.cv_results_

        def plan_of(candidate: int) -> EstimatorPlan:
            machine = clone(found.best_estimator_).set_params(**results["params"][candidate])
            return self._with(clone(Pipeline([*before, (name, machine)])))

        best = Pipeline([*before, (name, found.best_estimator_)])
        fitted = FittedMember(self.name, best, self.averages, rows.n_classes)
        of_rows = np.full((len(of_folds[0]), len(rows.y)), np.nan)
        for (_, test), own in zip(searched, of_folds, strict=True):
            of_rows[:, test] = own
        nested = self._nested(pipeline, rows, splits)
        return Candidates(plan_of, (of_rows,), rows.weights, nested), fitted

    def _nested(self, pipeline: Pipeline, rows: LearningRows, splits: Splits) -> list[FloatArray]:
        """Return losses for each fold, of candidates that were trained without its rows."""
        groups = left_out_together(len(splits), thorough=len(rows.y) <= _THOROUGH_ROWS)
        together = [
            (
                reduce(np.intersect1d, [splits[fold][0] for fold in group]),
                np.concatenate([splits[fold][1] for fold in group]),
            )
            for group in groups
        ]
        if not groups or not all(rows.has_all_classes(train) for train, _ in together):
            return []
        # A density has seen no targets: that of all rows saves a fit for each group.
        frozen = FrozenEstimator(pipeline[-1].density_)
        again = clone(pipeline).set_params(machine__refit=False, machine__density=frozen)
        return nested_losses(splits, groups, self._searched(again, rows, together)[1])

    def _searched(
        self, pipeline: Pipeline, rows: LearningRows, splits: Splits
    ) -> tuple[Pipeline, list[FloatArray]]:
        """Search on some folds; return the losses (n_candidates, n_rows) on the rows of each."""
        pipeline = clone(pipeline).set_params(machine__cv=list(splits))
        table = rows.table if self.takes_limits else rows.table.array
        search = fit_weighted(pipeline, table, rows.y, rows.weights)[-1]
        return pipeline, [
            search.scoring.of_rows(rows.y[test], search.cv_results_[f"split{fold}_test_score"])
            for fold, (_, test) in enumerate(splits)
        ]


def _carries_limits(model: Any) -> bool:
    """Return whether the first step of a pipeline passes limits on to a machine on beliefs."""
    return isinstance(model, Pipeline) and isinstance(model.steps[0][1], KeepsLimits)
