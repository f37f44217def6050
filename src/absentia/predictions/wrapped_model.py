"""A user's model, called with the kind of table that it was trained on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from absentia.tables import FloatArray, IntArray, TableLike
from absentia.tables.stored import Stored

__all__ = ["RowFormat", "WrappedModel", "require_method"]


@dataclass(frozen=True, eq=False)
class RowFormat(Stored):
    """The kind of table that a model was trained on: array or frame, names and types of columns.

    Attributes
    ----------
    kind : {"array", "pandas", "polars"}
    names : tuple
        Of the columns of a frame, else empty.
    dtypes : tuple
        One per column of a frame; the one type of an array.
    """

    kind: str
    names: tuple[Any, ...]
    dtypes: tuple[Any, ...]

    def validate(self) -> None:
        """Raise ValueError unless there is one type per column of a frame, or one for an array."""
        known = self.kind in ("array", "pandas", "polars")
        self._require_type("names", tuple)
        self._require_type("dtypes", tuple)
        if not known or len(self.dtypes) != (1 if self.kind == "array" else len(self.names)):
            raise ValueError(f"RowFormat of {self.kind!r} with {len(self.dtypes)} types.")

    @classmethod
    def of(cls, X: TableLike, columns: IntArray | None = None) -> RowFormat:
        """Return the format of a table, or of some of its columns."""
        if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
            single = getattr(X, "dtype", None) == np.float32
            return cls("array", (), (np.dtype(np.float32 if single else np.float64),))
        names, dtypes = list(X.columns), list(X.dtypes)
        kept = range(len(names)) if columns is None else columns
        kind = "polars" if type(X).__module__.startswith("polars") else "pandas"
        return cls(kind, tuple(names[j] for j in kept), tuple(dtypes[j] for j in kept))

    def as_array(self) -> RowFormat:
        """Return the format of the same rows as a plain array."""
        return RowFormat("array", (), (np.dtype(np.float64),))

    def rows(self, values: FloatArray) -> Any:
        """Return rows of float64, NaN where missing, in this format.

        Columns of whole numbers and of booleans get the nearest value that their type can hold;
        where a value is missing they stay float64, or null in types that have one.
        """
        if self.kind == "array":
            return values.astype(self.dtypes[0], copy=False)
        if self.kind == "polars":
            return self._polars_rows(values)
        frame = sys.modules["pandas"].DataFrame(values, columns=list(self.names))
        casts = {}
        for j, (name, dtype) in enumerate(zip(self.names, self.dtypes, strict=True)):
            kind = getattr(dtype, "kind", "O")
            nullable = not isinstance(dtype, np.dtype)
            absent = np.isnan(values[:, j]) if kind in "iub" else None
            if absent is not None and (nullable or not absent.any()):
                frame[name] = _nearest(values[:, j], kind)
                casts[name] = dtype
            elif kind == "f" and dtype != np.float64:
                casts[name] = dtype
        return frame.astype(casts) if casts else frame

    def _polars_rows(self, values: FloatArray) -> Any:
        polars = sys.modules["polars"]
        frame = polars.DataFrame(values, schema=list(self.names)).fill_nan(None)
        casts = []
        for name, dtype in zip(self.names, self.dtypes, strict=True):
            column = polars.col(name)
            if dtype == polars.Boolean:
                casts.append(column.clip(0.0, 1.0).round() > 0)
            elif dtype.is_integer():
                lowest = 0.0 if dtype.is_unsigned_integer() else None
                casts.append(column.clip(lowest, None).round().cast(dtype))
            elif dtype.is_numeric():
                casts.append(column.cast(dtype))
        return frame.with_columns(casts)


def _nearest(column: FloatArray, kind: str) -> FloatArray:
    bounds = {"b": (0.0, 1.0), "u": (0.0, None), "i": (None, None)}[kind]
    rounded: FloatArray = np.round(column if bounds == (None, None) else np.clip(column, *bounds))
    return rounded


@dataclass(frozen=True, eq=False)
class WrappedModel(Stored):
    """A fitted model, how to ask it, and in what format.

    Attributes
    ----------
    model : estimator
    method : {"predict_proba", "predict"}
        What is averaged: probabilities, or numbers.
    format : RowFormat
    """

    model: Any
    method: str
    format: RowFormat

    def validate(self) -> None:
        """Raise ValueError unless the method is one of the two that are averaged."""
        self._require_type("format", RowFormat)
        if self.method not in _LACKING:
            raise ValueError(f"WrappedModel.method must predict, found {self.method!r}.")

    @classmethod
    def of(cls, model: Any, method: str, trained_on: RowFormat) -> WrappedModel:
        """Wrap a model; one that says that it was trained on a plain array gets plain arrays."""
        unnamed = hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")
        return cls(model, method, trained_on.as_array() if unnamed else trained_on)

    def answer(self, values: FloatArray) -> FloatArray:
        """Return the answers for rows of float64, shape (n_samples, n_outputs)."""
        return self.ask(self.format.rows(values))

    def answer_with_variance(self, values: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the answers and, where ``predict`` takes ``return_std``, their variances."""
        if self.method == "predict" and "return_std" in _parameters(self.model):
            mean, std = self.model.predict(self.format.rows(values), return_std=True)
            return mean.reshape(len(values), -1), std.reshape(len(values), -1) ** 2
        return self.answer(values), None

    def ask(self, rows: Any) -> FloatArray:
        """Return the answers for rows that are in the model's format already."""
        answers = getattr(self.model, self.method)(rows)
        if isinstance(answers, list):
            raise ValueError(
                f"{self.method} of {_name(self.model)} returned a list of {len(answers)} arrays "
                "(one per target); expected one array. Wrap one model per target."
            )
        columns = np.asarray(answers, dtype=np.float64)
        return columns.reshape(len(columns), -1)

    def check(self, row: FloatArray) -> FloatArray:
        """Return the answer for one complete row as it comes, or say why there is none."""
        require_method(self.model, self.method)
        try:
            return np.asarray(getattr(self.model, self.method)(self.format.rows(row[None])))
        except Exception as error:
            raise ValueError(
                f"{_name(self.model)}.{self.method} does not accept a complete row of the "
                f"{len(row)} columns that the density was fitted to: {error} Give fit the columns "
                "that the "
                "model was trained on, in the same order and kind of table."
            ) from error


def require_method(model: Any, method: str) -> None:
    """Raise where a model lacks the method, and say what would help."""
    if not hasattr(model, method):
        raise ValueError(_LACKING[method].format(name=_name(model)))


def _parameters(model: Any) -> Any:
    """Return the parameters of ``predict``, those of the model inside a frozen one."""
    inner = model.estimator if isinstance(model, FrozenEstimator) else model
    try:
        return signature(inner.predict).parameters
    except ValueError:  # compiled functions may have no signature
        return ()


def _name(model: Any) -> str:
    return type(model.estimator if isinstance(model, FrozenEstimator) else model).__name__


_LACKING = {
    "predict_proba": (
        "{name} has no predict_proba, and an average needs probabilities. Wrap it in "
        "sklearn.calibration.CalibratedClassifierCV (around FrozenEstimator(model) and with rows "
        "that it was not trained on, if it is fitted already)."
    ),
    "predict": "{name} has no predict: expected a fitted regressor.",
}
