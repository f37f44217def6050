"""A part of a Gram matrix to be filled: which rows and columns, and how."""

from __future__ import annotations

from dataclasses import dataclass

from absentia.engine.lanes import LANES
from absentia.engine.threads import row_tiles, triangle_tiles

__all__ = ["Region", "threads_that_pay"]

# Pairs below which a second thread does not pay for being started.
_PAIRS_PER_THREAD = 20_000


def threads_that_pay(most: int, n_pairs: int) -> int:
    """Return how many threads, of so many at most, pay for being started."""
    return max(1, min(most, n_pairs // _PAIRS_PER_THREAD))


@dataclass(frozen=True)
class Region:
    """Rows of one component from ``first_row`` to ``last_row``, against columns of one component.

    In the order of computation. The columns are those from ``first_column`` to ``n_columns``.

    Attributes
    ----------
    symmetric : bool
        Fill only columns up to the row.
    mirror : bool
        Copy what is filled to above the diagonal, too.
    accumulate : bool
        Add to what is there.
    scaled : bool
        Divide by the root of the determinant.
    n_threads : int
        Threads at most.
    """

    first_row: int
    last_row: int
    first_column: int
    n_columns: int
    symmetric: bool
    accumulate: bool
    mirror: bool
    scaled: bool
    n_threads: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to fill."""
        return self.first_row >= self.last_row or self.first_column >= self.n_columns

    @property
    def flags(self) -> tuple[bool, bool, bool, bool]:
        """How to fill it, in the order that compiled loops take."""
        return self.symmetric, self.accumulate, self.mirror, self.scaled

    @property
    def threads(self) -> int:
        """Threads to use."""
        n_pairs = (self.last_row - self.first_row) * (self.n_columns - self.first_column)
        return threads_that_pay(self.n_threads, n_pairs)

    def tiles(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Cut some of the rows into tasks for the threads, of about as many pairs each."""
        cut = triangle_tiles if self.symmetric else row_tiles
        return cut(begin, end, 1 if self.threads == 1 else 8 * self.threads, LANES)
