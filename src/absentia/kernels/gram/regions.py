"""The regions of a Gram matrix of expected RBFs, each filled in the way that suits it.

A region is rows of one component against columns of one component, in the order of computation.
Popular groups against popular groups: one factorisation per pair of groups and a matrix product
for the rows. Everything else: the lanes of ``absentia.engine``, one factorisation per pair of rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from absentia.beliefs import Beliefs
from absentia.engine.gram.explicit_tiles import explicit_rows
from absentia.engine.gram.pair_tiles import gram_rows
from absentia.engine.gram.row_products import exponentials_of_distances, in_lanes, row_products
from absentia.engine.slices import bounded_slices
from absentia.engine.threads import run_single_threaded_blas, run_tiles
from absentia.kernels.gram.far_pairs import centre_of, far_pairs, far_points
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.lane_columns import LaneColumns
from absentia.kernels.gram.ordering import Ordering
from absentia.kernels.gram.region import Region
from absentia.kernels.gram.side import Side
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import FloatArray, IntArray

__all__ = [
    "fill_lanes",
    "fill_popular",
    "local_groups",
    "takes_lanes",
    "works_from_precisions",
]

# Rows of a popular group that make one task; twice as many where it prepares columns of its own.
_PANEL_ROWS = 128

# The lanes work from the precision of the density, and rounding grows with its variance inflation:
# measured, entries are off by 1e-15 times the inflation on the missing side (lane_columns.py has
# the bound of the observed one). No density exceeds it that keeps a millionth of each variance as
# its own.
_LARGEST_INFLATION = 1.01e6

# Largest variance of a column in units of the RBF's own: the missing side subtracts two squared
# distances of that order, and loses as many digits.
_LARGEST_SPREAD = 1e5

# Smallest such variance: four pivots of the precisions are multiplied before they are rescaled.
_SMALLEST_SPREAD = 1e-60


def fill_popular(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    region: Region,
) -> None:
    """Fill the entries of popular groups against popular groups, below the diagonal only."""
    popular_rows, popular_columns = rows.ordering.popular, columns.ordering.popular
    if not popular_rows or not popular_columns:
        return
    symmetric, accumulate, scaled = region.symmetric, region.accumulate, region.scaled
    row_points = rows.means[: rows.ordering.n_popular]
    column_points = columns.means[: columns.ordering.n_popular]
    centre = kept_for(
        columns.beliefs.whole,
        smoothing,
        ("centre", columns.component),
        lambda: _popular_centre(columns),
    )
    row_means = np.ascontiguousarray(row_points - centre)
    column_means = np.ascontiguousarray(column_points - centre)
    row_spread = rows.popular_covariances()
    column_spread = columns.popular_covariances()
    certain_rows = np.logical_not(row_spread.any(axis=(1, 2)))
    certain_columns = np.logical_not(column_spread.any(axis=(1, 2)))
    euclidean = smoothing.metric is None
    # Complete rows against complete rows: the columns are the same for all tasks.
    shared = {
        q: in_lanes(column_means[start:stop])
        for q, (_, start, stop) in enumerate(popular_columns)
        if euclidean and certain_columns[q] and certain_rows.any()
    }

    def fill_panel(p: int, q: int, start: int, stop: int) -> None:
        _, column_start, column_stop = popular_columns[q]
        if symmetric and p == q:
            column_stop = stop
        A, B = row_means[start:stop], column_means[column_start:column_stop]
        whiten = None
        if euclidean and certain_rows[p] and certain_columns[q]:
            A, log_ratio, scale = A * (2 * smoothing.gamma), 0.0, 2 * smoothing.gamma
            row_lengths = np.einsum("ij,ij->i", A, A) / scale
            column_lengths = np.einsum("ij,ij->i", B, B) * scale
            lanes = shared[q]
        else:
            root = np.linalg.cholesky(smoothing.covariance + row_spread[p] + column_spread[q])
            whiten = in_lanes(np.ascontiguousarray(dtrtri(root, lower=1)[0]))
            A = row_products(A, whiten, A.shape[1])
            B = row_products(B, whiten, A.shape[1])
            log_ratio = 2 * np.log(np.diagonal(root)).sum() - smoothing.log_determinant
            row_lengths = np.einsum("ij,ij->i", A, A)
            column_lengths = np.einsum("ij,ij->i", B, B)
            lanes = in_lanes(B)
        row_cap = rows.constants[start:stop] - 0.5 * log_ratio * scaled
        column_cap = columns.constants[column_start:column_stop]
        row_part = row_cap - 0.5 * row_lengths
        column_part = column_cap - 0.5 * column_lengths
        ends = row_part, row_cap, lanes, column_part, column_cap
        i, j = _far_pairs(A, B, row_lengths, column_lengths)
        before = out[start + i, column_start + j]
        exponentials_of_distances(out, start, column_start, A, *ends, accumulate)
        for part in bounded_slices(len(i), A.shape[1]):
            d = row_points[start + i[part]] - column_points[column_start + j[part]]
            if whiten is None:
                lengths = np.einsum("ij,ij->i", d, d) * (2 * smoothing.gamma)
            else:
                d = row_products(d, whiten, d.shape[1])
                lengths = np.einsum("ij,ij->i", d, d)
            exact = np.exp(row_cap[i[part]] + column_cap[j[part]] - 0.5 * lengths)
            if accumulate:
                exact += before[part]
            out[start + i[part], column_start + j[part]] = exact

    # Columns are whitened anew for each panel, unless they are shared.
    steps = np.where(certain_rows & bool(shared), _PANEL_ROWS, 2 * _PANEL_ROWS).tolist()
    tasks = [
        (p, q, start, min(start + steps[p], row_stop))
        for p, (_, row_start, row_stop) in enumerate(popular_rows)
        for start in range(row_start, row_stop, steps[p])
        for q in range(p + 1 if symmetric else len(popular_columns))
    ]
    run_single_threaded_blas(fill_panel, tasks, region.threads)


def _far_pairs(
    A: FloatArray, B: FloatArray, row_lengths: FloatArray, column_lengths: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the pairs whose distance must be taken from their difference; usually none."""
    rows, columns = far_points(row_lengths), far_points(column_lengths)
    if not len(rows) or not len(columns):
        return rows[:0], columns[:0]
    products = row_products(A[rows], in_lanes(B[columns]), len(columns))
    i, j = far_pairs(products, row_lengths[rows], column_lengths[columns])
    return rows[i], columns[j]


