"""Rows in the order that compiled code expects: by pattern, the smaller side first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.engine.computed_once import computed_once
from absentia.missingness import Patterns
from absentia.tables import BoolArray, IntArray

__all__ = ["GroupedRows", "group_rows"]


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Some rows of a table, sorted by pattern, that are conditioned in one compiled call.

    Attributes
    ----------
    rows : ndarray of int, shape (n_rows,)
        Where they stand in the table.
    starts : ndarray of int, shape (n_patterns + 1,)
        Pattern ``p`` of the batch has the rows ``rows[starts[p]:starts[p + 1]]``.
    members : ndarray of int, shape (n_patterns, most)
        The columns of the principal submatrix to factor, see ``members_are_missing``.
    sizes : ndarray of int, shape (n_patterns,)
        How many of ``members`` count.
    members_are_missing : bool
        True: the members are the missing columns, and the submatrix is one of the precision.
        False: they are the observed ones, and it is one of the covariance.
    """

    rows: IntArray
    starts: IntArray
    members: IntArray
    sizes: IntArray
    members_are_missing: bool

    @computed_once
    def pattern_of_row(self) -> IntArray:
        """Which pattern of the batch each of its rows has."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    def n_observed(self, n_features: int) -> IntArray:
        """How many values each pattern has."""
        return n_features - self.sizes if self.members_are_missing else self.sizes


def group_rows(patterns: Patterns, rows_per_batch: int = 4096) -> list[GroupedRows]:
    """Cut the rows of a table into batches in which all patterns have the same smaller side."""
    d = patterns.masks.shape[1]
    n_missing = patterns.n_missing
    missing_side = 2 * n_missing <= d
    if len(n_missing) == 1:
        return _batches_of_one_pattern(patterns, bool(missing_side[0]), rows_per_batch)
    # Patterns of one size stand together, so that the padding of `members` stays narrow.
    order = np.lexsort((n_missing, ~missing_side))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    rank_of_row = rank[patterns.pattern_of_row]
    rows = np.argsort(rank_of_row, kind="stable")
    ranks = rank_of_row[rows]
    boundary = int(np.searchsorted(ranks, np.count_nonzero(missing_side)))
    batches = []
    for begin, end, of_missing in ((0, boundary, True), (boundary, len(rows), False)):
        for start in range(begin, end, rows_per_batch):
            stop = min(start + rows_per_batch, end)
            first, last = ranks[start], ranks[stop - 1]
            masks = patterns.masks[order[first : last + 1]]
            flags = masks if of_missing else ~masks
            sizes = flags.sum(axis=1)
            starts = np.searchsorted(ranks[start:stop], np.arange(first, last + 2))
            batches.append(
                GroupedRows(
                    rows[start:stop],
                    starts,
                    _listed_columns(flags, sizes),
                    sizes,
                    members_are_missing=of_missing,
                )
            )
    return batches


def _batches_of_one_pattern(
    patterns: Patterns, of_missing: bool, rows_per_batch: int
) -> list[GroupedRows]:
    """Return the batches of rows that are in order as they are."""
    n = len(patterns)
    columns = np.flatnonzero(patterns.masks[0] if of_missing else ~patterns.masks[0])[None]
    sizes = np.array([columns.size])
    return [
        GroupedRows(
            np.arange(start, min(start + rows_per_batch, n)),
            np.array([0, min(rows_per_batch, n - start)]),
            columns,
            sizes,
            members_are_missing=of_missing,
        )
        for start in range(0, n, rows_per_batch)
    ]


def _listed_columns(flags: BoolArray, sizes: IntArray) -> IntArray:
    """List the true columns of each row, ascending, padded with zeros."""
    rows, columns = np.nonzero(flags)
    listed = np.zeros((len(flags), sizes.max()), dtype=np.intp)
    listed[rows, np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = columns
    return listed
