"""Rows as normal scores, for densities with ``margins="normal-scores"``: a Gaussian copula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.margins import Margins
from absentia.tables.row_weights import row_weights
from absentia.tables.streams import Chunk, Stream
from absentia.tables.streams.base import Outcome, sample_rows

__all__ = ["ScoredRows", "scored_rows"]

# Rows of an out-of-core table that curves are fitted to.
_ROWS_FOR_CURVES = 20_000


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows that a density is fitted to, and how they came from those of the user.

    Attributes
    ----------
    rows : Table or Stream
        Scores; the user's own values where there are no margins.
    margins : Margins or None
        One curve per column.
    log_jacobian : float
        What to add to a log-likelihood of scores for that of the table.
    """

    rows: Table | Stream
    margins: Margins | None = None
    log_jacobian: float = 0.0

    def margins_of(self, columns: IntArray) -> Margins | None:
        """Return the curves of the columns that a density describes, None where it has none."""
        if self.margins is None or not len(columns):
            return None
        return self.margins.of_columns(columns)


def scored_rows(
    rows: Table | Stream,
    margins: str | None,
    sample_weight: ArrayLike | None,
    not_numbers: Sequence[int] = (),
) -> ScoredRows:
    """Fit the curves and apply them; without ``margins`` the rows are as they were.

    ``not_numbers`` are columns of categories, which stay as they are.
    """
    if margins is None:
        return ScoredRows(rows)
    if isinstance(rows, Stream):
        # Always the same rows at random; scores are made again at each pass.
        sample, weights = sample_rows(rows, _ROWS_FOR_CURVES, np.random.RandomState(0))
        curves = Margins.of(Table(sample), weights).leaving(not_numbers)
        total = float(rows.map_sum(_log_slopes, curves))
        return ScoredRows(_ScoredStream(rows, curves), curves, total)
    weights = row_weights(sample_weight, len(rows))
    curves = Margins.of(rows, weights).leaving(not_numbers)
    slopes = curves.log_slopes(rows.array)
    total = float(slopes.sum() if weights is None else weights @ slopes)
    return ScoredRows(curves.forward_table(rows), curves, total)


@dataclass(frozen=True, eq=False)
class _ScoredStream(Stream):
    """The scores of an out-of-core or distributed table."""

    values: Stream
    margins: Margins

    @property
    def n_features(self) -> int:
        return self.values.n_features

    @property
    def column_names(self) -> list[str] | None:
        return self.values.column_names

    def map_sum(self, function: Callable[..., Outcome], *shared: object) -> Outcome:
        return self.values.map_sum(_on_scores, function, self.margins, *shared)

    def map_rows(self, function: Callable[[FloatArray], Any], n_columns: int | None) -> Any:
        margins = self.margins
        return self.values.map_rows(lambda rows: function(margins.forward(rows)), n_columns)


def _on_scores(
    chunk: Chunk, function: Callable[..., Outcome], margins: Margins, *shared: object
) -> Outcome:
    return function(replace(chunk, X=margins.forward(chunk.X)), *shared)


def _log_slopes(chunk: Chunk, margins: Margins) -> float:
    slopes = margins.log_slopes(chunk.X)
    weights = chunk.sample_weight
    return float(slopes.sum() if weights is None else weights @ slopes)
