"""The rows and the columns of a Gram matrix: in the order of computation, one component at a time.

Compiled loops take named tuples: :class:`Target` says which part of a matrix to fill and how,
:class:`Bounds` how large an entry can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.lanes import LANES
from absentia.engine.threads import row_tiles, triangle_tiles
from absentia.tables import FloatArray, IntArray

# Rows from which on a pattern pays for a factorisation of its own and a matrix product.
FREQUENT = 64

# The share of an entry of a mixture's matrix that all pairs of components that are left out add.
NEGLIGIBLE = 1e-14
_LARGEST_EXPONENT = 700.0

# Pairs below which a second thread does not pay for being started.
_PAIRS_PER_THREAD = 20_000


@dataclass(frozen=True, eq=False)
class Ordering:
    """Rows in the order of computation: frequent patterns first, the rest behind them.

    A pattern is frequent in a tile where it is so in the whole.
    """

    rows: IntArray  # (n,): row ``rows[a]`` of the beliefs is computed at place ``a``
    groups: IntArray  # (n,), the covariance group at each place
    frequent: list[tuple[int, int, int]]  # group, start and stop of the first places
    identity: bool  # whether the order is that of the beliefs, so that nothing is moved back

    @property
    def n_frequent(self) -> int:
        """Number of rows of frequent patterns."""
        return self.frequent[-1][2] if self.frequent else 0

    @classmethod
    def of(cls, beliefs: Beliefs) -> Ordering:
        """Order the rows of some beliefs; once for each, since support vectors come back often."""
        if len(beliefs) == 1 and beliefs.whole is beliefs:
            return cls(np.zeros(1, dtype=np.intp), np.array(beliefs.group_of_row), [], True)
        own = vars(beliefs)
        return own.get("_ordering") or own.setdefault("_ordering", cls._find(beliefs))

    @classmethod
    def _find(cls, beliefs: Beliefs) -> Ordering:
        group_of_row = beliefs.group_of_row
        counts = np.bincount(group_of_row, minlength=beliefs.covariances.n_groups)
        whole = beliefs.whole
        if whole is beliefs:
            frequent = np.flatnonzero(counts >= FREQUENT)
        else:
            n_rows = np.bincount(whole.group_of_row)[whole.group_of_row[beliefs.rows_of_whole]]
            frequent = np.unique(group_of_row[n_rows >= FREQUENT])
        if not len(frequent) and np.count_nonzero(counts) > 0.75 * len(group_of_row):
            # Nearly every row has a pattern of its own: nothing is gained by moving any.
            return cls(np.arange(len(group_of_row)), np.array(group_of_row), [], True)
        rank = np.arange(len(counts)) + len(counts)
        rank[frequent] = np.arange(len(frequent))
        rows = np.argsort(rank[group_of_row], kind="stable")
        stops = np.cumsum(counts[frequent])
        places = [
            (int(g), int(stop - counts[g]), int(stop))
            for g, stop in zip(frequent, stops, strict=True)
        ]
        identity = bool(np.array_equal(rows, np.arange(len(rows))))
        return cls(rows, group_of_row[rows], places, identity)


class Bounds(NamedTuple):
    """Argument of compiled loops: an entry is at most the product of its row's and column's bound.

    Where overlaps or factors accumulate, additions of less than the share ``negligible`` of an
    entry are left out: these compute few pairs at a time, of which all may be negligible.
    """

    rows: FloatArray
    columns: FloatArray
    negligible: float


@dataclass(frozen=True, eq=False)
class Side:
    """One component of the beliefs on one side of a Gram matrix, in the order of computation."""

    beliefs: Beliefs
    ordering: Ordering
    component: int
    means: FloatArray  # (n, n_features)
    #: (n,), added to the logarithm of every entry of a row or column: weights, normalisation.
    constants: FloatArray
    #: (n,), the exponentials of the constants: an expected kernel is at most one without them.
    bounds: FloatArray

    @classmethod
    def of(cls, beliefs: Beliefs, component: int, log_norms: FloatArray) -> Side:
        """Return a component of some beliefs; ``log_norms`` is subtracted from every logarithm."""
        ordering = Ordering.of(beliefs)
        constants = beliefs.log_weights[:, component] - log_norms
        means = beliefs.means[:, component]
        if not ordering.identity:
            constants, means = constants[ordering.rows], means[ordering.rows]
        bounds = np.exp(np.minimum(constants, _LARGEST_EXPONENT))
        # A compiled function is compiled once more for each layout of memory.
        means, constants = np.ascontiguousarray(means), np.ascontiguousarray(constants)
        return cls(beliefs, ordering, component, means, constants, bounds)

    @classmethod
    def of_components(cls, beliefs: Beliefs, log_norms: FloatArray) -> list[Side]:
        """Return every component of some beliefs."""
        return [cls.of(beliefs, c, log_norms) for c in range(beliefs.n_components)]

    def bounds_against(self, columns: Side, left: int = 0, right: int | None = None) -> Bounds:
        """Return the bounds of these rows against some columns."""
        n_pairs = self.beliefs.n_components * columns.beliefs.n_components
        return Bounds(self.bounds, columns.bounds[left:right], NEGLIGIBLE / n_pairs)

    @property
    def is_conditioned(self) -> bool:
        """Whether the covariances come from conditioning a prior."""
        return self.beliefs.covariances.is_conditioned

    @property
    def prior_mean(self) -> FloatArray:
        """Mean of the component of the density."""
        return self.beliefs.prior.means[self.component]

    def covariances(self, groups: IntArray, n_together: int | None = None) -> FloatArray:
        """Return (n_groups, d, d) covariances; ``n_together`` groups are computed at once."""
        if n_together is None:
            n_together = self.beliefs.whole.covariances.n_groups
        return self.beliefs.covariances.dense(groups, n_together)[:, self.component]

    def local_groups(self, begin: int, end: int) -> tuple[IntArray, IntArray]:
        """Return the groups of some places, and which of them each of these places has.

        Of all places; those outside have the first.
        """
        local = np.zeros(len(self.means), dtype=np.intp)
        groups, local[begin:end] = np.unique(self.ordering.groups[begin:end], return_inverse=True)
        return groups, local


def threads_that_pay(most: int, n_pairs: int) -> int:
    """Return the number of threads, at most so many, that pay for being started."""
    return max(1, min(most, n_pairs // _PAIRS_PER_THREAD))


class Target(NamedTuple):
    """Argument of compiled loops: the matrix to fill, and how."""

    out: FloatArray  # (n, m)
    first_column: int  # where in ``out`` the columns begin
    symmetric: bool  # rows and columns are the same; fill only columns up to the row
    accumulate: bool  # add to the matrix (further components of a mixture)
    scaled: bool  # divide by the root of the determinant; else the form of [Anderson2011]_


@dataclass(frozen=True)
class Region:
    """Rows of one component from ``first_row`` to ``last_row``, against columns of one component.

    In the order of computation. The columns are those from the first of ``target`` to
    ``last_column``.
    """

    target: Target
    first_row: int
    last_row: int
    last_column: int
    n_threads: int  # at most

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to fill."""
        return self.first_row >= self.last_row or self.target.first_column >= self.last_column

    @property
    def threads(self) -> int:
        """Threads to use."""
        n_columns = self.last_column - self.target.first_column
        n_pairs = (self.last_row - self.first_row) * n_columns
        return threads_that_pay(self.n_threads, n_pairs)

    def tiles(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Cut some of the rows into tasks for the threads, of about as many pairs each."""
        cut = triangle_tiles if self.target.symmetric else row_tiles
        return cut(begin, end, 1 if self.threads == 1 else 8 * self.threads, LANES)
