"""Out-of-core and distributed training rows: chunks of files, partitions on many machines.

A fit needs only sums over its rows: moments of the columns, for standard units; moments of pairs of
columns, for the shrinkage; and the expected sufficient statistics at each step of EM. Each is one
pass over the chunks, and no chunk is kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from absentia.beliefs import LowRankPrior, Prior
from absentia.densities.em.expectation import ExpectedMoments, require_well_conditioned
from absentia.densities.em.factor_steps import FactorMoments
from absentia.densities.em.scaling import Scaling, shrinkage_from_sums
from absentia.densities.training_rows import (
    LOG_ROOT_2_PI,
    Categories,
    TrainingRows,
    nothing_to_learn_from,
    warn_of_lost_columns,
)
from absentia.missingness import Patterns
from absentia.parameters import require
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.streams import Chunk, Outcome, Stream, sample_rows

# Rows that the starts of a mixture are looked for in.
_ROWS_FOR_STARTS = 20_000


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """As :class:`TrainingRows`, for out-of-core and distributed rows.

    ``total_weight`` is that of the rows in which anything was observed.
    """

    chunks: Stream
    columns: IntArray
    scaling: Scaling
    log_jacobian: float
    total_weight: float
    words: Categories | None = None

    @classmethod
    def of(
        cls, chunks: Stream, words: Categories | None = None, log_jacobian: float = 0.0
    ) -> StreamedRows:
        """Measure the columns in one pass; warn of those that are missing in every row.

        ``log_jacobian`` is that of the rows themselves.
        """
        moments: _ColumnMoments = chunks.map_sum(_ColumnMoments.of)
        require(moments.total_weight > 0, nothing_to_learn_from(moments.weighted))
        kept = moments.totals > 0
        names = chunks.labels
        warn_of_lost_columns(kept, names)
        if words is not None:
            kept[list(words.chosen)] = False
        columns = np.flatnonzero(kept)
        total = moments.total_weight
        if not len(columns):
            scaling, log_jacobian = Scaling(np.zeros(1), np.ones(1)), LOG_ROOT_2_PI * total
        else:
            scaling = moments.scaling(columns)
            scaling.check_units([names[j] for j in columns])
            log_jacobian -= float(moments.totals[columns] @ np.log(scaling.scales))
        used = words if words is not None and words.values else None
        return cls(chunks, columns, scaling, log_jacobian, total, used)

    @property
    def marginals(self) -> tuple[FloatArray, ...]:
        """How frequent the categories of each column are."""
        return () if self.words is None else self.words.shares

    @property
    def n_columns(self) -> int:
        """The number of columns of numbers that have an observed value, one where none has."""
        return max(1, len(self.columns))

    def _sum(self, function: Callable[..., Outcome], *shared: object) -> Outcome:
        """Add up what a function makes of the training rows of each chunk, in one pass."""
        own = self.columns, self.scaling, self.words
        return self.chunks.map_sum(_of_chunk, function, *own, *shared)

    def automatic_shrinkage(self) -> float:
        """Return how far to shrink correlations, chosen from the rows; one pass."""
        return shrinkage_from_sums(self._sum(TrainingRows.pair_sums))

    def expectation(
        self, *, sum_patterns: bool, n_jobs: int | None
    ) -> Callable[[Prior], ExpectedMoments]:
        """Return the E-step of the rows; each is one pass."""

        def expected(prior: Prior) -> ExpectedMoments:
            require_well_conditioned(prior)
            return self._sum(_expected_moments, prior, sum_patterns, n_jobs)

        return expected

    def factor_expectation(self) -> Callable[[LowRankPrior], FactorMoments]:
        """Return the E-step of factors and noise; each is one pass."""
        return lambda prior: self._sum(_factor_moments, prior)

    def sampled(self) -> TrainingRows:
        """Return at most 20 000 rows in standard units, always the same."""
        rows, weights = sample_rows(self.chunks, _ROWS_FOR_STARTS, np.random.RandomState(0))
        chunk = Chunk(rows, None, weights)
        return _training_rows(chunk, self.columns, self.scaling, self.words)


def _training_rows(
    chunk: Chunk, columns: IntArray, scaling: Scaling, words: Categories | None
) -> TrainingRows:
    """Return the rows of a chunk with any observed value, in standard units."""
    X, weights, _ = _used_rows(chunk)
    # Without any column of numbers one that is always zero stands for them, as in memory.
    Z = np.zeros((len(X), 1))
    if len(columns):
        Z = scaling.forward(np.ascontiguousarray(X[:, columns]))
    codes, shares = (None, ()) if words is None else (words.codes(X), words.shares)
    patterns = Patterns.of_mask(np.isnan(Z))
    return TrainingRows(Z, weights, columns, scaling, 0.0, patterns, codes, shares)


def _of_chunk(
    chunk: Chunk,
    function: Callable[..., Outcome],
    columns: IntArray,
    scaling: Scaling,
    words: Categories | None,
    *shared: object,
) -> Outcome:
    return function(_training_rows(chunk, columns, scaling, words), *shared)


def _expected_moments(
    rows: TrainingRows, prior: Prior, sum_patterns: bool, n_jobs: int | None
) -> ExpectedMoments:
    return rows.expectation(sum_patterns=sum_patterns, n_jobs=n_jobs)(prior)


def _factor_moments(rows: TrainingRows, prior: LowRankPrior) -> FactorMoments:
    return rows.factor_expectation()(prior)


def _used_rows(chunk: Chunk) -> tuple[FloatArray, FloatArray | None, BoolArray]:
    weights = chunk.sample_weight
    observed = ~np.isnan(chunk.X)
    used = observed.any(axis=1)
    if weights is not None:
        used &= weights > 0
    if used.all():
        return chunk.X, weights, observed
    return chunk.X[used], None if weights is None else weights[used], observed[used]


@dataclass(frozen=True, eq=False)
class _ColumnMoments:
    """Weight, mean and squared deviations of each column's observed values.

    The mean is kept relative to an anchor, one of the column's own values, as in
    :meth:`Scaling.of`: a constant column then deviates by zero exactly, and a column far from zero
    loses no digits. Two sets of rows are joined by the update of Chan, Golub and LeVeque (1983).
    """

    anchors: FloatArray
    totals: FloatArray
    means: FloatArray
    squares: FloatArray
    total_weight: float
    weighted: bool

    @classmethod
    def of(cls, chunk: Chunk) -> _ColumnMoments:
        X, weights, observed = _used_rows(chunk)
        d = chunk.X.shape[1]
        if not len(X):
            zeros = np.zeros(d)
            return cls(zeros, zeros, zeros, zeros, 0.0, weights is not None)
        shares = observed.astype(np.float64) if weights is None else observed * weights[:, None]
        totals = shares.sum(axis=0)
        anchors = np.where(totals > 0, X[observed.argmax(axis=0), np.arange(d)], 0.0)
        offsets = np.where(observed, X - anchors, 0.0)
        means = (shares * offsets).sum(axis=0) / np.where(totals > 0, totals, 1.0)
        squares = (shares * np.where(observed, offsets - means, 0.0) ** 2).sum(axis=0)
        total_weight = float(len(X) if weights is None else weights.sum())
        return cls(anchors, totals, means, squares, total_weight, weights is not None)

    def __add__(self, other: _ColumnMoments) -> _ColumnMoments:
        anchors = np.where(self.totals > 0, self.anchors, other.anchors)
        totals = self.totals + other.totals
        share = other.totals / np.where(totals > 0, totals, 1.0)
        # How far the second mean is from the first, both relative to the common anchor.
        moved = np.where(other.totals > 0, (other.anchors - anchors) + other.means, 0.0)
        difference = np.where(self.totals > 0, moved - self.means, 0.0)
        means = np.where(self.totals > 0, self.means + share * difference, moved)
        squares = self.squares + other.squares + self.totals * share * difference**2
        return _ColumnMoments(
            anchors,
            totals,
            means,
            squares,
            self.total_weight + other.total_weight,
            self.weighted or other.weighted,
        )

    def scaling(self, columns: IntArray) -> Scaling:
        """Return the centres and scales of columns that have values."""
        spreads = np.sqrt(self.squares[columns] / self.totals[columns])
        return Scaling.from_moments(self.anchors[columns], self.means[columns], spreads)
