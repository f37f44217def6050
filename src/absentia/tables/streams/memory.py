"""A table in memory as chunks, so that solvers treat all tables alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from absentia.engine.threads import map_on_threads, n_threads, one_blas_thread
from absentia.tables.reading import FloatArray
from absentia.tables.streams.base import Chunk, Outcome, Stream, pairwise_sum

__all__ = ["MemoryStream"]


class MemoryStream(Stream):
    """Slices of a table (or of beliefs) that is in memory and has been checked.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), or Beliefs
    y, sample_weight : ndarray or None
    chunk_rows : int, default=4096
        Rows per chunk: large enough for matrix products, small enough for the cache.
    n_jobs : int, optional
        Threads over chunks; by default as many as BLAS would use.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: FloatArray | None = None,
        *,
        chunk_rows: int = 4096,
        n_jobs: int | None = None,
    ):
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.chunk_rows = chunk_rows
        self.n_jobs = n_jobs

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    def iter_chunks(self) -> Iterator[Chunk]:
        """Cut the table into chunks, without copying."""
        for number, start in enumerate(range(0, len(self.X), self.chunk_rows)):
            rows = slice(start, start + self.chunk_rows)
            yield Chunk(
                self.X[rows],
                None if self.y is None else self.y[rows],
                None if self.sample_weight is None else self.sample_weight[rows],
                number,
            )

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
