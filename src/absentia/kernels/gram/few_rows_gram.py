"""Gram matrices of a few new rows against many columns, which stand in the lanes.

One row at a time is how a model in service is asked. What depends on the columns is prepared once
and kept with them; :mod:`absentia.engine.gram.few_rows` does the rest in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from absentia.beliefs import Beliefs
from absentia.engine.gram.few_rows import few_rows
from absentia.engine.lanes import LANES
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.lane_columns import LaneColumns
from absentia.kernels.gram.overlap_gram import fill_overlaps, works_in_overlaps
from absentia.kernels.gram.region import Region
from absentia.kernels.gram.regions import fill_lanes, takes_lanes
from absentia.kernels.gram.side import Side
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["FEW_ROWS", "are_few_rows", "fill_few_rows"]

# Rows up to which lanes of columns are quicker than lanes of rows, of which the rest are empty.
FEW_ROWS = 4

# Columns of the table up to which they are quicker than overlaps too.
_NARROW = 100
# A multiply-add here, where no lane is empty, in units of one of the overlaps: measured at 100 to
# 300 columns, with 1, 2 and 4 rows, 30 and 60 % missing.
_UNIT = 0.45


@dataclass(frozen=True, eq=False)
class _ColumnsInLanes:
    """Columns in groups of eight; arguments of ``absentia.engine.gram.few_rows.few_rows``."""

    order: IntArray
    constants: FloatArray
    means: FloatArray
    sizes: IntArray
    starts: IntArray
    observed: BoolArray
    repeats: BoolArray
    stride: int
    members: NDArray[np.int32]
    member_rows: NDArray[np.int32]
    member_lanes: NDArray[np.int32]
    precision: FloatArray

    @classmethod
    def of(cls, columns: LaneColumns) -> _ColumnsInLanes:
        """Put columns side by side that have one side, about one size, and one pattern if any."""
        d = columns.means.shape[1]
        run = np.repeat(np.arange(len(columns.sizes)), np.diff(columns.run_starts))
        places = np.lexsort((run, columns.sizes[run], columns.observed[run]))
        n_missing_side = int(np.count_nonzero(~columns.observed[run]))
        lanes = np.concatenate(
            [_in_groups(places[:n_missing_side]), _in_groups(places[n_missing_side:])]
        )
        # What is left over of a group is filled up with its first column, and not written.
        filled = np.where(lanes < 0, lanes[:, :1], lanes)
        runs = run[filled]
        sizes = columns.sizes[runs]
        largest = sizes.max(axis=1, initial=0)
        beyond = int((largest[:, None] - sizes).max(initial=0))
        stride = d + beyond
        # Ascending, and behind the end of a lane's own the columns of the identity.
        listed = np.full((len(lanes), LANES, max(1, int(largest.max(initial=0)))), 0, np.intp)
        rank = np.arange(listed.shape[2])
        own = columns.index[runs][:, :, : listed.shape[2]]
        listed[:] = np.where(rank < sizes[..., None], own, d + rank - sizes[..., None])
        used = rank < largest[:, None]
        members = np.swapaxes(listed, 1, 2)[used].astype(np.int32)
        repeats = np.zeros(len(lanes), dtype=bool)
        repeats[1:] = (runs[1:] == runs[:-1]).all(axis=1)
        return cls(
            order=lanes.ravel(),
            constants=columns.constants[filled].ravel(),
            means=np.ascontiguousarray(np.swapaxes(columns.means[filled], 1, 2)).ravel(),
            sizes=largest,
            starts=LANES * (np.cumsum(largest) - largest),
            observed=columns.observed[runs[:, 0]],
            repeats=repeats,
            stride=stride,
            members=members.ravel(),
            member_rows=(members * np.int32(stride)).ravel(),
            member_lanes=(members * np.int32(LANES) + np.arange(LANES, dtype=np.int32)).ravel(),
            precision=columns.precision,
        )

    def arguments(self) -> tuple[Any, ...]:
        """Return what the compiled loop takes, from the order on."""
        return (
            self.order,
            self.constants,
            self.means,
            self.sizes,
            self.starts,
            self.observed,
            self.repeats,
            self.stride,
            self.members,
            self.member_rows,
            self.member_lanes,
            self.precision,
        )


def are_few_rows(P: Beliefs, Q: Beliefs | None, smoothing: Smoothing) -> bool:
    """Return whether the columns stand in the lanes: by the whole that ``P`` is a tile of."""
    if Q is None or len(P.whole) > FEW_ROWS or smoothing.metric is not None:
        return False
    if not (P.covariances.is_conditioned and Q.covariances.is_conditioned):
        return False
    return smoothing.n_features <= _NARROW or not works_in_overlaps(P, Q, smoothing, _UNIT)


def fill_few_rows(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    region: Region,
) -> None:
    """Fill all rows: ``fill_lanes``, where no few rows are popular and all columns are wanted."""
    if region.is_empty:
        return
    if not takes_lanes(rows, columns, smoothing):
        in_overlaps = works_in_overlaps(rows.beliefs, columns.beliefs, smoothing)
        fill = fill_overlaps if in_overlaps else fill_lanes
        fill(out, rows, columns, smoothing, region)
        return
    scaled = region.scaled
    what = "columns in lanes", columns.component, scaled
    prepared = kept_for(
        columns.beliefs,
        smoothing,
        what,
        lambda: _ColumnsInLanes.of(LaneColumns.of(columns, 0, True, scaled)),
    )
    few_rows(
        out,
        region.accumulate,
        scaled,
        float(2 * smoothing.gamma),
        rows.means - columns.beliefs.prior.means[columns.component],
        rows.constants,
        rows.ordering.groups,
        np.array(rows.beliefs.patterns.masks),  # writeable like all others: compiled only once
        rows.beliefs.prior.precisions[rows.component].copy(),
        columns.constants,
        *prepared.arguments(),
        rows.bounds,
        columns.bounds,
        rows.negligible(columns),
    )


def _in_groups(places: IntArray) -> IntArray:
    """Return places in rows of eight, minus one behind their end."""
    lanes = np.full((-(-len(places) // LANES), LANES), -1, dtype=np.intp)
    lanes.ravel()[: len(places)] = places
    return lanes
