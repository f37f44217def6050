"""What every source of rows has in common: a table, a stream, beliefs.

Estimators open what a user gave once, at the door (:func:`absentia.tables.open_rows`). Behind it
everything takes one of these values, and calls its methods instead of checking its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from absentia.tables.reading import BoolArray, FloatArray, IntArray

__all__ = ["Learned", "MemoryRows", "RowIndex", "Rows", "set_fitted"]

Outcome = TypeVar("Outcome")

#: What a fit has learned: fitted attributes by name.
Learned = dict[str, Any]
#: Which rows, as NumPy's indices say it.
RowIndex = int | slice | IntArray | BoolArray


class Rows(ABC):
    """Rows with a known number of columns, and names of the columns where they have any."""

    #: Whether all rows are in memory; if not, they come chunk by chunk.
    in_memory: ClassVar[bool] = True

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns, where they have names that are text."""
        return None

    @property
    def labels(self) -> list[str]:
        """What to call the columns in a message: their names, else ``x0``, ``x1``..."""
        return self.column_names or [f"x{j}" for j in range(self.n_features)]

    def column_attributes(self) -> dict[str, object]:
        """Return ``n_features_in_`` and, where columns have names, ``feature_names_in_``."""
        attributes: Learned = {"n_features_in_": self.n_features}
        if self.column_names is not None:
            attributes["feature_names_in_"] = np.asarray(self.column_names, dtype=object)
        return attributes

    @abstractmethod
    def checked(self, estimator: BaseEstimator) -> Self:
        """Return the rows after checking their columns against those an estimator knows."""

    def behind_plan(self) -> Self:
        """Return the rows as densities see them, the columns of a plan as their own."""
        return self


class MemoryRows(Rows):
    """Rows that are all in memory: a table, or beliefs."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def __getitem__(self, rows: RowIndex) -> Self:
        """Return some of the rows."""

    @property
    @abstractmethod
    def mask(self) -> BoolArray:
        """Which values are missing, shape (n_samples, n_features)."""

    def missing_rates(self) -> FloatArray:
        """Return the fraction of rows that miss each column, shape (n_features,)."""
        return self.mask.mean(axis=0)

    def map_rows(self, function: Callable[[Self], Outcome], n_columns: int | None) -> Outcome:
        """Return what ``function`` makes of the rows, at once; streams do it chunk by chunk."""
        return function(self)

    def some_rows(self, size: int, rng: np.random.RandomState) -> Self:
        """Return the rows themselves: a sample is for streams, which are never held whole."""
        return self


def set_fitted(estimator: BaseEstimator, rows: Rows, attributes: Mapping[str, object]) -> None:
    """Give an estimator what it has learned, all at once: the last step of ``fit``.

    What an earlier fit has left goes in the same step, which no interruption can cut in two: an
    estimator is as it was before ``fit``, or as ``fit`` leaves it.

    Parameters
    ----------
    estimator : estimator
    rows : Rows
        What it was fitted to, for the number and the names of the columns.
    attributes : mapping from name to value
    """
    lasting = {name: value for name, value in vars(estimator).items() if name[-1] != "_"}
    estimator.__dict__ = lasting | rows.column_attributes() | dict(attributes)
