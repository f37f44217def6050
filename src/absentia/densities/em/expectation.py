"""The E-step: expected moments of incomplete rows under a mixture of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from absentia.beliefs import Beliefs, Prior
from absentia.beliefs.conditioning import (
    GroupedRows,
    RowsGiven,
    condition,
    group_rows,
    listed_columns,
    log_normalised,
)
from absentia.beliefs.limits import truncated_to
from absentia.beliefs.prior import SINGULAR, indicators, split_categories
from absentia.beliefs.truncated_normal import truncated_moments
from absentia.engine.compiling import is_small
from absentia.engine.principal import add_principal, invert_principal
from absentia.engine.threads import bounded_slices, map_on_threads, n_threads
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.streams import add

_LOG_2_PI = float(np.log(2 * np.pi))
_ROWS_PER_BATCH = 4096
_FLOATS_OF_SUMS = 2**18  # of the patterns that are summed together


class RowSums:
    """Base class of sums over rows; those of two sets of rows can be added."""

    def __add__(self, other: Self) -> Self:
        """Return the sums over two sets of rows together."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*(add(mine, theirs) for mine, theirs in pairs))


@dataclass(frozen=True, eq=False)
class ExpectedMoments(RowSums):
    """The expected sufficient statistics of the rows, by component, about the old means.

    Weights of the rows (k,), weighted sums of the completed rows (k, d) and of their outer
    products with the conditional covariances (k, d, d), and for each column of categories the
    weights of its categories (k, n_categories). The log-likelihood is that of the parameters that
    expectations were taken with.
    """

    log_likelihood: float
    totals: FloatArray
    firsts: FloatArray
    seconds: FloatArray
    counts: tuple[FloatArray, ...] = ()

    def weighted_means(self) -> tuple[FloatArray, FloatArray]:
        """Return, by component, the shift of the mean and the covariance about the new mean.

        A component without any rows keeps its mean and has a covariance of zero.
        """
        totals = np.maximum(self.totals, np.finfo(float).tiny)
        shifts = self.firsts / totals[:, None]
        scatter = self.seconds / totals[:, None, None]
        return shifts, scatter - shifts[:, :, None] * shifts[:, None, :]


#: Patterns with many rows, reduced once and for all: masks, missing columns and how many they are,
#: counts, sums and products.
_SummedPatterns = tuple[BoolArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray]


class Expectation:
    """An incomplete table, arranged once for fast E-steps.

    Rows are sorted by pattern. For one Gaussian, a pattern with more than ``2 d`` rows is kept as
    the sums of its rows and of their products, so that a step on it costs ``O(d^2 |L|)`` whatever
    the number of rows; complete rows are the simplest case of that. All other rows are completed
    a batch at a time, on the smaller of the two sides of their pattern, and enter through one
    product of matrices: per row ``O(d^2)``, per pattern ``O(min(|L|, |O|)^3)``.
    Memory is that of one copy of the table, and of a few batches.

    Columns of ``X`` are of order one, NaN where missing; ``codes`` are -1 where a category is
    missing. Reducing patterns to sums (``sum_patterns``) is useful with one component only.
    """

    def __init__(
        self,
        X: FloatArray,
        weights: FloatArray | None = None,
        *,
        sum_patterns: bool,
        n_jobs: int | None = None,
        patterns: Patterns | None = None,
        codes: IntArray | None = None,
        n_categories: tuple[int, ...] = (),
    ):
        if patterns is None:
            patterns = Patterns.of_mask(np.isnan(X))
        self.n_jobs = n_jobs
        summed = patterns.counts > 2 * X.shape[1]
        # A small table is quick row by row, without one more function to compile.
        summed &= sum_patterns and not is_small(4 * X.size)
        in_sums = summed[patterns.pattern_of_row]
        chosen = np.flatnonzero(summed)
        # Patterns of one size stand together, so that few of those inverted together are padded.
        chosen = chosen[np.argsort(patterns.n_missing[chosen], kind="stable")]
        self._summed = [
            _sum_patterns(X, weights, patterns, chosen[part])
            for part in bounded_slices(len(chosen), X.shape[1] ** 2, _FLOATS_OF_SUMS)
        ]
        rest = np.flatnonzero(~in_sums)
        self._n_rows, self._n_categories = len(rest), n_categories
        self._batches: list[tuple[GroupedRows, FloatArray, FloatArray | None, Any]] = []
        for batch in group_rows(patterns[rest], _ROWS_PER_BATCH) if len(rest) else []:
            rows = rest[batch.rows]
            row_weights = None if weights is None else weights[rows]
            words = None if codes is None else indicators(codes[rows], n_categories)
            self._batches.append((batch, X[rows], row_weights, words))

    def __call__(self, prior: Prior) -> ExpectedMoments:
        """Take expectations under a prior; LinAlgError where a covariance is nearly singular."""
        require_well_conditioned(prior)
        k, d = prior.means.shape
        counts = tuple(np.zeros((k, n)) for n in self._n_categories)
        parts = [ExpectedMoments(0.0, np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), counts)]
        parts += [_moments_of_sums(summed, prior) for summed in self._summed]
        # Starting threads takes about as long as the rows of one chunk.
        threads = n_threads(self.n_jobs) if self._n_rows > _ROWS_PER_BATCH else 1
        parts += map_on_threads(lambda batch: _moments_of(*batch, prior), self._batches, threads)
        return reduce(add, parts)


