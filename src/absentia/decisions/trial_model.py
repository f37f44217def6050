"""Predictions of a model for trial rows, and their expected loss.

Classifiers predict probabilities, shape (n_samples, n_classes). Regressors predict a mean and the
variance around it, shape (n_samples, 2); the variance is NaN where the model does not report one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.missing_values import MissingValues
from absentia.machines.averaging import require_probabilities
from absentia.machines.uncertainty import entropy
from absentia.parameters import shown
from absentia.predictions.conformal_base import BANDS, reports_spread
from absentia.predictions.marginal import find_density, layers
from absentia.predictions.wrapped_model import RowFormat
from absentia.tables import BoolArray, FloatArray, IntArray, Table, TableLike, plan_of
from absentia.tables.column_plan import ColumnPlan, ReadFrame
from absentia.tables.encoder import TableEncoder
from absentia.tables.reading import as_frame, is_absent, is_frame

#: From predictions to the expected loss of each, shape (n_samples,).
Loss = Callable[[FloatArray], FloatArray]

#: At most this many rows go through a model at once.
_BATCH = 8192


def _brier(probabilities: FloatArray) -> FloatArray:
    return 1.0 - (probabilities**2).sum(axis=1)


#: The expected loss of predictions, if they are right: the entropy for "log", the predicted
#: variance, the width of an interval or the size of a set.
LOSSES: dict[str, Loss] = {
    "log": entropy,
    "brier": _brier,
    "variance": lambda answers: answers[:, 1],
    "width": lambda answers: answers[:, 0],
    "size": lambda answers: answers[:, 0],
}
#: The method of a conformal predictor for each loss, which is an attribute of its result.
_REGIONS = {"width": "predict_interval", "size": "predict_set"}


@dataclass(frozen=True, eq=False)
class TrialModel:
    """A model that predicts rows, whatever kind of table it was trained on.

    ``region`` is "width" or "size" where predictions are the widths of the intervals, or the sizes
    of the sets, of a conformal predictor. ``written`` takes rows of a table, and the user's row
    that each comes from, to what the model takes.
    """

    model: BaseEstimator
    classifies: bool
    region: str | None
    written: Callable[[Table, IntArray], Any]

    @classmethod
    def of(
        cls, model: BaseEstimator, X: TableLike, rows: RowsRead, region: Any = None
    ) -> TrialModel:
        """Check a model, and prepare it for rows that are trials of the user's rows."""
        check_is_fitted(model)
        classifies = is_classifier(model)
        region = region if isinstance(region, str) and region in _REGIONS else None
        if region is not None and not hasattr(model, _REGIONS[region]):
            raise ValueError(
                f"loss={region!r} measures the regions of a conformal predictor, but "
                f"{type(model).__name__} has no {_REGIONS[region]}: wrap it in "
                f"{'ConformalClassifier' if classifies else 'ConformalRegressor'}, or use "
                f"loss={'log' if classifies else 'variance'!r}."
            )
        if classifies and region is None:
            require_probabilities(model)
        if not classifies and not hasattr(model, "predict"):
            raise TypeError(
                f"{type(model).__name__} has no predict; give a classifier or a regressor."
            )
        return cls(model, classifies, region, _writer(model, X, rows))

    def about(self, rows: IntArray) -> TrialModel:
        """Return the model for trials of some of the user's rows, counted from 0."""
        return replace(self, written=lambda table, origin: self.written(table, rows[origin]))

    @property
    def reports_variance(self) -> bool:
        """Whether one prediction has a loss: probabilities, a region, or a predicted variance."""
        return self.classifies or self.region is not None or reports_spread(self.model)

    def __call__(self, table: Table, origin: IntArray, spread: bool = True) -> FloatArray:
        """Return the predictions for rows, in batches, of regressors with their variance."""
        parts = []
        for start in range(0, len(table), _BATCH):
            part = slice(start, start + _BATCH)
            parts.append(self._predict(self.written(table[part], origin[part]), spread))
        return np.concatenate(parts)

    def _predict(self, rows: Any, spread: bool) -> FloatArray:
        if self.region is not None:
            region = getattr(self.model, _REGIONS[self.region])(rows)
            return np.asarray(getattr(region, self.region), dtype=np.float64)[:, None]
        if self.classifies:
            return np.asarray(self.model.predict_proba(rows), dtype=np.float64)
        if spread and reports_spread(self.model):
            mean, _, deviation = BANDS["normalised"]((self.model,), rows).T
            return np.column_stack([mean, deviation**2])
        mean = BANDS["absolute"]((self.model,), rows)[:, 0]
        return np.column_stack([mean, np.full(len(mean), np.nan)])


