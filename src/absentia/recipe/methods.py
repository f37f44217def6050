"""Methods that a model can be trained with, and baselines to compare them with, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from absentia.automatic import AutoClassifier, AutoRegressor
from absentia.densities import LowRankDensity, MixtureDensity
from absentia.machines import SVCCV, SVRCV, GaussianProcessRegressor, LogisticRegressionCV
from absentia.machines.targets import Task
from absentia.optional_imports import optional_import
from absentia.tables.known_limits import KeepsLimits

#: The default method.
AUTOMATIC = "automatic"
#: Penalties of Section 5.2 of [Smieja2018]_ for classification, and of its Section 5.5.
PENALTIES: dict[Task, list[float]] = {
    "classification": [2.0**k for k in range(-5, 10, 2)],
    "regression": [2.0**k for k in range(-5, 5)],
}
#: Weights of the mask kernel. One acts per column that only one of two rows misses: 0.3 on thirty
#: such columns makes any two rows unlike.
MASK_WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class _Kernel:
    kernel: str
    density: Callable[[int], str | BaseEstimator] = lambda seed: "gaussian"
    mask_weights: tuple[float, ...] | None = None


def _mixture(seed: int) -> BaseEstimator:
    return MixtureDensity(3, random_state=seed)


_KERNELS = {
    "genrbf": _Kernel("genrbf"),
    "genrbf-mask": _Kernel("genrbf", mask_weights=MASK_WEIGHTS),
    "genrbf-mixture": _Kernel("genrbf", _mixture),
    "genrbf-low-rank": _Kernel("genrbf", lambda seed: LowRankDensity(random_state=seed)),
    "expected-rbf": _Kernel("expected-rbf"),
    "expected-rbf-mixture": _Kernel("expected-rbf", _mixture),
    "esd": _Kernel("esd"),
    "egk": _Kernel("egk"),
}
#: Machines whose predictions come with their own uncertainty, by the task that they are for.
_PROBABILISTIC: dict[str, Task] = {
    "logistic": "classification",
    "gaussian-process": "regression",
}
#: All names, the default first.
METHODS = (AUTOMATIC, *_KERNELS, *_PROBABILISTIC)


def new_machine(
    method: str,
    task: Task,
    *,
    seed: int = 0,
    progress: bool = False,
    time_budget: float | None = None,
) -> BaseEstimator:
    """Return an unfitted machine that chooses its own parameters.

    The methods are the automatic machine; a support vector machine with one kernel whose penalty,
    width and mask weight are chosen by cross-validation; logistic regression, tuned by log loss; a
    Gaussian process.
    """
    if method not in METHODS:
        raise ValueError(f"There is no method {method!r}; the methods are {', '.join(METHODS)}.")
    if method == AUTOMATIC:
        automatic = AutoClassifier if task == "classification" else AutoRegressor
        return automatic(random_state=seed, progress=progress, time_budget=time_budget)
    if method in _PROBABILISTIC:
        if task != _PROBABILISTIC[method]:
            raise ValueError(
                f"The method {method!r} is for {_PROBABILISTIC[method]}, and this is {task}: "
                "choose another method."
            )
        return LogisticRegressionCV() if task == "classification" else GaussianProcessRegressor()
    settings = _KERNELS[method]
    search = SVCCV if task == "classification" else SVRCV
    return search(
        kernel=settings.kernel,
        density=settings.density(seed),
        Cs=PENALTIES[task],
        mask_weights=settings.mask_weights,
        progress=progress,
    )


Maker = Callable[[Task, int, int], BaseEstimator]


@dataclass(frozen=True)
class Baseline:
    """A method without beliefs, and the optional package that it needs.

    ``make`` maps task, seed and number of columns to an estimator that takes NaN and tunes itself.
    """

    about: str
    make: Maker
    package: str = ""


def _svm(imputer: Callable[[int], BaseEstimator]) -> Maker:
    """Return the maker of an imputer followed by a tuned support vector machine."""

    def make(task: Task, seed: int, n_columns: int) -> BaseEstimator:
        # Kernel widths are relative to the number of columns.
        grid = {
            "C": [2.0**k for k in range(-3, 10, 3)],
            "gamma": [4.0**k / n_columns for k in range(-4, 2)],
        }
        machine = SVC() if task == "classification" else SVR()
        search = GridSearchCV(machine, grid, cv=3)
        return in_target_units(make_pipeline(StandardScaler(), imputer(seed), search), task)

    return make


def _trees(kinds: tuple[Any, Any], **grid: Sequence[Any]) -> Maker:
    def make(task: Task, seed: int, n_columns: int) -> BaseEstimator:
        model = kinds[task == "regression"](random_state=seed)
        return GridSearchCV(model, {k: list(v) for k, v in grid.items()}, cv=3)

    return make


def _booster(package: str, names: tuple[str, str], **settings: Any) -> Maker:
    def make(task: Task, seed: int, n_columns: int) -> BaseEstimator:
        module = optional_import(package, "boosters", f"The method {package!r}")
        return getattr(module, names[task == "regression"])(random_state=seed, **settings)

    return make


_FOREST = (RandomForestClassifier, RandomForestRegressor)
_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Methods without beliefs, to compare with.
BASELINES = {
    "mean-indicator": Baseline(
        "column means and indicators of missing values, SVM",
        _svm(lambda seed: SimpleImputer(add_indicator=True, keep_empty_features=True)),
    ),
    "iterative": Baseline(
        "scikit-learn's IterativeImputer, SVM",
        _svm(lambda seed: IterativeImputer(random_state=seed, keep_empty_features=True)),
    ),
    "random-forest": Baseline(
        "scikit-learn's random forest",
        _trees(_FOREST, max_features=("sqrt", 0.5), min_samples_leaf=(1, 5)),
    ),
    "hist-gradient-boosting": Baseline(
        "scikit-learn's boosted trees",
        _trees(_BOOSTING, learning_rate=(0.03, 0.1), max_leaf_nodes=(7, 31)),
    ),
    "lightgbm": Baseline(
        "LightGBM",
        _booster("lightgbm", ("LGBMClassifier", "LGBMRegressor"), verbosity=-1, n_jobs=1),
        "lightgbm",
    ),
    "catboost": Baseline(
        "CatBoost",
        _booster(
            "catboost",
            ("CatBoostClassifier", "CatBoostRegressor"),
            verbose=False,
            allow_writing_files=False,
            thread_count=1,
        ),
        "catboost",
    ),
}


def new_steps(
    name: str, task: Task, first: Sequence[tuple[str, BaseEstimator]] = (), **settings: Any
) -> BaseEstimator:
    """Return an unfitted pipeline that ends in a machine of :data:`METHODS`.

    ``first`` are steps before those of the method, ``settings`` those of :func:`new_machine`.
    """
    machine = new_machine(name, task, **settings)
    scale = [("scale", KeepsLimits(StandardScaler()))] if name in _PROBABILISTIC else []
    pipeline = Pipeline([*first, *scale, ("machine", machine)])
    return in_target_units(pipeline, task) if name in _KERNELS else pipeline


def in_target_units(estimator: BaseEstimator, task: Task) -> BaseEstimator:
    """Return an estimator that learns a quantity in units of its own spread."""
    if task == "classification":
        return estimator
    return TransformedTargetRegressor(estimator, transformer=StandardScaler())
