"""A fitted model of raw tables, and its answers.

Every application saves and opens the same estimator: a pipeline of the steps ``encode``, which
returns standard units, and ``machine``, for quantities in units of their spread inside a
``TransformedTargetRegressor``. The machine may be a conformal predictor, which holds rows that it
was not trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import exprel
from scipy.stats import norm
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from absentia.automatic import AutoRegressor
from absentia.beliefs.prior import FARTHEST
from absentia.decisions import measure_next
from absentia.decisions.measurements import RankedColumn, rank_source_columns
from absentia.machines.uncertainty import Uncertainty, entropy
from absentia.predictions import (
    ConformalClassifier,
    ConformalRegressor,
    Explanation,
    PredictionSets,
    explain,
    predict_uncertainty,
)
from absentia.tables import FloatArray, Table
from absentia.tables.column_plan import ReadFrame
from absentia.tables.encoder import TableEncoder
from absentia.tables.phrases import too_far
from absentia.tables.plan_notes import as_written

if TYPE_CHECKING:
    import pandas as pd

#: The coverage of intervals unless another is requested.
COVERAGE = 0.9


class Interval(NamedTuple):
    """Intervals in the units of the target; infinite with too few calibration rows."""

    lower: FloatArray
    upper: FloatArray
    n_calibration: np.ndarray | None

    def by_name(self) -> dict[str, np.ndarray]:
        """Return the columns of a table, in their order."""
        ends = {"lower": self.lower, "upper": self.upper}
        return ends | ({} if (n := self.n_calibration) is None else {"calibration_rows": n})


class Doubts(NamedTuple):
    """Uncertainty of predictions.

    ``doubt`` is the entropy of the class in nats, and ``percent`` the same in percent of that of
    equally likely classes; for a quantity ``doubt`` is the standard deviation;
    ``due_to_missing`` the share that measuring all missing values would remove; ``interval``
    contains nine of ten quantities, and is None for classes.
    """

    doubt: FloatArray
    due_to_missing: FloatArray
    interval: Interval | None
    percent: FloatArray | None = None

    def by_name(self) -> dict[str, np.ndarray]:
        """Return the columns of a table, in their order."""
        named = {} if self.interval is None else self.interval.by_name()
        named["doubt"] = self.doubt
        if self.percent is not None:
            named["doubt_percent"] = self.percent
        return named | {"due_to_missing": self.due_to_missing}


@dataclass(frozen=True, eq=False)
class TableModel:
    """Answers of a fitted estimator about raw tables, which model files hold."""

    estimator: BaseEstimator

    def __post_init__(self) -> None:
        pipeline = getattr(self.estimator, "regressor_", self.estimator)
        if not isinstance(pipeline, Pipeline) or "encode" not in pipeline.named_steps:
            raise ValueError(
                f"The file holds a {type(self.estimator).__name__} that was not made by `absentia "
                "train` or the studio, so it is not known which columns it needs."
            )

    @property
    def pipeline(self) -> Pipeline:
        """The fitted steps, without the units of the target."""
        return getattr(self.estimator, "regressor_", self.estimator)

    @property
    def encoder(self) -> TableEncoder:
        """The step that reads raw columns."""
        return self.pipeline.named_steps["encode"]

    @property
    def target(self) -> str:
        """The name of the column that is predicted; empty where it is not known."""
        return getattr(self.encoder, "target_", "")

    @property
    def is_log(self) -> bool:
        """Whether the machine learned the logarithm of the target."""
        return getattr(self.encoder, "log_target_", False)

    @property
    def machine(self) -> BaseEstimator:
        """The last step."""
        return self.pipeline[-1]

    @property
    def classes(self) -> np.ndarray | None:
        """The labels of the classes; None for a quantity."""
        return getattr(self.machine, "classes_", None)

    def read(
        self, frame: pd.DataFrame, cells: Callable[[], pd.DataFrame] | None = None
    ) -> ReadFrame:
        """Read raw rows into the units of the machine, with notes on what it cannot use of them.

        ``cells`` returns the cells of the same rows as their file has them.
        """
        frame = frame if cells is None else as_written(self.encoder, frame, cells)
        read = self.encoder.read_noted(frame)
        # Values that no machine reaches, by the names and in the units of the table.
        for row, column in np.argwhere(np.abs(read.own) > FARTHEST)[:1].tolist():
            name = str(self.encoder.plan_.source_columns()[column])
            raise ValueError(too_far(row + 1, float(read.own[row, column]), name))
        return read

    def rows(self, frame: pd.DataFrame) -> Table:
        """Return raw rows in the units of the machine, with limits such as ``<0.5``."""
        return self.encoder.read_noted(frame).table

    def predict(self, rows: Table) -> np.ndarray:
        """Return the prediction of each row: a class, or a quantity in its own units.

        Of a quantity whose logarithm was learned this is the median.
        """
        if self.classes is not None and hasattr(self.machine, "predict_proba"):
            return self.classes[self.machine.predict_proba(rows).argmax(axis=1)]
        found = np.ravel(self.machine.predict(rows))
        return found if self.classes is not None else self.in_units(found)

    def probabilities(self, rows: Table) -> FloatArray:
        """Return the probability of each class."""
        if not hasattr(self.machine, "predict_proba"):
            raise ValueError(
                "This model has no probabilities: they exist for classes, not for quantities."
            )
        return self.machine.predict_proba(rows)

    def doubts(self, rows: Table) -> Doubts:
        """Return the uncertainty of each prediction.

        The interval of a quantity comes from calibration rows or, without them, from out-of-fold
        errors or, without those, from the cross-validated error of training and the spread due to
        missing values.
        """
        doubt = self._uncertainty(rows)
        if doubt.unit == "entropy":
            chances = self.probabilities(rows)
            own = entropy(chances)
            percent = 100 * own / np.log(max(chances.shape[1], 2))
            return Doubts(own, doubt.missing_share, None, percent)
        variance = self._variance(doubt)
        spread = self._spread(rows, variance)
        share = np.divide(doubt.missing, variance, out=np.zeros_like(variance), where=variance > 0)
        if isinstance(self.machine, ConformalRegressor):
            return Doubts(spread, share, self.interval(rows, COVERAGE))
        if isinstance(self.machine, AutoRegressor):
            lower, upper = self.machine.predict_interval(rows, COVERAGE).T
            return Doubts(spread, share, Interval(lower, upper, None))
        middle, reach = np.ravel(self.machine.predict(rows)), np.sqrt(variance)
        reach *= norm.ppf((1 + COVERAGE) / 2)
        return Doubts(spread, share, self._interval(middle - reach, middle + reach))

    def interval(self, rows: Table, coverage: float) -> Interval:
        """Return intervals with a guarantee for each missing pattern, from calibration rows."""
        self._check_calibrated(ConformalRegressor)
        found = self.machine.predict_interval(rows, coverage=coverage)
        return self._interval(found.lower, found.upper, found.n_calibration)

    def label_sets(self, rows: Table, coverage: float) -> PredictionSets:
        """Return sets of classes with a guarantee for each missing pattern."""
        self._check_calibrated(ConformalClassifier)
        return self.machine.predict_set(rows, coverage=coverage)

    def next_measurements(
        self, rows: Table, costs: Mapping[str, float] | None = None
    ) -> list[list[dict[str, Any]]]:
        """Return the missing columns of each row by expected gain per cost, best first.

        The gain is the entropy in nats (``gain_percent``: in percent of that of equally likely
        classes) or, for quantities, the share of the row's variance that knowing the value is
        expected to remove, beside the standard deviation of the prediction before and after. Of a
        column of words, the most informative word counts.
        """
        gains, spread = measure_next(self.machine, rows).gain, np.zeros(len(rows))
        if self.classes is None:
            variance = self._variance(self._uncertainty(rows))
            spread = self._spread(rows, variance)
            # A row whose prediction is certain has nothing to gain.
            gains = np.minimum(gains / np.where(variance > 0, variance, 1.0)[:, None], 1.0)
        ranked = rank_source_columns(gains, list(self.encoder.plan_.source_columns()), costs)
        most = np.log(2 if self.classes is None else max(len(self.classes), 2))

        def entry(found: RankedColumn, now: float) -> dict[str, Any]:
            name, gain, *cost = found
            said: dict[str, Any] = {"gain": gain, "gain_percent": 100 * gain / most}
            if self.classes is None:
                left = min(max(1.0 - gain, 0.0), 1.0)
                said = {"doubt": now, "doubt_after": now * left**0.5, "gain": gain}
            return {"column": name, **said, "cost": cost[0], "gain_per_cost": cost[1]}

        pairs = zip(ranked, spread.tolist(), strict=True)
        return [[entry(found, now) for found in best] for best, now in pairs]

    def unused(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of a table that the model does not use, such as ids."""
        used = set(self.encoder.plan_.source_columns())
        return frame[[name for name in frame.columns if name not in used]]

    def explanation(self, rows: Table, **settings: Any) -> Explanation:
        """Return the values of the raw columns of each row, in the units of the target.

        Those of a logarithm are scaled, so that they add up to the prediction as others do.
        """
        groups: dict[str, list[int]] = {}
        for place, name in enumerate(self.encoder.plan_.source_columns()):
            groups.setdefault(str(name), []).append(place)
        found = explain(self.machine, rows, groups=groups, **settings)
        if self.classes is not None:
            return found
        base, prediction = self.in_units(found.base), self.in_units(found.prediction)
        units = np.full(len(base), self._units[1])
        if self.is_log:  # the slope of the exponential between base and prediction
            units *= base * exprel(units * (found.prediction - found.base))
        values, errors = (units[:, None] * part for part in (found.values, found.errors))
        return replace(found, values=values, errors=errors, base=base, prediction=prediction)

    def calibrated(self, features: pd.DataFrame, target: np.ndarray) -> TableModel:
        """Return a model that holds rows it was not trained on, for intervals and label sets."""
        kind = ConformalClassifier if is_classifier(self.machine) else ConformalRegressor
        found = kind(FrozenEstimator(self.machine)).fit(self.rows(features), self.learned(target))
        return self.with_machine(found)

    def with_machine(self, machine: BaseEstimator) -> TableModel:
        """Return a model with another last step."""
        *before, (name, _) = self.pipeline.steps
        pipeline = Pipeline([*before, (name, machine)])
        if self.estimator is self.pipeline:
            return TableModel(pipeline)
        estimator = copy(self.estimator)
        estimator.regressor_ = pipeline
        return TableModel(estimator)

    def _check_calibrated(self, kind: type) -> None:
        if not isinstance(self.machine, kind):
            raise ValueError(
                "This model has no calibration rows, which --coverage needs: train it with "
                "--calibrate 0.2."
            )

    def _uncertainty(self, rows: Table) -> Uncertainty:
        return predict_uncertainty(self.machine, rows, by_column=False)

    def _variance(self, doubt: Uncertainty) -> FloatArray:
        """Return the variance of each prediction, in units of the machine.

        The noise of a search that maximised R² is its cross-validated error.
        """
        if doubt.noise.any():
            return doubt.total
        score = getattr(getattr(self.machine, "estimator_", self.machine), "best_score_", None)
        if score is None:
            raise ValueError(
                "This model does not know how large its errors are: train it with --calibrate 0.2."
            )
        return doubt.total + float(np.clip(1.0 - score, 0.0, 1.0))

    def _spread(self, rows: Table, variance: FloatArray) -> FloatArray:
        """Return standard deviations of predictions, or half the width of such a band of a log."""
        reach = np.sqrt(variance)
        if not self.is_log:
            return self._units[1] * reach
        middle = np.ravel(self.machine.predict(rows))
        return (self.in_units(middle + reach) - self.in_units(middle - reach)) / 2

    def _interval(self, lower: FloatArray, upper: FloatArray, n: Any = None) -> Interval:
        """Return intervals of the machine in the units of the target, within its support."""
        least = getattr(self.encoder, "target_least_", -np.inf)
        low, high = (np.maximum(self.in_units(end), least) for end in (lower, upper))
        return Interval(low, high, n)

    @property
    def _units(self) -> tuple[float, float]:
        """The mean and the spread of the target, or of its logarithm, if these were its units."""
        transformer = getattr(self.estimator, "transformer_", None)
        return (0.0, 1.0) if transformer is None else (transformer.mean_[0], transformer.scale_[0])

    def learned(self, target: np.ndarray) -> np.ndarray:
        """Return targets as the machine learned them; classes are as they were."""
        own = np.log(target) if self.is_log else target
        return own if self.classes is not None else (own - self._units[0]) / self._units[1]

    def in_units(self, values: FloatArray) -> FloatArray:
        """Return quantities of the machine in the units of the target."""
        mean, scale = self._units
        return np.exp(mean + scale * values) if self.is_log else mean + scale * values
