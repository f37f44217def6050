"""Pairs of rows in the lanes of ``absentia.engine``: each pair has a factorisation of its own.

Three paths of the dispatch table: eight rows at a time, eight columns at a time for few rows, and
from covariances, whatever the beliefs.

All that depends on the columns and the kernel alone is prepared once for the support vectors of a
machine, and the bits of an entry do not depend on the rows that it is computed with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from absentia.beliefs import Prior
from absentia.engine.gram.explicit import explicit_rows
from absentia.engine.gram.pair_tiles import few_rows, gram_rows
from absentia.engine.gram.products import in_lanes, row_products
from absentia.engine.lanes import LANES
from absentia.engine.principal import principal_log_determinants
from absentia.engine.threads import bounded_blocks, run_tiles
from absentia.kernels.gram.sides import Region, Side
from absentia.kernels.metric import Smoothing, cached
from absentia.tables import BoolArray, FloatArray, IntArray

# Measured: entries are off by 5e-15 times the variance inflation of the density on the observed
# side, which subtracts squared lengths in the metric of the precision.
_LARGEST_INFLATION_OBSERVED = 2e4


class LaneRows(NamedTuple):
    """Rows: argument of compiled loops.

    Copies, writeable and C-contiguous, because a compiled function is compiled once more for arrays
    of another kind, such as read-only ones out of a file.
    """

    base: float  # ``2 gamma`` in the Euclidean metric; zero when ``information`` is given
    means: FloatArray  # (n, d), relative to the mean of the columns' density
    constants: FloatArray  # (n,), added to the logarithm
    groups: IntArray  # (n,), into ``masks`` or ``information``
    masks: BoolArray  # (n_groups, d)
    precision: FloatArray  # (d, d), of the rows' own density
    #: ``inv(C0 + S)`` of each group, (n_groups, d, d), for a general metric or covariance.
    information: FloatArray

    @classmethod
    def conditioned(cls, rows: Side, columns: Side, smoothing: Smoothing) -> LaneRows:
        """Return conditioned rows, in the Euclidean metric."""
        d = smoothing.n_features
        return cls(
            float(2 * smoothing.gamma),
            rows.means - columns.prior_mean,
            rows.constants,
            rows.ordering.groups,
            np.array(rows.beliefs.patterns.masks),
            rows.beliefs.prior.precisions[rows.component].copy(),
            np.empty((0, d, d)),
        )


class LaneColumns(NamedTuple):
    """Columns from some place on: argument of compiled loops.

    Neighbouring columns of one group share a factorisation.
    """

    means: FloatArray  # (m, d), relative to the mean of their density
    lanes: FloatArray  # the means in lanes, filled up with zeros
    constants: FloatArray  # (m,), added to the logarithm
    groups: IntArray  # (m,), into what follows
    members: IntArray  # (n_groups, d), what a group misses (or has), ascending
    sizes: IntArray  # (n_groups,), how many of the members count
    observed: BoolArray  # (n_groups,), whether a group is computed on the observed side
    precision: FloatArray  # (d, d)

    @classmethod
    def of(
        cls, columns: Side, first_column: int, rows_are_conditioned: bool, scaled: bool
    ) -> LaneColumns:
        """Prepare the columns from ``first_column`` on, without the constants of the side."""
        prior = columns.beliefs.prior
        means = np.array(columns.means[first_column:], order="C")
        means -= columns.prior_mean
        d = means.shape[1]
        different, groups = columns.local_groups(first_column, len(columns.means))
        groups = groups[first_column:]
        precision = prior.precisions[columns.component].copy()
        masks = columns.beliefs.patterns.masks[different]
        observed = _use_observed_side(columns, masks, prior, rows_are_conditioned)
        index = np.argsort(np.where(observed[:, None], masks, ~masks), axis=1, kind="stable")
        n_missing = masks.sum(axis=1)
        sizes = np.where(observed, d - n_missing, n_missing)
        constants = np.zeros(len(means))
        if scaled:
            work = columns.beliefs.whole.patterns.masks.size * d
            log_determinants = principal_log_determinants.choose(work)
            constants += 0.5 * log_determinants(precision, masks)[groups]
        if observed.any():
            images = row_products(means, in_lanes(precision), d)
            lengths = np.einsum("ij,ij->i", images, means)
            constants += np.where(observed[groups], 0.5 * lengths, 0.0)
        lanes = in_lanes(means)
        return cls(means, lanes, constants, groups, index, sizes, observed, precision)


def _use_observed_side(
    columns: Side, masks: BoolArray, prior: Prior, rows_are_conditioned: bool
) -> BoolArray:
    """Return for which patterns of the columns the observed side is taken, to the least cost.

    Rows are expected to miss as much as the columns do.
    """
    if not prior.inflation < _LARGEST_INFLATION_OBSERVED:
        return np.zeros(len(masks), dtype=bool)
    d = masks.shape[1]
    expected = columns.beliefs.whole.patterns.n_missing.astype(float)
    missing, observed = factor_cost(expected), factor_cost(d - expected)
    # One column on the missing side costs all that are computed with it the products U d, and one
    # on the observed side costs the row an inverse. Checked against times at 20 and 34 columns.
    products = float(np.mean(expected**2)) if rows_are_conditioned else float(d * d)
    inverse = d**3 / len(columns.beliefs.whole)
    share_with_products = 1 - float(np.mean(observed < missing)) ** LANES
    mixed = np.minimum(missing, observed).mean() + share_with_products * products + inverse
    all_missing, all_observed = missing.mean() + products, observed.mean() + inverse
    if mixed < min(all_missing, all_observed):
        n_missing = masks.sum(axis=1).astype(float)
        return np.asarray(factor_cost(d - n_missing) < factor_cost(n_missing))
    return np.full(len(masks), all_observed < all_missing)


def factor_cost(size: FloatArray, n_shared: float = 1.0) -> FloatArray:
    """Return the multiply-adds of a pair, where ``n_shared`` columns share a factorisation.

    Those of small factorisations run at about half the speed.
    """
    return size**3 / (6 * n_shared) + 2 * size**2


def fill_lanes(rows: Side, columns: Side, smoothing: Smoothing, region: Region) -> None:
    """Fill a region, eight rows at a time."""
    target = region.target
    first_column, scaled = target.first_column, target.scaled

    def prepare() -> LaneColumns:
        return LaneColumns.of(columns, first_column, rows.is_conditioned, scaled)

    if target.symmetric:
        prepared = prepare()
    else:
        what = "lanes", columns.component, first_column, rows.is_conditioned, scaled
        prepared = cached(columns.beliefs, smoothing, what, prepare)
    lanes = prepared._replace(constants=prepared.constants + columns.constants[first_column:])
    d = smoothing.n_features
    if rows.is_conditioned and smoothing.metric is None:
        own = LaneRows.conditioned(rows, columns, smoothing)
        tiles = region.tiles(region.first_row, region.last_row)
        run_tiles(gram_rows, tiles, region.threads, target, own, lanes)
        return
    # A general metric, or explicit covariances: information matrices by LAPACK, for as many
    # rows at a time as the workspace holds.
    row_means, row_constants = rows.means - columns.prior_mean, rows.constants.copy()
    for begin, end in bounded_blocks(region.first_row, region.last_row, d * d):
        groups, local = rows.local_groups(begin, end)
        smoothed = smoothing.covariance + rows.covariances(groups)
        information = np.linalg.inv(smoothed)
        information = (information + information.transpose(0, 2, 1)) / 2
        if scaled:
            log_ratio = np.linalg.slogdet(smoothed)[1] - smoothing.log_determinant
            row_constants[begin:end] -= 0.5 * log_ratio[local[begin:end]]
        masks = np.empty((0, d), dtype=bool)
        own = LaneRows(0.0, row_means, row_constants, local, masks, lanes.precision, information)
        tiles = region.tiles(begin, end)
        run_tiles(gram_rows, tiles, region.threads, target, own, lanes)


class ColumnLanes(NamedTuple):
    """Columns in groups of eight: argument of :func:`~absentia.engine.gram.pair_tiles.few_rows`."""

    order: IntArray  # the column in each lane; minus one in lanes that are left over
    constants: FloatArray  # terms of the logarithm that belong to the side of a column, in lanes
    means: FloatArray  # flat lanes of ``n_groups * d`` groups, relative to that of their density
    sizes: IntArray  # (n_groups,), how many values are factored
    starts: IntArray  # (n_groups,), where in ``members`` they are listed
    observed: BoolArray  # (n_groups,), whether they are computed on the observed side
    repeats: BoolArray  # (n_groups,), whether the group before has factored the same patterns
    stride: int  # columns of the table, and as many more as any lane is filled up by
    members: NDArray[np.int32]  # the columns of the table to factor, ascending, in lanes
    member_rows: NDArray[np.int32]  # the same times ``stride``
    precision: FloatArray  # (d, d), of the columns' density

    @classmethod
    def of(cls, columns: LaneColumns) -> ColumnLanes:
        """Put columns side by side that have one side, about one size, and one pattern if any."""
        d = columns.means.shape[1]
        group = columns.groups
        places = np.lexsort((group, columns.sizes[group], columns.observed[group]))
        n_missing_side = int(np.count_nonzero(~columns.observed[group]))
        lanes = np.concatenate(
            [_in_groups(places[:n_missing_side]), _in_groups(places[n_missing_side:])]
        )
        # The rest of a group is filled up with its first column, and not written.
        filled = np.where(lanes < 0, lanes[:, :1], lanes)
        groups = group[filled]
        sizes = columns.sizes[groups]
        largest = sizes.max(axis=1, initial=0)
        stride = d + int((largest[:, None] - sizes).max(initial=0))
        # Ascending, and behind the end of a lane's own the columns of the identity.
        rank = np.arange(max(1, int(largest.max(initial=0))))
        own = columns.members[groups][:, :, : len(rank)]
        listed = np.where(rank < sizes[..., None], own, d + rank - sizes[..., None])
        used = rank < largest[:, None]
        members = np.swapaxes(listed, 1, 2)[used].astype(np.int32)
        repeats = np.zeros(len(lanes), dtype=bool)
        repeats[1:] = (groups[1:] == groups[:-1]).all(axis=1)
        return cls(
            order=lanes.ravel(),
            constants=columns.constants[filled].ravel(),
            means=np.ascontiguousarray(np.swapaxes(columns.means[filled], 1, 2)).ravel(),
            sizes=largest,
            starts=LANES * (np.cumsum(largest) - largest),
            observed=columns.observed[groups[:, 0]],
            repeats=repeats,
            stride=stride,
            members=members.ravel(),
            member_rows=(members * np.int32(stride)).ravel(),
            precision=columns.precision,
        )


def _in_groups(places: IntArray) -> IntArray:
    """Return places in rows of eight, minus one behind their end."""
    lanes = np.full((-(-len(places) // LANES), LANES), -1, dtype=np.intp)
    lanes.ravel()[: len(places)] = places
    return lanes


def fill_few_rows(rows: Side, columns: Side, smoothing: Smoothing, region: Region) -> None:
    """Fill a whole matrix, which has few rows, eight columns at a time."""
    out, accumulate, scaled = region.target.out, region.target.accumulate, region.target.scaled
    prepared = cached(
        columns.beliefs,
        smoothing,
        ("columns in lanes", columns.component, scaled),
        lambda: ColumnLanes.of(LaneColumns.of(columns, 0, True, scaled)),
    )
    constants = prepared.constants + columns.constants[np.maximum(prepared.order, 0)]
    own = LaneRows.conditioned(rows, columns, smoothing)
    few_rows(out, accumulate, scaled, own, prepared._replace(constants=constants))


class ExplicitSide(NamedTuple):
    """Rows or columns with the covariance of each group: argument of compiled loops."""

    means: FloatArray
    constants: FloatArray
    groups: IntArray
    covariances: FloatArray  # (n_groups, d, d)


def explicit_blocks(
    rows: Side, columns: Side, smoothing: Smoothing, region: Region
) -> Iterator[tuple[list[tuple[int, int]], int, ExplicitSide, ExplicitSide]]:
    """Cut a region so that the covariances of a block fit into the workspace.

    Yields tiles of rows, the first column, all rows with ``C0 + A`` of the groups of these tiles,
    and the columns of the block.
    """
    d, scaled = smoothing.n_features, region.target.scaled
    means = np.array(rows.means)
    constants = rows.constants + 0.5 * smoothing.log_determinant * scaled
    for left, right in bounded_blocks(region.target.first_column, region.last_column, d * d):
        different, groups = columns.local_groups(left, right)
        others = ExplicitSide(
            np.array(columns.means[left:right]),
            columns.constants[left:right].copy(),
            groups[left:right],
            np.array(columns.covariances(different)),
        )
        for begin, end in bounded_blocks(region.first_row, region.last_row, d * d):
            if region.target.symmetric and end <= left:
                continue
            different, groups = rows.local_groups(begin, end)
            covariances = smoothing.covariance + rows.covariances(different)
            own = ExplicitSide(means, constants, groups, covariances)
            yield region.tiles(begin, end), left, own, others


def fill_explicit(rows: Side, columns: Side, smoothing: Smoothing, region: Region) -> None:
    """Fill a region from the covariances of both sides, whatever they come from."""
    for tiles, left, own, others in explicit_blocks(rows, columns, smoothing, region):
        target = region.target._replace(first_column=left)
        run_tiles(explicit_rows, tiles, region.threads, target, own, others)
