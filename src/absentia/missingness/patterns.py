"""Missing patterns: the mask of a table, and the groups of rows that share one.

Whatever depends on the pattern alone is computed once per pattern, here and in all later
stages: for one Gaussian the conditional covariance of a row depends on *which* columns it misses,
not on its values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.engine.threads import computed_once
from absentia.tables import BoolArray, IntArray, Table
from absentia.tables.stored import Stored, assume_valid, frozen

_WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class Patterns(Stored):
    """The distinct missing masks of a table, and which of them each row has.

    Attributes
    ----------
    masks : ndarray of bool, shape (n_patterns, n_features)
        True where a value is missing. No two rows are equal; a complete pattern comes first.
    pattern_of_row : ndarray of int, shape (n_samples,)
        ``masks[pattern_of_row]`` is the mask of the whole table.
    counts : ndarray of int, shape (n_patterns,)
        How many rows have each pattern.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import Patterns
    >>> patterns = Patterns.of([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]])
    >>> patterns.masks
    array([[False, False],
           [False,  True]])
    >>> patterns.pattern_of_row
    array([1, 0, 1])
    """

    masks: BoolArray
    pattern_of_row: IntArray
    counts: IntArray

    @classmethod
    def of(cls, X: object) -> Patterns:
        """Find the patterns of a table with NaN where a value is missing.

        For a :class:`~absentia.tables.Table`, which keeps them, they are searched for once.
        """
        return Table.of(X).once(_patterns_of)

    @classmethod
    def of_mask(cls, mask: BoolArray) -> Patterns:
        """Find the patterns of a mask that is True where a value is missing.

        Rows are compared as 64-bit words of packed bits, one sort of integers for each 64
        columns: O(n log n) for any realistic table, where sorting whole rows costs d times that.
        """
        mask = np.asarray(mask, dtype=bool)
        if len(mask) == 1:  # sorting would take longer than all else that is done with one row
            only = np.zeros(1, dtype=np.intp)
            return assume_valid(cls(frozen(mask.copy()), frozen(only), frozen(only + 1)))
        words = _packed_words(mask)
        first, pattern_of_row, counts = _unique(words[:, 0])
        for j in range(1, words.shape[1]):
            # Refine by the next word: (pattern so far, word) is unique where the pair is.
            _, rank, _ = _unique(words[:, j])
            pairs = pattern_of_row * np.intp(rank.max(initial=0) + 1) + rank
            first, pattern_of_row, counts = _unique(pairs)
        return assume_valid(cls(frozen(mask[first]), frozen(pattern_of_row), frozen(counts)))

    def validate(self) -> None:
        """Raise ValueError unless every row has one of the masks, and the counts are right."""
        self._require_array("masks", bool, (None, None))
        self._require_array("pattern_of_row", np.intp, (None,))
        n_patterns = len(self.masks)
        self._require_indices("pattern_of_row", n_patterns)
        self._require_array("counts", np.intp, (n_patterns,))
        if not np.array_equal(self.counts, np.bincount(self.pattern_of_row, minlength=n_patterns)):
            raise ValueError("Patterns.counts must say how many rows have each pattern.")

    @property
    def mask(self) -> BoolArray:
        """The mask of the whole table, shape (n_samples, n_features)."""
        return self.masks[self.pattern_of_row]

    @computed_once
    def n_missing(self) -> IntArray:
        """Number of values that each pattern misses, shape (n_patterns,); read-only."""
        return frozen(self.masks.sum(axis=1))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.pattern_of_row)

    def __getitem__(self, rows: slice | IntArray | BoolArray) -> Patterns:
        """Return the patterns of some of the rows, without those that no row has any more."""
        kept, pattern_of_row, counts = np.unique(
            self.pattern_of_row[rows], return_inverse=True, return_counts=True
        )
        part = Patterns(frozen(self.masks[kept]), frozen(pattern_of_row), frozen(counts))
        return assume_valid(part, self)

    def of_columns(self, columns: IntArray) -> Patterns:
        """Return the patterns of some of the columns; patterns that become equal are joined."""
        if len(columns) == self.masks.shape[1]:
            return self
        joined = Patterns.of_mask(self.masks[:, columns])
        pattern_of_row = joined.pattern_of_row[self.pattern_of_row]
        counts = np.bincount(pattern_of_row, minlength=len(joined.masks))
        return assume_valid(Patterns(joined.masks, frozen(pattern_of_row), frozen(counts)), self)

    def rows_by_pattern(self) -> list[IntArray]:
        """Return, for each pattern, the rows that have it, in ascending order."""
        order = np.argsort(self.pattern_of_row, kind="stable")
        return np.split(order, np.cumsum(self.counts)[:-1]) if len(order) else []


def _patterns_of(table: Table) -> Patterns:
    return Patterns.of_mask(table.mask)


def _packed_words(mask: BoolArray) -> np.ndarray:
    """Pack each row of a mask into as many 64-bit words as it needs."""
    n, d = mask.shape
    n_words = max(1, -(-d // _WORD_BITS))
    packed = np.zeros((n, n_words * 8), dtype=np.uint8)
    bits = np.packbits(mask, axis=1, bitorder="little")
    packed[:, : bits.shape[1]] = bits
    return packed.view(np.uint64)


def _unique(keys: np.ndarray) -> tuple[IntArray, IntArray, IntArray]:
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return first, inverse, counts
