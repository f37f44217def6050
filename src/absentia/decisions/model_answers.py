"""What a model answers about a row, and what that answer is expected to lose.

Classifiers answer probabilities, shape (n_samples, n_classes). Regressors answer a mean and the
variance around it, shape (n_samples, 2); the variance is NaN where the model does not report one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from absentia.densities.missing_values import Unknowns
from absentia.predictions.conformal_scores import BANDS, tells_spread
from absentia.predictions.planned_frames import FrameRows, PlannedFormat
from absentia.tables import FloatArray, IntArray, Table, TableLike, plan_of
from absentia.tables.column_plan import ColumnPlan
from absentia.tables.encoder import TableEncoder
from absentia.tables.reading import is_frame

__all__ = ["LOSSES", "REGIONS", "Loss", "Questions", "find_density", "read_rows"]

#: From answers to the loss that is expected of each, shape (n_samples,).
Loss = Callable[[FloatArray], FloatArray]

#: At most this many rows go through a model at once.
_BATCH = 8192


def _log(probabilities: FloatArray) -> FloatArray:
    """The entropy: the expected log loss of probabilities, if they are right."""
    entropy: FloatArray = -xlogy(probabilities, probabilities).sum(axis=1)
    return entropy


def _brier(probabilities: FloatArray) -> FloatArray:
    """The expected Brier score of probabilities, if they are right."""
    impurity: FloatArray = 1.0 - (probabilities**2).sum(axis=1)
    return impurity


def _variance(answers: FloatArray) -> FloatArray:
    """The predicted variance: the squared error that a regressor expects."""
    return answers[:, 1]


def _region(answers: FloatArray) -> FloatArray:
    """What a conformal predictor promises: the width of an interval, the size of a set."""
    return answers[:, 0]


LOSSES: dict[str, Loss] = {
    "log": _log,
    "brier": _brier,
    "variance": _variance,
    "width": _region,
    "size": _region,
}
#: What a conformal predictor is asked for a loss, which is also the name of what it returns.
REGIONS = {"width": "predict_interval", "size": "predict_set"}


@dataclass(frozen=True, eq=False)
class Questions:
    """A model that predicts rows, whatever kind of table it was trained on.

    Attributes
    ----------
    model : estimator
    classifies : bool
    region : str or None
        ``"width"`` or ``"size"`` where answers are what a conformal predictor promises: the width
        of its interval, or the size of its set.
    written : callable
        From rows of a table, and which of the user's rows each comes from, to what the model takes.
    """

    model: BaseEstimator
    classifies: bool
    region: str | None
    written: Callable[[Table, IntArray], Any]

    @classmethod
    def to(
        cls, model: BaseEstimator, X: TableLike, rows: FrameRows | Table, region: Any = None
    ) -> Questions:
        """Look at a model and at the rows that it is to be asked about."""
        inner = getattr(model, "estimator", model)
        check_is_fitted(model)
        classifies = is_classifier(model)
        region = region if isinstance(region, str) and region in REGIONS else None
        if region is not None and not hasattr(model, REGIONS[region]):
            raise ValueError(
                f"loss={region!r} measures the regions of a conformal predictor, but "
                f"{type(model).__name__} has no {REGIONS[region]}: wrap it in "
                f"{'ConformalClassifier' if classifies else 'ConformalRegressor'}, or use "
                f"loss={'log' if classifies else 'variance'!r}."
            )
        if classifies and region is None and not hasattr(model, "predict_proba"):
            name = type(inner if not isinstance(inner, str) else model).__name__
            raise ValueError(
                f"{name} has no predict_proba, so its uncertainty is unknown. Wrap it in "
                f"scikit-learn's calibration: CalibratedClassifierCV({name}(...), "
                "method='sigmoid')."
            )
        if not classifies and not hasattr(model, "predict"):
            raise TypeError(
                f"{type(model).__name__} has no predict; give a classifier or a regressor."
            )
        return cls(model, classifies, region, _writer(model, X, rows))

    def about(self, rows: IntArray) -> Questions:
        """Return the same questions about some of the user's rows, counted from 0."""
        return replace(self, written=lambda table, origin: self.written(table, rows[origin]))

    @property
    def tells_variance(self) -> bool:
        """Whether the loss can be read from one answer (probabilities, or a predicted variance)."""
        return self.classifies or self.region is not None or tells_spread(self.model)

    def __call__(self, table: Table, origin: IntArray) -> FloatArray:
        """Return the answers for rows, in batches."""
        parts = []
        for start in range(0, len(table), _BATCH):
            part = slice(start, start + _BATCH)
            parts.append(self._ask(self.written(table[part], origin[part])))
        return np.concatenate(parts)

    def _ask(self, rows: Any) -> FloatArray:
        if self.region is not None:
            promised = getattr(self.model, REGIONS[self.region])(rows)
            return np.asarray(getattr(promised, self.region), dtype=np.float64)[:, None]
        if self.classifies:
            return np.asarray(self.model.predict_proba(rows), dtype=np.float64)
        if tells_spread(self.model):
            mean, _, spread = BANDS["normalised"]((self.model,), rows).T
            return np.column_stack([mean, spread**2])
        mean = BANDS["absolute"]((self.model,), rows)[:, 0]
        return np.column_stack([mean, np.full(len(mean), np.nan)])


