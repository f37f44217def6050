"""A user's model, called with the kind of table that it was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from absentia.predictions.planned_frames import PlannedFormat
from absentia.predictions.row_format import RowFormat
from absentia.tables import FloatArray, IntArray
from absentia.tables.column_plan import ReadFrame
from absentia.tables.stored import Stored

__all__ = ["WrappedModel", "require_method"]


@dataclass(frozen=True, eq=False)
class WrappedModel(Stored):
    """A fitted model, how to ask it, and in what format.

    Attributes
    ----------
    model : estimator
    method : {"predict_proba", "predict"}
        What is averaged: probabilities, or numbers.
    format : RowFormat or PlannedFormat
    """

    model: BaseEstimator
    method: str
    format: RowFormat | PlannedFormat

    def validate(self) -> None:
        """Raise ValueError unless the method is one of the two that are averaged."""
        if not isinstance(self.format, RowFormat | PlannedFormat):
            raise ValueError("WrappedModel.format must be a format of rows.")
        self.format.validate()
        if self.method not in _LACKING:
            raise ValueError(f"WrappedModel.method must predict, found {self.method!r}.")

    @classmethod
    def of(
        cls, model: BaseEstimator, method: str, trained_on: RowFormat | PlannedFormat
    ) -> WrappedModel:
        """Wrap a model; one that says that it was trained on a plain array gets plain arrays."""
        unnamed = hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")
        if unnamed and isinstance(trained_on, RowFormat):
            trained_on = trained_on.as_array()
        return cls(model, method, trained_on)

    def answer(
        self, values: FloatArray, given: ReadFrame | None = None, origin: IntArray | None = None
    ) -> FloatArray:
        """Return the answers for rows of float64, shape (n_samples, n_outputs).

        ``given`` and ``origin`` say which row of which frame each comes from.
        """
        return self.ask(self.format.rows(values, given, origin))

    def answer_with_variance(
        self, values: FloatArray, given: ReadFrame | None = None, origin: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the answers and, where ``predict`` takes ``return_std``, their variances."""
        if self.method == "predict" and "return_std" in _parameters(self.model):
            rows = self.format.rows(values, given, origin)
            apart = {"include_noise": False} if self._knows_noise() else {}
            mean, std = self.model.predict(rows, return_std=True, **apart)
            return mean.reshape(len(values), -1), std.reshape(len(values), -1) ** 2
        return self.answer(values, given, origin), None

    def noise(self, row: FloatArray) -> FloatArray | float:
        """Return the variance of the target about the model, zero where the model has none.

        Parameters
        ----------
        row : ndarray of shape (n_features,)
            Any complete row: the noise is the same everywhere.
        """
        if not self._knows_noise():
            return 0.0
        rows = self.format.rows(row[None])
        total, model = (
            self.model.predict(rows, return_std=True, include_noise=noise)[1] ** 2
            for noise in (True, False)
        )
        variance: FloatArray = np.maximum(total - model, 0.0).reshape(-1)
        return variance

    def _knows_noise(self) -> bool:
        """Whether ``predict`` can leave the noise out of the spread that it returns."""
        if self.method != "predict":
            return False
        return {"return_std", "include_noise"} <= set(_parameters(self.model))

    def ask(self, rows: object) -> FloatArray:
        """Return the answers for rows that are in the model's format already."""
        answers = getattr(self.model, self.method)(rows)
        if isinstance(answers, list):
            raise ValueError(
                f"{self.method} of {_name(self.model)} returned a list of {len(answers)} arrays "
                "(one per target); expected one array. Wrap one model per target."
            )
        columns = np.asarray(answers, dtype=np.float64)
        return columns.reshape(len(columns), -1)

    def check(
        self, row: FloatArray, given: ReadFrame | None = None, n_columns: int | None = None
    ) -> FloatArray:
        """Return the answer for one complete row as it comes, or say why there is none."""
        require_method(self.model, self.method)
        first = np.zeros(1, dtype=np.intp)
        try:
            return np.asarray(
                getattr(self.model, self.method)(self.format.rows(row[None], given, first))
            )
        except Exception as error:
            raise ValueError(
                f"{_name(self.model)}.{self.method} does not accept a complete row of the "
                f"{n_columns or len(row)} columns that the density was fitted to: {error} Give "
                "fit the columns that the model was trained on, in the same order and kind of "
                "table."
            ) from error


def require_method(model: BaseEstimator, method: str) -> None:
    """Raise where a model lacks the method, and say what would help."""
    if not hasattr(model, method):
        raise ValueError(_LACKING[method].format(name=_name(model)))


def _parameters(model: BaseEstimator) -> Any:
    """Return the parameters of ``predict``, those of the model inside a frozen one."""
    inner = model.estimator if isinstance(model, FrozenEstimator) else model
    try:
        return signature(inner.predict).parameters
    except ValueError:  # compiled functions may have no signature
        return ()


def _name(model: BaseEstimator) -> str:
    return type(model.estimator if isinstance(model, FrozenEstimator) else model).__name__


_LACKING = {
    "predict_proba": (
        "{name} has no predict_proba, and an average needs probabilities. Wrap it in "
        "sklearn.calibration.CalibratedClassifierCV (around FrozenEstimator(model) and with rows "
        "that it was not trained on, if it is fitted already)."
    ),
    "predict": "{name} has no predict: expected a fitted regressor.",
}
