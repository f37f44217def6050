"""The members that an automatic machine tries: one spec each, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from absentia.automatic.folds import Settings
from absentia.automatic.kernel_members import MOST_KERNEL_ROWS, FeaturePlan
from absentia.automatic.member_tuning import (
    ROWS_FOR_THREADS,
    EstimatorPlan,
    LearningRows,
    MemberPlan,
)
from absentia.densities import MixtureDensity
from absentia.densities.fit_density import DensityLike
from absentia.engine.threads import n_threads
from absentia.machines import GaussianProcessClassifier, GaussianProcessRegressor
from absentia.optional_imports import optional_import
from absentia.parameters import Rule, words
from absentia.tables import FloatArray
from absentia.tables.known_limits import KeepsLimits

_PENALTIES, _RIDGES = (0.05, 0.5, 5.0, 50.0), (0.003, 0.03, 0.3, 3.0)
#: For linear kernels, whose values grow with the number of columns.
_LINEAR_PENALTIES, _LINEAR_RIDGES = (0.003, 0.03, 0.3, 3.0), (0.3, 3.0, 30.0, 300.0)
_MASK_WEIGHTS = (0.02, 0.1, 0.5)
_TREES = 100
#: Fits of boosted trees, and seconds of one tree: fixed, and per cell of the table.
_FITS, _TREE_SECONDS, _CELL_SECONDS = 8, 1e-3, 1.5e-8
#: Seconds of one pair of incomplete rows of 34 columns, how it grows with the columns, and the
#: seconds that a Gram matrix may take.
_PAIR, _GROWTH, _MOST_SECONDS = 2e-7, 2.6, 4.0
#: A mixture of wide tables takes longer than all other members together.
_MOST_MIXTURE_COLUMNS = 50

Make = Callable[[LearningRows, Settings], MemberPlan]


@dataclass(frozen=True)
class MemberSpec:
    """A member: its name, how to make and tune it, and when it is tried.

    ``make`` returns a plan, which holds the estimator and its grid. ``averages`` is as in
    :class:`~absentia.automatic.member_tuning.FittedMember`, and ``default`` whether the member is
    tried by default on some training rows.
    """

    name: str
    description: str
    make: Make
    averages: bool = False
    default: Callable[[LearningRows], bool] = lambda rows: True

    def plan(self, rows: LearningRows, settings: Settings) -> MemberPlan:
        """Return the plan of this member for some training rows."""
        made = self.make(rows, settings)
        return replace(made, name=self.name, description=self.description, averages=self.averages)


def _kernel(
    *before: Any,
    mask_weights: Callable[[LearningRows], Sequence[Any]] = lambda rows: (None,),
    density: Callable[[Settings], DensityLike] = lambda settings: settings.density,
    is_kernel: bool = True,
) -> Make:
    """Return a maker of logistic or ridge regression on features of beliefs.

    ``before`` are the steps before the density, or callables that make them from rows and
    settings.
    """

    def make(rows: LearningRows, settings: Settings) -> MemberPlan:
        steps = tuple(step(rows, settings) if callable(step) else step for step in before)
        penalties = _PENALTIES if rows.n_classes else _RIDGES
        if not is_kernel:
            penalties = _LINEAR_PENALTIES if rows.n_classes else _LINEAR_RIDGES
        pair = _PAIR * max(1.0, rows.table.shape[1] / 34) ** _GROWTH
        return FeaturePlan(
            steps,
            density(settings),
            penalties,
            is_kernel=is_kernel,
            masks=mask_weights(rows),
            n_jobs=settings.n_jobs,
            seed=settings.seed,
            most_kernel_rows=min(MOST_KERNEL_ROWS, int(np.sqrt(2 * _MOST_SECONDS / pair))),
        )

    return make


def _mask_weights(rows: LearningRows) -> list[float | FloatArray]:
    """Return weights of the mask kernel, zero for columns that all rows miss, or none of them.

    A column that no training row misses would make a new row that misses it less similar to *all*
    rows, by the same factor: with hundreds of them the kernel vanishes, and what is left of the
    prediction is an intercept that was fitted to similarities of another size.
    """
    missing = rows.table.mask
    mixed = missing.any(axis=0) & ~missing.all(axis=0)
    return [weight if mixed.all() else np.where(mixed, weight, 0.0) for weight in _MASK_WEIGHTS]


def _normal_scores(rows: LearningRows, settings: Settings) -> KeepsLimits:
    n = min(200, len(rows.table))
    return KeepsLimits(
        QuantileTransformer(n_quantiles=n, output_distribution="normal", random_state=settings.seed)
    )


def _forest(classifier: type, regressor: type) -> Make:
    def make(rows: LearningRows, settings: Settings) -> MemberPlan:
        # Threads of a small forest mostly wait, and race for Python's list of warning filters.
        many = len(rows.table) > ROWS_FOR_THREADS
        kind = classifier if rows.n_classes else regressor
        forest = kind(
            _TREES, random_state=settings.seed, n_jobs=n_threads(settings.n_jobs) if many else 1
        )
        if len(rows.table) <= MOST_KERNEL_ROWS:
            return EstimatorPlan(forest, {"min_samples_leaf": (1, 4)})
        if many:  # trees of a sample each differ more and cost less
            forest.set_params(bootstrap=True, max_samples=ROWS_FOR_THREADS)
        return EstimatorPlan(forest.set_params(min_samples_leaf=2))

    return make


def _in_time(stages: tuple[int, ...], rows: LearningRows, settings: Settings) -> tuple[int, ...]:
    """Return the numbers of trees for which a third of the time budget should suffice."""
    seconds = _FITS * (_TREE_SECONDS + _CELL_SECONDS * rows.table.array.size)
    most = np.inf if settings.time_budget is None else settings.time_budget / (3 * seconds)
    return stages[: max(1, sum(stage <= most for stage in stages))]


def _boosting(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: Any = HistGradientBoostingClassifier if rows.n_classes else HistGradientBoostingRegressor
    fixed = {"l2_regularization": 1.0, "min_samples_leaf": 10, "random_state": settings.seed}
    leaves, rate, stages = (8, 31), 0.06, (25, 50, 100, 200)
    if len(rows.table) <= MOST_KERNEL_ROWS:
        leaves = (3, 8)
    elif len(rows.table) > ROWS_FOR_THREADS:
        leaves, rate, stages = (31, 127), 0.1, (100, 200, 400, 600)
    trees = kind(**fixed, learning_rate=rate, early_stopping=False)
    return EstimatorPlan(trees, {"max_leaf_nodes": leaves}, _in_time(stages, rows, settings))


def _gaussian_process(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: Any = GaussianProcessClassifier if rows.n_classes else GaussianProcessRegressor
    process = kind(density=settings.density, n_jobs=settings.n_jobs)
    return EstimatorPlan(make_pipeline(KeepsLimits(StandardScaler()), process))


def _of_package(package: str, prefix: str, **quiet: Any) -> Make:
    """Return a maker of boosted trees of an optional package."""

    def make(rows: LearningRows, settings: Settings) -> MemberPlan:
        module = optional_import(package, "boosters", f"The member {package!r}")
        kind = getattr(module, prefix + ("Classifier" if rows.n_classes else "Regressor"))
        return EstimatorPlan(kind(random_state=settings.seed, **quiet))

    return make


def _mixture(settings: Settings) -> DensityLike:
    return MixtureDensity(3, n_init=1, tol=1e-4, random_state=settings.seed)


def _has_holes(rows: LearningRows) -> bool:
    return bool(rows.table.mask.any())


_SCALED = KeepsLimits(StandardScaler())
_MEANS = (SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
_CATBOOST = _of_package(
    "catboost", "CatBoost", verbose=False, allow_writing_files=False, thread_count=1
)
_LIGHTGBM = _of_package("lightgbm", "LGBM", verbosity=-1, n_jobs=1)

#: All members in the order in which they are tried, cheap ones of each kind first, so that none is
#: without a member when the time is up. Not by default: CatBoost and LightGBM, whose trees are no
#: plain arrays, so that the model could not be saved, and Gaussian processes, which take several
#: times longer than kernel logistic regression.
# fmt: off
SPECS = {
    spec.name: spec
    for spec in (
        MemberSpec("linear", "linear model on the means of beliefs",
                   _kernel(_SCALED, is_kernel=False)),
        MemberSpec("boosting", "histogram gradient boosting", _boosting, averages=True),
        MemberSpec("beliefs", "genRBF on beliefs of one Gaussian", _kernel(_SCALED)),
        MemberSpec("forest", "random forest",
                   _forest(RandomForestClassifier, RandomForestRegressor), averages=True),
        MemberSpec("indicators", "RBF kernel on column means and indicators of what is missing",
                   _kernel(*_MEANS, density=lambda settings: "gaussian"), default=_has_holes),
        MemberSpec("extra-trees", "extremely randomized trees",
                   _forest(ExtraTreesClassifier, ExtraTreesRegressor), averages=True),
        MemberSpec("beliefs-mask", "genRBF on beliefs, times a kernel of what is missing",
                   _kernel(_SCALED, mask_weights=_mask_weights), default=_has_holes),
        MemberSpec("beliefs-scores", "genRBF on beliefs about normal scores of the columns",
                   _kernel(_normal_scores, _SCALED)),
        MemberSpec("beliefs-mixture", "genRBF on beliefs of a mixture of three",
                   _kernel(_SCALED, density=_mixture),
                   default=lambda rows: rows.table.shape[1] <= _MOST_MIXTURE_COLUMNS),
        MemberSpec("gaussian-process", "Gaussian process on beliefs", _gaussian_process,
                   default=lambda rows: False),
        MemberSpec("catboost", "trees of catboost", _CATBOOST, averages=True,
                   default=lambda rows: False),
        MemberSpec("lightgbm", "trees of lightgbm", _LIGHTGBM, averages=True,
                   default=lambda rows: False),
    )
}
# fmt: on


def _is_member(value: Any) -> bool:
    if isinstance(value, str):
        return value in SPECS
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[1], "fit")


#: The parameter ``members``.
MEMBERS = words("default") | Rule(
    (f"a list of at least one of {', '.join(SPECS)} and pairs of a name and an estimator",),
    lambda value: isinstance(value, list | tuple) and bool(value) and all(map(_is_member, value)),
)


def plan_members(rows: LearningRows, settings: Settings) -> list[MemberPlan]:
    """Return the plans of the members to try: those of their specs, and users' estimators."""
    members = settings.members
    if isinstance(members, str):
        members = [name for name, spec in SPECS.items() if spec.default(rows)]
    plans: list[MemberPlan] = []
    for member in members:
        if isinstance(member, str):
            plans.append(SPECS[member].plan(rows, settings))
        else:
            name, estimator = member
            kind = type(estimator).__name__
            plans.append(EstimatorPlan(estimator, name=str(name), description=kind, averages=True))
    return plans
