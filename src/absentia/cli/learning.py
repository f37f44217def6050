"""From a raw table to a model: the target, the encoder and the machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

from absentia.beliefs.prior import FARTHEST
from absentia.machines.targets import Task
from absentia.persistence import load
from absentia.recipe.learning_table import LearningTable
from absentia.recipe.methods import AUTOMATIC, in_target_units, new_machine
from absentia.tables.encoder import TableEncoder
from absentia.tables.phrases import too_far, with_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_reach",
    "fit",
    "load_model",
    "new_model",
    "predictions",
    "training_summary",
    "with_probabilities",
    "written_with",
]


def new_model(
    task: Task,
    method: str,
    *,
    keep_ids: bool = False,
    kinds: Mapping[str, str] | None = None,
    progress: bool = False,
    seed: int = 0,
    time_budget: float | None = None,
) -> BaseEstimator:
    """Return an unfitted model that takes the raw table.

    The encoder and a machine that tunes itself, in one pipeline, so that one file holds all that a
    prediction needs. Limits ("<0.5") are learned from as well. A quantity is learned in units of
    its own spread.
    """
    machine = new_machine(method, task, seed=seed, progress=progress, time_budget=time_budget)
    encoder = TableEncoder(keep_ids=keep_ids, kinds=kinds, limits=True)
    pipeline = Pipeline([("encode", encoder), ("machine", machine)])
    return pipeline if method == AUTOMATIC else in_target_units(pipeline, task)


def fit(model: BaseEstimator, table: LearningTable) -> None:
    """Fit a model to a table; errors name its columns."""
    try:
        model.fit(table.features, table.target)
    except ValueError as error:
        pipeline = getattr(model, "regressor", model)
        encoder = clone(pipeline.named_steps["encode"]).fit(table.features)
        names = list(encoder.get_feature_names_out())
        raise ValueError(with_names(str(error), names)) from error


def with_probabilities(model: BaseEstimator, table: LearningTable) -> BaseEstimator:
    """Return a fitted model; a classifier without probabilities gets them by Platt's method.

    The machine that the search found takes the place of the search; its decision values for rows
    that it had not seen, by five-fold cross-validation, say how sure each value may be.
    """
    if table.task != "classification" or hasattr(machine_of(model), "predict_proba"):
        return model
    *before, (name, search) = model.steps
    machine = CalibratedClassifierCV(search.best_estimator_, cv=5, ensemble=False)
    machine.fit(model[:-1].transform(table.features), table.target)
    return Pipeline([*before, (name, machine)])


def training_summary(machine: BaseEstimator, table: LearningTable) -> tuple[str, list[str]]:
    """Return how good a trained machine is in a few words, and lines on what was chosen."""
    measure = "accuracy" if table.task == "classification" else "R²"
    baseline, answer = table.baseline()
    if hasattr(machine, "members_"):
        score, error, best_of = machine.score_, f" ± {machine.score_error_:.3f}", ""
        lines = ["Members, with weights by how much more a row misses than the rows of this file:"]
        lines += [f"  {line}" for line in str(machine.members_).splitlines()]
    else:
        score, error = machine.best_score_, ""
        n_settings = len(machine.cv_results_["params"])
        best_of = f"the best of {n_settings} settings, so slightly optimistic; "
        chosen = (f"{name}={_short(value)}" for name, value in machine.best_params_.items())
        lines = [f"Chosen by cross-validation: {', '.join(chosen)}."]
    worse = "; the model has learned nothing" if score <= baseline else ""
    return (
        f"cross-validated {measure} {score:.3f}{error} "
        f"({best_of}{answer} would score {baseline:.3f}{worse})",
        lines,
    )


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def machine_of(model: BaseEstimator) -> BaseEstimator:
    """Return the machine inside a fitted model."""
    return pipeline_of(model).named_steps["machine"]


def pipeline_of(model: BaseEstimator) -> Pipeline:
    """Return the fitted pipeline of a model, or raise for a model of another origin."""
    pipeline = getattr(model, "regressor_", model)
    if not isinstance(pipeline, Pipeline) or "encode" not in pipeline.named_steps:
        raise ValueError(
            f"The file holds a {type(model).__name__} that was not made by `absentia train`, so "
            "`absentia predict` does not know which columns it needs."
        )
    return pipeline


def load_model(path: Path, note: Callable[[str], None]) -> BaseEstimator:
    """Load a model, and note where it was trained with another version of scikit-learn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", InconsistentVersionWarning)
        model = load(path)
    found = {
        (str(message.original_sklearn_version), str(message.current_sklearn_version))
        for message in (warning.message for warning in caught)
        if isinstance(message, InconsistentVersionWarning)
    }
    for original, current in sorted(found):
        note(
            f"{path} was trained with scikit-learn {original}, and {current} is installed: "
            "predictions may differ. Train it again to be sure."
        )
    return model


def predictions(
    model: BaseEstimator, frame: pd.DataFrame, *, probabilities: bool = False
) -> dict[str, np.ndarray]:
    """Return the predictions by the name of their column, probabilities of the classes too."""
    pipeline_of(model)
    if not probabilities:
        return {"prediction": np.asarray(model.predict(frame)).ravel()}
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            "This model has no probabilities: they exist for classes, not for quantities."
        )
    chances = model.predict_proba(frame)
    # What predict would say, without computing every kernel value again.
    found = {"prediction": model.classes_[chances.argmax(axis=1)]}
    return found | {f"probability_{c}": p for c, p in zip(model.classes_, chances.T, strict=True)}


def check_reach(pipeline: Pipeline, frame: pd.DataFrame) -> None:
    """Refuse values that no machine reaches, by the names and in the units of the table."""
    import pandas as pd

    for name in pipeline.named_steps["encode"].columns_:
        if name not in frame.columns or frame[name].dtype.kind not in "fO":
            continue
        numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
        far = np.flatnonzero((np.abs(numbers) > FARTHEST) & np.isfinite(numbers))
        if len(far):
            raise ValueError(too_far(int(far[0]) + 1, float(numbers[far[0]]), str(name)))


def written_with(
    frame: pd.DataFrame,
    found: dict[str, np.ndarray],
    *,
    keep: bool,
    note: Callable[[str], None] = lambda text: None,
) -> pd.DataFrame:
    """Return what was found as a frame, next to the input if requested.

    No column of the input is overwritten: where it has one named ``prediction``, that of the model
    is ``prediction_2``, or the next name that nothing else has. ``note`` is told the new name.
    """
    import pandas as pd

    if not keep:
        return pd.DataFrame(found)
    taken = set(frame.columns)
    named: dict[str, np.ndarray] = {}
    for name, values in found.items():
        # Another class may have the next name: "a_2" beside "a".
        free = name if name not in taken else _next_name(name, {*taken, *found, *named})
        if free != name:
            note(f"The input already has a column {name!r}; that of the model is named {free!r}.")
        named[free] = values
    return frame.assign(**named)


def _next_name(name: str, taken: set[str]) -> str:
    return next(free for k in count(2) if (free := f"{name}_{k}") not in taken)
