"""Methods and baselines by name, and training: raw tables become a fitted model and its score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from absentia.automatic import AutoClassifier, AutoRegressor
from absentia.automatic.error_scale import lowest_end, prefers_logarithm
from absentia.densities import LowRankDensity, MixtureDensity
from absentia.machines import SVCCV, SVRCV, GaussianProcessRegressor, LogisticRegressionCV
from absentia.machines.targets import Task
from absentia.optional_imports import optional_import
from absentia.recipe.learning_table import LearningTable, leakage_note, split_target
from absentia.recipe.model import TableModel
from absentia.tables import FloatArray
from absentia.tables.encoder import TableEncoder
from absentia.tables.phrases import with_names

if TYPE_CHECKING:
    import pandas as pd

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
_FOLDS = 5
_LOG = ("The target is positive and skewed: its logarithm was learned, predictions are medians.",)


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
_PROBABILISTIC: dict[str, Task] = {"logistic": "classification", "gaussian-process": "regression"}
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
        automatic = (
            AutoClassifier() if task == "classification" else AutoRegressor(log_target="auto")
        )
        return automatic.set_params(random_state=seed, progress=progress, time_budget=time_budget)
    if method in _PROBABILISTIC:
        if task != _PROBABILISTIC[method]:
            raise ValueError(
                f"The method {method!r} is for {_PROBABILISTIC[method]}, and this is {task}: "
                "choose another method."
            )
        return LogisticRegressionCV() if task == "classification" else GaussianProcessRegressor()
    kernel = _KERNELS[method]
    search = SVCCV if task == "classification" else SVRCV
    return search(
        kernel=kernel.kernel,
        density=kernel.density(seed),
        Cs=PENALTIES[task],
        mask_weights=kernel.mask_weights,
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


def _booster(package: str, prefix: str, **settings: Any) -> Baseline:
    def make(task: Task, seed: int, n_columns: int) -> BaseEstimator:
        module = optional_import(package, "boosters", f"The method {package!r}")
        kind = "Classifier" if task == "classification" else "Regressor"
        return getattr(module, f"{prefix}{kind}")(random_state=seed, **settings)

    return Baseline(f"boosted trees of {package}", make, package)


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
    "lightgbm": _booster("lightgbm", "LGBM", verbosity=-1, n_jobs=1),
    "catboost": _booster(
        "catboost", "CatBoost", verbose=False, allow_writing_files=False, thread_count=1
    ),
}


def new_steps(
    name: str, task: Task, first: Sequence[tuple[str, BaseEstimator]] = (), **settings: Any
) -> BaseEstimator:
    """Return an unfitted pipeline that ends in a machine of :data:`METHODS`.

    ``first`` are steps before those of the method, ``settings`` those of :func:`new_machine`.
    """
    pipeline = Pipeline([*first, ("machine", new_machine(name, task, **settings))])
    return in_target_units(pipeline, task) if name in _KERNELS else pipeline


def in_target_units(estimator: BaseEstimator, task: Task) -> BaseEstimator:
    """Return an estimator that learns a quantity in units of its own spread."""
    if task == "classification":
        return estimator
    return TransformedTargetRegressor(estimator, transformer=StandardScaler())


@dataclass(frozen=True, eq=False)
class Training:
    """A trained model, and how good it is on rows that it was not trained on.

    ``measure`` is the name of the score, ``spread`` its standard error (NaN if unknown), and
    ``baseline`` that of the best constant prediction, which ``constant`` describes. ``how`` tells
    by which rows the model was scored; ``chosen`` and ``notes`` are sentences on the members or
    settings, and on how the table was read. ``scored`` are the targets of the rows that the score
    is from and the predictions of them (probabilities of classes), where these were computed here.
    """

    model: TableModel
    task: Task
    target: str
    n_rows: int
    measure: str
    score: float
    spread: float
    baseline: float
    constant: str
    how: str
    chosen: tuple[str, ...]
    notes: tuple[str, ...]
    scored: tuple[np.ndarray, np.ndarray] | None = None

    def __str__(self) -> str:
        spread = "" if np.isnan(self.spread) else f" ± {self.spread:.3f}"
        kind = "" if self.how.startswith("measured") else "cross-validated "
        worse = "; the model has learned nothing" if self.score <= self.baseline else ""
        return (
            f"{self.task.capitalize()} of {self.target} from {self.n_rows} rows: {kind}"
            f"{self.measure} {self.score:.3f}{spread} ({self.how}; {self.constant} would score "
            f"{self.baseline:.3f}{worse})"
        )


def train(
    frame: pd.DataFrame,
    target: str,
    *,
    task: str | None = None,
    method: str = AUTOMATIC,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    keep_ids: bool = False,
    supports: Mapping[str, str] | None = None,
    calibrate: float = 0.0,
    max_rows: int | None = None,
    progress: bool = False,
    time_budget: float | None = None,
    step: Callable[[float, str], None] = lambda share, text: None,
) -> Training:
    """Train a model on a raw table.

    ``method`` is one of :data:`METHODS`; ``kinds``, ``keep_ids`` and
    ``supports`` are those of :class:`absentia.TableEncoder`; ``calibrate`` is the share of the rows
    that is held out for intervals and label sets; a table of more than ``max_rows`` is sampled;
    ``step`` is called with the share of the work that is done, and what comes next.
    """
    step(0.02, "reading the columns")
    table = split_target(frame, target, task, ignore=ignore).sampled(max_rows).shuffled()
    table, held = table.held_out(calibrate)
    encoder = TableEncoder(keep_ids=keep_ids, kinds=kinds, supports=supports, limits=True)
    first = [("encode", encoder)]
    estimator = new_steps(method, table.task, first, progress=progress, time_budget=time_budget)
    step(0.1, f"learning from {len(table.target):,} rows")
    fit(estimator, table)
    searched = TableModel(estimator)
    is_log = method != AUTOMATIC and table.task == "regression"
    features = table.features
    is_log = is_log and prefers_logarithm(lambda: searched.rows(features).array, table.target)
    if is_log:
        fit(estimator, replace(table, target=np.log(table.target)))
    searched.encoder.target_, searched.encoder.log_target_ = target, is_log
    if table.task == "regression":
        searched.encoder.target_least_ = lowest_end(table.target)
    model = _with_probabilities(searched, table)
    step(0.7, "measuring the score on held-out rows")
    score, spread, how, chosen, scored = _score(searched, model, table, held)
    if held is not None:
        step(0.85, "calibrating on held-out rows")
        model = model.calibrated(held.features, held.target)
    step(1.0, "done")
    baseline, constant = table.baseline()
    return Training(
        model,
        table.task,
        target,
        len(table.target),
        "accuracy" if table.task == "classification" else "R²",
        score,
        spread,
        baseline,
        constant,
        how,
        chosen,
        (*table.notes, *model.encoder.notes_, *leakage_note(searched, table), *_LOG * is_log),
        scored,
    )


def fit(estimator: BaseEstimator, table: LearningTable) -> None:
    """Fit an estimator to a table; errors name its columns."""
    try:
        estimator.fit(table.features, table.target)
    except ValueError as error:
        pipeline = getattr(estimator, "regressor", estimator)
        encoder = clone(pipeline.named_steps["encode"]).fit(table.features, table.target)
        names = list(encoder.get_feature_names_out())
        raise ValueError(with_names(str(error), names)) from error


def _with_probabilities(model: TableModel, table: LearningTable) -> TableModel:
    """Return a model with probabilities for classes, by Platt's method if it has none.

    The machine that a search found takes the place of the search. Its decision values for rows
    that it was not trained on, by five-fold cross-validation, give the probabilities.
    """
    best = getattr(model.machine, "best_estimator_", None)
    if table.task == "regression" or best is None:
        return model
    if not hasattr(best, "predict_proba"):
        best = CalibratedClassifierCV(best, cv=_FOLDS, ensemble=False)
        best.fit(model.rows(table.features), table.target)
    return model.with_machine(best)


def _score(
    searched: TableModel, model: TableModel, table: LearningTable, held: LearningTable | None
) -> tuple[float, float, str, tuple[str, ...], tuple[np.ndarray, np.ndarray] | None]:
    """Return the score, its standard error, how it was measured, the choices, and predictions."""
    machine = searched.machine
    if hasattr(machine, "members_"):
        lines = ["Members, with weights and losses as is and with a share of the values hidden:"]
        lines += [f"  {line}" for line in str(machine.members_).splitlines()]
        if getattr(machine, "log_target_", False):
            lines += ["The target is positive and skewed: members learned its logarithm."]
        how = "each row predicted by members that had not seen it"
        return machine.score_, machine.score_error_, how, tuple(lines), None
    chosen: tuple[str, ...] = ()
    if hasattr(machine, "best_params_"):
        settings = (
            f"{name}={f'{value:.3g}' if isinstance(value, float) else value}"
            for name, value in machine.best_params_.items()
        )
        chosen = (f"Chosen by cross-validation: {', '.join(settings)}.",)
        if machine is model.machine or not hasattr(machine, "predict_proba"):
            n_settings = len(machine.cv_results_["params"])
            how = f"the best of {n_settings} settings, so slightly optimistic"
            how += ", of its logarithm" if model.is_log else ""
            return machine.best_score_, float("nan"), how, chosen, None
    if held is not None:
        how = f"measured on {len(held.target):,} rows that the model was not trained on"
        y, rows = held.target, model.rows(held.features)
        predicted = model.predict(rows) if model.classes is None else model.probabilities(rows)
    else:
        how = f"each row predicted by a model that had not seen it, in {_FOLDS} folds"
        kind = StratifiedKFold if table.task == "classification" else KFold
        folds = kind(_FOLDS, shuffle=True, random_state=1)
        rows, y = model.rows(table.features), table.target
        way = "predict" if model.classes is None else "predict_proba"
        predicted = cross_val_predict(model.machine, rows, model.learned(y), cv=folds, method=way)
        predicted = predicted if model.classes is not None else model.in_units(predicted)
    if model.classes is None:
        return *_explained(y, np.ravel(predicted)), how, chosen, (y, np.ravel(predicted))
    right = model.classes[predicted.argmax(axis=1)] == y
    error = float(right.std() / np.sqrt(len(y)))
    return float(right.mean()), error, how, chosen, (y, predicted)


def _explained(y: FloatArray, predicted: FloatArray) -> tuple[float, float]:
    """Return R² and its standard error, by the delta method for a ratio of two means."""
    errors, deviations = (y - predicted) ** 2, (y - y.mean()) ** 2
    ratio = errors.mean() / deviations.mean()
    influence = (errors - ratio * deviations) / deviations.mean()
    return float(1 - ratio), float(influence.std() / np.sqrt(len(y)))
