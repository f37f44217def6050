"""Gram matrices from what both rows of a pair miss, for densities of any covariance.

A pair costs the square of what a row misses and the cube of what *both* miss, where other paths
cost the cube of what one of them misses, or has: :mod:`absentia.engine.gram.overlap_tiles`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from absentia.engine.gram.overlap_tiles import overlap_parts, overlap_rows
from absentia.engine.gram.products import in_lanes
from absentia.engine.lanes import LANES
from absentia.engine.threads import bounded_blocks, row_tiles, run_tiles
from absentia.kernels.gram.sides import Region, Side
from absentia.kernels.metric import Smoothing, cached
from absentia.tables import BoolArray, FloatArray, IntArray

# Rows and columns of a tile: many enough that overlaps of one size fill the lanes, few enough that
# the matrices of both stay in the second-level cache; so fewer of rows that miss more than this.
# The matrices of the columns come anew for every tile of rows, hence more rows than columns.
_TILE_ROWS = 32
_TILE_COLUMNS = 16
_MUCH_MISSING = 60

# Floats of a block's matrices: 64 MB.
_BLOCK = 2**23


class OverlapSide(NamedTuple):
    """Rows or columns of one component: argument of compiled loops."""

    means: FloatArray  # (n, d)
    lanes: FloatArray  # the means of the places that are prepared, in lanes
    first: int  # of these places
    constants: FloatArray  # (n,), added to the logarithm
    groups: IntArray  # (n,), of each row in what follows; zero outside some places
    F: FloatArray  # matrices of the groups one after the other
    starts: IntArray  # (n_groups,), where each begins
    members: IntArray  # (n_groups, d), what a group misses, ascending
    sizes: IntArray  # (n_groups,), how many of the members count
    words: NDArray[np.uint64]  # (n_groups, n_words), the masks as bits
    log_ratios: FloatArray  # (n_groups,), ``log det(I + E)``

    @classmethod
    def of(cls, side: Side, begin: int, end: int, base: float, threads: int) -> OverlapSide:
        """Prepare the groups of places ``begin`` to ``end``, without means and constants."""
        different, groups = side.local_groups(begin, end)
        masks: BoolArray = np.array(side.beliefs.patterns.masks[different])
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
        tiles = row_tiles(0, n_groups, 4 * threads if threads > 1 else 1, LANES)
        run_tiles(overlap_parts, tiles, threads, order, sums, index, sizes, starts, F, log_ratios)
        nothing = np.empty(0)
        means = np.empty((0, d))
        return cls(
            means, nothing, begin, nothing, groups, F, starts, index, sizes, words, log_ratios
        )

    def of_rows(self, side: Side, begin: int, end: int, scaled: bool) -> OverlapSide:
        """Return all rows, prepared for places ``begin`` to ``end``."""
        constants = side.constants.copy()
        if scaled:
            constants[begin:end] -= 0.5 * self.log_ratios[self.groups[begin:end]]
        # Copies: compiled loops would be compiled once more for read-only arrays out of a file.
        means = np.array(side.means, order="C")
        return self._replace(means=means, lanes=in_lanes(means[begin:end]), constants=constants)

    def of_columns(self, side: Side, left: int, right: int, scaled: bool) -> OverlapSide:
        """Return the columns from ``left`` to ``right``, prepared for these places."""
        whole = self.of_rows(side, left, right, scaled)
        return whole._replace(
            means=whole.means[left:right],
            constants=whole.constants[left:right],
            groups=self.groups[left:right],
        )


def fill_overlaps(rows: Side, columns: Side, smoothing: Smoothing, region: Region) -> None:
    """Fill a region."""
    target, threads = region.target, region.threads
    symmetric, scaled = target.symmetric, target.scaled
    base = float(2 * smoothing.gamma)
    missed = columns.beliefs.whole.patterns.n_missing.mean()
    tile_rows = _TILE_ROWS // 2 if missed > _MUCH_MISSING else _TILE_ROWS
    row_blocks = _blocks(rows, region.first_row, region.last_row)
    column_blocks = _blocks(columns, target.first_column, region.last_column)
    for left, right in column_blocks:

        def prepare(left: int = left, right: int = right) -> OverlapSide:
            return OverlapSide.of(columns, left, right, base, threads)

        if symmetric or len(column_blocks) > 1:
            prepared = prepare()
        else:
            what = "overlaps", columns.component, left
            prepared = cached(columns.beliefs, smoothing, what, prepare)
        others = prepared.of_columns(columns, left, right, scaled)
        bounds = rows.bounds_against(columns, left, right)
        for begin, end in row_blocks:
            if symmetric and end <= left:
                continue
            same = symmetric and rows.component == columns.component
            same = same and (begin, end) == (left, right)
            own = prepared if same else OverlapSide.of(rows, begin, end, base, threads)
            run_tiles(
                overlap_rows,
                region.tiles(begin, end),
                threads,
                target._replace(first_column=left),
                base,
                tile_rows,
                _TILE_COLUMNS,
                own.of_rows(rows, begin, end, scaled),
                others,
                bounds,
            )


def _blocks(side: Side, begin: int, end: int) -> list[tuple[int, int]]:
    """Cut places so that the matrices of a block stay within a bound."""
    squares = side.beliefs.whole.patterns.n_missing.astype(float) ** 2
    per_row = int(squares.mean()) if len(squares) else 1
    return bounded_blocks(begin, end, per_row, _BLOCK)
