"""The complete table that values are removed from: as numbers, and back as it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.tables import (
    BoolArray,
    FloatArray,
    IntArray,
    TableLike,
    as_table,
    column_names,
    table_as,
)
from absentia.tables.columns.guesses import read_columns
from absentia.tables.frames import holds_numbers_only, without_cells
from absentia.tables.reading import as_frame
from absentia.tables.rows import is_constant


@dataclass(frozen=True, eq=False)
class CompleteTable:
    """A complete table as the mechanisms see it.

    Attributes
    ----------
    X : array-like or frame
        The user's own.
    shape : tuple of int
        Rows and columns of ``X``.
    numbers : ndarray of shape (n_samples, n_numbers)
        The table as numbers; a column of words has an indicator for each word.
    column_of : ndarray of int, shape (n_numbers,)
        Which column of ``X`` each column of numbers comes from.
    words : ndarray of bool, shape (n_features,)
        Which columns of ``X`` are words, of which none is larger than another.
    """

    X: Any
    shape: tuple[int, int]
    numbers: FloatArray
    column_of: IntArray
    words: BoolArray

    @classmethod
    def of(cls, X: TableLike) -> CompleteTable:
        if hasattr(X, "columns") and not holds_numbers_only(X):
            complete, missing = cls._of_frame(X)
        else:
            table = as_table(X)
            n, d = table.shape
            complete = cls(X, (n, d), table, np.arange(d), np.zeros(d, dtype=bool))
            missing = np.isnan(table)
        if missing.any():
            names = column_names(X, missing.shape[1])
            first = names[int(np.argmax(missing.any(axis=0)))]
            raise ValueError(
                f"Values are removed from a complete table, but X already has missing values "
                f"({int(missing.sum())}, the first in column {first!r}); drop those rows or fill "
                "them in first."
            )
        return complete

    @classmethod
    def _of_frame(cls, X: TableLike) -> tuple[CompleteTable, BoolArray]:
        frame = as_frame(X)
        columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
        readings = read_columns(frame)
        parts = [r.values(column) for r, column in zip(readings, columns, strict=True)]
        missing = [r.missing(column) for r, column in zip(readings, columns, strict=True)]
        widths = [part.shape[1] for part in parts]
        complete = cls(
            X,
            frame.shape,
            np.hstack(parts),
            np.repeat(np.arange(len(parts)), widths),
            np.array([reading.kind == "category" for reading in readings]),
        )
        return complete, np.column_stack(missing)

    def standard_scores(self) -> FloatArray:
        """Return how far each value lies above the mean of its column; zero for words."""
        z = np.zeros(self.shape)
        for values, j in zip(self.numbers.T, self.column_of, strict=True):
            if not (self.words[j] or is_constant(values)):
                z[:, j] = (values - values.mean()) / (values.std() or 1.0)
        return z

    def without(self, removed: BoolArray, columns: IntArray | None = None) -> Any:
        """Return the user's table without the given values, all of it or some of its columns."""
        if not hasattr(self.X, "columns") or holds_numbers_only(self.X):
            numbers = self.numbers if columns is None else self.numbers[:, columns]
            return table_as(self.X, np.where(removed, np.nan, numbers), columns)
        names = list(self.X.columns)
        names = names if columns is None else [names[j] for j in columns]
        return without_cells(self.X[names], removed)
