"""The members that an automatic machine tries: one spec each, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

from absentia.automatic.member_tuning import (
    EstimatorPlan,
    LearningRows,
    MemberPlan,
    SearchPlan,
    StagedPlan,
)
from absentia.densities import MixtureDensity
from absentia.densities.fit_density import DensityLike
from absentia.engine.threads import n_threads
from absentia.machines import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelRidgeCV,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LogisticRegressionCV,
)
from absentia.optional_imports import optional_import
from absentia.tables import FloatArray
from absentia.tables.known_limits import KeepsLimits

#: Beyond this many rows kernel members work on Fourier features.
_MOST_KERNEL_ROWS = 2500
_ROWS_FOR_THREADS = 20_000
_PENALTIES, _RIDGES = (0.05, 0.5, 5.0, 50.0), (0.003, 0.03, 0.3, 3.0)
#: For linear kernels, whose values grow with the number of columns.
_LINEAR_PENALTIES, _LINEAR_RIDGES = (0.003, 0.03, 0.3, 3.0), (0.3, 3.0, 30.0, 300.0)
_MASK_WEIGHTS = (0.02, 0.1, 0.5)
#: Seconds of one pair of incomplete rows of 34 columns, and how it grows with the columns.
_PAIR, _GROWTH = 2e-7, 2.6
_MOST_SECONDS_A_MATRIX = 4.0
#: A mixture of wide tables takes longer than all other members together.
_MOST_MIXTURE_COLUMNS = 50


@dataclass(frozen=True)
class Settings:
    """Parameters of an automatic machine."""

    members: Any = "default"
    weighting: str = "shrunk"
    density: DensityLike = "gaussian"
    hidden: tuple[float, ...] = (0.3, 0.6)
    n_splits: int = 5
    n_repeats: int = 1
    time_budget: float | None = None
    progress: bool = False
    n_jobs: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class MemberSpec:
    """A member: its name, how to make and tune it, what it costs, and when it is tried.

    ``make`` returns a plan, which holds the estimator and its grid. The member whose time is the
    best predictor of its own is ``like``, and it takes ``times`` as long: ratios of processor time
    on 1000 and 2400 rows of 20 columns and on 600 rows of 474, nearer to the largest than to the
    smallest, because a member that is begun in vain takes the time of all later ones. Kernel
    members on Fourier features may have another ratio, ``times_on_features``. ``averages`` is as
    in :class:`~absentia.automatic.member_tuning.FittedMember`, and ``default`` whether the member
    is tried by default on some training rows.
    """

    name: str
    description: str
    make: Callable[[LearningRows, Settings], MemberPlan]
    like: str = ""
    times: float = 1.0
    times_on_features: float | None = None
    averages: bool = False
    default: Callable[[LearningRows], bool] = lambda rows: True

    def plan(self, rows: LearningRows, settings: Settings) -> MemberPlan:
        """Return the plan of this member for some training rows."""
        made = self.make(rows, settings)
        return replace(made, name=self.name, description=self.description, averages=self.averages)


def _kernel(
    *before: Any,
    mask_weights: Callable[[LearningRows], Sequence[Any]] | None = None,
    density: Callable[[Settings], DensityLike] = lambda settings: settings.density,
) -> Callable[[LearningRows, Settings], MemberPlan]:
    """Return a maker of kernel logistic or ridge regression, on Fourier features of many rows.

    ``before`` are the steps before the machine, or callables that make them from rows and
    settings.
    """

    def make(rows: LearningRows, settings: Settings) -> MemberPlan:
        n, d = rows.table.shape
        classifies = rows.n_classes is not None
        steps = tuple(step(rows, settings) if callable(step) else step for step in before)
        weights = None if mask_weights is None else mask_weights(rows)
        shared: dict[str, Any] = {"density": density(settings), "n_jobs": settings.n_jobs}
        pair = _PAIR * max(1.0, d / 34) ** _GROWTH
        if n <= _MOST_KERNEL_ROWS and n * n / 2 * pair <= _MOST_SECONDS_A_MATRIX:
            shared |= {"gammas": 4, "mask_weights": weights}
            search = (
                LogisticRegressionCV(Cs=_PENALTIES, tol=1e-4, **shared)
                if classifies
                else KernelRidgeCV(alphas=_RIDGES, **shared)
            )
            return SearchPlan(steps, search)
        shared |= {
            "mask_weight": None if weights is None else weights[1],
            "random_state": settings.seed,
        }
        machine, penalty, values = (
            (LargeScaleLogisticRegression(tol=1e-4, **shared), "C", (1.0, 30.0))
            if classifies
            else (LargeScaleRidge(**shared), "alpha", (0.1, 3.0))
        )
        grid = {f"{type(machine).__name__.lower()}__{penalty}": values}
        return EstimatorPlan(make_pipeline(*steps, machine), grid)

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


def _linear(rows: LearningRows, settings: Settings) -> MemberPlan:
    shared: dict[str, Any] = {"gammas": None, "kernel": "linear"}
    shared |= {"density": settings.density, "n_jobs": settings.n_jobs}
    search = (
        LogisticRegressionCV(Cs=_LINEAR_PENALTIES, tol=1e-4, **shared)
        if rows.n_classes
        else KernelRidgeCV(alphas=_LINEAR_RIDGES, **shared)
    )
    return SearchPlan((KeepsLimits(StandardScaler()),), search)


def _forest(classifier: type, regressor: type) -> Callable[[LearningRows, Settings], MemberPlan]:
    def make(rows: LearningRows, settings: Settings) -> MemberPlan:
        # Threads of a small forest mostly wait, and race for Python's list of warning filters.
        many = len(rows.table) >= _ROWS_FOR_THREADS
        threads = n_threads(settings.n_jobs) if many else 1
        kind = classifier if rows.n_classes else regressor
        forest = kind(150, random_state=settings.seed, n_jobs=threads)
        return EstimatorPlan(forest, {"min_samples_leaf": (1, 4)})

    return make


def _boosting(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: Any = HistGradientBoostingClassifier if rows.n_classes else HistGradientBoostingRegressor
    fixed = {"learning_rate": 0.06, "l2_regularization": 1.0, "min_samples_leaf": 10}
    trees = kind(**fixed, early_stopping=False, random_state=settings.seed)
    return StagedPlan(trees, {"max_leaf_nodes": (3, 8)})


def _gaussian_process(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: Any = GaussianProcessClassifier if rows.n_classes else GaussianProcessRegressor
    process = kind(density=settings.density, n_jobs=settings.n_jobs)
    return EstimatorPlan(make_pipeline(KeepsLimits(StandardScaler()), process))


def _of_package(
    package: str, prefix: str, **quiet: Any
) -> Callable[[LearningRows, Settings], MemberPlan]:
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


def _is_narrow(rows: LearningRows) -> bool:
    return bool(rows.table.shape[1] <= _MOST_MIXTURE_COLUMNS)


def _never(rows: LearningRows) -> bool:
    return False


_SCALED = KeepsLimits(StandardScaler())
_CATBOOST = _of_package(
    "catboost", "CatBoost", verbose=False, allow_writing_files=False, thread_count=1
)
_LIGHTGBM = _of_package("lightgbm", "LGBM", verbosity=-1, n_jobs=1)
_MEANS = (SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())

#: All members in the order in which they are tried: one of each kind first, so that none is without
#: a member when the time is up. Forests took 1.1 to 58 times as long as linear models: a ratio near
#: the largest would leave out all trees of large tables. Not by default: CatBoost and LightGBM,
#: whose trees are no plain arrays, so that the model could not be saved, and Gaussian processes,
#: which take several times longer than kernel logistic regression.
# fmt: off
SPECS = {
    spec.name: spec
    for spec in (
        MemberSpec("forest", "random forest",
                   _forest(RandomForestClassifier, RandomForestRegressor),
                   "linear", 3.0, averages=True),
        MemberSpec("linear", "linear model on the means of beliefs", _linear, "forest", 0.6),
        MemberSpec("beliefs", "genRBF on beliefs of one Gaussian", _kernel(_SCALED),
                   "linear", 4.0, 1.0),
        MemberSpec("boosting", "histogram gradient boosting", _boosting,
                   "forest", 0.9, averages=True),
        MemberSpec("indicators", "RBF kernel on column means and indicators of what is missing",
                   _kernel(*_MEANS, density=lambda settings: "gaussian"),
                   "beliefs", 2.0, default=_has_holes),
        MemberSpec("extra-trees", "extremely randomized trees",
                   _forest(ExtraTreesClassifier, ExtraTreesRegressor),
                   "forest", 0.7, averages=True),
        MemberSpec("beliefs-mask", "genRBF on beliefs, times a kernel of what is missing",
                   _kernel(_SCALED, mask_weights=_mask_weights),
                   "beliefs", 2.5, default=_has_holes),
        MemberSpec("beliefs-scores", "genRBF on beliefs about normal scores of the columns",
                   _kernel(_normal_scores, _SCALED), "beliefs", 2.5),
        MemberSpec("beliefs-mixture", "genRBF on beliefs of a mixture of three",
                   _kernel(_SCALED, density=_mixture), "beliefs", 6.0, default=_is_narrow),
        MemberSpec("gaussian-process", "Gaussian process on beliefs", _gaussian_process,
                   "beliefs", 10.0, default=_never),
        MemberSpec("catboost", "trees of catboost", _CATBOOST, averages=True, default=_never),
        MemberSpec("lightgbm", "trees of lightgbm", _LIGHTGBM, averages=True, default=_never),
    )
}
# fmt: on


def plan_members(rows: LearningRows, settings: Settings) -> list[MemberPlan]:
    """Return the plans of the members to try: those of their specs, and users' estimators."""
    members = settings.members
    if isinstance(members, str):
        if members != "default":
            raise ValueError(
                f"members must be 'default' or a list of members, found {members!r}; there are "
                f"{', '.join(SPECS)}."
            )
        members = [name for name, spec in SPECS.items() if spec.default(rows)]
    plans: list[MemberPlan] = []
    for member in members:
        if isinstance(member, str) and member in SPECS:
            plans.append(SPECS[member].plan(rows, settings))
        elif isinstance(member, tuple) and len(member) == 2 and hasattr(member[1], "fit"):
            name, estimator = member
            kind = type(estimator).__name__
            plans.append(EstimatorPlan(estimator, name=str(name), description=kind, averages=True))
        else:
            raise ValueError(
                f"There is no member {member!r}; the members are {', '.join(SPECS)}, and pairs "
                "of a name and an estimator."
            )
    if not plans:
        raise ValueError("members is empty: expected 'default' or at least one member.")
    return plans


def quick_first(names: Sequence[str]) -> list[int]:
    """Return the order in which members are tried where time is limited: the linear one first.

    The first member is tried whatever the budget. On a few hundred rows a forest takes several
    times as long as the linear model, and may be all that a short budget has time for.
    """
    return sorted(range(len(names)), key=lambda k: names[k] != "linear")


def expected_seconds(name: str, taken: Mapping[str, float], *, on_features: bool = False) -> float:
    """Return about how long a member will take, from how long others took on the same table.

    A kernel search cannot be interrupted, so that it must not be begun when the time left does not
    suffice. Seconds depend on the computer and its load; their ratios depend little on them.

    ``taken`` are the seconds that members took, by name. The time of a member comes from the one
    that is most like it, or from the one that *that* is most like; where there is none, as for a
    user's own estimator, it is that of the quickest so far.
    """
    times, passed = 1.0, set[str]()
    while name not in taken:
        passed.add(name)
        spec = SPECS.get(name)
        if spec is None or not spec.like or spec.like in passed:
            return min(taken.values(), default=0.0)
        on_its_own = spec.times_on_features if on_features else None
        times *= spec.times if on_its_own is None else on_its_own
        name = spec.like
    return times * taken[name]