def require_well_conditioned(prior: Prior) -> None:
    """Raise LinAlgError for a prior under which rounding could lead an ascent astray."""
    if not prior.well_conditioned:
        raise np.linalg.LinAlgError(SINGULAR)


def responsibilities(log_joint: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, float]:
    """Return the weight of each row in each component, (n, k), and the log-likelihood."""
    log_weights, log_likelihoods = log_normalised(log_joint)
    shares = np.exp(log_weights)
    if weights is None:
        return shares, float(log_likelihoods.sum())
    return shares * weights[:, None], float((log_likelihoods * weights).sum())


def _moments_of(
    batch: GroupedRows, X: FloatArray, weights: FloatArray | None, words: Any, prior: Prior
) -> ExpectedMoments:
    k, d = prior.means.shape
    givens = [RowsGiven.of(batch, X, prior, c) for c in range(k)]
    log_joint = np.column_stack([given.log_densities for given in givens])
    if np.isnan(log_joint).any():
        raise np.linalg.LinAlgError(SINGULAR)
    if k > 1:
        log_joint += prior.log_weights
    if words is not None:
        log_joint += words @ prior.log_probabilities.T
    shares, log_likelihood = responsibilities(log_joint, weights)
    even = k == 1 and weights is None
    firsts, seconds = np.empty((k, d)), np.empty((k, d, d))
    for c, given in enumerate(givens):
        share = shares[:, c]
        weighted = given.vectors if even else given.vectors * share[:, None]
        firsts[c] = weighted.sum(axis=0)
        products = weighted.T @ given.vectors
        spread = np.zeros((d, d))
        by_pattern = np.add.reduceat(share, batch.starts[:-1])
        add_principal(given.inverses, batch.members, batch.sizes, by_pattern, spread)
        if batch.members_are_missing:
            seconds[c] = products + spread
        else:  # the vectors are w with y = S w, and E[y y'] = S - S (P - w w') S
            S = prior.covariances[c]
            firsts[c] = S @ firsts[c]
            seconds[c] = share.sum() * S - S @ (spread - products) @ S
    seconds = (seconds + seconds.transpose(0, 2, 1)) / 2
    counts: tuple[FloatArray, ...] = ()
    if words is not None:
        counts = split_categories((words.T @ shares).T, prior.n_categories)
    return ExpectedMoments(log_likelihood, shares.sum(axis=0), firsts, seconds, counts)


def _moments_of_sums(summed: _SummedPatterns, prior: Prior) -> ExpectedMoments:
    """Return the moments of patterns whose rows were summed: the regressions of what they miss."""
    masks, members, sizes, counts, sums, products = summed
    G, mean = prior.precisions[0], np.where(masks, 0.0, prior.means[0])
    inverses = np.empty((*members.shape, members.shape[1]))
    log_determinants = np.empty(len(masks))
    # Compiled whatever the number of patterns: small tables have none that are summed.
    invert_principal.compiled(G, members, sizes, inverses, log_determinants)
    listed = np.arange(members.shape[1]) < sizes[:, None]
    inverses[~(listed[:, :, None] & listed[:, None])] = 0.0
    offsets = sums - counts[:, None] * mean
    observed = products - mean[:, :, None] * sums[:, None] - offsets[:, :, None] * mean[:, None]
    gains = -inverses @ (G[members] * ~masks[:, None])
    across = gains @ observed
    # Columns that are missing, of all patterns: the sums of what stands in their places.
    of_column = np.equal.outer(np.arange(len(G)), members[listed]).astype(np.float64)
    first = offsets.sum(axis=0) + of_column @ (gains @ offsets[:, :, None])[listed, 0]
    cross = of_column @ across[listed]
    second, spread = observed.sum(axis=0) + cross + cross.T, np.zeros(G.shape)
    within = across @ gains.transpose(0, 2, 1)
    add_principal.compiled(within, members, sizes, np.ones(len(masks)), second)
    add_principal.compiled(inverses, members, sizes, counts, spread)
    # A completed row y has y'Gy = y[O]' inv(S[O,O]) y[O], so the products hold all the quadratics.
    constants = log_determinants + prior.log_determinants[0] + _LOG_2_PI * (~masks).sum(axis=1)
    log_likelihood = -0.5 * float(counts @ constants + np.einsum("ij,ij->", G, second))
    second = (second + second.T) / 2 + spread
    return ExpectedMoments(log_likelihood, counts.sum()[None], first[None], second[None])


