"""Out-of-core tables: files larger than memory, and tables in memory cut into chunks.

Everything that is learned from such a table is a sum over its chunks (the statistics of an EM
step, the normal equations of a ridge regression, the gradient of a loss), so a table need only
implement :meth:`Stream.map_sum`. The sum is taken over neighbours in the order of the chunks, two
and two, so it does not depend on which chunk was finished first: a fit gives the same bits on one
worker and on ten.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_n_features

from absentia.engine.threads import map_on_threads, n_threads, one_blas_thread
from absentia.optional_imports import optional_import
from absentia.tables.reading import FloatArray, TableLike, as_table, column_names
from absentia.tables.rows import Rows, row_weights
from absentia.tables.table import Table

__all__ = ["Chunks"]

#: Whatever a function makes of a chunk; it can be added.
Outcome = TypeVar("Outcome")
#: One value per row of a chunk: an array, a list, or a series of a frame.
PerRow = Sequence[object] | np.ndarray


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table, with their targets and weights."""

    X: FloatArray
    y: np.ndarray | None = None
    sample_weight: FloatArray | None = None
    number: int = 0

    @classmethod
    def of(
        cls,
        X: TableLike,
        y: PerRow | None = None,
        sample_weight: PerRow | None = None,
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
        weights = row_weights(sample_weight, len(table), all_zero=True)
        return cls(table, None if y is None else np.asarray(y), weights, number)

    def slices(self, n_rows: int) -> Iterator[Chunk]:
        """Cut the chunk into smaller ones, for work that needs much memory per row."""
        for start in range(0, max(1, len(self.X)), n_rows):
            yield _cut(self, slice(start, start + n_rows), self.number)


def _cut(source: Chunk | MemoryStream, rows: slice, number: int) -> Chunk:
    y = None if source.y is None else source.y[rows]
    weights = None if source.sample_weight is None else source.sample_weight[rows]
    return Chunk(source.X[rows], y, weights, number)


class Stream(Rows):
    """A table that is visited chunk by chunk, as often as needed, and never held whole."""

    in_memory = False

    def checked(self, estimator: BaseEstimator) -> Self:
        """Return the stream after checking its columns against those of training."""
        _check_n_features(estimator, np.empty((0, self.n_features)), reset=False)
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

    As :func:`absentia.tables.dask_stream.DaskStream.map_sum` does on many machines, so that
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
        pairs = [(self.keys, other.keys), (self.rows, other.rows), (self.weights, other.weights)]
        parts: Any = [None if a is None or b is None else np.concatenate([a, b]) for a, b in pairs]
        return RowSample(parts[0], parts[1], parts[2], self.size).smallest()

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


@dataclass(frozen=True, eq=False, repr=False)
class MemoryStream(Stream):
    """Slices of a table (or of beliefs) that is in memory and has been checked.

    The number of rows per chunk is large enough for matrix products and small enough for the cache.
    ``n_jobs`` threads work on chunks, by default as many as BLAS would use.
    """

    X: Any
    y: Any = None
    sample_weight: FloatArray | None = None
    chunk_rows: int = field(default=4096, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    def iter_chunks(self) -> Iterator[Chunk]:
        """Cut the table into chunks, without copying."""
        for number, start in enumerate(range(0, len(self.X), self.chunk_rows)):
            yield _cut(self, slice(start, start + self.chunk_rows), number)

    def map_sum(self, function: Callable[..., Outcome], *shared: object) -> Outcome:
        """Return the sum over chunks of ``function(chunk, *shared)``, on threads where it pays."""
        threads = min(n_threads(self.n_jobs), -(-len(self.X) // self.chunk_rows))
        if threads == 1:
            return pairwise_sum(function(chunk, *shared) for chunk in self.iter_chunks())
        with one_blas_thread():
            return pairwise_sum(
                map_on_threads(lambda chunk: function(chunk, *shared), self.iter_chunks(), threads)
            )

    def map_rows(self, function: Callable[[FloatArray], Any], n_columns: int | None) -> Any:
        """Return what ``function`` makes of the rows, at once."""
        return np.concatenate([function(chunk.X) for chunk in self.iter_chunks()])


class Chunks(Stream):
    """A table in pieces that are read one at a time, as often as a fit needs them.

    Pass it as ``X`` to the ``fit`` of densities, features and large-scale machines. Memory
    is that of one chunk; each step of EM or of a solver is one pass over the chunks.

    Parameters
    ----------
    source : callable or sequence
        A function without arguments that returns a fresh iterator over chunks, called once for
        each pass; or a list of chunks. A chunk is a table (array or frame), or a tuple
        ``(X, y)`` or ``(X, y, sample_weight)``.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import Chunks, GaussianDensity
    >>> def days():
    ...     for day in range(3):
    ...         rng = np.random.default_rng(day)
    ...         X = rng.standard_normal((500, 2)) @ [[2.0, 1.0], [0.0, 1.0]]
    ...         X[rng.random(X.shape) < 0.2] = np.nan
    ...         yield X
    >>> GaussianDensity().fit(Chunks(days)).covariance_.round(0)
    array([[4., 2.],
           [2., 2.]])
    """

    def __init__(self, source: Callable[[], Iterable[Any]] | Sequence[Any]):
        again = hasattr(source, "__len__") and not isinstance(source, Iterator)
        if not callable(source) and not (again and len(source)):
            raise TypeError(
                "Chunks are read many times, once per pass, so an iterator that can be read only "
                f"once (or an empty list) is not enough; found {type(source).__name__}. Give a "
                "function that starts a fresh iterator: Chunks(lambda: read_all_files(paths))."
            )
        self.source = source
        self._n_features: int | None = None
        self._names: list[str] | None = None

    @classmethod
    def from_parquet(
        cls,
        paths: str | Path | Sequence[str | Path],
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        batch_rows: int = 65536,
    ) -> Chunks:
        """Read Parquet files in batches of rows (needs ``pyarrow``).

        Parameters
        ----------
        paths : path or list of paths
            Files that have the same columns.
        columns : list of str, optional
            The columns of ``X``; by default all but the target.
        target : str, optional
            The column that becomes ``y``.
        batch_rows : int, default=65536
            The largest number of rows per chunk.

        Returns
        -------
        Chunks
        """
        files = [paths] if isinstance(paths, str | Path) else list(paths)
        if not files:
            raise ValueError("Expected the path of at least one Parquet file, found none.")
        names = [str(file) for file in files]
        return cls(partial(_parquet_batches, names, columns, target, batch_rows))

    @property
    def n_features(self) -> int:
        """The number of columns, found by reading the first chunk."""
        return self._first_columns()[0]

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns, where the chunks are frames."""
        return self._first_columns()[1]

    def _first_columns(self) -> tuple[int, list[str] | None]:
        if self._n_features is None and next(self.iter_chunks(), None) is None:
            raise ValueError("The chunks are empty: none was found.")
        return int(self._n_features or 0), self._names

    def iter_chunks(self) -> Iterator[Chunk]:
        """Read the chunks, one after the other, each checked."""
        chunks = self.source() if callable(self.source) else self.source
        for number, chunk in enumerate(chunks):
            parts = chunk if isinstance(chunk, tuple) else (chunk,)
            if not 1 <= len(parts) <= 3:
                raise ValueError(
                    f"A chunk must be X, (X, y) or (X, y, sample_weight), found a tuple of "
                    f"{len(parts)}."
                )
            X, y, sample_weight = (*parts, None, None)[:3]
            checked = Chunk.of(X, y, sample_weight, number)
            self._check_columns(X, checked)
            yield checked

    def map_sum(self, function: Callable[..., Outcome], *shared: object) -> Outcome:
        """Return the sum over chunks of ``function(chunk, *shared)``; one pass, one at a time."""
        return pairwise_sum(function(chunk, *shared) for chunk in self.iter_chunks())

    def map_rows(self, function: Callable[[FloatArray], Any], n_columns: int | None) -> Chunks:
        """Return chunks whose rows are what ``function`` makes of these; targets stay with them."""
        return Chunks(partial(_mapped, self, function))

    def concatenate(self) -> Any:
        """Return all chunks as one array: for predictions and other small outcomes."""
        chunks = self.source() if callable(self.source) else self.source
        return np.concatenate([c[0] if isinstance(c, tuple) else c for c in chunks])

    def _check_columns(self, X: TableLike, chunk: Chunk) -> None:
        names = column_names(X, chunk.X.shape[1]) if hasattr(X, "columns") else None
        if self._n_features is None:
            self._n_features, self._names = chunk.X.shape[1], names
        elif chunk.X.shape[1] != self._n_features or names != self._names:
            raise ValueError(
                f"All chunks must have the same columns, but chunk {chunk.number} has "
                f"{names or chunk.X.shape[1]} where the first had "
                f"{self._names or self._n_features}."
            )


def _parquet_batches(
    files: list[str], columns: Sequence[str] | None, target: str | None, batch_rows: int
) -> Iterator[Any]:
    parquet = optional_import("pyarrow.parquet", "tables", "Reading Parquet files")
    wanted = None if columns is None else [*columns, *([] if target is None else [target])]
    for file in files:
        with parquet.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_rows, columns=wanted):
                frame = batch.to_pandas()
                if target is None:
                    yield frame
                else:
                    yield frame.drop(columns=target), frame[target].to_numpy()


def _mapped(chunks: Chunks, function: Callable[[FloatArray], Any]) -> Iterator[Any]:
    for chunk in chunks.iter_chunks():
        rows = function(chunk.X)
        more = [part for part in (chunk.y, chunk.sample_weight) if part is not None]
        yield (rows, *more) if more else rows
