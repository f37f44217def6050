"""Training a model on incomplete rows: every incomplete row becomes several weighted draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from absentia.beliefs.quasi_random import DrawPoints, map_draws
from absentia.densities.missing_values import Unknowns
from absentia.predictions.planned_frames import FrameRows, PlannedFormat
from absentia.predictions.row_format import RowFormat
from absentia.tables import FloatArray, IntArray, Table

__all__ = ["TRAINING_DRAWS", "TrainingTable", "fit_on_draws", "fit_weighted", "stacked_draws"]

#: How many draws of an incomplete row an estimator is trained on.
TRAINING_DRAWS = 8


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The rows that a model is to be trained on.

    Attributes
    ----------
    rows : Table
    unknowns : Unknowns
        What their missing values could be.
    columns : ndarray of int
        Which columns the model sees.
    row_format : RowFormat or PlannedFormat
        As what kind of table.
    given : FrameRows or None
        The frame that the rows come from, where it has words.
    """

    rows: Table
    unknowns: Unknowns
    columns: IntArray
    row_format: RowFormat | PlannedFormat
    given: FrameRows | None = None


def stacked_draws(
    training: TrainingTable, n_draws: int, seed: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return complete rows that stand for incomplete rows.

    Returns
    -------
    rows : ndarray of shape (n_stacked, n_columns)
        Complete rows once, each other row as ``n_draws`` draws.
    row : ndarray of int, shape (n_stacked,)
        Which row of the table each stands for.
    weights : ndarray of shape (n_stacked,)
        One for complete rows, ``1 / n_draws`` for draws.
    """
    table, unknowns, columns = training.rows, training.unknowns, training.columns
    holes = unknowns.incomplete(table.array)
    complete, incomplete = np.flatnonzero(~holes), np.flatnonzero(holes)
    if not len(incomplete):
        return table.array[:, columns], np.arange(len(table)), np.ones(len(table))
    # A seed of its own: the draws that predictions average over are others.
    points = DrawPoints.sobol(n_draws, unknowns.n_drawn, seed + 1)
    some = table[incomplete]
    drawn = np.concatenate(
        map_draws(
            lambda draws, rows: unknowns.completed(some[rows], draws)[:, :, columns],
            unknowns.believe,
            some,
            points,
        )
    )
    whole = table.array[np.ix_(complete, columns)]
    rows = np.concatenate([whole, drawn.reshape(-1, len(columns))])
    row = np.concatenate([complete, np.repeat(incomplete, n_draws)])
    weights = np.where(np.arange(len(row)) < len(complete), 1.0, 1.0 / n_draws)
    return rows, row, weights


def fit_on_draws(
    model: BaseEstimator,
    training: TrainingTable,
    y: np.ndarray,
    sample_weight: FloatArray | None,
    seed: int,
) -> BaseEstimator:
    """Train a model on the draws of the rows of a table, weighted so that each row counts once.

    A model that takes no weights is trained on one draw of each row.
    """
    weighs = weight_parameter(model) is not None
    rows, row, weights = stacked_draws(training, TRAINING_DRAWS if weighs else 1, seed)
    if sample_weight is not None:
        weights = weights * sample_weight[row]
    unweighted = sample_weight is None and (not weighs or len(row) == len(training.rows))
    own = training.row_format.rows(rows, training.given, row)
    return fit_weighted(model, own, y[row], None if unweighted else weights)


def fit_weighted(
    model: BaseEstimator, rows: object, y: np.ndarray, weights: FloatArray | None
) -> BaseEstimator:
    """Fit a model with weights, those of a pipeline by its last step."""
    if weights is None:
        return model.fit(rows, y)
    name = weight_parameter(model)
    if name is None:
        raise ValueError(
            f"sample_weight was given, but {type(model).__name__}.fit takes none. Leave it out, or "
            "choose an estimator with weights."
        )
    return model.fit(rows, y, **{name: weights})


def weight_parameter(model: BaseEstimator) -> str | None:
    """Return what ``fit`` of a model calls the weights of the rows, None where it has none."""
    if isinstance(model, Pipeline):
        inner = weight_parameter(model[-1])
        return None if inner is None else f"{model.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None
