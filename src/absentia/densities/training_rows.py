"""Training rows of a density: normal scores, validation, standard units, and messages."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.beliefs import LowRankPrior, Prior
from absentia.beliefs.conditioning import condition
from absentia.beliefs.limits import raise_too_far
from absentia.beliefs.prior import FARTHEST
from absentia.densities.em.expectation import (
    Expectation,
    ExpectedMoments,
    LimitedExpectation,
    narrow_intervals_filled,
)
from absentia.densities.em.factor_steps import FactorExpectation, FactorMoments
from absentia.densities.em.scaling import Scaling, pair_sums, shrinkage_from_sums
from absentia.missingness import Patterns
from absentia.parameters import require
from absentia.tables import BoolArray, FloatArray, IntArray, Learned, Table
from absentia.tables.margins import Margins
from absentia.tables.rows import row_weights
from absentia.tables.streams import Chunk, Outcome, Stream, sample_rows
from absentia.tables.table import CategoryColumns

# Rows of an out-of-core table that curves are fitted to.
_ROWS_FOR_CURVES = 20_000


@dataclass(frozen=True, eq=False)
class Categories(CategoryColumns):
    """Columns of categories of training rows, and how frequent their categories are.

    ``chosen`` are the columns that were asked for, ``columns`` those of them that have a value.
    """

    shares: tuple[FloatArray, ...]
    chosen: tuple[int, ...]

    @classmethod
    def of(
        cls, rows: Table | Stream, chosen: Sequence[int], sample_weight: ArrayLike | None
    ) -> Categories:
        """Count the categories of some columns, in one pass."""
        if isinstance(rows, Stream):
            counts = rows.map_sum(_category_counts, chosen) if chosen else ()
        else:
            weights = row_weights(sample_weight, len(rows))
            counts = _category_counts(Chunk(rows.array, None, weights), chosen)
        known = []
        for j, counted in zip(chosen, counts, strict=True):
            found = np.array(sorted(counted.items()), dtype=np.float64).reshape(-1, 2).T
            if len(counted):
                known.append((j, found[0], found[1] / found[1].sum()))
        columns = np.array([j for j, _, _ in known], dtype=np.intp)
        values, shares = [part[1] for part in known], tuple(part[2] for part in known)
        return cls(columns, values, shares, tuple(chosen))

    def attributes(self, numbers: IntArray) -> Learned:
        """Return the fitted attributes that say which columns are of which kind."""
        return {
            "columns_": np.sort(np.concatenate([numbers, self.columns])),
            "number_columns_": numbers,
            "category_columns_": self.columns,
            "categories_": self.values,
        }


def _category_counts(chunk: Chunk, columns: Sequence[int]) -> tuple[Counter[float], ...]:
    """Return the weights of the observed values of some columns; weights of zero do not count."""
    found = []
    for j in columns:
        seen = ~np.isnan(chunk.X[:, j])
        weights = np.ones(len(seen)) if chunk.sample_weight is None else chunk.sample_weight
        seen &= weights > 0
        values, which = np.unique(chunk.X[seen, j], return_inverse=True)
        shares = np.bincount(which, weights[seen], len(values))
        found.append(Counter(dict(zip(values.tolist(), shares.tolist(), strict=True))))
    return tuple(found)


def scored_rows(
    rows: Table | Stream,
    margins: str | None,
    sample_weight: ArrayLike | None,
    words: Categories | None,
) -> tuple[Table | Stream, float, Margins | None]:
    """Return scores, the log-Jacobian of all rows, and the curves of all columns.

    Without margins the rows as they are. Curves of a stream are fitted to always the same rows.
    """
    if margins is None:
        return rows, 0.0, None
    if isinstance(rows, Stream):
        sample, weights = sample_rows(rows, _ROWS_FOR_CURVES, np.random.RandomState(0))
        table = Table(sample)
    else:
        table, weights = rows, row_weights(sample_weight, len(rows))
    curves = Margins.auto(table, weights) if margins == "auto" else Margins.of(table, weights)
    if words is not None:
        curves = curves.leaving(words.chosen)
    if isinstance(rows, Stream):  # scores are made again at each pass
        return _ScoredStream(rows, curves), float(rows.map_sum(_log_slopes, curves)), curves
    stretch = _log_slopes(Chunk(rows.array, None, weights), curves)
    return curves.forward_table(rows), stretch, curves


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


LOG_ROOT_2_PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a density learns from, checked and in standard units.

    ``Z`` is without rows of weight zero, rows with nothing observed, and columns never observed;
    ``columns`` are those of the table. ``log_jacobian``, added to a log-likelihood of ``Z``, gives
    that of the table. ``codes`` are categories, -1 where missing, and ``marginals`` how frequent
    they are. ``limits`` are those of missing values of ``Z``, infinite where there is none.
    """

    Z: FloatArray
    weights: FloatArray | None
    columns: IntArray
    scaling: Scaling
    log_jacobian: float
    patterns: Patterns
    codes: IntArray | None = None
    marginals: tuple[FloatArray, ...] = ()
    limits: tuple[FloatArray, FloatArray] | None = None

    @classmethod
    def of(
        cls,
        rows: Table,
        sample_weight: ArrayLike | None = None,
        words: Categories | None = None,
        log_jacobian: float = 0.0,
    ) -> TrainingRows:
        """Check the weights of a table; warn of columns that are missing in every row.

        ``log_jacobian`` is that of the rows themselves.
        """
        # In one memory layout, so that a frame and an array of the same numbers sum alike.
        table = np.ascontiguousarray(rows.array)
        weights = row_weights(sample_weight, len(table))
        # A value between two limits locates its column, one with a single limit does not.
        middles = rows.interval_middles()
        placed = ~rows.mask if middles is None else ~rows.mask | ~np.isnan(middles)
        used: BoolArray = np.atleast_1d(placed.any(axis=1))
        limits = rows.limits_of(np.flatnonzero(placed.any(axis=0)))
        if limits is not None:
            used = used | (np.isfinite(limits[0]) | np.isfinite(limits[1])).any(axis=1)
        if weights is not None:
            used &= weights > 0
        require(used.any(), nothing_to_learn_from(weights is not None))
        kept: BoolArray = np.atleast_1d(placed[used].any(axis=0))
        names = rows.labels
        warn_of_lost_columns(kept, names)
        if words is not None:
            kept[list(words.chosen)] = False
        columns = np.flatnonzero(kept)
        patterns = Patterns.of(rows)
        if not used.all():
            table, patterns = table[used], patterns[used]
            weights = None if weights is None else weights[used]
        codes = words.codes(table) if words is not None and words.values else None
        marginals = () if words is None else words.shares
        if not kept.all():
            table = np.ascontiguousarray(table[:, columns])
        if not len(columns):  # one number stands for none: zero, under a fixed N(0, 1)
            Z = np.zeros((len(table), 1))
            total = float(len(Z) if weights is None else weights.sum())
            unscaled, complete = Scaling(np.zeros(1), np.ones(1)), Patterns.of_mask(np.isnan(Z))
            added = LOG_ROOT_2_PI * total
            return cls(Z, weights, columns, unscaled, added, complete, codes, marginals)
        limits = rows.limits_of(columns)
        if limits is not None:
            limits = limits[0][used], limits[1][used]
        scaling = Scaling.of(table, weights, limits)
        scaling.check_units([names[j] for j in columns])
        if limits is not None:
            limits = scaling.forward_limits(*limits)
            reach = np.maximum(limits[0], -limits[1])
            if (reach > FARTHEST).any():
                i, j = np.argwhere(reach > FARTHEST)[0]
                end = limits[0 if limits[0][i, j] > 0 else 1][i, j]
                limit = float(scaling.centres[j] + scaling.scales[j] * end)
                raise_too_far(int(np.flatnonzero(used)[i]), limit, names[columns[j]])
        return cls(
            scaling.forward(table),
            weights,
            columns,
            scaling,
            scaling.log_jacobian(table, weights) + log_jacobian,
            patterns.of_columns(columns),
            codes,
            marginals,
            limits,
        )

    @property
    def n_columns(self) -> int:
        """The number of columns of numbers, one where there is none."""
        return int(self.Z.shape[1])

    @property
    def total_weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.Z) if self.weights is None else self.weights.sum())

    def automatic_shrinkage(self) -> float:
        """Return how far to shrink correlations, chosen from the rows.

        A narrow interval counts as a value.
        """
        return shrinkage_from_sums(self.pair_sums())

    def pair_sums(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return sums over the rows that have both of two columns."""
        Z = self.Z if self.limits is None else narrow_intervals_filled(self.Z, *self.limits)
        return pair_sums(Z, self.weights)

    def expectation(
        self, *, sum_patterns: bool, n_jobs: int | None
    ) -> Callable[[Prior], ExpectedMoments]:
        """Return the E-step of the rows, those with limits apart from the others."""
        # Sums of patterns are for one Gaussian, which categories do not inform.
        codes = None if sum_patterns else self.codes
        n_categories = () if codes is None else tuple(map(len, self.marginals))

        def plain(rows: slice | IntArray) -> Expectation:
            return Expectation(
                self.Z[rows],
                None if self.weights is None else self.weights[rows],
                sum_patterns=sum_patterns,
                n_jobs=n_jobs,
                patterns=self.patterns if isinstance(rows, slice) else self.patterns[rows],
                codes=None if codes is None else codes[rows],
                n_categories=n_categories,
            )

        if self.limits is None:
            return plain(slice(None))
        limited = (np.isfinite(self.limits[0]) | np.isfinite(self.limits[1])).any(axis=1)
        if not limited.any():
            return plain(slice(None))
        rows = np.flatnonzero(limited)
        censored = LimitedExpectation(
            self.Z[rows],
            None if self.weights is None else self.weights[rows],
            self.patterns[rows],
            None if codes is None else codes[rows],
            (self.limits[0][rows], self.limits[1][rows]),
            n_categories,
        )
        if limited.all():
            return censored
        others = plain(np.flatnonzero(~limited))
        return lambda prior: others(prior) + censored(prior)

    def factor_expectation(self) -> Callable[[LowRankPrior], FactorMoments]:
        """Return the E-step of factors and noise."""
        return FactorExpectation(self.Z, self.weights, self.patterns)

    def sampled(self) -> TrainingRows:
        """Return the rows themselves; of streams it is a sample."""
        return self

    def completed(self, prior: Prior) -> tuple[FloatArray, FloatArray | None, IntArray | None]:
        """Return rows completed by their conditional means, weights and codes, for starts."""
        beliefs = condition(prior, self.Z, patterns=self.patterns)[0]
        if self.limits is not None:
            beliefs = beliefs.within(*self.limits)
        return beliefs.mean(), self.weights, self.codes


def nothing_to_learn_from(weighted: bool) -> str:
    """Return the message that no row has a value."""
    return (
        "Nothing to learn from: every value is missing in every row"
        + (" of positive weight" if weighted else "")
        + ". Give at least one row with an observed value."
    )


def warn_of_lost_columns(kept: BoolArray, names: list[str]) -> None:
    """Warn of columns that are missing in every row."""
    if not kept.all():
        lost = [names[j] for j in np.flatnonzero(~kept)]
        shown = ", ".join(lost[:10]) + (f" and {len(lost) - 10} more" if lost[10:] else "")
        warnings.warn(
            f"Left out of the density because they are missing in every training row: {shown}. "
            "Drop such columns, or see `columns_` for those that were kept.",
            UserWarning,
            stacklevel=4,
        )


def warn_not_converged(estimator: BaseEstimator, n_steps: int, residual: float) -> None:
    """Warn that EM stopped early, and say what to do about it."""
    warnings.warn(
        f"{type(estimator).__name__} did not converge in {n_steps} steps: another step would still "
        f"change a parameter by {residual:.1e} standard units (tol={estimator.tol:g}). Raise "
        "max_iter or tol; with few rows for the number of columns, or many missing values, "
        "raise shrinkage or reg_covar.",
        ConvergenceWarning,
        stacklevel=4,
    )
