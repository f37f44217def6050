"""Gram matrices from what both rows of a pair miss, for densities of any covariance.

A pair costs the square of what a row misses and the cube of what *both* miss; the other roads cost
the cube of what one of them misses, or has. On wide tables that is a tenth:
:mod:`absentia.engine.gram.overlap_tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from absentia.beliefs import Beliefs
from absentia.engine.gram.overlap_parts import overlap_parts_in_lanes, overlap_parts_one_by_one
from absentia.engine.gram.overlap_tiles import overlap_rows
from absentia.engine.gram.row_products import in_lanes
from absentia.engine.lanes import LANES
from absentia.engine.principal import MOST_IN_LANES
from absentia.engine.threads import bounded_slices, row_tiles, run_single_threaded_blas, run_tiles
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.region import Region
from absentia.kernels.gram.regions import local_groups, works_from_precisions
from absentia.kernels.gram.side import Side
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["fill_overlaps", "works_in_overlaps"]

# Rows and columns of a tile: many enough that overlaps of one size fill the lanes, few enough that
# the matrices of both stay in the second-level cache; so fewer of rows that miss more than this.
# The matrices of the columns come anew for every tile of rows, hence more rows than columns.
_TILE_ROWS = 32
_TILE_COLUMNS = 16
_MUCH_MISSING = 60

# Floats of a block's matrices: 64 MB.
_BLOCK = 2**23

# Largest variance of a column in units of the RBF's own: F nears the identity, and what is left of
# it has as many digits less.
_LARGEST_SPREAD = 1e4


@dataclass(frozen=True, eq=False)
class _Parts:
    """Rows of one component, in some places of the order of computation, as compiled code reads it.

    Attributes
    ----------
    groups : ndarray of int, shape (n,)
        Which of the following each row of the side has; zero outside the places.
    F, starts : matrices of the groups one after the other, and where each begins
    index, sizes : what a group misses, ascending, and how much
    words : ndarray of uint64, shape (n_groups, n_words)
        The masks as bits.
    log_ratios : ndarray of shape (n_groups,)
        ``log det(I + E)``.
    """

    groups: IntArray
    F: FloatArray
    starts: IntArray
    index: IntArray
    sizes: IntArray
    words: NDArray[np.uint64]
    log_ratios: FloatArray

    @classmethod
    def of(cls, side: Side, begin: int, end: int, base: float, threads: int) -> _Parts:
        kept, groups = local_groups(side, begin, end)
        masks: BoolArray = np.array(side.beliefs.patterns.masks[kept])
        n_groups, d = masks.shape
        sizes = masks.sum(axis=1)
        ends = np.cumsum(sizes**2)
        F = np.empty(int(ends[-1]))
        starts = ends - sizes**2
        index = np.zeros((n_groups, d), dtype=np.intp)
        of_group, members = np.nonzero(masks)
        first_of_group = np.repeat(np.cumsum(sizes) - sizes, sizes)
        index[of_group, np.arange(len(members)) - first_of_group] = members
        log_ratios = np.empty(n_groups)
        sums = side.beliefs.prior.precisions[side.component] / base
        sums[np.diag_indices(d)] += 1.0
        bits = np.zeros((n_groups, -(-d // 64) * 64), dtype=bool)
        bits[:, :d] = masks
        words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
        order = np.argsort(sizes, kind="stable")
        n_small = int(np.searchsorted(sizes[order], MOST_IN_LANES, side="right"))
        n_tiles = 4 * threads if threads > 1 else 1
        arguments = order, sums, index, sizes, starts, F, log_ratios
        small = row_tiles(0, n_small, n_tiles, LANES)
        run_tiles(overlap_parts_in_lanes, small, threads, *arguments)
        large = [(*tile, *arguments) for tile in row_tiles(n_small, n_groups, n_tiles, 1)]
        run_single_threaded_blas(overlap_parts_one_by_one, large, threads)
        return cls(groups, F, starts, index, sizes, words, log_ratios)

    def arguments(self) -> tuple[Any, ...]:
        """Return what the compiled loop takes, from the groups on."""
        return (
            self.groups,
            self.F,
            self.starts,
            self.index,
            self.sizes,
            self.words,
        )


def works_in_overlaps(
    P: Beliefs, Q: Beliefs, smoothing: Smoothing, other_ways: float | None = None
) -> bool:
    """Return whether overlaps may be used for these rows and columns, and cost least.

    By the wholes that they are tiles of, so that all tiles are computed alike.

    Parameters
    ----------
    P, Q : Beliefs
    smoothing : Smoothing
    other_ways : float, optional
        What a unit of the count of ``lane_columns.py`` takes, in units of full lanes; by default
        as many as the rows leave empty.
    """
    if smoothing.metric is not None or not (
        P.covariances.is_conditioned and Q.covariances.is_conditioned
    ):
        return False
    for side in (P, Q):
        most = side.prior.variance_range[1]
        if not (
            works_from_precisions(side, smoothing) and most * 2 * smoothing.gamma < _LARGEST_SPREAD
        ):
            return False
    rows, columns = P.whole.patterns, Q.whole.patterns
    if not len(rows.n_missing) or not len(columns.n_missing):
        return False
    d = smoothing.n_features
    missed, others = rows.n_missing.astype(float), columns.n_missing.astype(float)
    own, other = np.mean(missed**2), np.mean(others**2)
    both = float(rows.masks.mean(axis=0) @ columns.masks.mean(axis=0))
    lanes = 8 / min(8, len(P.whole))
    # Multiply-adds of a pair, and what loading scattered entries takes in units of them: measured
    # at 34, 100 and 300 columns against the lanes, whose count is that of lane_columns.py.
    in_overlaps = 500 + 0.5 * (own + lanes * other) + 16 * both**2 + 0.6 * (both + 1) ** 3
    run = max(1.0, len(Q.whole) / len(others))
    missing = others**3 / (6 * run) + 2 * others**2 + 0.7 * own
    observed = (d - others) ** 3 / (6 * run) + 2 * (d - others) ** 2
    unit = lanes if other_ways is None else other_ways
    return bool(in_overlaps < unit * np.mean(np.minimum(missing, observed)))


def fill_overlaps(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    region: Region,
) -> None:
    """Fill a region of ``out``."""
    if region.is_empty:
        return
    first_column, m = region.first_column, region.n_columns
    symmetric, scaled, threads = region.symmetric, region.scaled, region.threads
    base = float(2 * smoothing.gamma)
    missed = columns.beliefs.whole.patterns.n_missing.mean()
    tile_rows = _TILE_ROWS // 2 if missed > _MUCH_MISSING else _TILE_ROWS
    # Copies of our own: arrays that came out of a file may be read-only, for which the compiled
    # loops would be compiled once more.
    row_means, column_means = np.array(rows.means, order="C"), np.array(columns.means, order="C")
    row_bounds, column_bounds = rows.bounds, columns.bounds
    negligible = rows.negligible(columns)
    row_blocks = _blocks(rows, region.first_row, region.last_row)
    column_blocks = _blocks(columns, first_column, m)
    for left, right in column_blocks:

        def prepare(left: int = left, right: int = right) -> _Parts:
            return _Parts.of(columns, left, right, base, threads)

        if symmetric or len(column_blocks) > 1:
            others = prepare()
        else:
            what = "overlaps", columns.component, first_column
            others = kept_for(columns.beliefs, smoothing, what, prepare)
        columns_in_lanes = in_lanes(column_means[left:right])
        column_constants = columns.constants[left:right]
        if scaled:
            column_constants = column_constants - 0.5 * others.log_ratios[others.groups[left:right]]
        for begin, end in row_blocks:
            if symmetric and end <= left:
                continue
            same = symmetric and rows.component == columns.component
            same = same and (begin, end) == (left, right)
            own = others if same else _Parts.of(rows, begin, end, base, threads)
            row_constants = rows.constants.copy()
            if scaled:
                row_constants[begin:end] -= 0.5 * own.log_ratios[own.groups[begin:end]]
            run_tiles(
                overlap_rows,
                region.tiles(begin, end),
                threads,
                out,
                left,
                *region.flags,
                base,
                tile_rows,
                _TILE_COLUMNS,
                row_means,
                row_constants,
                *own.arguments(),
                column_means[left:right],
                columns_in_lanes,
                column_constants,
                others.groups[left:right],
                *others.arguments()[1:],
                row_bounds,
                column_bounds[left:right],
                negligible,
            )


def _blocks(side: Side, begin: int, end: int) -> list[tuple[int, int]]:
    """Cut places so that the matrices of a block stay within a bound."""
    squares = side.beliefs.whole.patterns.n_missing.astype(float) ** 2
    per_row = int(squares.mean()) if len(squares) else 1
    slices = bounded_slices(end - begin, per_row, _BLOCK)
    return [(begin + part.start, begin + part.stop) for part in slices]
