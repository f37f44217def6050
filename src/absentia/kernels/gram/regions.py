"""The regions of a Gram matrix of expected RBFs, each filled in the way that suits it.

A region is rows of one component against columns of one component, in the order of computation.
Popular groups against popular groups: one factorisation per pair of groups and a matrix product
for the rows. Everything else: the lanes of ``absentia.engine``, one factorisation per pair of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from absentia.beliefs import Beliefs, Prior
from absentia.engine.gram.dense_tiles import exponential_of_distances
from absentia.engine.gram.determinants import principal_log_determinants
from absentia.engine.gram.explicit_tiles import explicit_rows
from absentia.engine.gram.output import TILE
from absentia.engine.gram.pair_tiles import gram_rows
from absentia.engine.lanes import LANES
from absentia.engine.slices import bounded_slices
from absentia.engine.threads import (
    row_tiles,
    run_single_threaded_blas,
    run_tiles,
    triangle_tiles,
)
from absentia.kernels.gram.far_pairs import centre_of, far_pairs
from absentia.kernels.gram.ordering import Ordering
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["Side", "fill_lanes", "fill_popular", "works_from_precisions"]

# Products with popular columns are made in panels, so that they are still in the cache when their
# exponentials are taken.
_PANEL_ROWS = 128
_PANEL_COLUMNS = 1024

# Pairs below which a second thread does not pay for being started.
_PAIRS_PER_THREAD = 20_000

# The lanes work from the precision of the density, and rounding grows with its variance inflation:
# measured, entries are off by 5e-15 times the inflation on the observed side (which subtracts
# squared lengths in the metric of the precision) and by 1e-15 times it on the missing side. The
# second bound is what no density exceeds that keeps a millionth of each variance as its own.
_LARGEST_INFLATION_OBSERVED = 2e4
_LARGEST_INFLATION = 1.01e6

# Largest variance of a column in units of the RBF's own: the missing side subtracts two squared
# distances of that order, and loses as many digits.
_LARGEST_SPREAD = 1e5

# Smallest such variance: four pivots of the precisions are multiplied before they are rescaled.
_SMALLEST_SPREAD = 1e-60

# Squared distance from the mean of the density, in units of the RBF's own variance, that rows on
# both sides may have: as that of the spread, for rows that the density does not expect.
_LARGEST_SQUARE = 1e7


@dataclass(frozen=True, eq=False)
class Side:
    """One component of the beliefs on one side of a Gram matrix, in the order of computation.

    Attributes
    ----------
    beliefs : Beliefs
    ordering : Ordering
    component : int
    means : ndarray of shape (n, n_features)
    constants : ndarray of shape (n,)
        Added to the logarithm of every entry of the row or column: weights and normalisation.
    """

    beliefs: Beliefs
    ordering: Ordering
    component: int
    means: FloatArray
    constants: FloatArray

    @classmethod
    def of(
        cls, beliefs: Beliefs, ordering: Ordering, component: int, log_norms: FloatArray
    ) -> Side:
        """Pick a component of some beliefs; ``log_norms`` is subtracted from every logarithm."""
        constants = beliefs.log_weights[:, component] - log_norms
        means = beliefs.means[:, component]
        if not ordering.identity:
            constants, means = constants[ordering.rows], means[ordering.rows]
        return cls(beliefs, ordering, component, means, np.ascontiguousarray(constants))

    @property
    def is_conditioned(self) -> bool:
        """Whether the covariances come from conditioning a prior."""
        return self.beliefs.covariances.is_conditioned

    def covariances(self, groups: IntArray | slice) -> FloatArray:
        """Return the covariances of some groups, shape (n_groups, d, d)."""
        return self.beliefs.covariances.dense(groups)[:, self.component]


def fill_popular(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    *,
    symmetric: bool,
    accumulate: bool,
    scaled: bool,
    threads: int,
) -> None:
    """Fill the entries of popular groups against popular groups, below the diagonal only."""
    popular_rows, popular_columns = rows.ordering.popular, columns.ordering.popular
    if not popular_rows or not popular_columns:
        return
    row_points = rows.means[: rows.ordering.n_popular]
    column_points = columns.means[: columns.ordering.n_popular]
    centre = centre_of(column_points)
    row_means, column_means = row_points - centre, column_points - centre
    row_spread = rows.covariances(np.array([group for group, _, _ in popular_rows]))
    column_spread = columns.covariances(np.array([group for group, _, _ in popular_columns]))
    euclidean = smoothing.metric is None

    def fill_panel(p: int, q: int, start: int, stop: int) -> None:
        _, column_start, column_stop = popular_columns[q]
        if symmetric and p == q:
            column_stop = stop
        A, B = row_means[start:stop], column_means[column_start:column_stop]
        root = None
        if euclidean and not row_spread[p].any() and not column_spread[q].any():
            A, log_ratio, scale = A * (2 * smoothing.gamma), 0.0, 2 * smoothing.gamma
            row_lengths = np.einsum("ij,ij->i", A, A) / scale
            column_lengths = np.einsum("ij,ij->i", B, B) * scale
        else:
            root = np.linalg.cholesky(smoothing.covariance + row_spread[p] + column_spread[q])
            A = solve_triangular(root, A.T, lower=True, check_finite=False).T
            B = solve_triangular(root, B.T, lower=True, check_finite=False).T
            log_ratio = 2 * np.log(np.diagonal(root)).sum() - smoothing.log_determinant
            row_lengths = np.einsum("ij,ij->i", A, A)
            column_lengths = np.einsum("ij,ij->i", B, B)
        row_cap = rows.constants[start:stop] - 0.5 * log_ratio * scaled
        column_cap = columns.constants[column_start:column_stop]
        row_part = row_cap - 0.5 * row_lengths
        column_part = column_cap - 0.5 * column_lengths
        for left in range(0, column_stop - column_start, _PANEL_COLUMNS):
            some = slice(left, left + _PANEL_COLUMNS)
            target = out[start:stop, column_start:column_stop][:, some]
            tile = np.empty(target.shape) if accumulate else target
            np.matmul(A, B[some].T, out=tile)
            far = far_pairs(tile, row_lengths, column_lengths[some])
            limits = row_part, row_cap, column_part[some], column_cap[some]
            if accumulate:
                exponential_of_distances(tile, 0, 0, *limits)
            else:
                exponential_of_distances(out, start, column_start + left, *limits)
            for part in bounded_slices(len(far[0]), A.shape[1]):
                i, j = far[0][part], far[1][part]
                d = row_points[start + i] - column_points[column_start + left + j]
                if root is None:
                    lengths = np.einsum("ij,ij->i", d, d) * (2 * smoothing.gamma)
                else:
                    d = solve_triangular(root, d.T, lower=True, check_finite=False)
                    lengths = np.einsum("ji,ji->i", d, d)
                tile[i, j] = np.exp(row_cap[i] + column_cap[some][j] - 0.5 * lengths)
            if accumulate:
                target += tile

    tasks = [
        (p, q, start, min(start + _PANEL_ROWS, row_stop))
        for p, (_, row_start, row_stop) in enumerate(popular_rows)
        for start in range(row_start, row_stop, _PANEL_ROWS)
        for q in range(p + 1 if symmetric else len(popular_columns))
    ]
    n_pairs = rows.ordering.n_popular * columns.ordering.n_popular
    threads = max(1, min(threads, n_pairs // _PAIRS_PER_THREAD))
    run_single_threaded_blas(fill_panel, tasks, threads)


def fill_lanes(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    *,
    first_row: int,
    last_row: int,
    first_column: int,
    symmetric: bool,
    accumulate: bool,
    mirror: bool,
    scaled: bool,
    threads: int,
) -> None:
    """Fill rows ``first_row`` to ``last_row`` from column ``first_column`` on.

    With ``symmetric``, only columns up to the row; with ``mirror`` they are copied to above the
    diagonal too.
    """
    m = out.shape[1]
    if first_row >= last_row or first_column >= m:
        return
    d = smoothing.n_features
    n_pairs = (last_row - first_row) * (m - first_column)
    threads = max(1, min(threads, n_pairs // _PAIRS_PER_THREAD))
    n_tiles = 1 if threads == 1 else 8 * threads
    cut = triangle_tiles if symmetric else row_tiles
    prior = columns.beliefs.prior
    # Whole matrices, writeable and C-contiguous: each compiled function has one signature.
    target = (out, first_column, symmetric, accumulate, mirror, scaled)
    row_means = np.array(rows.means)  # writeable like all others: compiled only once
    column_means = np.array(columns.means[first_column:])
    if not (
        columns.is_conditioned
        and works_from_precisions(columns.beliefs, smoothing)
        and any(
            _largest_square(side.means - prior.means[columns.component], smoothing)
            < _LARGEST_SQUARE
            for side in (rows, columns)
        )
    ):
        # The row groups carry C0, so that a pair only adds.
        row_constants = rows.constants + 0.5 * smoothing.log_determinant * scaled
        for left in bounded_slices(len(column_means), d * d):
            starts, groups = columns.ordering.runs(
                first_column + left.start, first_column + left.stop
            )
            kept, run_groups = np.unique(groups, return_inverse=True)
            column_covariances = np.array(columns.covariances(kept))
            for part in bounded_slices(last_row - first_row, d * d):
                begin, end = first_row + part.start, first_row + part.stop
                if symmetric and end <= first_column + left.start:
                    continue
                groups, local = _local_groups(rows, begin, end)
                run_tiles(
                    explicit_rows,
                    cut(begin, end, n_tiles, LANES),
                    threads,
                    out,
                    first_column + left.start,
                    *target[2:],
                    row_means,
                    row_constants,
                    local,
                    smoothing.covariance + rows.covariances(groups),
                    column_means[left],
                    columns.constants[first_column:][left],
                    starts,
                    run_groups,
                    column_covariances,
                )
        return
    row_means -= prior.means[columns.component]
    column_means -= prior.means[columns.component]
    run_starts, run_groups = columns.ordering.runs(first_column)
    # Copies of our own: arrays that came out of a file may be read-only, for which the compiled
    # loops would be compiled once more.
    precision = prior.precisions[columns.component].copy()
    masks = columns.beliefs.patterns.masks[run_groups]
    observed = _use_observed_side(rows, masks, prior)
    index = np.argsort(np.where(observed[:, None], masks, ~masks), axis=1, kind="stable")
    n_missing = masks.sum(axis=1)
    sizes = np.where(observed, d - n_missing, n_missing)
    constants = columns.constants[first_column:].copy()
    run_lengths = np.diff(run_starts)
    if scaled:
        constants += np.repeat(0.5 * principal_log_determinants(precision, masks), run_lengths)
    if observed.any():
        lengths = np.einsum("ij,ij->i", column_means @ precision, column_means)
        constants += np.where(np.repeat(observed, run_lengths), 0.5 * lengths, 0.0)
    by_feature = np.zeros((d, len(column_means) + TILE))
    by_feature[:, : len(column_means)] = column_means.T
    column_arguments = (
        column_means,
        by_feature,
        constants,
        run_starts,
        index,
        sizes,
        observed,
        precision,
    )
    if rows.is_conditioned and smoothing.metric is None:
        row_prior = rows.beliefs.prior
        run_tiles(
            gram_rows,
            cut(first_row, last_row, n_tiles, LANES),
            threads,
            *target,
            2 * smoothing.gamma,
            row_means,
            rows.constants,
            rows.ordering.groups,
            np.array(rows.beliefs.patterns.masks),
            row_prior.precisions[rows.component].copy(),
            np.empty((0, d, d)),
            *column_arguments,
        )
        return
    # A general metric, or explicit covariances: information matrices by LAPACK, for as many
    # rows at a time as the workspace holds.
    row_constants = rows.constants.copy()
    for part in bounded_slices(last_row - first_row, d * d):
        begin, end = first_row + part.start, first_row + part.stop
        groups, local = _local_groups(rows, begin, end)
        smoothed = smoothing.covariance + rows.covariances(groups)
        information = np.linalg.inv(smoothed)
        information = (information + information.transpose(0, 2, 1)) / 2
        if scaled:
            log_ratio = np.linalg.slogdet(smoothed)[1] - smoothing.log_determinant
            row_constants[begin:end] -= 0.5 * log_ratio[local[begin:end]]
        run_tiles(
            gram_rows,
            cut(begin, end, n_tiles, LANES),
            threads,
            *target,
            0.0,
            row_means,
            row_constants,
            local,
            np.empty((0, d), dtype=bool),
            precision,
            information,
            *column_arguments,
        )


def works_from_precisions(beliefs: Beliefs, smoothing: Smoothing) -> bool:
    """Return whether rounding allows precisions of a density to be used instead of covariances."""
    prior = beliefs.prior
    variances = np.diagonal(prior.covariances, axis1=1, axis2=2)
    spread = variances * np.diagonal(smoothing.information)
    return bool(
        prior.inflation < _LARGEST_INFLATION
        and spread.max() < _LARGEST_SPREAD
        and spread.min() > _SMALLEST_SPREAD
    )


def _largest_square(offsets: FloatArray, smoothing: Smoothing) -> float:
    """Return the largest squared offset in a column, in units of the RBF's own variance."""
    largest = np.maximum(offsets.max(axis=0, initial=0.0), -offsets.min(axis=0, initial=0.0))
    return float((largest**2 * np.diagonal(smoothing.information)).max())


def _local_groups(rows: Side, begin: int, end: int) -> tuple[IntArray, IntArray]:
    """Return the groups of some rows, and which of them each of these rows is in."""
    local = np.zeros(len(rows.means), dtype=np.intp)
    groups, local[begin:end] = np.unique(rows.ordering.groups[begin:end], return_inverse=True)
    return groups, local


def _use_observed_side(rows: Side, masks: BoolArray, prior: Prior) -> BoolArray:
    """Return for which patterns of the columns the observed side is cheaper."""
    if not prior.inflation < _LARGEST_INFLATION_OBSERVED:
        return np.zeros(len(masks), dtype=bool)
    d = masks.shape[1]
    n_missing = masks.sum(axis=1).astype(float)
    n_observed = d - n_missing
    if rows.is_conditioned:
        products = float(np.mean(rows.beliefs.patterns.n_missing.astype(float) ** 2))
    else:
        products = float(d * d)
    # Multiply-adds of a pair; those of small factorisations run at about half the speed.
    cost_missing = n_missing**3 / 6 + 2 * n_missing**2 + 0.7 * products
    cost_observed = n_observed**3 / 6 + 2 * n_observed**2
    return np.asarray(cost_observed < cost_missing)
