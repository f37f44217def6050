"""From a raw table to something that learns: the target, the encoder, the machine around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from absentia.densities import MixtureDensity
from absentia.evaluation.datasets import Dataset, Task, guess_task, target_values
from absentia.machines import SVCCV, SVRCV
from absentia.tables.encoder import TableEncoder

__all__ = [
    "TRAINABLE",
    "LearningTable",
    "as_dataset",
    "new_model",
    "predictions",
    "split_target",
    "with_probabilities",
]

#: What ``absentia train`` can make: kernel, density, and whether a mask kernel is tried.
TRAINABLE: dict[str, tuple[str, str, bool]] = {
    "genrbf": ("genrbf", "gaussian", False),
    "genrbf-mask": ("genrbf", "gaussian", True),
    "genrbf-mixture": ("genrbf", "mixture", False),
    "expected-rbf": ("expected-rbf", "gaussian", False),
    "esd": ("esd", "gaussian", False),
    "egk": ("egk", "gaussian", False),
}
_MASK_WEIGHTS = (None, 0.1, 0.3, 1.0)
_FEWEST_OF_A_CLASS = 5
_MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class LearningTable:
    """A table cut into what is known and what is to be predicted.

    ``notes`` are sentences for the user about what was left out.
    """

    features: Any
    target: np.ndarray
    task: Task
    notes: tuple[str, ...]


def split_target(frame: Any, target: str, task: str | None = None) -> LearningTable:
    """Cut off the target, leave out rows without one, and find out what is to be learned."""
    if target not in frame.columns:
        names = ", ".join(str(name) for name in frame.columns)
        raise ValueError(f"There is no column {target!r} to predict; there are {names}.")
    notes = []
    known = frame[target].notna().to_numpy()
    if not known.all():
        n_unknown = int((~known).sum())
        without = "1 row has" if n_unknown == 1 else f"{n_unknown} rows have"
        notes.append(f"{without} no {target}, left out.")
        frame = frame.loc[known]
    if len(frame) < 10:
        raise ValueError(f"{len(frame)} rows with a target are too few to learn from.")
    column = frame[target]
    if task not in (None, "classification", "regression"):
        raise ValueError(f"The task is classification or regression, found {task!r}.")
    chosen: Task = "classification" if task == "classification" else "regression"
    if task is None:
        chosen = guess_task(column)
    values = target_values(column, chosen)
    features = frame.drop(columns=target)
    if not features.shape[1]:
        raise ValueError(f"There is no column but {target!r}: nothing to predict it from.")
    if chosen == "classification":
        classes, counts = np.unique(values, return_counts=True)
        if len(classes) > _MOST_CLASSES:
            raise ValueError(
                f"{target} has {len(classes)} different values in {len(frame)} rows, too many for "
                "classes. If it is a quantity, ask for regression."
            )
        rare = classes[counts < _FEWEST_OF_A_CLASS]
        if len(rare):
            keep = ~np.isin(values, rare)
            shown = ", ".join(str(name) for name in rare[:5])
            notes.append(
                f"Classes with fewer than {_FEWEST_OF_A_CLASS} rows ({shown}) were left out: "
                f"{int((~keep).sum())} rows."
            )
            values, features = values[keep], features.loc[keep]
        if len(np.unique(values)) < 2:
            raise ValueError(f"{target} has fewer than two classes left: nothing to tell apart.")
    elif np.ptp(values) == 0:
        raise ValueError(f"{target} is {values[0]:g} in every row: nothing to predict.")
    return LearningTable(features, values, chosen, tuple(notes))


def as_dataset(table: LearningTable, name: str, max_rows: int | None) -> Dataset:
    """Encode a table for a comparison of methods, and take a sample if it is large."""
    encoder = TableEncoder().fit(table.features)
    data = Dataset(
        name,
        table.task,
        encoder.transform(table.features),
        table.target,
        tuple(encoder.get_feature_names_out()),
        notes=(*table.notes, *encoder.notes_),
    )
    if max_rows is None or len(data.y) <= max_rows:
        return data
    note = f"A sample of {max_rows} of the {len(data.y)} rows was taken (--max-rows)."
    return replace(data.sample(max_rows), notes=(*data.notes, note))


def new_model(task: Task, method: str, *, progress: bool = False, seed: int = 0) -> Any:
    """Return an unfitted model that takes the raw table.

    The encoder, the scaler and a machine that tunes itself, in one pipeline, so that one file
    holds all that a prediction needs. A quantity is learned in units of its own spread.
    """
    if method not in TRAINABLE:
        raise ValueError(f"There is no method {method!r}; there are {', '.join(TRAINABLE)}.")
    kernel, density_name, masked = TRAINABLE[method]
    density: Any = density_name
    if density_name == "mixture":
        density = MixtureDensity(n_components=3, random_state=seed)
    search = SVCCV if task == "classification" else SVRCV
    machine = search(
        kernel=kernel,
        density=density,
        mask_weights=_MASK_WEIGHTS if masked else None,
        progress=progress,
    )
    pipeline = Pipeline(
        [("encode", TableEncoder()), ("scale", StandardScaler()), ("machine", machine)]
    )
    if task == "classification":
        return pipeline
    return TransformedTargetRegressor(pipeline, transformer=StandardScaler())


def with_probabilities(model: Any, features: Any, target: np.ndarray) -> Any:
    """Return a fitted classifier that gives probabilities as well (Platt's method).

    The machine that the search found takes the place of the search; its decision values for rows
    that it had not seen, by five-fold cross-validation, say how sure each value may be.
    """
    *before, (name, search) = model.steps
    machine = CalibratedClassifierCV(search.best_estimator_, cv=5, ensemble=False)
    machine.fit(model[:-1].transform(features), target)
    return Pipeline([*before, (name, machine)])


def machine_of(model: Any) -> Any:
    """Return the machine inside a fitted model."""
    return pipeline_of(model).named_steps["machine"]


def pipeline_of(model: Any) -> Any:
    """Return the fitted pipeline of a model, with a sentence for what is none of ours."""
    pipeline = getattr(model, "regressor_", model)
    if not isinstance(pipeline, Pipeline) or "encode" not in pipeline.named_steps:
        raise ValueError(
            f"The file holds a {type(model).__name__} that was not made by `absentia train`: load "
            "it in Python with absentia.load."
        )
    return pipeline


def predictions(model: Any, frame: Any, *, keep: bool, probabilities: bool = False) -> Any:
    """Return a frame with the predictions, beside the input where that is wanted."""
    import pandas as pd

    pipeline_of(model)
    if not probabilities:
        found = {"prediction": np.asarray(model.predict(frame)).ravel()}
    elif hasattr(model, "predict_proba"):
        chances = model.predict_proba(frame)
        # What predict would say, without computing every kernel value again.
        found = {"prediction": model.classes_[chances.argmax(axis=1)]}
        found |= {f"probability_{c}": p for c, p in zip(model.classes_, chances.T, strict=True)}
    else:
        raise ValueError(
            "This model has no probabilities: they are for classes, not for quantities."
        )
    return frame.assign(**found) if keep else pd.DataFrame(found)
