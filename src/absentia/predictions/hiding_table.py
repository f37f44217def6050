"""A user's table whose rows can be taken with more values missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from absentia.tables import BoolArray, FloatArray, IntArray, Rows, as_table, table_as
from absentia.tables.plan_notes import absent_names, absent_note, warn
from absentia.tables.reading import (
    as_frame,
    check_collected,
    has_columns_of_words,
    is_frame,
    native_frame,
)
from absentia.tables.stored import Stored
from absentia.tables.table import Table


@dataclass(frozen=True, eq=False)
class HidingTable(Stored, Rows):
    """A user's table whose rows can be taken with more values missing.

    ``names`` are the columns of a frame, None for an array. ``values`` are an array, also for a
    frame of polars, or a pandas frame. A value with limits is not missing in ``mask``; its limits
    are hidden with it.
    """

    names: tuple[Any, ...] | None
    values: Any
    mask: BoolArray
    lower: FloatArray | None = None
    upper: FloatArray | None = None

    def validate(self) -> None:
        """Raise ValueError unless names, values, mask and limits are about the same cells."""
        n_columns = None
        if self.names is not None:
            self._require_type("names", tuple)
            n_columns = len(self.names)
        if hasattr(self.values, "iloc"):
            if self.names != tuple(self.values.columns):
                raise ValueError("HidingTable with other names than its frame.")
        else:
            self._require_array("values", np.float64, (None, n_columns))
        shape = self.values.shape
        self._require_array("mask", bool, shape)
        for name in ("lower", "upper") if self.lower is not None else ():
            self._require_array(name, np.float64, shape)

    @classmethod
    def of(cls, X: Any) -> HidingTable:
        """Read a table; frames with words are pandas frames with their dtypes, for pipelines."""
        if isinstance(X, Table) and X.lower is not None and X.upper is not None:
            return cls(None, X.array, X.unknown, X.lower, X.upper)
        X = native_frame(X.as_given() if isinstance(X, Table) else X)
        check_collected(X, any_dask=True)
        if is_frame(X) and not hasattr(X, "iloc") and has_columns_of_words(X):
            X = as_frame(X)
        if hasattr(X, "iloc"):
            if not len(X):
                raise ValueError(
                    "Found 0 sample(s) while a minimum of 1 is required: to calibrate a model, "
                    "give rows with known targets that it was not trained on."
                )
            return cls(tuple(X.columns), X, X.isna().to_numpy())
        values = as_table(X)
        return cls(tuple(X.columns) if is_frame(X) else None, values, np.isnan(values))

    def copied(self) -> HidingTable:
        """Return rows that do not change with the user's frame, whose index is left out."""
        if not hasattr(self.values, "iloc"):
            return self
        return replace(self, values=self.values.reset_index(drop=True).copy())

    def __len__(self) -> int:
        return len(self.mask)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.mask.shape[1])

    @property
    def has_words(self) -> bool:
        """Whether this is a pandas frame with columns of anything but numbers."""
        return hasattr(self.values, "iloc") and any(
            getattr(dtype, "kind", "O") not in "biuf" for dtype in self.values.dtypes
        )

    def checked(self, estimator: BaseEstimator) -> HidingTable:
        """Return the table after checking its columns against those of training.

        Columns that a pandas frame lacks are missing in every row, with a warning. Columns of a
        frame with words are found by name, in any order, as machines do.
        """
        known = getattr(estimator, "feature_names_in_", None)
        names = None if known is None else [str(name) for name in known]
        if names and self.has_words and self.column_names not in (None, names):
            found = [name for name in names if name in self.values.columns]
            if found and found != self.column_names:
                return HidingTable.of(self.values[found]).checked(estimator)
        absent = absent_names(self.column_names, names)
        if absent and hasattr(self.values, "iloc"):
            warn(absent_note(absent))
            return HidingTable.of(self.values.reindex(columns=names)).checked(estimator)
        frame = self.values if hasattr(self.values, "iloc") else self._framed(self.values[:1])
        _check_feature_names(estimator, frame, reset=False)
        _check_n_features(estimator, self.mask, reset=False)
        return self

    def take(self, rows: IntArray, hidden: BoolArray | None = None) -> Any:
        """Return some rows with ``hidden`` (one mask per row) missing as well."""
        hidden = hidden if hidden is not None and hidden.any() else None
        if self.lower is not None and self.upper is not None:
            rows_taken = Table(self.values[rows], lower=self.lower[rows], upper=self.upper[rows])
            return rows_taken if hidden is None else rows_taken.hiding(hidden)
        if hasattr(self.values, "iloc"):
            frame = self.values.iloc[rows]
            return frame if hidden is None else frame.mask(hidden)
        taken = self.values[rows]
        if hidden is not None:
            taken = np.where(hidden, np.nan, taken)
        return self._framed(taken)

    def _framed(self, values: FloatArray) -> Any:
        """Return an array as the user's kind of table: as it is, or a frame of polars."""
        if self.names is None:
            return values
        return table_as(import_module("polars").DataFrame(schema=list(self.names)), values)
