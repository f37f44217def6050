"""What an out-of-core or distributed table can do: apply a function to each chunk, and add up.

The sum is taken over neighbours in the order of the chunks, two and two, so it does not depend on
which chunk was finished first: a fit gives the same bits on one worker and on ten.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from absentia.tables.reading import FloatArray, TableLike, as_table
from absentia.tables.row_weights import huge_weights_refused
from absentia.tables.rows import Rows
from absentia.tables.table import Table

__all__ = [
    "Chunk",
    "Stream",
    "add",
    "pairwise_sum",
    "sample_rows",
]

#: Whatever a function makes of a chunk; it can be added.
Outcome = TypeVar("Outcome")
#: One value per row of a chunk: an array, a list, or a series of a frame.
Column = Sequence[object] | np.ndarray


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table, with what belongs to them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), or None
    sample_weight : ndarray of shape (n_rows,), or None
    number : int
        Which chunk of the table this is, from 0.
    """

    X: FloatArray
    y: np.ndarray | None = None
    sample_weight: FloatArray | None = None
    number: int = 0

    @classmethod
    def of(
        cls,
        X: TableLike,
        y: Column | None = None,
        sample_weight: Column | None = None,
        number: int = 0,
    ) -> Chunk:
        """Check the rows of a chunk, whatever kind of table they came as."""
        if isinstance(X, Table) and X.lower is not None:
            raise ValueError(
                f"Chunk {number} has limits of missing values, which only tables in memory can "
                "have. Load the rows into one table, or leave such values missing."
            )
        table = as_table(X, minimum_rows=0)
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and len(values) != len(table):
                raise ValueError(
                    f"Chunk {number} has {len(table)} rows of X but {len(values)} of {name}: the "
                    "chunks of both must be cut at the same rows."
                )
        with huge_weights_refused():
            weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return cls(table, None if y is None else np.asarray(y), weights, number)

    def slices(self, n_rows: int) -> Iterator[Chunk]:
        """Cut the chunk into smaller ones, for work that needs much memory per row."""
        for start in range(0, max(1, len(self.X)), n_rows):
            rows = slice(start, start + n_rows)
            yield Chunk(
                self.X[rows],
                None if self.y is None else self.y[rows],
                None if self.sample_weight is None else self.sample_weight[rows],
                self.number,
            )


class Stream(Rows):
    """A table that is visited chunk by chunk, as often as needed, and never held whole."""

    in_memory = False

    def checked(self, estimator: BaseEstimator) -> Self:
        """Return the stream after checking its columns against those of training."""
        if self.n_features != estimator.n_features_in_:
            raise ValueError(
                f"X has {self.n_features} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None and self.column_names not in (None, list(names)):
            raise ValueError(
                "The feature names should match those that were passed during fit, found "
                f"{self.column_names} where {list(names)} was expected."
            )
        return self

    @abstractmethod
    def map_sum(self, function: Callable[..., Outcome], *shared: object) -> Outcome:
        """Return the sum over chunks of ``function(chunk, *shared)``: one pass over the data.

        What the function returns is an array, a number, a tuple of such, or anything with ``+``.
        It should be small, since it is transferred; the rows are not.
        """

    @abstractmethod
    def map_rows(self, function: Callable[[FloatArray], Any], n_columns: int | None) -> Any:
        """Return, lazily, the table that ``function`` makes of the rows, in the source's own kind.

        ``n_columns=None`` means that the function returns one value per row.
        """

    def some_rows(self, size: int, rng: np.random.RandomState) -> FloatArray:
        """Return at most ``size`` rows at random, as :func:`sample_rows` does."""
        return sample_rows(self, size, rng)[0]


def add(left: Any, right: Any) -> Any:
    """Add two outcomes of a chunk function; tuples item by item."""
    if isinstance(left, tuple):
        return type(left)(map(add, left, right))
    return left + right


def pairwise_sum(values: Iterable[Outcome]) -> Outcome:
    """Sum neighbours two and two, then their sums, holding one value per level.

    As :func:`absentia.tables.streams.dask_stream.DaskStream.map_sum` does on many machines, so that
    both round alike.
    """
    waiting: list[tuple[int, Outcome]] = []
    for value in values:
        level = 0
        while waiting and waiting[-1][0] == level:
            value = add(waiting.pop()[1], value)
            level += 1
        waiting.append((level, value))
    if not waiting:
        raise ValueError("The table has no chunks at all: there is nothing to learn from.")
    total = waiting.pop()[1]
    while waiting:
        total = add(waiting.pop()[1], total)
    return total


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows with the smallest random keys: the sum of two samples is a sample of both."""

    keys: FloatArray
    rows: FloatArray
    weights: FloatArray | None
    size: int

    def __add__(self, other: RowSample) -> RowSample:
        keys = np.concatenate([self.keys, other.keys])
        rows = np.concatenate([self.rows, other.rows])
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = np.concatenate([self.weights, other.weights])
        return RowSample(keys, rows, weights, self.size).smallest()

    def smallest(self) -> RowSample:
        """Return the rows that stay in the sample."""
        if len(self.keys) <= self.size:
            return self
        kept = np.sort(np.argsort(self.keys, kind="stable")[: self.size])
        weights = None if self.weights is None else self.weights[kept]
        return RowSample(self.keys[kept], self.rows[kept], weights, self.size)


def sample_rows(
    chunks: Stream, size: int, rng: np.random.RandomState
) -> tuple[FloatArray, FloatArray | None]:
    """Return ``size`` rows at random without replacement (all, if there are no more), in order.

    And their weights, where they have any. One pass over the data. Every row gets a random key
    that depends on the seed and on where the row stands; the rows with the smallest keys are the
    sample, wherever they are.
    """
    sample: RowSample = chunks.map_sum(_smallest_keys, size, int(rng.randint(2**31 - 1)))
    return sample.rows, sample.weights


def _smallest_keys(chunk: Chunk, size: int, seed: int) -> RowSample:
    keys = np.random.default_rng([seed, chunk.number]).random(len(chunk.X))
    return RowSample(keys, chunk.X, chunk.sample_weight, size).smallest()
