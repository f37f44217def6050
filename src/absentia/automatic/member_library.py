"""The members that an automatic machine begins with, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
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

from absentia.automatic.member_plans import (
    EstimatorPlan,
    LearningRows,
    MemberPlan,
    SearchPlan,
    StagedPlan,
)
from absentia.densities import MixtureDensity
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

__all__ = ["MEMBERS", "plan_members"]

#: Beyond this many rows kernel members work on Fourier features.
_MOST_KERNEL_ROWS = 2500
_ROWS_FOR_THREADS = 20_000
_PENALTIES = (0.05, 0.5, 5.0, 50.0)
#: Of linear kernels, whose values grow with the number of columns.
_LINEAR_PENALTIES = (0.003, 0.03, 0.3, 3.0)
_LINEAR_RIDGES = (0.3, 3.0, 30.0, 300.0)
_RIDGES = (0.003, 0.03, 0.3, 3.0)
_MASK_WEIGHTS = (0.02, 0.1, 0.5)
#: Seconds of one pair of incomplete rows of 34 columns, and how it grows with the columns.
_PAIR, _GROWTH = 2e-7, 2.6
_MOST_SECONDS_A_MATRIX = 4.0

Settings = dict[str, Any]


def _kernel(
    name: str, description: str, rows: LearningRows, before: tuple[Any, ...], settings: Settings
) -> MemberPlan:
    """Return kernel logistic or ridge regression, on Fourier features where rows are many."""
    n, d = rows.table.shape
    classifies = rows.n_classes is not None
    pair = _PAIR * max(1.0, d / 34) ** _GROWTH
    seed, n_jobs = settings["seed"], settings["n_jobs"]
    if n <= _MOST_KERNEL_ROWS and n * n / 2 * pair <= _MOST_SECONDS_A_MATRIX:
        shared = {
            "gammas": 4,
            "mask_weights": settings.get("mask_weights"),
            "density": settings["density"],
            "n_jobs": n_jobs,
        }
        search = (
            LogisticRegressionCV(Cs=_PENALTIES, tol=1e-4, **shared)
            if classifies
            else KernelRidgeCV(alphas=_RIDGES, **shared)
        )
        return SearchPlan(name, description, False, before, search)
    common = {
        "density": settings["density"],
        "mask_weight": settings["mask_weights"][1] if settings.get("mask_weights") else None,
        "random_state": seed,
        "n_jobs": n_jobs,
    }
    machine = (
        LargeScaleLogisticRegression(tol=1e-4, **common)
        if classifies
        else LargeScaleRidge(**common)
    )
    last = type(machine).__name__.lower()
    grid = {f"{last}__{'C' if classifies else 'alpha'}": (1.0, 30.0) if classifies else (0.1, 3.0)}
    return EstimatorPlan(name, description, False, make_pipeline(*before, machine), grid)


def _beliefs(rows: LearningRows, settings: Settings) -> MemberPlan:
    about = "genRBF on beliefs of one Gaussian"
    return _kernel("beliefs", about, rows, (KeepsLimits(StandardScaler()),), settings)


def _beliefs_mask(rows: LearningRows, settings: Settings) -> MemberPlan:
    about = "genRBF on beliefs, times a kernel of what is missing"
    masked = settings | {"mask_weights": [_of_learned(rows, weight) for weight in _MASK_WEIGHTS]}
    return _kernel("beliefs-mask", about, rows, (KeepsLimits(StandardScaler()),), masked)


def _of_learned(rows: LearningRows, weight: float) -> float | FloatArray:
    """Return the weight of the columns that some rows miss and others have, zero for all others.

    No row can teach what it means that a column is missing which none of them misses. Such a
    column would make a new row that misses it less similar to *all* rows, by the same factor: with
    hundreds of them the kernel vanishes, and what is left of the answer is an intercept that was
    fitted to similarities of another size.
    """
    missing = rows.table.mask
    learned = missing.any(axis=0) & ~missing.all(axis=0)
    return weight if learned.all() else np.where(learned, weight, 0.0)


def _beliefs_scores(rows: LearningRows, settings: Settings) -> MemberPlan:
    scores = QuantileTransformer(
        n_quantiles=min(200, len(rows.table)),
        output_distribution="normal",
        random_state=settings["seed"],
    )
    about = "genRBF on beliefs about normal scores of the columns"
    return _kernel(
        "beliefs-scores",
        about,
        rows,
        (KeepsLimits(scores), KeepsLimits(StandardScaler())),
        settings,
    )


def _beliefs_mixture(rows: LearningRows, settings: Settings) -> MemberPlan:
    about = "genRBF on beliefs of a mixture of three"
    density = MixtureDensity(3, n_init=1, tol=1e-4, random_state=settings["seed"])
    return _kernel(
        "beliefs-mixture",
        about,
        rows,
        (KeepsLimits(StandardScaler()),),
        settings | {"density": density},
    )


def _indicators(rows: LearningRows, settings: Settings) -> MemberPlan:
    filled = SimpleImputer(add_indicator=True, keep_empty_features=True)
    about = "RBF kernel on column means and indicators of what is missing"
    plain = settings | {"density": "gaussian"}
    return _kernel("indicators", about, rows, (filled, StandardScaler()), plain)


def _forest(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind = RandomForestClassifier if rows.n_classes else RandomForestRegressor
    # Threads of a small forest mostly wait, and race for Python's list of warning filters.
    many = len(rows.table) >= _ROWS_FOR_THREADS
    threads = n_threads(settings["n_jobs"]) if many else 1
    forest = kind(150, random_state=settings["seed"], n_jobs=threads)
    return EstimatorPlan("forest", "random forest", True, forest, {"min_samples_leaf": (1, 4)})


def _boosting(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind: type[BaseEstimator] = (
        HistGradientBoostingClassifier if rows.n_classes else HistGradientBoostingRegressor
    )
    trees = kind(
        learning_rate=0.06, l2_regularization=1.0, min_samples_leaf=10, early_stopping=False,
        random_state=settings["seed"],
    )  # fmt: skip
    return StagedPlan(
        "boosting", "histogram gradient boosting", True, trees, {"max_leaf_nodes": (3, 8)}
    )


def _extra_trees(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind = ExtraTreesClassifier if rows.n_classes else ExtraTreesRegressor
    trees = kind(150, random_state=settings["seed"], n_jobs=1)
    about = "extremely randomized trees"
    return EstimatorPlan("extra-trees", about, True, trees, {"min_samples_leaf": (1, 4)})


def _linear(rows: LearningRows, settings: Settings) -> MemberPlan:
    shared = {
        "gammas": None,
        "kernel": "linear",
        "density": settings["density"],
        "n_jobs": settings["n_jobs"],
    }
    search = (
        LogisticRegressionCV(Cs=_LINEAR_PENALTIES, tol=1e-4, **shared)
        if rows.n_classes
        else KernelRidgeCV(alphas=_LINEAR_RIDGES, **shared)
    )
    about = "linear model on the means of beliefs"
    return SearchPlan("linear", about, False, (KeepsLimits(StandardScaler()),), search)


def _gaussian_process(rows: LearningRows, settings: Settings) -> MemberPlan:
    kind = GaussianProcessClassifier if rows.n_classes else GaussianProcessRegressor
    model = make_pipeline(
        KeepsLimits(StandardScaler()), kind(density=settings["density"], n_jobs=settings["n_jobs"])
    )
    return EstimatorPlan("gaussian-process", "Gaussian process on beliefs", False, model)


def _package(name: str, classes: tuple[str, str], quiet: Settings) -> BaseEstimator:
    def plan(rows: LearningRows, settings: Settings) -> MemberPlan:
        package = optional_import(name, "boosters", f"The member {name!r}")
        kind = getattr(package, classes[0 if rows.n_classes else 1])
        model = kind(random_state=settings["seed"], **quiet)
        return EstimatorPlan(name, f"trees of {name}", True, model)

    return plan


#: All members by name, in the order in which they are tried: one of each kind first, so that none
#: is without a member when the time is up.
MEMBERS: dict[str, Callable[[LearningRows, Settings], MemberPlan]] = {
    "forest": _forest,
    "linear": _linear,
    "beliefs": _beliefs,
    "boosting": _boosting,
    "indicators": _indicators,
    "extra-trees": _extra_trees,
    "beliefs-mask": _beliefs_mask,
    "beliefs-scores": _beliefs_scores,
    "beliefs-mixture": _beliefs_mixture,
    "gaussian-process": _gaussian_process,
    "catboost": _package(
        "catboost",
        ("CatBoostClassifier", "CatBoostRegressor"),
        {"verbose": False, "allow_writing_files": False, "thread_count": 1},
    ),
    "lightgbm": _package(
        "lightgbm", ("LGBMClassifier", "LGBMRegressor"), {"verbosity": -1, "n_jobs": 1}
    ),
}
#: Members that differ from others only where something is missing.
_ONLY_WITH_HOLES = ("indicators", "beliefs-mask")
#: A mixture of wide tables takes longer than all other members together.
_MOST_MIXTURE_COLUMNS = 50
#: Not by default: the trees of the first two are no plain arrays, so that the model could not be
#: saved; Gaussian processes take several times longer than kernel logistic regression.
_ON_DEMAND = ("catboost", "lightgbm", "gaussian-process")


def plan_members(
    members: str | Sequence[Any], rows: LearningRows, settings: Settings
) -> list[MemberPlan]:
    """Return the members to try.

    Parameters
    ----------
    members : "default" or sequence
        Names, or pairs of a name and an estimator that takes NaN.
    rows : LearningRows
        Whose size and holes decide which members make sense.
    settings : dict
        ``seed``, ``n_jobs`` and ``density``.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.automatic.member_library import plan_members
    >>> from absentia.automatic.member_plans import LearningRows
    >>> rows = LearningRows(np.eye(30), np.arange(30) % 2, None, 2)
    >>> settings = {"seed": 0, "n_jobs": None, "density": "gaussian"}
    >>> [plan.name for plan in plan_members("default", rows, settings)]
    ['forest', 'linear', 'beliefs', 'boosting', 'extra-trees', 'beliefs-scores', 'beliefs-mixture']
    """
    if isinstance(members, str):
        if members != "default":
            raise ValueError(
                f"members must be 'default' or a list of members, found {members!r}; there are "
                f"{', '.join(MEMBERS)}."
            )
        holes = bool(rows.table.mask.any())
        left_out = [*_ON_DEMAND, *(() if holes else _ONLY_WITH_HOLES)]
        if rows.table.shape[1] > _MOST_MIXTURE_COLUMNS:
            left_out.append("beliefs-mixture")
        members = [name for name in MEMBERS if name not in left_out]
    plans: list[MemberPlan] = []
    for member in members:
        if isinstance(member, str) and member in MEMBERS:
            plans.append(MEMBERS[member](rows, settings))
        elif isinstance(member, tuple) and len(member) == 2 and hasattr(member[1], "fit"):
            plans.append(EstimatorPlan(str(member[0]), type(member[1]).__name__, True, member[1]))
        else:
            raise ValueError(
                f"There is no member {member!r}; the members are {', '.join(MEMBERS)}, and pairs "
                "of a name and an estimator."
            )
    if not plans:
        raise ValueError("members is empty: expected 'default' or at least one member.")
    return plans
