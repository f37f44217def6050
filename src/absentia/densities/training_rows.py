"""Training rows of a density: normal scores, validation, standard units, and messages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.beliefs.limits import raise_too_far
from absentia.beliefs.prior import FARTHEST, category_shares
from absentia.densities.em.ascent import TakesExpectations
from absentia.densities.em.expectation import Expectation
from absentia.densities.em.limited_rows import (
    JoinedExpectation,
    LimitedExpectation,
    narrow_intervals_filled,
)
from absentia.densities.em.scaling import Scaling, automatic_shrinkage
from absentia.missingness import Patterns
from absentia.parameters import require
from absentia.tables import BoolArray, FloatArray, IntArray, Table
from absentia.tables.normal_scores import Margins
from absentia.tables.rows import row_weights
from absentia.tables.streams import Chunk, Outcome, Stream, sample_rows

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
        Added to a log-likelihood of scores, gives that of the table.
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


LOG_ROOT_2_PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a density learns from, checked and in standard units.

    Attributes
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Without rows of weight zero, rows with nothing observed, columns never observed.
    weights : ndarray of shape (n_rows,), or None where all weights are one
    columns : ndarray of int
        Which columns of the table these are.
    scaling : Scaling
    log_jacobian : float
        Added to a log-likelihood of ``Z``, gives that of the table.
    patterns : Patterns
        Of ``Z``.
    codes : ndarray of int, shape (n_rows, n_category_columns), or None
        Categories, -1 where missing.
    marginals : tuple of ndarray of shape (n_categories,)
        How frequent the categories of these columns are.
    limits : pair of ndarray of shape (n_rows, n_columns), or None
        Lower and upper limits of missing values of ``Z``, infinite where there is none.
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
        cls, rows: Table, sample_weight: ArrayLike | None = None, codes: IntArray | None = None
    ) -> TrainingRows:
        """Check the weights of a table; warn of columns that are missing in every row.

        ``codes`` are categories beside the numbers, their columns observed at least once.
        """
        # In one memory layout, so that a frame and an array of the same numbers sum alike.
        table = np.ascontiguousarray(rows.array)
        weights = row_weights(sample_weight, len(table))
        # A value between two limits locates its column, one with a single limit does not.
        middles = rows.interval_middles()
        placed = ~rows.mask if middles is None else ~rows.mask | ~np.isnan(middles)
        used: BoolArray = np.atleast_1d(placed.any(axis=1))
        if codes is not None:
            used = used | (codes >= 0).any(axis=1)
        limits = rows.limits_of(np.flatnonzero(placed.any(axis=0)))
        if limits is not None:
            used = used | (np.isfinite(limits[0]) | np.isfinite(limits[1])).any(axis=1)
        if weights is not None:
            used &= weights > 0
        require(used.any(), nothing_to_learn_from(weights is not None))
        kept: BoolArray = np.atleast_1d(placed[used].any(axis=0))
        names = rows.labels
        warn_of_lost_columns(kept, names)
        columns = np.flatnonzero(kept)
        patterns = Patterns.of(rows)
        if not used.all():
            table, patterns = table[used], patterns[used]
            weights = None if weights is None else weights[used]
            codes = None if codes is None else codes[used]
        if not kept.all():
            table = np.ascontiguousarray(table[:, columns])
        marginals = () if codes is None else category_shares(codes, weights)
        if not len(columns):
            return cls._without_numbers(len(table), weights, codes, marginals)
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
            scaling.log_jacobian(table, weights),
            patterns.of_columns(columns),
            codes,
            marginals,
            limits,
        )

    @classmethod
    def _without_numbers(
        cls,
        n_rows: int,
        weights: FloatArray | None,
        codes: IntArray | None,
        marginals: tuple[FloatArray, ...],
    ) -> TrainingRows:
        """Return rows of categories alone: their only number is zero, under a fixed N(0, 1).

        It takes part in no comparison, and what it adds to the log-likelihood is subtracted.
        """
        Z = np.zeros((n_rows, 1))
        total = float(n_rows if weights is None else weights.sum())
        return cls(
            Z,
            weights,
            np.empty(0, dtype=np.intp),
            Scaling(np.zeros(1), np.ones(1)),
            LOG_ROOT_2_PI * total,
            Patterns.of_mask(np.isnan(Z)),
            codes,
            marginals,
        )

    @property
    def n_columns(self) -> int:
        """The number of columns of ``Z``."""
        return int(self.Z.shape[1])

    @property
    def total_weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.Z) if self.weights is None else self.weights.sum())

    def automatic_shrinkage(self) -> float:
        """Return how far to shrink correlations, chosen from the rows.

        A narrow interval counts as a value.
        """
        Z = self.Z if self.limits is None else narrow_intervals_filled(self.Z, *self.limits)
        return automatic_shrinkage(Z, self.weights)

    def expectation(self, *, sum_patterns: bool, n_jobs: int | None) -> TakesExpectations:
        """Return the rows prepared for E-steps, those with limits apart from the others."""
        # Sums of patterns are for one Gaussian, which categories do not inform.
        codes = None if sum_patterns else self.codes
        n_categories = () if codes is None else tuple(map(len, self.marginals))

        def plain(rows: slice | IntArray) -> TakesExpectations:
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
        return JoinedExpectation([plain(np.flatnonzero(~limited)), censored])

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
            stacklevel=5,
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


SINGULAR = (
    "The covariance of the rows is singular (a constant column, columns that determine each other, "
    "or too few rows), and reg_covar and shrinkage are too small to regularise it. Use "
    "reg_covar=1e-6 or shrinkage='auto'."
)
