"""Dask arrays and data frames as chunks: each partition stays where it is.

Dask is the engine: it schedules, moves small results, spills, and computes again what a lost
worker had. Only the outcome of the chunk function leaves a worker, and partial sums meet in a
tree, so neither the client nor any worker holds more than a few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np

from absentia.tables.reading import FloatArray, TableLike, as_table, check_collected
from absentia.tables.streams import Chunk, Outcome, PerRow, Stream, add


@dataclass(frozen=True, eq=False, repr=False)
class DaskStream(Stream):
    """The partitions of a Dask array, with those of its targets and weights."""

    X: da.Array
    y: da.Array | None = None
    sample_weight: da.Array | None = None
    names: list[str] | None = None

    @classmethod
    def of(cls, X: object, y: object = None, sample_weight: object = None) -> DaskStream:
        """Bring Dask arrays and frames into partitions of whole rows."""
        check_collected(X)
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        table = _as_dask_array(X, "X")
        if table.ndim != 2:
            raise ValueError(
                f"Expected a Dask array with two dimensions (rows and columns), found {table.ndim}."
            )
        if len(table.chunks[1]) > 1:
            table = table.rechunk({1: -1})
        return cls(
            table,
            None if y is None else _aligned(y, table, "y"),
            None if sample_weight is None else _aligned(sample_weight, table, "sample_weight"),
            names,
        )

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    def map_sum(self, function: Callable[..., Outcome], *shared: object) -> Outcome:
        """Return the sum over partitions of ``function(chunk, *shared)``.

        The chunk function runs where the partition is; partial sums are added two and two on the
        workers, and the client receives one of them, the total.
        """
        sent = [dask.delayed(value, pure=False, traverse=False) for value in shared]
        on_chunk = dask.delayed(_apply_to_chunk, pure=False, traverse=False)
        total = dask.delayed(add, pure=False, traverse=False)
        n_chunks = len(self.X.chunks[0])
        columns = [
            [None] * n_chunks if part is None else list(part.to_delayed().ravel())
            for part in (self.X, self.y, self.sample_weight)
        ]
        values = [
            on_chunk(function, number, *parts, *sent)
            for number, parts in enumerate(zip(*columns, strict=True))
        ]
        while len(values) > 1:
            pairs = [total(*values[i : i + 2]) for i in range(0, len(values) - 1, 2)]
            values = pairs + values[2 * len(pairs) :]
        return self._gather(values[0])

    def map_rows(self, function: Callable[[FloatArray], Any], n_columns: int | None) -> da.Array:
        """Return a lazy Dask array of what ``function`` makes of each partition."""
        of_partition = partial(_after_reading, function)
        if n_columns is None:
            outcome = np.asarray(function(np.zeros((1, self.n_features))))
            return da.map_blocks(
                of_partition, self.X, drop_axis=1, dtype=outcome.dtype, meta=outcome[:0]
            )
        return da.map_blocks(
            of_partition,
            self.X,
            chunks=(self.X.chunks[0], (n_columns,)),
            dtype=np.float64,
            meta=np.empty((0, n_columns)),
        )

    def _gather(self, value: Any) -> Any:
        """Bring one small result to this process: the only transfer of data to it."""
        return value.compute()


def _after_reading(function: Callable[[FloatArray], Any], partition: Any) -> Any:
    return function(as_table(partition, minimum_rows=0))


def _apply_to_chunk(
    function: Callable[..., Any],
    number: int,
    X: TableLike,
    y: PerRow | None,
    sample_weight: PerRow | None,
    *shared: object,
) -> Any:
    return function(Chunk.of(X, y, sample_weight, number), *shared)


def _as_dask_array(values: object, name: str) -> da.Array:
    if isinstance(values, da.Array):
        return values
    if hasattr(values, "to_dask_array"):
        return values.to_dask_array()
    raise TypeError(
        f"With a Dask table for X, {name} must be a Dask array, series or frame too, found "
        f"{type(values).__name__}: use dask.array.from_array({name}, chunks=X.chunks[0])."
    )


def _aligned(values: object, X: da.Array, name: str) -> da.Array:
    """Cut targets or weights at the rows where the table is cut."""
    array = _as_dask_array(values, name)
    rows = X.chunks[0]
    unknown = any(np.isnan(size) for size in (*rows, *array.chunks[0]))
    if unknown:
        # Lengths that are not known yet (frames) are checked chunk by chunk, when they are.
        if len(array.chunks[0]) != len(rows):
            raise ValueError(
                f"{name} has {len(array.chunks[0])} partitions and X has {len(rows)}: both must be "
                "cut at the same rows."
            )
    elif array.chunks[0] != rows:
        if sum(array.chunks[0]) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows, but {name} has {sum(array.chunks[0])}.")
        array = array.rechunk({0: rows})
    if array.ndim > 1 and len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    return array
