"""What a user gave as a table: a stream, or something that is in memory."""

from __future__ import annotations

from typing import Any

from absentia.tables.streams.base import Stream

__all__ = ["as_stream"]


def as_stream(X: Any, y: Any = None, sample_weight: Any = None) -> Stream | None:
    """Return ``X`` as row blocks where it is a table in many places, None where it is not.

    Tables in many places are :class:`~absentia.Chunks`, Dask arrays and Dask data frames.
    """
    if isinstance(X, Stream):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "The targets and weights of chunks come with the chunks: let each be a tuple "
                "(X, y) or (X, y, sample_weight), and pass no y beside them."
            )
        return X
    # By name: Dask need not be installed, and is not imported, for any other table.
    if type(X).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return None
    from absentia.tables.streams.dask_stream import DaskStream

    return DaskStream.of(X, y, sample_weight)
