"""Models that can be members: how each is tuned and fitted, and how it answers afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from absentia.automatic.blending import FLOOR, losses
from absentia.automatic.tree_ensemble import TreeEnsemble
from absentia.densities.limited_values import filled_within_limits
from absentia.machines.search.gram_search import log_loss_score
from absentia.predictions.training_draws import fit_weighted
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.limited_steps import KeepsLimits
from absentia.tables.stored import Stored

__all__ = [
    "EstimatorPlan",
    "FittedMember",
    "LearningRows",
    "MemberPlan",
    "SearchPlan",
    "StagedPlan",
    "as_rows",
    "rows_for",
]

Task = Literal["classification", "regression"]
Splits = Sequence[tuple[IntArray, IntArray]]
_TREES = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
#: Rows that kernel searches solve for, over all of their folds.
_SEARCHED_ROWS = 2000
#: Folds on which the number of boosted trees is chosen.
_STAGED_FOLDS = 2
#: Boosting on fewer rows has too little work for threads, which then wait for each other.
_ROWS_FOR_THREADS = 20_000


def as_rows(table: FloatArray | Table) -> Table:
    """Return an array as a table; a table comes back as it is."""
    return table if isinstance(table, Table) else Table(table, columns_checked=True)


def _carries_limits(steps: Any) -> bool:
    """Return whether the first step of a pipeline carries limits to a machine on beliefs."""
    first = steps.steps[0][1] if isinstance(steps, Pipeline) else (steps or (None,))[0]
    return isinstance(first, KeepsLimits)


def rows_for(takes_limits: bool, table: Table, density: BaseEstimator) -> Table:
    """Return rows as a member sees them: with their limits, or with means within the limits."""
    if table.lower is None or takes_limits:
        return table
    return filled_within_limits(density, table)


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows to learn from: class codes from 0 or numbers, weights or None.

    Arrays become tables, which know the limits of their values.
    """

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

    @property
    def task(self) -> Task:
        """What is to be learned."""
        return "regression" if self.n_classes is None else "classification"


