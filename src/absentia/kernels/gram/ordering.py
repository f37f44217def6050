"""The order in which a Gram matrix is computed: rows that share a covariance stand together."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from absentia.beliefs import Beliefs
from absentia.tables import BoolArray, IntArray

__all__ = ["Ordering"]

# From this many rows on, a group pays for a factorisation of its own and a matrix product.
POPULAR = 64


@dataclass(frozen=True, eq=False)
class Ordering:
    """Rows in the order of computation: popular groups first, the rest behind them.

    In a tile those groups are popular that are so in the whole.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Row ``rows[a]`` of the beliefs is computed at place ``a``.
    groups : ndarray of int, shape (n,)
        The covariance group at each place.
    popular : list of (group, start, stop)
        The popular groups and the places of their rows; they fill the first ``n_popular`` places.
    identity : bool
        Whether the order is that of the beliefs, so that nothing has to be moved back.
    """

    rows: IntArray
    groups: IntArray
    popular: list[tuple[int, int, int]]
    identity: bool

    @property
    def n_popular(self) -> int:
        """How many rows belong to popular groups."""
        return self.popular[-1][2] if self.popular else 0

    @classmethod
    def of(cls, beliefs: Beliefs) -> Ordering:
        """Order the rows of some beliefs; once for each, since support vectors come back often."""
        if len(beliefs) == 1 and beliefs.whole is beliefs:
            return cls(np.zeros(1, dtype=np.intp), np.array(beliefs.group_of_row), [], True)
        known = _orderings.get(beliefs)
        if known is None:
            known = _orderings.setdefault(beliefs, cls._find(beliefs))
        return known

    @classmethod
    def _find(cls, beliefs: Beliefs) -> Ordering:
        group_of_row = beliefs.group_of_row
        counts = np.bincount(group_of_row, minlength=beliefs.covariances.n_groups)
        whole = beliefs.whole
        if whole is beliefs:
            popular = np.flatnonzero(counts >= POPULAR)
        else:
            n_rows = np.bincount(whole.group_of_row)[whole.group_of_row[beliefs.rows_of_whole]]
            popular = np.unique(group_of_row[n_rows >= POPULAR])
        if not len(popular) and np.count_nonzero(counts) > 0.75 * len(group_of_row):
            # Nearly every row stands alone: nothing is gained by moving any.
            return cls(np.arange(len(group_of_row)), np.array(group_of_row), [], True)
        rank = np.arange(len(counts)) + len(counts)
        rank[popular] = np.arange(len(popular))
        rows = np.argsort(rank[group_of_row], kind="stable")
        stops = np.cumsum(counts[popular])
        tiles = [
            (int(g), int(stop - counts[g]), int(stop))
            for g, stop in zip(popular, stops, strict=True)
        ]
        identity = bool(np.array_equal(rows, np.arange(len(rows))))
        return cls(rows, group_of_row[rows], tiles, identity)

    def runs(self, start: int = 0, stop: int | None = None) -> tuple[IntArray, IntArray]:
        """Return where runs of one group start in places ``start`` to ``stop``, and their groups.

        The starts count from ``start`` and end with the number of places, one more than runs.
        """
        groups = self.groups[start:stop]
        changes: BoolArray = np.ones(len(groups), dtype=bool)
        changes[1:] = groups[1:] != groups[:-1]
        starts = np.flatnonzero(changes)
        return np.append(starts, len(groups)), groups[starts]


_orderings: WeakKeyDictionary[Beliefs, Ordering] = WeakKeyDictionary()
