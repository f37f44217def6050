"""What a saved model knows beyond its prediction: how far off it may be, and what to measure next.

A model of ``absentia train`` is a pipeline from raw columns to a machine, for quantities inside a
``TransformedTargetRegressor``. The machine may be calibrated (``train --calibrate``): a
:class:`absentia.ConformalRegressor` or :class:`absentia.ConformalClassifier` then holds it together
with rows that it was not trained on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from absentia.cli.learning import pipeline_of
from absentia.decisions import measure_next
from absentia.decisions.measurements import rank_source_columns
from absentia.machines.uncertainty import Uncertainty, entropy
from absentia.predictions import ConformalClassifier, ConformalRegressor, predict_uncertainty
from absentia.predictions.answers import find_density
from absentia.tables import FloatArray, Table
from absentia.tables.columns.column import Column
from absentia.tables.columns.numerals import number_of
from absentia.tables.columns.readings import numbers_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["costs_from", "doubts", "next_measurements", "regions", "with_calibration"]

_COVERAGE = 0.9


def with_calibration(
    model: BaseEstimator, features: pd.DataFrame, target: np.ndarray
) -> BaseEstimator:
    """Return a fitted model that keeps rows it was not trained on, for intervals and label sets."""
    pipeline = pipeline_of(model)
    machine = pipeline[-1]
    rows = _rows_with_limits(pipeline, features)
    kind = ConformalClassifier if is_classifier(machine) else ConformalRegressor
    if model is not pipeline:
        target = model.transformer_.transform(target[:, None]).ravel()
    calibrated = kind(FrozenEstimator(machine)).fit(rows, target)
    steps = Pipeline([*pipeline.steps[:-1], (pipeline.steps[-1][0], calibrated)])
    if model is pipeline:
        return steps
    model.regressor_ = steps
    return model


def doubts(model: BaseEstimator, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return how sure each prediction is, by the name of a column.

    Classes: ``doubt``, the entropy of the probabilities in nats. Quantities: ``lower`` and
    ``upper``, which contain nine of ten values, and ``doubt``, a standard deviation; from the
    calibration rows or, without them, the cross-validated error of training and the spread due to
    what the row misses. Both: ``due_to_missing``, which share of the doubt measuring all missing
    values would remove.
    """
    doubt = _uncertainty(model, _rows_with_limits(pipeline_of(model), frame))
    if doubt.unit == "entropy":
        own = entropy(model.predict_proba(frame))
        return {"doubt": own, "due_to_missing": doubt.missing_share}
    variance = _variance(model, doubt)
    scale = _scale(model)
    spread = scale * np.sqrt(variance)
    if isinstance(pipeline_of(model)[-1], ConformalRegressor):
        ends = _interval(model, _rows_with_limits(pipeline_of(model), frame), _COVERAGE)
    else:
        reach = norm.ppf((1 + _COVERAGE) / 2) * spread
        middle = np.ravel(model.predict(frame))
        ends = {"lower": middle - reach, "upper": middle + reach}
    share = np.divide(doubt.missing, variance, out=np.zeros_like(variance), where=variance > 0)
    return {**ends, "doubt": spread, "due_to_missing": share}


