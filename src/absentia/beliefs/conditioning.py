"""Conditioning: rows grouped by pattern, the smaller side of each factored once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from absentia.beliefs.beliefs import Beliefs
from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.low_rank_prior import factor_joint
from absentia.beliefs.prior import FARTHEST, Prior, category_log_likelihoods, check_codes
from absentia.engine.principal import invert_principal, multiply_principal
from absentia.engine.threads import computed_once, one_blas_thread
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import assume_valid


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Some rows of a table, sorted by pattern, that are conditioned in one compiled call.

    Pattern ``p`` has the rows ``rows[starts[p]:starts[p + 1]]``. The columns of the principal
    submatrix to factor are the first ``sizes[p]`` of ``members[p]``: the missing ones, of the
    precision, where ``members_are_missing``, else the observed ones, of the covariance.
    """

    rows: IntArray
    starts: IntArray
    members: IntArray
    sizes: IntArray
    members_are_missing: bool

    @computed_once
    def pattern_of_row(self) -> IntArray:
        """Pattern of each row, as its position in the batch."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    def n_observed(self, n_features: int) -> IntArray:
        """Number of members of each pattern."""
        return n_features - self.sizes if self.members_are_missing else self.sizes


def group_rows(patterns: Patterns, rows_per_batch: int = 4096) -> list[GroupedRows]:
    """Cut the rows of a table into batches in which all patterns have the same smaller side."""
    d = patterns.masks.shape[1]
    n_missing = patterns.n_missing
    missing_side = 2 * n_missing <= d
    # Patterns of one size stand together, so that the padding of `members` stays narrow.
    order = np.lexsort((n_missing, ~missing_side))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    rank_of_row = rank[patterns.pattern_of_row]
    rows = np.argsort(rank_of_row, kind="stable")
    ranks = rank_of_row[rows]
    boundary = int(np.searchsorted(ranks, np.count_nonzero(missing_side)))
    batches = []
    for begin, end, of_missing in ((0, boundary, True), (boundary, len(rows), False)):
        for start in range(begin, end, rows_per_batch):
            stop = min(start + rows_per_batch, end)
            first, last = ranks[start], ranks[stop - 1]
            masks = patterns.masks[order[first : last + 1]]
            flags = masks if of_missing else ~masks
            sizes = flags.sum(axis=1)
            starts = np.searchsorted(ranks[start:stop], np.arange(first, last + 2))
            batches.append(
                GroupedRows(
                    rows[start:stop],
                    starts,
                    listed_columns(flags, sizes),
                    sizes,
                    members_are_missing=of_missing,
                )
            )
    return batches


def listed_columns(flags: BoolArray, sizes: IntArray) -> IntArray:
    """List the true columns of each row, ascending, padded with zeros."""
    rows, columns = np.nonzero(flags)
    listed = np.zeros((len(flags), sizes.max()), dtype=np.intp)
    listed[rows, np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = columns
    return listed


_LOG_2_PI = float(np.log(2 * np.pi))

# From this inflation on the square of the error in a completed value would show.
_ENOUGH_TO_REFINE = 1e6


@dataclass(frozen=True, eq=False)
class RowsGiven:
    """The rows of a batch under one Gaussian, given what was observed of them.

    On the missing side ``vectors`` (n_rows, d) are the completed rows less the mean, ``y``; on the
    observed side ``w = inv(S[O,O]) (x - mean)[O]`` with zeros elsewhere, from which ``y = S w``.
    ``log_densities`` are ``log N(x[O] | mean[O], S[O,O])``, NaN where ``S[O,O]`` is not positive
    definite, and ``inverses`` those of the submatrices of the batch's patterns.
    """

    vectors: FloatArray
    log_densities: FloatArray
    inverses: FloatArray

    @classmethod
    def of(cls, batch: GroupedRows, X: FloatArray, prior: Prior, component: int) -> RowsGiven:
        """Condition one component of a prior on what was observed of the rows ``X`` of a batch.

        Eight patterns are inverted at once, unless the prior is so badly conditioned that one of
        them might fail to be positive definite; then they are factored one by one, failures show
        as NaN in the log-densities, and no inverses are kept.

        Log-densities are accurate to about 1e-15 times the inflation of the prior (see
        :attr:`Prior.inflation`), times their own size where that is more than one.
        """
        n, d = X.shape
        vectors = X - prior.means[component]
        vectors[np.isnan(vectors)] = 0.0
        if batch.members_are_missing:
            G = prior.precisions[component]
            # The minus makes the solutions the completed values: y[L] = -inv(G[L,L]) (G y)[L].
            by_inverses = prior.well_conditioned
            _, log_determinants, inverses = _solve(batch, G, vectors @ -G, vectors, by_inverses)
            # From the completed row, because it is the minimum over y[L]: an error there enters
            # squared. With zeros in the holes two numbers as large as G would be subtracted.
            images = vectors @ G
            quadratics = np.einsum("ij,ij->i", vectors, images)
            if prior.inflation > _ENOUGH_TO_REFINE:
                changes = np.zeros((n, d))
                quadratics -= _solve(batch, G, -images, changes, by_inverses)[0]
                vectors += changes
            log_determinants = log_determinants + prior.log_determinants[component]
        else:
            S = np.ascontiguousarray(prior.covariances[component])
            sides, vectors = vectors, np.zeros((n, d))
            solved = _solve(batch, S, sides, vectors, prior.well_conditioned)
            quadratics, log_determinants, inverses = solved
        constants = log_determinants + _LOG_2_PI * batch.n_observed(d)
        log_densities = -0.5 * (constants[batch.pattern_of_row] + quadratics)
        return cls(vectors, log_densities, inverses)


def _solve(
    batch: GroupedRows, A: FloatArray, sides: FloatArray, X: FloatArray, by_inverses: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve with the submatrices of ``A`` of the batch's patterns, writing to their members.

    Returns quadratic forms of the rows, log determinants and inverses of the patterns.
    """
    n_patterns, most = batch.members.shape
    quadratics = np.zeros(len(sides))
    log_determinants = np.empty(n_patterns)
    shape = batch.members, batch.sizes, batch.starts
    if by_inverses:
        inverses = np.empty((n_patterns, most, most))
        invert_principal(A, batch.members, batch.sizes, inverses, log_determinants)
        multiply_principal(inverses, *shape, sides, X, quadratics)
    else:
        inverses = np.empty((0, most, most))
        for p, size in enumerate(batch.sizes):
            rows, columns = slice(batch.starts[p], batch.starts[p + 1]), batch.members[p, :size]
            root, failed = dpotrf(A[columns[:, None], columns], lower=1)
            log_determinants[p] = np.nan if failed else 2 * np.log(root.diagonal()).sum()
            if size and not failed:
                # A quadratic form as a sum of squares has all the digits that there are.
                whitened = dtrtrs(root, sides[rows, columns].T, lower=1)[0]
                quadratics[rows] = (whitened**2).sum(axis=0)
                X[rows, columns] = dtrtrs(root, whitened, lower=1, trans=1)[0].T
    return quadratics, log_determinants, inverses