@dataclass(frozen=True, eq=False)
class FittedMember(Stored):
    """A fitted model that answers tables of float64 with NaN.

    Attributes
    ----------
    name : str
    model : TreeEnsemble or estimator
    averages : bool
        Whether rows that miss more than training rows did are answered by an average over what
        they could be; members on beliefs know such rows by themselves.
    n_classes : int or None
        None for regressors.
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
        """Whether limits of values are part of what the model learns from."""
        return isinstance(self.model, Pipeline) and _carries_limits(self.model)

    def answer(self, rows: FloatArray | Table) -> FloatArray:
        """Return probabilities of all classes, or numbers in one column."""
        table = rows if self.takes_limits else np.asarray(rows)
        if isinstance(self.model, TreeEnsemble):
            return self.model.answer(np.asarray(table))
        if self.n_classes is None:
            return np.asarray(self.model.predict(table), dtype=np.float64).reshape(-1, 1)
        answers = np.zeros((len(table), self.n_classes))
        answers[:, np.asarray(self.model.classes_, dtype=int)] = self.model.predict_proba(table)
        return answers


@dataclass(frozen=True, eq=False)
class MemberPlan(ABC):
    """A model that may become a member.

    Attributes
    ----------
    name, description : str
    averages : bool
        As in :class:`FittedMember`.
    """

    name: str
    description: str
    averages: bool

    @property
    @abstractmethod
    def takes_limits(self) -> bool:
        """Whether limits of values are part of what the member learns from."""

    @abstractmethod
    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[EstimatorPlan, FittedMember]:
        """Choose hyperparameters on the folds; return the plan with them, fitted to all rows."""


@dataclass(frozen=True, eq=False)
class EstimatorPlan(MemberPlan):
    """An estimator that takes NaN, with a few values to try of some of its parameters."""

    estimator: BaseEstimator | None = None
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def takes_limits(self) -> bool:
        return isinstance(self.estimator, Pipeline) and _carries_limits(self.estimator)

    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[EstimatorPlan, FittedMember]:
        candidates = list(ParameterGrid(dict(self.grid)))
        plans = [
            replace(self, estimator=clone(self.estimator).set_params(**candidate), grid={})
            for candidate in candidates
        ]
        if len(plans) > 1:
            train, test = splits[0]
            judged = rows[test]
            found = [
                np.average(
                    losses(plan.fitted(rows[train]).answer(judged.table), judged.y, rows.task),
                    weights=judged.weights,
                )
                for plan in plans
            ]
            plans = [plans[int(np.argmin(found))]]
        return plans[0], plans[0].fitted(rows)

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

    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[EstimatorPlan, FittedMember]:
        found: dict[tuple[int, int], float] = {}
        candidates = list(ParameterGrid(dict(self.grid)))
        for train, test in splits[:_STAGED_FOLDS]:
            judged = rows[test]
            for k, candidate in enumerate(candidates):
                model = clone(self.estimator).set_params(max_iter=self.stages[-1], **candidate)
                for stage, answers in self._staged(model, rows[train], judged.table.array):
                    loss = losses(answers, judged.y, rows.task)
                    place = (stage, k)
                    found[place] = found.get(place, 0.0) + np.average(loss, weights=judged.weights)
        stage, k = min(found, key=lambda place: found[place])
        best = clone(self.estimator).set_params(max_iter=stage, **candidates[k])
        plan = EstimatorPlan(self.name, self.description, self.averages, best)
        return plan, plan.fitted(rows)

    def _staged(
        self, model: BaseEstimator, rows: LearningRows, table: FloatArray
    ) -> Iterator[tuple[int, FloatArray]]:
        """Fit a model, and return its answers after each of the stages."""
        model = self._fit(model, rows)
        staged = model.staged_predict if rows.n_classes is None else model.staged_predict_proba
        table = np.where(rows.table.mask.all(axis=0), 0.0, table)
        for step, answers in enumerate(staged(table), start=1):
            if step not in self.stages:
                continue
            if rows.n_classes is None:
                yield step, np.reshape(answers, (-1, 1))
            else:
                spread = np.zeros((len(table), rows.n_classes))
                spread[:, model.classes_] = answers
                yield step, spread


@dataclass(frozen=True, eq=False)
class SearchPlan(MemberPlan):
    """A pipeline that ends in a machine which chooses its own parameters on Gram matrices."""

    before: tuple[Any, ...] = ()
    search: Any = None

    @property
    def takes_limits(self) -> bool:
        return _carries_limits(self.before)

    def tuned(self, rows: LearningRows, splits: Splits) -> tuple[EstimatorPlan, FittedMember]:
        steps = [(f"{type(step).__name__.lower()}-{k}", step) for k, step in enumerate(self.before)]
        # Few folds of many rows choose as well as many folds of few, and solving costs the cube.
        n_folds = max(2, _SEARCHED_ROWS // len(rows.y))
        search = clone(self.search).set_params(cv=list(splits[:n_folds]))
        log_loss = partial(log_loss_score, smallest=FLOOR)
        search.set_params(scoring=log_loss if rows.n_classes else _negative_error)
        table = rows.table if self.takes_limits else rows.table.array
        pipeline = fit_weighted(
            clone(Pipeline([*steps, ("machine", search)])), table, rows.y, rows.weights
        )
        *before, (name, found) = pipeline.steps
        chosen = Pipeline([*before, (name, found.best_estimator_)])
        plan = EstimatorPlan(self.name, self.description, self.averages, clone(chosen))
        return plan, FittedMember(self.name, chosen, self.averages, rows.n_classes)


def _negative_error(
    model: BaseEstimator, X: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
) -> float:
    return -float(np.average((model.predict(X) - y) ** 2, weights=sample_weight))