def _popular_centre(columns: Side) -> FloatArray:
    """Return a point among the popular rows of the whole that the columns belong to."""
    whole = columns.beliefs.whole
    ordering = Ordering.of(whole)
    return centre_of(whole.means[ordering.rows[: ordering.n_popular], columns.component])


def fill_lanes(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    region: Region,
) -> None:
    """Fill a region of ``out``, eight rows at a time."""
    if region.is_empty:
        return
    d = smoothing.n_features
    first_row, last_row, first_column = region.first_row, region.last_row, region.first_column
    symmetric, scaled, threads = region.symmetric, region.scaled, region.threads
    # Whole matrices, writeable and C-contiguous: each compiled function has one signature.
    target = (out, first_column, symmetric, region.accumulate, region.mirror, scaled)
    row_means = np.array(rows.means)  # writeable like all others: compiled only once
    if not takes_lanes(rows, columns, smoothing):
        column_means = np.array(columns.means[first_column:])
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
                groups, local = local_groups(rows, begin, end)
                run_tiles(
                    explicit_rows,
                    region.tiles(begin, end),
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
    row_means -= columns.beliefs.prior.means[columns.component]

    def prepare() -> LaneColumns:
        return LaneColumns.of(columns, first_column, rows.is_conditioned, scaled)

    if symmetric:
        prepared = prepare()
    else:
        what = "lanes", columns.component, first_column, rows.is_conditioned, scaled
        prepared = kept_for(columns.beliefs, smoothing, what, prepare)
    precision = prepared.precision
    column_arguments = (
        *prepared.arguments(columns.constants[first_column:]),
        rows.bounds,
        columns.bounds[first_column:],
        rows.negligible(columns),
    )
    if rows.is_conditioned and smoothing.metric is None:
        row_prior = rows.beliefs.prior
        run_tiles(
            gram_rows,
            region.tiles(first_row, last_row),
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
        groups, local = local_groups(rows, begin, end)
        smoothed = smoothing.covariance + rows.covariances(groups)
        information = np.linalg.inv(smoothed)
        information = (information + information.transpose(0, 2, 1)) / 2
        if scaled:
            log_ratio = np.linalg.slogdet(smoothed)[1] - smoothing.log_determinant
            row_constants[begin:end] -= 0.5 * log_ratio[local[begin:end]]
        run_tiles(
            gram_rows,
            region.tiles(begin, end),
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


def takes_lanes(rows: Side, columns: Side, smoothing: Smoothing) -> bool:
    """Return whether the lanes may subtract squared lengths, in the metric of the precision."""
    if not (columns.is_conditioned and works_from_precisions(columns.beliefs, smoothing)):
        return False
    centre = columns.beliefs.prior.means[columns.component]
    what = "near", columns.component
    near: bool = kept_for(
        columns.beliefs.whole, smoothing, what, lambda: columns.is_near(centre, smoothing)
    )
    return near or rows.is_near(centre, smoothing)


def works_from_precisions(beliefs: Beliefs, smoothing: Smoothing) -> bool:
    """Return whether rounding allows precisions of a density to be used instead of covariances."""
    least, most = smoothing.range_in_units(beliefs.prior)
    return (
        beliefs.prior.inflation < _LARGEST_INFLATION
        and most < _LARGEST_SPREAD
        and least > _SMALLEST_SPREAD
    )


def local_groups(rows: Side, begin: int, end: int) -> tuple[IntArray, IntArray]:
    """Return the groups of some rows, and which of them each of these rows is in."""
    local = np.zeros(len(rows.means), dtype=np.intp)
    groups, local[begin:end] = np.unique(rows.ordering.groups[begin:end], return_inverse=True)
    return groups, local