def _sum_patterns(
    X: FloatArray, weights: FloatArray | None, patterns: Patterns, chosen: IntArray
) -> _SummedPatterns:
    d = X.shape[1]
    counts = np.zeros(len(chosen))
    sums = np.zeros((len(chosen), d))
    products = np.zeros((len(chosen), d, d))
    rows_of = patterns.rows_by_pattern()
    for at, p in enumerate(chosen):
        for part in bounded_slices(len(rows_of[p]), d):
            rows = rows_of[p][part]
            values = np.where(patterns.masks[p], 0.0, X[rows])
            weighted = values if weights is None else values * weights[rows, None]
            counts[at] += len(rows) if weights is None else weights[rows].sum()
            sums[at] += weighted.sum(axis=0)
            products[at] += weighted.T @ values
    masks, sizes = patterns.masks[chosen], patterns.n_missing[chosen]
    return masks, listed_columns(masks, sizes), sizes, counts, sums, products


# The variance left of an interval, relative to its column's, up to which it is nearly a value.
_NARROW = 0.25


def narrow_intervals_filled(Z: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return rows in standard units with the means of narrow intervals filled in."""
    filled = Z.copy()
    row, column = np.nonzero(np.isnan(Z) & np.isfinite(lower) & np.isfinite(upper))
    _, means, variances = truncated_moments(lower[row, column], upper[row, column])
    narrow = variances < _NARROW
    filled[row[narrow], column[narrow]] = means[narrow]
    return filled


@dataclass(frozen=True, eq=False)
class LimitedExpectation:
    """Rows of which some missing values have limits, as :class:`Expectation` has other rows.

    Given what was observed, the missing values of a row are Gaussian in each component; with limits
    they are a truncated Gaussian, whose mean and covariance enter the expected moments, and whose
    mass multiplies the likelihood. One limit per row is exact, so that EM never lowers the
    likelihood; several are approximated by expectation propagation, whose log-mass has exactly
    these moments as its derivatives, so that EM has its fixed points where the approximate
    likelihood is stationary. See :func:`absentia.beliefs.limits.truncated_to`.
    """

    Z: FloatArray
    weights: FloatArray | None
    patterns: Patterns
    codes: IntArray | None
    limits: tuple[FloatArray, FloatArray]
    n_categories: tuple[int, ...]

    def __call__(self, prior: Prior) -> ExpectedMoments:
        """Take expectations under a prior; LinAlgError where a covariance is nearly singular."""
        require_well_conditioned(prior)
        beliefs, log_likelihoods = condition(
            prior, self.Z, patterns=self.patterns, codes=self.codes
        )
        log_joint = beliefs.log_weights + log_likelihoods[:, None]
        k, d = prior.means.shape
        slices = bounded_slices(len(self.Z), k * d * d)
        return reduce(add, (self._of_slice(beliefs, log_joint, rows, prior) for rows in slices))

    def _of_slice(
        self, beliefs: Beliefs, log_joint: FloatArray, rows: slice, prior: Prior
    ) -> ExpectedMoments:
        spread = beliefs.covariances.dense(beliefs.group_of_row[rows])
        log_masses, means, narrowed = truncated_to(
            beliefs.means[rows], spread, self.limits[0][rows], self.limits[1][rows]
        )
        weights = None if self.weights is None else self.weights[rows]
        shares, log_likelihood = responsibilities(log_joint[rows] + log_masses, weights)
        offsets = means - prior.means
        firsts = np.einsum("nk,nkd->kd", shares, offsets)
        by_component = offsets.transpose(1, 2, 0)
        seconds = (by_component * shares.T[:, None]) @ by_component.transpose(0, 2, 1)
        seconds += np.einsum("nk,nkij->kij", shares, narrowed)
        counts: tuple[FloatArray, ...] = ()
        if self.codes is not None:
            words = indicators(self.codes[rows], self.n_categories)
            counts = split_categories((words.T @ shares).T, self.n_categories)
        return ExpectedMoments(log_likelihood, shares.sum(axis=0), firsts, seconds, counts)
