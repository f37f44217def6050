"""A stream that can be read again: files, or queries, whose rows do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from absentia.optional_imports import optional_import
from absentia.tables.reading import FloatArray, TableLike, column_names
from absentia.tables.streams.base import Chunk, Outcome, Stream, pairwise_sum

__all__ = ["Chunks"]


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
        return cls(_ParquetBatches([str(file) for file in files], columns, target, batch_rows))

    @property
    def n_features(self) -> int:
        """The number of columns, found by reading the first chunk."""
        return self._first_columns()[0]

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns, where the chunks are frames."""
        return self._first_columns()[1]

    def _first_columns(self) -> tuple[int, list[str] | None]:
        if self._n_features is None:
            for _ in self.iter_chunks():
                break
        if self._n_features is None:
            raise ValueError("The chunks are empty: none was found.")
        return self._n_features, self._names

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
        return Chunks(_Mapped(self, function))

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


class _ParquetBatches:
    """A fresh iterator over the batches of some Parquet files at each call."""

    def __init__(
        self, files: list[str], columns: Sequence[str] | None, target: str | None, batch_rows: int
    ):
        self.files, self.columns, self.target = files, columns, target
        self.batch_rows = batch_rows

    def __call__(self) -> Iterator[Any]:
        parquet = optional_import("pyarrow.parquet", "tables", "Reading Parquet files")
        for file in self.files:
            with parquet.ParquetFile(file) as opened:
                wanted = list(self.columns) if self.columns is not None else None
                if wanted is not None and self.target is not None:
                    wanted = [*wanted, self.target]
                for batch in opened.iter_batches(self.batch_rows, columns=wanted):
                    frame = batch.to_pandas()
                    if self.target is None:
                        yield frame
                    else:
                        yield frame.drop(columns=self.target), frame[self.target].to_numpy()


class _Mapped:
    """The chunks of another source, with a function applied to their rows."""

    def __init__(self, chunks: Chunks, function: Callable[[FloatArray], Any]):
        self.chunks, self.function = chunks, function

    def __call__(self) -> Iterator[Any]:
        for chunk in self.chunks.iter_chunks():
            rows = self.function(chunk.X)
            if chunk.y is None:
                yield rows
            else:
                yield (
                    (rows, chunk.y)
                    if chunk.sample_weight is None
                    else (rows, chunk.y, chunk.sample_weight)
                )
