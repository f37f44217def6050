"""Training a model on incomplete rows: every incomplete row becomes several weighted draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from absentia.beliefs.draws import DrawPoints, map_draws
from absentia.densities.believing import believe
from absentia.predictions.wrapped_model import RowFormat
from absentia.tables import FloatArray

__all__ = ["TRAINING_DRAWS", "fit_on_draws", "fit_weighted", "stacked_draws"]

#: How many draws of an incomplete row an estimator is trained on.
TRAINING_DRAWS = 8


def stacked_draws(
    density: Any, table: FloatArray, n_draws: int, seed: int
) -> tuple[FloatArray, Any, FloatArray]:
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
    columns = np.asarray(getattr(density, "columns_", np.arange(table.shape[1])))
    holes = np.isnan(table[:, columns]).any(axis=1)
    complete, incomplete = np.flatnonzero(~holes), np.flatnonzero(holes)
    if not len(incomplete):
        return table[:, columns], np.arange(len(table)), np.ones(len(table))
    # A seed of its own: the draws that predictions average over are others.
    points = DrawPoints.sobol(n_draws, len(columns), seed + 1)
    drawn = np.concatenate(
        map_draws(
            lambda draws, _: draws,
            lambda rows: believe(density, rows),
            table[incomplete],
            points,
        )
    )
    rows = np.concatenate([table[np.ix_(complete, columns)], drawn.reshape(-1, len(columns))])
    row = np.concatenate([complete, np.repeat(incomplete, n_draws)])
    weights = np.where(np.arange(len(row)) < len(complete), 1.0, 1.0 / n_draws)
    return rows, row, weights


def fit_on_draws(
    model: Any,
    table: FloatArray,
    y: Any,
    sample_weight: FloatArray | None,
    density: Any,
    row_format: RowFormat,
    seed: int,
) -> Any:
    """Train a model on the draws of the rows of a table, weighted so that each row counts once.

    A model that takes no weights is trained on one draw of each row.
    """
    weighs = weight_parameter(model) is not None
    rows, row, weights = stacked_draws(density, table, TRAINING_DRAWS if weighs else 1, seed)
    if sample_weight is not None:
        weights = weights * sample_weight[row]
    unweighted = sample_weight is None and (not weighs or len(row) == len(table))
    return fit_weighted(model, row_format.rows(rows), y[row], None if unweighted else weights)


def fit_weighted(model: Any, rows: Any, y: Any, weights: FloatArray | None) -> Any:
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


def weight_parameter(model: Any) -> str | None:
    """Return what ``fit`` of a model calls the weights of the rows, None where it has none."""
    if isinstance(model, Pipeline):
        inner = weight_parameter(model[-1])
        return None if inner is None else f"{model.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None