_FEW_ROWS = 256


def condition(
    prior: Prior,
    X: FloatArray,
    names: Sequence[str] | None = None,
    patterns: Patterns | None = None,
    codes: IntArray | None = None,
) -> tuple[Beliefs, FloatArray]:
    """Condition a prior on what each row has, and score each row.

    For a row that has ``O`` and misses ``L``, component by component: the mean on ``L`` is
    ``m[L] + S[L,O] inv(S[O,O]) (x[O] - m[O])``, the log-weight is that of the component plus
    ``log N(x[O] | m[O], S[O,O])``, normalised over components: Eq. (2) of [Williams2005]_. Each
    pattern is factored once, on its smaller side; the rest is one product of matrices. The
    log-weight gains ``log p(category | component)`` of each category that was observed.

    ``names`` are for messages; ``patterns`` are those of ``X``, where known; ``codes`` are -1 where
    a category is missing. Returns the beliefs and ``log p(x[O])`` of each row, zero for a row with
    nothing observed.
    """
    patterns = _checked_patterns(prior, X, names, patterns)
    n, d = X.shape
    k = prior.n_components
    if patterns.masks.any():
        means = np.empty((n, k, d))
        log_joint = _joint(prior, X, patterns, means)
    else:  # nothing to complete: all components share one copy, which the caller cannot change
        means = np.broadcast_to(X.copy()[:, None, :], (n, k, d))
        log_joint = _joint(prior, X, patterns, None)
    if codes is None and prior.probabilities:  # rows of numbers: no category is known
        codes = np.full((n, len(prior.probabilities)), -1, dtype=np.intp)
    if codes is not None:
        check_codes(codes, n, prior.n_categories)
        log_joint += category_log_likelihoods(prior, codes)
    log_weights, log_likelihoods = log_normalised(log_joint)
    beliefs = Beliefs(
        log_weights=log_weights,
        means=means,
        covariances=CovarianceTable.conditioned(prior, patterns.masks),
        group_of_row=patterns.pattern_of_row,
        patterns=patterns,
        prior=prior,
        codes=codes,
    )
    return assume_valid(beliefs, prior, patterns), log_likelihoods