def _writer(
    model: BaseEstimator, X: Any, rows: FrameRows | Table
) -> Callable[[Table, IntArray], Any]:
    """Return how rows become what a model takes: frames of the user's kind, a table, an array."""
    if isinstance(rows, FrameRows):
        assert rows.table.plan is not None
        planned = PlannedFormat.of(X, rows.table.plan)
        return lambda table, origin: planned.rows(table.array, rows, origin)
    if rows.lower is not None:  # limits of values that are still missing go with the rows
        return lambda table, origin: table
    if not (is_frame(X) and hasattr(model, "feature_names_in_")):
        return lambda table, origin: table.array
    # Missing values need floats; a column of whole numbers is one no longer.
    names, kind = list(X.columns), type(X)
    if kind.__module__.startswith("polars"):
        return lambda table, origin: kind(table.array, schema=names).fill_nan(None)
    return lambda table, origin: kind(table.array, columns=names)


def read_rows(
    model: BaseEstimator, X: TableLike, density: BaseEstimator
) -> tuple[FrameRows | Table, Unknowns]:
    """Return a user's rows, and what the density of a model says about what they miss."""
    plan = plan_of(density, X) or _encoder_plan(model)
    if plan is not None and not isinstance(X, Table):
        given = FrameRows.of(X, plan)
        return given, Unknowns.of(density, plan.names, given.table.n_features, plan)
    table = Table.of(X)
    expected = getattr(density, "n_features_in_", table.n_features)
    if expected != table.n_features:
        raise ValueError(
            f"X has {table.n_features} columns, but the density has {expected}: give rows with the "
            "columns of the training rows."
        )
    numbers = vars(density).get("plan_")
    array = table.array if numbers is None else numbers.without_codes(table.array)
    table = replace(table, array=array, columns_checked=True, _known={}, _whole=None)
    return table, Unknowns.of(density, table.labels, table.n_features, table.plan)


def _encoder_plan(model: BaseEstimator) -> ColumnPlan | None:
    """Return the plan of a model that encodes frames itself."""
    for inner in _layers(model):
        encoder = getattr(inner, "encoder_", None)
        if isinstance(encoder, TableEncoder):
            return encoder.plan()
    return None


def _layers(model: BaseEstimator) -> Iterator[Any]:
    """Yield a model, the model that it wraps, the one that that wraps..."""
    for _ in range(10):
        yield model
        calibrated = getattr(model, "calibrated_classifiers_", None)
        inner = calibrated[0] if calibrated else None
        for name in ("best_estimator_", "estimator_", "estimator"):
            if inner is None:
                inner = getattr(model, name, None)
        if inner is None:
            return
        model = inner


def find_density(model: BaseEstimator) -> BaseEstimator:
    """Return the fitted density inside a model: its own, or that of the model that it wraps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from absentia import KernelRidge
    >>> machine = KernelRidge().fit(np.eye(4), np.arange(4))
    >>> find_density(FrozenEstimator(machine)) is machine.density_
    True
    """
    for layer in _layers(model):
        density = getattr(layer, "density_", None)
        if density is not None:
            return getattr(density, "estimator", density)  # a FrozenEstimator holds it
    raise ValueError(
        f"{type(model).__name__} has no density of the missing values. "
        "Give one: measure_next(..., density=GaussianDensity().fit(X_train)), or wrap the model in "
        "MarginalClassifier or MarginalRegressor."
    )
