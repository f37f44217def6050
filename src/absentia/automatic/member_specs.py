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
    """Settings that all members share."""

    seed: int
    n_jobs: int | None
    density: DensityLike


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
            return SearchPlan("", "", False, steps, search)
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
        return EstimatorPlan("", "", False, make_pipeline(*steps, machine), grid)

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
    n_quantiles = min(200, len(rows.table))
    return KeepsLimits(
        QuantileTransformer(
            n_quantiles=n_quantiles, output_distribution="normal", random_state=settings.seed
        )
    )


def _linear(rows: LearningRows, settings: Settings) -> MemberPlan:
    shared: dict[str, Any] = {"gammas": None, "kernel": "linear"}
    shared |= {"density": settings.density, "n_jobs": settings.n_jobs}
    search = (
        LogisticRegressionCV(Cs=_LINEAR_PENALTIES, tol=1e-4, **shared)
        if rows.n_classes
        else KernelRidgeCV(alphas=_LINEAR_RIDGES, **shared)
    )
    return SearchPlan("", "", False, (KeepsLimits(StandardScaler()),), search)


def _forest(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind = RandomForestClassifier if rows.n_classes else RandomForestRegressor
    # Threads of a small forest mostly wait, and race for Python's list of warning filters.
    many = len(rows.table) >= _ROWS_FOR_THREADS
    threads = n_threads(settings.n_jobs) if many else 1
    forest = kind(150, random_state=settings.seed, n_jobs=threads)
    return EstimatorPlan("", "", True, forest, {"min_samples_leaf": (1, 4)})


def _extra_trees(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind = ExtraTreesClassifier if rows.n_classes else ExtraTreesRegressor
    trees = kind(150, random_state=settings.seed, n_jobs=1)
    return EstimatorPlan("", "", True, trees, {"min_samples_leaf": (1, 4)})


def _boosting(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: Any = HistGradientBoostingClassifier if rows.n_classes else HistGradientBoostingRegressor
    trees = kind(
        learning_rate=0.06, l2_regularization=1.0, min_samples_leaf=10, early_stopping=False,
        random_state=settings.seed,
    )  # fmt: skip
    return StagedPlan("", "", True, trees, {"max_leaf_nodes": (3, 8)})


def _gaussian_process(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: Any = GaussianProcessClassifier if rows.n_classes else GaussianProcessRegressor
    process = kind(density=settings.density, n_jobs=settings.n_jobs)
    return EstimatorPlan("", "", False, make_pipeline(KeepsLimits(StandardScaler()), process))


def _catboost(rows: LearningRows, settings: Settings) -> MemberPlan:
    package = optional_import("catboost", "boosters", "The member 'catboost'")
    kind = package.CatBoostClassifier if rows.n_classes else package.CatBoostRegressor
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return EstimatorPlan("", "", True, kind(random_state=settings.seed, **quiet))


def _lightgbm(rows: LearningRows, settings: Settings) -> MemberPlan:
    package = optional_import("lightgbm", "boosters", "The member 'lightgbm'")
    kind = package.LGBMClassifier if rows.n_classes else package.LGBMRegressor
    return EstimatorPlan("", "", True, kind(random_state=settings.seed, verbosity=-1, n_jobs=1))


def _mixture(settings: Settings) -> DensityLike:
    return MixtureDensity(3, n_init=1, tol=1e-4, random_state=settings.seed)


def _has_holes(rows: LearningRows) -> bool:
    return bool(rows.table.mask.any())


def _is_narrow(rows: LearningRows) -> bool:
    return bool(rows.table.shape[1] <= _MOST_MIXTURE_COLUMNS)


def _never(rows: LearningRows) -> bool:
    return False


_SCALED = KeepsLimits(StandardScaler())
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
        MemberSpec("forest", "random forest", _forest, "linear", 3.0, averages=True),
        MemberSpec("linear", "linear model on the means of beliefs", _linear, "forest", 0.6),
        MemberSpec("beliefs", "genRBF on beliefs of one Gaussian", _kernel(_SCALED),
                   "linear", 4.0, 1.0),
        MemberSpec("boosting", "histogram gradient boosting", _boosting,
                   "forest", 0.9, averages=True),
        MemberSpec("indicators", "RBF kernel on column means and indicators of what is missing",
                   _kernel(*_MEANS, density=lambda settings: "gaussian"),
                   "beliefs", 2.0, default=_has_holes),
        MemberSpec("extra-trees", "extremely randomized trees", _extra_trees,
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
        MemberSpec("catboost", "trees of catboost", _catboost, averages=True, default=_never),
        MemberSpec("lightgbm", "trees of lightgbm", _lightgbm, averages=True, default=_never),
    )
}
# fmt: on


def plan_members(
    members: str | Sequence[Any], rows: LearningRows, settings: Settings
) -> list[MemberPlan]:
    """Return the plans of the members to try.

    ``members`` is "default", or a sequence of names and of pairs of a name and an estimator that
    takes NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.automatic.member_specs import Settings, plan_members
    >>> from absentia.automatic.member_tuning import LearningRows
    >>> rows = LearningRows(np.eye(30), np.arange(30) % 2, None, 2)
    >>> plans = plan_members("default", rows, Settings(seed=0, n_jobs=None, density="gaussian"))
    >>> [plan.name for plan in plans]
    ['forest', 'linear', 'beliefs', 'boosting', 'extra-trees', 'beliefs-scores', 'beliefs-mixture']
    """
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
            plans.append(EstimatorPlan(str(member[0]), type(member[1]).__name__, True, member[1]))
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

    Examples
    --------
    >>> from absentia.automatic.member_specs import quick_first
    >>> quick_first(["forest", "linear", "beliefs"])
    [1, 0, 2]
    """
    return sorted(range(len(names)), key=lambda k: names[k] != "linear")


def expected_seconds(name: str, taken: Mapping[str, float], *, on_features: bool = False) -> float:
    """Return about how long a member will take, from how long others took on the same table.

    A kernel search cannot be interrupted, so that it must not be begun when the time left does not
    suffice. Seconds depend on the computer and its load; their ratios depend little on them.

    ``taken`` are the seconds that members took, by name. The time of a member comes from the one
    that is most like it, or from the one that *that* is most like; where there is none, as for a
    user's own estimator, it is that of the quickest so far.

    Examples
    --------
    >>> from absentia.automatic.member_specs import expected_seconds
    >>> expected_seconds("beliefs", {"forest": 8.0, "linear": 5.0})
    20.0
    >>> expected_seconds("beliefs", {"forest": 8.0, "linear": 5.0}, on_features=True)
    5.0
    >>> expected_seconds("beliefs-mask", {"forest": 8.0, "linear": 5.0})
    50.0
    >>> expected_seconds("mine", {"forest": 8.0, "linear": 5.0})
    5.0
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
