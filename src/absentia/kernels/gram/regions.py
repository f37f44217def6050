"""Regions of a Gram matrix of expected RBFs by the lanes of ``absentia.engine``.

A region is rows of one component against columns of one component, in the order of computation.
Each pair of rows has a factorisation of its own, whatever the beliefs; other modules have quicker
ways for popular groups, few factors, wide tables and few rows.
"""

from __future__ import annotations

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.gram.explicit_tiles import explicit_rows
from absentia.engine.gram.pair_tiles import gram_rows
from absentia.engine.threads import bounded_slices, run_tiles
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.lane_columns import LaneColumns
from absentia.kernels.gram.region import Region
from absentia.kernels.gram.side import Side
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import FloatArray, IntArray

__all__ = [
    "fill_lanes",
    "local_groups",
    "takes_lanes",
    "works_from_precisions",
]

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
    if not takes_lanes(rows, columns, smoothing):
        _fill_from_covariances(out, rows, columns, smoothing, region)
        return
    first_column, scaled = region.first_column, region.scaled

    def prepare() -> LaneColumns:
        return LaneColumns.of(columns, first_column, rows.is_conditioned, scaled)

    if region.symmetric:
        prepared = prepare()
    else:
        what = "lanes", columns.component, first_column, rows.is_conditioned, scaled
        prepared = kept_for(columns.beliefs, smoothing, what, prepare)
    column_arguments = (
        *prepared.arguments(columns.constants[first_column:]),
        rows.bounds,
        columns.bounds[first_column:],
        rows.negligible(columns),
    )
    # Whole matrices, writeable and C-contiguous: each compiled function has one signature.
    target = out, first_column, *region.flags
    row_means = np.array(rows.means)
    row_means -= columns.beliefs.prior.means[columns.component]
    d = smoothing.n_features
    if rows.is_conditioned and smoothing.metric is None:
        run_tiles(
            gram_rows,
            region.tiles(region.first_row, region.last_row),
            region.threads,
            *target,
            2 * smoothing.gamma,
            row_means,
            rows.constants,
            rows.ordering.groups,
            np.array(rows.beliefs.patterns.masks),
            rows.beliefs.prior.precisions[rows.component].copy(),
            np.empty((0, d, d)),
            *column_arguments,
        )
        return
    # A general metric, or explicit covariances: information matrices by LAPACK, for as many
    # rows at a time as the workspace holds.
    row_constants = rows.constants.copy()
    for begin, end in _blocks(region.first_row, region.last_row, d):
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
            region.threads,
            *target,
            0.0,
            row_means,
            row_constants,
            local,
            np.empty((0, d), dtype=bool),
            prepared.precision,
            information,
            *column_arguments,
        )


def _fill_from_covariances(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    region: Region,
) -> None:
    """Fill a region from the covariances of both sides, whatever they come from."""
    d = smoothing.n_features
    row_means = np.array(rows.means)  # writeable like all others: compiled only once
    # The row groups carry C0, so that a pair only adds.
    row_constants = rows.constants + 0.5 * smoothing.log_determinant * region.scaled
    for left, right in _blocks(region.first_column, region.n_columns, d):
        starts, groups = columns.ordering.runs(left, right)
        kept, run_groups = np.unique(groups, return_inverse=True)
        column_means = np.array(columns.means[left:right])
        column_covariances = np.array(columns.covariances(kept))
        for begin, end in _blocks(region.first_row, region.last_row, d):
            if region.symmetric and end <= left:
                continue
            groups, local = local_groups(rows, begin, end)
            run_tiles(
                explicit_rows,
                region.tiles(begin, end),
                region.threads,
                out,
                left,
                *region.flags,
                row_means,
                row_constants,
                local,
                smoothing.covariance + rows.covariances(groups),
                column_means,
                columns.constants[left:right],
                starts,
                run_groups,
                column_covariances,
            )


def _blocks(begin: int, end: int, d: int) -> list[tuple[int, int]]:
    """Cut places so that a block's matrices of ``d x d`` fit into the workspace."""
    return [(begin + part.start, begin + part.stop) for part in bounded_slices(end - begin, d * d)]


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