def joint_log_densities(
    prior: Prior,
    X: FloatArray,
    names: Sequence[str] | None = None,
    patterns: Patterns | None = None,
    codes: IntArray | None = None,
) -> FloatArray:
    """Return ``log(weights[c]) + log p(x[O] | component c)``, shape (n_samples, n_components)."""
    log_joint = _joint(prior, X, _checked_patterns(prior, X, names, patterns), None)
    if codes is not None:
        log_joint += category_log_likelihoods(prior, codes)
    return log_joint


def log_normalised(log_joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log-weights of the components of each row, and the log of their sum."""
    largest = log_joint.max(axis=1)
    if log_joint.shape[1] == 1:
        return np.zeros_like(log_joint), largest
    # Relative to the largest until the end: far from all components the logarithms are so large
    # that the sum of the weights would drown in their rounding.
    relative = log_joint - largest[:, None]
    log_sums = np.log(np.exp(relative).sum(axis=1))
    return relative - log_sums[:, None], largest + log_sums


def _checked_patterns(
    prior: Prior, X: FloatArray, names: Sequence[str] | None, patterns: Patterns | None
) -> Patterns:
    """Return the patterns of rows, found or given: compiled code looks rows up by them."""
    _check_reach(prior, X, names)
    if patterns is None:
        return Patterns.of_mask(np.isnan(X))
    patterns.ensure_valid()
    if (len(patterns), patterns.masks.shape[1]) != X.shape:
        raise ValueError(
            f"Patterns of {len(patterns)} rows in {patterns.masks.shape[1]} columns were given for "
            f"{X.shape[0]} rows in {X.shape[1]} columns."
        )
    return patterns


def _check_reach(prior: Prior, X: FloatArray, names: Sequence[str] | None) -> None:
    """Refuse a value so far from a component that its log-density would overflow."""
    if not isinstance(prior, Prior) or X.shape[1] != prior.n_features:
        found = f"{prior.n_features}" if isinstance(prior, Prior) else "no"
        raise ValueError(
            f"The density has {found} columns, but the rows have {X.shape[1]}: condition rows with "
            "the columns that it was fitted to."
        )
    prior.ensure_valid()
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    if (largest < prior.reach).all():
        return
    far = prior.out_of_reach(X)
    if far is not None:
        i, j, value = far
        name = f"x{j}" if names is None else names[j]
        raise ValueError(
            f"Row {i} has {value:.3g} in column {name}, more than {FARTHEST:g} standard "
            "deviations from a mean of the density, which is too far for double precision. "
            "Correct the value, or leave it missing."
        )


def _joint(prior: Prior, X: FloatArray, patterns: Patterns, means: FloatArray | None) -> FloatArray:
    """Return the joint log-densities and, where asked, write the conditional means."""
    if prior.low_rank is not None:
        return factor_joint(prior.low_rank, X, patterns, means)
    log_joint = np.empty((len(X), prior.n_components))
    # Keeping BLAS to one thread takes as long as conditioning a few hundred rows.
    with one_blas_thread() if len(X) > _FEW_ROWS else nullcontext():
        for batch in group_rows(patterns):
            rows = X[batch.rows]
            for c in range(prior.n_components):
                given = RowsGiven.of(batch, rows, prior, c)
                if np.isnan(given.log_densities).any():
                    raise np.linalg.LinAlgError(
                        "A covariance of the density is not positive definite for the "
                        "observed columns; fit the density with a larger reg_covar or with "
                        "shrinkage."
                    )
                log_joint[batch.rows, c] = prior.log_weights[c] + given.log_densities
                if means is not None:
                    completed = given.vectors
                    if not batch.members_are_missing:
                        completed = completed @ prior.covariances[c]
                    completed = prior.means[c] + completed
                    means[batch.rows, c] = np.where(np.isnan(rows), completed, rows)
    return log_joint
