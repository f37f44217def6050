"""Calibration rows made comparable with a test row, by hiding values in both.

A conformal region compares a test row with calibration rows. With missing values the comparison is
fair only between rows that miss the same columns, and under values missing completely at random any
row can be made to miss more. For a test row that misses ``m`` and calibration rows that miss
``M_k``, the methods of Zaffran et al. (2023, 2024) are

- *exact*: rows with ``M_k`` contained in ``m``; ``m`` is hidden in them;
- *nested*: all rows; the union of ``M_k`` and ``m`` is hidden in row ``k``, and in the test row
  when it is compared with row ``k``;
- *nested\\**: as nested, with those rows only whose ``M_k`` hides little more than ``m`` does.

Nothing is hidden for plain split and cross conformal prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from absentia.missingness import Patterns
from absentia.predictions.conformal_scores import Fitted
from absentia.tables import BoolArray, FloatArray, IntArray, Rows, as_table, table_as
from absentia.tables.kept_frames import KeptFrame
from absentia.tables.plan_notes import absent_names, warn_of_absent_columns
from absentia.tables.reading import check_collected, has_columns_of_words, is_frame
from absentia.tables.stored import Stored
from absentia.tables.table import Table

__all__ = ["Answer", "Calibration", "Comparison", "HidingTable", "KeptTable", "rank_of_quantile"]

#: From a fitted model and rows to what scores are computed from, (n_samples, width).
Answer = Callable[[Fitted, Any], FloatArray]

#: At most this many rows go through a model at once.
_BATCH = 20_000


def rank_of_quantile(coverage: float, n: int) -> int:
    """Return ``ceil(coverage (n + 1))``: which of n ordered scores bounds a region.

    Beyond ``n`` there are too few rows for the coverage asked for.

    Examples
    --------
    >>> rank_of_quantile(0.9, 9), rank_of_quantile(0.9, 8)
    (9, 9)
    """
    # The room for rounding leaves nothing of a coverage near zero.
    return max(1, int(np.ceil(coverage * (n + 1) - 1e-9)))


@dataclass(frozen=True, eq=False)
class HidingTable(Stored, Rows):
    """A user's table whose rows can be had with more values missing.

    Attributes
    ----------
    kind : frame or None
        The frame that the user passed, whose kind every table of hidden rows has.
    values : ndarray of shape (n_samples, n_features), or a pandas frame
    mask : ndarray of bool, shape (n_samples, n_features)
    """

    kind: Any
    values: Any
    mask: BoolArray

    def validate(self) -> None:
        """Raise ValueError unless the mask is about the values."""
        self._require_array("mask", bool, self.values.shape)

    @classmethod
    def of(cls, X: Any) -> HidingTable:
        """Read a table; a pandas frame keeps its dtypes, so that pipelines with text work."""
        if isinstance(X, Table) and X.lower is not None and X.upper is not None:
            return LimitedHidingTable(None, X.array, X.unknown, X.lower, X.upper)
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
        """Return the same rows in a form that a fitted model can keep, and write to a file."""
        if self.kind is None:
            return self
        names = tuple(self.kind.columns)
        if hasattr(self.values, "iloc"):
            return KeptTable("pandas", names, KeptFrame.of(self.values), self.mask)
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
        """Whether this is a frame with columns of anything but numbers."""
        return hasattr(self.values, "iloc") and any(
            getattr(dtype, "kind", "O") not in "biuf" for dtype in self.values.dtypes
        )

    def checked(self, estimator: BaseEstimator) -> HidingTable:
        """Return the table after checking its columns against those of training.

        A pandas frame that lacks some of them has them missing in every row, with a warning. In a
        frame with columns of words columns are found by name, in any order, as machines do.
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
        if hasattr(self.values, "iloc"):
            frame = self.values.iloc[rows]
            return frame if hidden is None else frame.mask(hidden)
        taken = self.values[rows]
        if hidden is not None:
            taken = np.where(hidden, np.nan, taken)
        return table_as(self.kind, taken)


@dataclass(frozen=True, eq=False)
class KeptTable(Stored):
    """A frame with rows to hide in, kept as arrays.

    Attributes
    ----------
    library : {"pandas", "polars"}
    names : tuple
        The names of the columns.
    values : KeptFrame, or ndarray of shape (n_samples, n_features) for polars
    mask : ndarray of bool, shape (n_samples, n_features)
    """

    library: str
    names: tuple[Any, ...]
    values: KeptFrame | FloatArray
    mask: BoolArray

    def validate(self) -> None:
        """Raise ValueError unless names, values and mask are about the same columns."""
        self._require_type("names", tuple)
        if self.library == "pandas":
            self._require_type("values", KeptFrame)
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
        if isinstance(self.values, KeptFrame):
            frame = self.values.frame()
            return HidingTable(frame, frame, self.mask)
        polars = import_module("polars")
        return HidingTable(polars.DataFrame(schema=list(self.names)), self.values, self.mask)


