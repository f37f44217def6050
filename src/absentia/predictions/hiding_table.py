"""A user's table whose rows can be taken with more values missing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from absentia.tables import BoolArray, FloatArray, IntArray, Rows, as_table, table_as
from absentia.tables.plan_notes import absent_names, warn_of_absent_columns
from absentia.tables.reading import check_collected, has_columns_of_words, is_frame
from absentia.tables.stored import Stored
from absentia.tables.stored_frames import StoredFrame
from absentia.tables.table import Table


@dataclass(frozen=True, eq=False)
class HidingTable(Stored, Rows):
    """A user's table whose rows can be taken with more values missing.

    Attributes
    ----------
    kind : frame or None
        The frame that the user passed, whose kind every table of hidden rows has.
    values : ndarray of shape (n_samples, n_features), or a pandas frame
    mask : ndarray of bool, shape (n_samples, n_features)
        The missing values; one with limits is not missing.
    lower, upper : ndarray of shape (n_samples, n_features) or None
        Limits of values, see :func:`absentia.bounded`; they are hidden with the value.
    """

    kind: Any
    values: Any
    mask: BoolArray
    lower: FloatArray | None = None
    upper: FloatArray | None = None

    def validate(self) -> None:
        """Raise ValueError unless mask and limits have the shape of the values."""
        self._require_array("mask", bool, self.values.shape)
        for name in ("lower", "upper") if self.lower is not None else ():
            self._require_array(name, np.float64, self.values.shape)

    @classmethod
    def of(cls, X: Any) -> HidingTable:
        """Read a table; a pandas frame keeps its dtypes, so that pipelines with text work."""
        if isinstance(X, Table) and X.lower is not None and X.upper is not None:
            return cls(None, X.array, X.unknown, X.lower, X.upper)
        X = X.as_given() if isinstance(X, Table) else X
        check_collected(X, any_dask=True)
        if hasattr(X, "iloc"):
            if not len(X):
                raise ValueError(
                    "Found 0 sample(s) while a minimum of 1 is required: to calibrate a model, "
                    "give rows with known targets that it was not trained on."
                )
            return cls(X, X, X.isna().to_numpy())
        if is_frame(X) and has_columns_of_words(X):
            raise ValueError(
                "A conformal predictor accepts frames with columns of words only from pandas: pass "
                "X.to_pandas(), or put absentia.TableEncoder before the model."
            )
        values = as_table(X)
        return cls(X if is_frame(X) else None, values, np.isnan(values))

    def kept(self) -> HidingTable | KeptTable:
        """Return the rows in a form that a model file can store."""
        if self.kind is None:
            return self
        names = tuple(self.kind.columns)
        if hasattr(self.values, "iloc"):
            return KeptTable("pandas", names, StoredFrame.of(self.values), self.mask)
        return KeptTable("polars", names, self.values, self.mask)

    def opened(self) -> HidingTable:
        """Return the table itself."""
        return self

    def __len__(self) -> int:
        return len(self.mask)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.mask.shape[1])

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns of a frame."""
        names = [] if self.kind is None else list(self.kind.columns)
        return names if names and all(isinstance(name, str) for name in names) else None

    @property
    def _has_words(self) -> bool:
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
        if names and self._has_words and self.column_names not in (None, names):
            found = [name for name in names if name in self.values.columns]
            if found and found != self.column_names:
                return HidingTable.of(self.values[found]).checked(estimator)
        absent = absent_names(self.column_names, names)
        if absent and hasattr(self.values, "iloc"):
            warn_of_absent_columns(absent)
            return HidingTable.of(self.values.reindex(columns=names)).checked(estimator)
        named = self.values if self.kind is None else self.kind
        _check_feature_names(estimator, named, reset=False)
        _check_n_features(estimator, self.mask, reset=False)
        return self

    def take(self, rows: IntArray, hidden: BoolArray | None = None) -> Any:
        """Return some rows with ``hidden`` (one mask per row) missing as well."""
        if self.lower is not None and self.upper is not None:
            rows_taken = Table(self.values[rows], lower=self.lower[rows], upper=self.upper[rows])
            return rows_taken if hidden is None else rows_taken.hiding(hidden)
        if hasattr(self.values, "iloc"):
            frame = self.values.iloc[rows]
            return frame if hidden is None else frame.mask(hidden)
        taken = self.values[rows]
        if hidden is not None:
            taken = np.where(hidden, np.nan, taken)
        return table_as(self.kind, taken)


@dataclass(frozen=True, eq=False)
class KeptTable(Stored):
    """A :class:`HidingTable` of a frame, stored as arrays.

    Attributes
    ----------
    library : {"pandas", "polars"}
    names : tuple
        The names of the columns.
    values : StoredFrame, or ndarray of shape (n_samples, n_features) for polars
    mask : ndarray of bool, shape (n_samples, n_features)
    """

    library: str
    names: tuple[Any, ...]
    values: StoredFrame | FloatArray
    mask: BoolArray

    def validate(self) -> None:
        """Raise ValueError unless names, values and mask are about the same columns."""
        self._require_type("names", tuple)
        if self.library == "pandas":
            self._require_type("values", StoredFrame)
            self.values.validate()  # type: ignore[union-attr]
            n_rows = {len(column) for column in self.values.columns}  # type: ignore[union-attr]
            self._require_array("mask", bool, (*n_rows, len(self.names)))
        elif self.library == "polars":
            self._require_array("values", np.float64, (None, len(self.names)))
            self._require_array("mask", bool, self.values.shape)  # type: ignore[union-attr]
        else:
            raise ValueError(f"KeptTable of {self.library!r}.")

    def __len__(self) -> int:
        return len(self.mask)

    def opened(self) -> HidingTable:
        """Return the table as it was when the model was fitted, the index of a frame apart."""
        if isinstance(self.values, StoredFrame):
            frame = self.values.frame()
            return HidingTable(frame, frame, self.mask)
        polars = import_module("polars")
        return HidingTable(polars.DataFrame(schema=list(self.names)), self.values, self.mask)
