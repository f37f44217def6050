"""Entry point of estimators: a user's rows become a :class:`Table`, beliefs or a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from absentia.tables.column_plan import ColumnPlan
from absentia.tables.reading import (
    TableLike,
    as_table,
    densified,
    from_arrow,
    has_columns_of_words,
    is_frame,
)
from absentia.tables.rows import MemoryRows, Rows
from absentia.tables.streams import Stream
from absentia.tables.table import Table

#: Encoding of columns of words in a frame; None refuses them.
WordsAs = Literal["codes", "indicators"] | None


def open_rows(
    X: TableLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    words: WordsAs = None,
) -> Table | Stream | MemoryRows:
    """Return what a user gave as a :class:`Table`, a stream or (as they are) beliefs.

    Streams are :class:`~absentia.Chunks`, Dask arrays and Dask data frames; ``y`` and
    ``sample_weight`` of a Dask table go with it, chunks bring their own. Columns of words in a
    frame become codes of categories or indicator columns (``words``), by a plan that is made of the
    training frame; by default they are refused. What was opened before comes back as it is.
    """
    if isinstance(X, Stream):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "The targets and weights of chunks come with the chunks: make each a tuple "
                "(X, y) or (X, y, sample_weight), and pass no separate y."
            )
        return X
    # By name: Dask need not be installed, and is not imported, for any other table.
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from absentia.tables.dask_stream import DaskStream

        return DaskStream.of(X, y, sample_weight)
    return open_memory(X, y, words=words)


def open_memory(
    X: TableLike, y: Any = None, *, words: WordsAs = None, sparse: bool = False
) -> MemoryRows:
    """Return what a user gave as rows that are all in memory: a :class:`Table`, or beliefs.

    ``y`` are the targets, by which columns of many categories are encoded; ``words`` is as in
    :func:`open_rows`; ``sparse`` says that a sparse matrix is made dense, where
    others refuse it.
    """
    X = from_arrow(X)
    if sparse and issparse(X):
        return Table(as_table(densified(X)), sparse=True)
    if isinstance(X, Rows):
        if isinstance(X, MemoryRows):
            return X
        raise TypeError(
            f"All rows are needed at once, but {type(X).__name__} are read in pieces. Use a "
            "large-scale machine such as LargeScaleRidge, or load the rows into one table."
        )
    return Table.of(X) if words is None else _read_training(X, y, codes=words == "codes")


def _read_training(X: Any, y: Any, *, codes: bool) -> Table:
    """Read a table of training: a frame by the plan that is made of it, any other as it is."""
    if not is_frame(X):
        return Table.of(X)
    if has_columns_of_words(X):
        return ColumnPlan.read_training(X, y, codes=codes).table
    table = Table.of(X)
    plan = ColumnPlan.of_numbers(table)
    return replace(table, array=plan.without_sentinels(table.array), plan=plan)


def open_known(X: TableLike, estimator: BaseEstimator) -> Table | Stream | MemoryRows:
    """Return new rows, their columns checked against those that an estimator was fitted to.

    A frame is read by the plan of the training frame, where there was one.
    """
    X = from_arrow(X)
    plan = None if isinstance(X, Rows) else plan_of(estimator, X)
    return open_rows(X).checked(estimator) if plan is None else plan.read(X)


def plan_of(estimator: Any, X: Any = None) -> ColumnPlan | None:
    """Return the plan by which an estimator reads tables; None where it takes numbers as they are.

    A frame ``X`` with words, such as "unknown" in a column of numbers, is read by the plan of
    training also where training had numbers alone.
    """
    known = vars(estimator)
    plans = (known.get(name) for name in ("plan_", "columns_"))
    plan = next((plan for plan in plans if isinstance(plan, ColumnPlan)), None)
    if plan is None or not plan.plain:
        return plan
    return plan if is_frame(X) and has_columns_of_words(X) else None