def _writer(model: BaseEstimator, X: Any, rows: RowsRead) -> Callable[[Table, IntArray], Any]:
    """Return the function from rows to what a model takes: a frame, a table or an array."""
    given = rows.given
    # Limits of values that are still missing go with the rows.
    if given is None and rows.table.lower is not None:
        return lambda table, origin: table
    if given is None and not (is_frame(X) and hasattr(model, "feature_names_in_")):
        return lambda table, origin: table.array
    written = RowFormat.of(X, plan=None if given is None else rows.table.plan)
    return lambda table, origin: written.rows(table.array, given, origin)


class RowsRead(NamedTuple):
    """A user's rows, their missing values, and the frame that they were, where it has words."""

    table: Table
    unknowns: MissingValues
    given: ReadFrame | None


def read_rows(model: BaseEstimator, X: TableLike, density: BaseEstimator | None) -> RowsRead:
    """Return a user's rows, and what a density, by default the model's, says about them."""
    if isinstance(X, Beliefs):
        raise TypeError(
            "Values are tried in rows, but X holds beliefs: pass the rows, and as density one "
            "whose condition(X) returns such beliefs."
        )
    density = getattr(density, "estimator", density)
    if density is None:
        density = find_density(model)
    elif isinstance(density, type) or not hasattr(density, "condition"):
        raise TypeError(
            "density must be a fitted density such as GaussianDensity().fit(X_train), found "
            f"{shown(density)}."
        )
    plan = plan_of(density, X) or _encoder_plan(model)
    if plan is not None and not isinstance(X, Table):
        given = plan.read_frame(X)
        missing = MissingValues.of(density, plan.names, given.table.n_features, plan)
        return RowsRead(given.table, missing, given)
    table = Table.of(X)
    expected = getattr(density, "n_features_in_", table.n_features)
    if expected != table.n_features:
        raise ValueError(
            f"X has {table.n_features} columns, but the density has {expected}: give rows with the "
            "columns of the training rows."
        )
    numbers = vars(density).get("plan_")
    array = table.array if numbers is None else numbers.without_sentinels(table.array)
    table = replace(table, array=array, columns_checked=True, _known={}, _whole=None)
    missing = MissingValues.of(density, table.labels, table.n_features, table.plan)
    return RowsRead(table, missing, None)


def _encoder_plan(model: BaseEstimator) -> ColumnPlan | None:
    """Return the plan of a model that encodes frames itself."""
    for layer in layers(model):
        encoder = getattr(layer, "encoder_", None)
        if isinstance(encoder, TableEncoder):
            return encoder.plan_
    return None


def cells_of(table: Any) -> np.ndarray:
    """Return the cells of an array or of a frame as an array."""
    return table if isinstance(table, np.ndarray) else as_frame(table).to_numpy(dtype=object)


def absent_cells(values: np.ndarray) -> BoolArray:
    """Return which cells of an array, of numbers or of objects, are missing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    flat = [is_absent(value) or value != value for value in values.ravel()]  # NaN is not NaN
    return np.array(flat, dtype=np.bool_).reshape(values.shape)