@dataclass(frozen=True, eq=False)
class LimitedHidingTable(HidingTable):
    """A table in which limits of some values are known, see :func:`absentia.bounded`.

    A value with limits is no missing one: ``mask`` is False there. Where it is hidden, its limits
    are hidden too.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_samples, n_features)
    """

    lower: FloatArray
    upper: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless mask and limits are about the values."""
        super().validate()
        self._require_array("lower", np.float64, self.values.shape)
        self._require_array("upper", np.float64, self.values.shape)

    def take(self, rows: IntArray, hidden: BoolArray | None = None) -> Table:
        """Return some rows with ``hidden`` (one mask per row) missing as well."""
        taken = Table(self.values[rows], lower=self.lower[rows], upper=self.upper[rows])
        return taken if hidden is None else taken.hiding(hidden)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Test rows beside the calibration rows that they are compared with.

    Attributes
    ----------
    rows : ndarray of int
        Which test rows.
    kept : ndarray of int
        Which calibration rows.
    calibration : ndarray of shape (n_kept, width)
        The model's answers for them, with what was to be hidden hidden.
    distinct : ndarray of shape (n_rows, n_distinct, width)
        Its answers for the test rows, once for each distinct model and mask.
    which : ndarray of int, shape (n_kept,)
        ``distinct[:, which]`` are the answers beside each calibration row.
    """

    rows: IntArray
    kept: IntArray
    calibration: FloatArray
    distinct: FloatArray
    which: IntArray


@dataclass(frozen=True, eq=False)
class Calibration(Stored):
    """Rows that a model did not learn from, and how to compare new rows with them.

    Attributes
    ----------
    table : HidingTable or KeptTable
    models : tuple of Fitted
        One model, or one per fold.
    model_of_row : ndarray of int
        Which model did not learn from each row.
    """

    table: HidingTable | KeptTable
    models: tuple[Fitted, ...]
    model_of_row: IntArray

    def validate(self) -> None:
        """Raise ValueError unless every row of the table has one of the models."""
        if not isinstance(self.table, HidingTable | KeptTable):
            raise ValueError(f"Calibration with a {type(self.table).__name__} for rows.")
        self._require_array("model_of_row", np.intp, (len(self.table),))
        self._require_indices("model_of_row", len(self.models))

    def __len__(self) -> int:
        return len(self.table)

    def compare(
        self, new: HidingTable, method: str, subsample: int, answer: Answer
    ) -> Iterator[Comparison]:
        """Yield comparisons that together have every new row once."""
        everything, known = np.arange(len(self)), self.table.opened()
        if method in ("split", "cross"):
            calibration = self._answers(known, everything, self.model_of_row, None, answer)
            models, which = np.unique(self.model_of_row, return_inverse=True)
            for start in range(0, len(new), _BATCH):
                rows = np.arange(start, min(start + _BATCH, len(new)))
                found = [answer(self.models[model], new.take(rows)) for model in models]
                yield Comparison(rows, everything, calibration, np.stack(found, axis=1), which)
            return
        patterns = Patterns.of_mask(new.mask)
        for mask, rows in zip(patterns.masks, patterns.rows_by_pattern(), strict=True):
            kept = self._comparable(mask, method, subsample)
            if not len(kept):
                nothing = np.empty((len(rows), 0, 0))
                yield Comparison(rows, kept, nothing[0], nothing, kept)
                continue
            hidden = known.mask[kept] | mask
            models = self.model_of_row[kept]
            calibration = self._answers(known, kept, models, hidden, answer)
            keys = np.column_stack([models, hidden])
            distinct, which = np.unique(keys, axis=0, return_inverse=True)
            which, n_distinct = which.reshape(-1), len(distinct)
            for part in np.array_split(rows, -(-len(rows) * n_distinct // _BATCH)):
                answers = self._answers(
                    new,
                    np.repeat(part, n_distinct),
                    np.tile(distinct[:, 0], len(part)),
                    np.tile(distinct[:, 1:].astype(bool), (len(part), 1)),
                    answer,
                )
                shaped = answers.reshape(len(part), n_distinct, -1)
                yield Comparison(part, kept, calibration, shaped, which)

    def _comparable(self, mask: BoolArray, method: str, subsample: int) -> IntArray:
        """Return the calibration rows that a test row of this mask is compared with."""
        # How many values of the test row would have to be hidden besides.
        excess = (self.table.mask & ~mask).sum(axis=1)
        most = 0 if method == "exact" else mask.size
        if method == "nested*" and subsample < len(excess):
            most = int(np.partition(excess, subsample - 1)[subsample - 1])
        return np.flatnonzero(excess <= most)

    def _answers(
        self,
        table: HidingTable,
        rows: IntArray,
        models: IntArray,
        hidden: BoolArray | None,
        answer: Answer,
    ) -> FloatArray:
        """Return the answer of each row's model, in batches."""
        parts, order = [], []
        for model in np.unique(models):
            mine = np.flatnonzero(models == model)
            for start in range(0, len(mine), _BATCH):
                batch = mine[start : start + _BATCH]
                masks = None if hidden is None else hidden[batch]
                parts.append(answer(self.models[model], table.take(rows[batch], masks)))
                order.append(batch)
        answers: FloatArray = np.concatenate(parts)[np.argsort(np.concatenate(order))]
        return answers