def regions(
    model: BaseEstimator, frame: pd.DataFrame, coverage: float
) -> tuple[dict[str, np.ndarray], int]:
    """Return intervals or label sets with a guarantee per missing pattern, and how many lack it.

    Quantities have ``lower`` and ``upper``, classes one ``in_set_NAME`` each; ``calibration_rows``
    counts the rows that a region was made from. With too few of them a region is infinite, or has
    all classes.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"--coverage must be a share between 0 and 1, found {coverage:g}.")
    machine = pipeline_of(model)[-1]
    rows = _rows_with_limits(pipeline_of(model), frame)
    if isinstance(machine, ConformalRegressor):
        found = _interval(model, rows, coverage)
        return found, int(np.isinf(found["lower"]).sum())
    if isinstance(machine, ConformalClassifier):
        sets = machine.predict_set(rows, coverage=coverage)
        named = zip(sets.classes, sets.members.T, strict=True)
        found = {f"in_set_{label}": members for label, members in named}
        return found | {"calibration_rows": sets.n_calibration}, sets.n_without_guarantee
    raise ValueError(
        "This model has no calibration rows, which --coverage needs: train it with --calibrate 0.2."
    )


def next_measurements(
    model: BaseEstimator, frame: pd.DataFrame, costs: dict[str, float], top: int
) -> pd.DataFrame:
    """Return the missing columns of each row by expected gain per cost, as a pandas frame.

    Columns ``row`` (from 1), ``column``, ``gain``, ``cost`` and ``gain_per_cost``: the entropy in
    nats or, for quantities, the share of the variance of the row that knowing the value is expected
    to remove, since a variance is in squared units. Quantities have ``doubt`` and ``doubt_after``
    too, the standard deviation of the prediction now and as expected once the value is known. Of a
    column of words, the most informative word counts.
    """
    import pandas as pd

    pipeline = pipeline_of(model)
    rows = _rows_with_limits(pipeline, frame)
    sources = pipeline.named_steps["encode"].source_columns()
    gains = measure_next(pipeline[-1], rows).gain
    quantity = not hasattr(pipeline[-1], "classes_")
    if quantity:
        variance = _variance(model, _uncertainty(model, rows))
        # A row whose prediction is certain has nothing to gain.
        gains = gains / np.where(variance > 0, variance, 1.0)[:, None]
    ranked = rank_source_columns(gains, list(sources), costs)
    entries = [(row, *c) for row, best in enumerate(ranked, start=1) for c in best[:top]]
    found = pd.DataFrame(entries, columns=["row", "column", "gain", "cost", "gain_per_cost"])
    if quantity:
        now = _scale(model) * np.sqrt(variance)[found["row"].to_numpy(dtype=np.intp) - 1]
        after = now * np.sqrt(np.clip(1.0 - found["gain"].to_numpy(dtype=np.float64), 0.0, 1.0))
        found.insert(2, "doubt", now)
        found.insert(3, "doubt_after", after)
    return found


def costs_from(frame: pd.DataFrame, source: str) -> dict[str, float]:
    """Return the costs in a table of two columns: the name of a column, and what it costs.

    Numbers are read as in any table: "2,5" where decimals have a comma. A first line whose second
    cell is a number is no header, but the first of the costs.
    """
    import pandas as pd

    if frame.shape[1] != 2:
        raise ValueError(
            f"{source} has {frame.shape[1]} columns; expected two, names of columns and their "
            "costs."
        )
    costs: dict[str, float] = {}
    if np.isfinite([number_of(str(frame.columns[1]), sign) for sign in ".,"]).any():
        first = pd.DataFrame([frame.columns], columns=frame.columns)
        frame = pd.concat([first, frame.astype(object)], ignore_index=True)
    column = frame.iloc[:, 1]
    numbers = numbers_of(column, Column(column).decimal_sign)
    for name, cost, number in zip(frame.iloc[:, 0], column, numbers.tolist(), strict=True):
        try:
            costs[str(name)] = float(cost) if np.isnan(number) else number
        except ValueError:
            raise ValueError(
                f"{source} gives {cost!r} as the cost of {name!r}; expected a number."
            ) from None
    if len(costs) < len(frame):
        raise ValueError(f"{source} names a column more than once; give one cost for each.")
    return costs


def _rows_with_limits(pipeline: Pipeline, frame: pd.DataFrame) -> FloatArray | Table:
    """Return rows as numbers, with the limits of values such as ``<0.5``.

    Models of earlier versions have encoders that make missing values of them.
    """
    rows = pipeline[:-1].transform(frame)
    return rows if isinstance(rows, Table) else np.asarray(rows, dtype=np.float64)


def _uncertainty(model: BaseEstimator, rows: FloatArray | Table) -> Uncertainty:
    machine = pipeline_of(model)[-1]
    inner = getattr(machine, "estimator_", machine)
    inner = inner.estimator if isinstance(inner, FrozenEstimator) else inner
    knows = hasattr(inner, "predict_uncertainty") or hasattr(inner, "best_estimator_")
    density = None if knows else find_density(inner)
    return predict_uncertainty(inner, rows, density=density, by_column=False)


def _variance(model: BaseEstimator, doubt: Uncertainty) -> FloatArray:
    """Return the variance of each prediction, in units of the machine."""
    return doubt.total + (0.0 if doubt.noise.any() else _error_variance(model))


def _error_variance(model: BaseEstimator) -> float:
    """Return the cross-validated error of a search that maximised R², in units of the machine."""
    machine = pipeline_of(model)[-1]
    score = getattr(getattr(machine, "estimator_", machine), "best_score_", None)
    if score is None:
        raise ValueError(
            "This model does not know how large its errors are: train it with --calibrate 0.2."
        )
    return float(np.clip(1.0 - score, 0.0, 1.0))


def _interval(
    model: BaseEstimator, rows: FloatArray | Table, coverage: float
) -> dict[str, np.ndarray]:
    found = pipeline_of(model)[-1].predict_interval(rows, coverage=coverage)
    shift, scale = _shift(model), _scale(model)
    ends = {"lower": shift + scale * found.lower, "upper": shift + scale * found.upper}
    return ends | {"calibration_rows": found.n_calibration}


def _scale(model: BaseEstimator) -> float:
    """Return the unit in which a machine learned its quantity; 1 for classes."""
    transformer = getattr(model, "transformer_", None)
    return 1.0 if transformer is None else float(transformer.scale_[0])


def _shift(model: BaseEstimator) -> float:
    transformer = getattr(model, "transformer_", None)
    return 0.0 if transformer is None else float(transformer.mean_[0])
