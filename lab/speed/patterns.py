"""Finding the missing patterns of a table, against sorting whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from absentia import Patterns
from absentia.tables import FloatArray
from lab.speed.ratio import Row, best_seconds


def rows() -> Iterator[Row]:
    """A million rows of 50 columns, with few patterns and with one to almost every row."""
    rng = np.random.default_rng(0)
    n, d = 1_000_000, 50
    for label, mask in (
        ("20 patterns", (rng.random((20, d)) < 0.3)[rng.integers(20, size=n)]),
        ("a pattern to every row", rng.random((n, d)) < 0.3),
    ):
        table = np.where(mask, np.nan, 1.0)
        # Sorting whole rows takes half a minute at full size: a tenth of the rows, times ten,
        # which flatters it (sorting costs more than proportionally).
        tenth = table[: n // 10]
        yield Row(
            name=f"Patterns.of, n=1 000 000, d=50, {label}",
            ours_seconds=best_seconds(partial(Patterns.of, table), repeats=3),
            theirs_seconds=10 * best_seconds(partial(_sorted_rows, tenth), repeats=1),
            bar=1.0,
            aim=0.2,
            note="patterns: a second is wanted; theirs is np.unique(axis=0), 10 x a tenth of n",
        )


def _sorted_rows(table: FloatArray) -> object:
    return np.unique(np.isnan(table), axis=0, return_inverse=True)
