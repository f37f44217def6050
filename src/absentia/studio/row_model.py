"""One pipeline from a raw row to an answer: encoder, scaler and a machine that knows its doubt.

Classes are learned by :class:`absentia.LogisticRegression`, tuned by log loss in cross-validation,
quantities by :class:`absentia.GaussianProcessRegressor`, whose intervals are calibrated on rows not
trained on (:class:`absentia.ConformalRegressor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from absentia.machines import GaussianProcessRegressor, LogisticRegressionCV
from absentia.predictions import ConformalRegressor
from absentia.recipe.learning_table import split_target
from absentia.tables import FloatArray
from absentia.tables.encoder import TableEncoder
from absentia.tables.known_limits import KeepsLimits

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TrainedModel", "train_model"]

#: A larger table is sampled, so that training takes minutes and an answer keeps up with typing.
_MOST_ROWS = {"classification": 2000, "regression": 1000}
_CALIBRATION_SHARE = 0.3
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """What training leaves: the fitted pipeline, and what to say about it.

    Attributes
    ----------
    pipeline : Pipeline
        Steps ``encode``, ``scale`` and ``machine``.
    task : {"classification", "regression"}
    target : str
    measure : str
        The name of the score.
    score, spread, baseline : float
        On rows that were not trained on; its standard error; that of the best constant answer.
    how : str
        Which rows those were, for the user.
    notes : tuple of str
    """

    pipeline: Pipeline
    task: str
    target: str
    measure: str
    score: float
    spread: float
    baseline: float
    how: str
    notes: tuple[str, ...]


def train_model(
    frame: pd.DataFrame,
    target: str,
    *,
    task: str | None = None,
    kinds: Mapping[str, str] | None = None,
    step: Callable[[float, str], None] = lambda share, text: None,
) -> TrainedModel:
    """Train on a raw table.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : str
        The column to predict.
    task : {"classification", "regression"}, optional
        By default what the target looks like.
    kinds : mapping from column to kind, optional
        As for :class:`absentia.TableEncoder`.
    step : callable
        Is given the share of the work that is done, and what comes next.
    """
    step(0.02, "reading the columns")
    table = split_target(frame, target, task).shuffled()
    features, y, notes = table.features, table.target, list(table.notes)
    most = _MOST_ROWS[table.task]
    if len(y) > most:
        notes.append(f"Only a sample of {most:,} of the {len(y):,} rows is used.")
        features, y = features.iloc[:most], y[:most]
    encoder = TableEncoder(kinds=dict(kinds or {}), limits=True)
    scaler = KeepsLimits(StandardScaler())
    X = scaler.fit_transform(encoder.fit_transform(features))
    notes += encoder.notes_
    baseline, _ = table.baseline()
    if table.task == "classification":
        step(0.1, f"choosing the kernel width and the penalty on {len(y):,} rows")
        machine = LogisticRegressionCV().fit(X, y).best_estimator_
        step(0.7, "measuring the accuracy on held-out rows")
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=1)
        right = cross_val_predict(machine, X, y, cv=folds) == y
        score, measure = float(right.mean()), "accuracy"
        spread = float(right.std() / np.sqrt(len(y)))
        how = f"Each row was predicted by a model that had not seen it ({_FOLDS} folds)."
    else:
        step(0.1, f"fitting a Gaussian process to {len(y):,} rows")
        X_train, X_rest, y_train, y_rest = train_test_split(
            X, y, test_size=_CALIBRATION_SHARE, random_state=0
        )
        process = GaussianProcessRegressor().fit(X_train, y_train)
        step(0.85, "calibrating the intervals on held-out rows")
        score, spread = _explained(y_rest, process.predict(X_rest))
        measure = "R²"
        how = f"Measured on {len(y_rest):,} rows that the model was not trained on."
        machine = ConformalRegressor(FrozenEstimator(process)).fit(X_rest, y_rest)
    pipeline = Pipeline([("encode", encoder), ("scale", scaler), ("machine", machine)])
    step(1.0, "done")
    return TrainedModel(
        pipeline, table.task, target, measure, score, spread, float(baseline), how, tuple(notes)
    )


def _explained(y: FloatArray, predicted: FloatArray) -> tuple[float, float]:
    """Return R² and its standard error, by the delta method for a ratio of two means."""
    errors, deviations = (y - predicted) ** 2, (y - y.mean()) ** 2
    ratio = errors.mean() / deviations.mean()
    influence = (errors - ratio * deviations) / deviations.mean()
    return float(1 - ratio), float(influence.std() / np.sqrt(len(y)))
