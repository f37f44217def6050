"""The dispatch table of Gram matrices: which path computes which pairs of rows.

Small matrices with few patterns are computed in NumPy before this table is consulted
(:func:`~absentia.kernels.gram.frequent_patterns.small_gram`), because compiling takes seconds. All
others are cut into the pairs of frequent patterns and the rest, component by component, and each
part takes the cheapest of :data:`PATHS` that applies. docs/engine.md derives the paths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.lanes import LANES
from absentia.engine.threads import computed_once
from absentia.kernels.gram.factors import fill_factors
from absentia.kernels.gram.frequent_patterns import fill_frequent
from absentia.kernels.gram.lane_pairs import factor_cost, fill_explicit, fill_few_rows, fill_lanes
from absentia.kernels.gram.overlaps import fill_overlaps
from absentia.kernels.gram.sides import Region, Side
from absentia.kernels.metric import Smoothing, cached
from absentia.tables import FloatArray

#: Rows up to which lanes of columns are quicker than lanes of rows, of which the rest are empty.
FEW_ROWS = 4

# Columns of a table below which overlaps never pay.
_NARROW = 40

# The lanes work from the precision of the density, and rounding grows with its variance inflation:
# measured, entries are off by 1e-15 times the inflation on the missing side (lane_pairs.py has the
# bound of the observed one). No density exceeds it that keeps a millionth of each variance as its
# own.
_LARGEST_INFLATION = 1.01e6
# Largest variance of a column in units of the RBF's own: the missing side, and Woodbury's identity
# for factors, subtract two squared distances of that order and lose as many digits; for overlaps F
# nears the identity, and the difference has as many digits less.
_LARGEST_SPREAD = 1e5
_LARGEST_SPREAD_OVERLAPS = 1e4
# Smallest such variance: four pivots of the precisions are multiplied before they are rescaled.
_SMALLEST_SPREAD = 1e-60
# Squared distance from the mean of the density, in units of the RBF's own variance, that rows on
# both sides may have: the missing side subtracts two squared distances of that order.
_LARGEST_SQUARE = 1e7


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows that are computed alike: rows and columns of one component each.

    All statistics are those of the *whole* sets of rows and columns, never of a tile of them, so
    that the bits of an entry do not depend on the tile.
    """

    rows: Side
    columns: Side
    smoothing: Smoothing
    frequent: bool  # whether the patterns of both are
    symmetric: bool  # whether rows and columns are the same

    @property
    def sides(self) -> tuple[Side, Side]:
        """Rows and columns."""
        return self.rows, self.columns

    @property
    def d(self) -> int:
        """Columns of the table."""
        return self.smoothing.n_features

    @property
    def q(self) -> int:
        """Factors of the density; zero where it has none."""
        low_rank = self.rows.beliefs.prior.low_rank
        return 0 if low_rank is None else low_rank.n_factors

    @property
    def euclidean(self) -> bool:
        """Whether both sides are conditioned, in the Euclidean metric."""
        conditioned = self.rows.is_conditioned and self.columns.is_conditioned
        return conditioned and self.smoothing.metric is None

    @property
    def few_rows(self) -> bool:
        """Whether the columns stand in the lanes."""
        few = not self.symmetric and len(self.rows.beliefs.whole) <= FEW_ROWS
        return few and self.euclidean

    @property
    def empty(self) -> float:
        """Lanes of rows over those that are not empty."""
        return LANES / min(LANES, len(self.rows.beliefs.whole))

    @computed_once
    def n_missing(self) -> float:
        """Number of values that a pattern of the rows misses on average."""
        return float(_n_missing(self.rows).mean())

    @computed_once
    def squares(self) -> tuple[float, float]:
        """Mean squared number of missing values of both sides."""
        own, other = (float(np.mean(_n_missing(side) ** 2)) for side in self.sides)
        return own, other

    @computed_once
    def overlap(self) -> float:
        """Expected number of values that both rows of a pair miss."""
        own, other = (side.beliefs.whole.patterns.masks.mean(axis=0) for side in self.sides)
        return float(own @ other)

    @computed_once
    def lane_cost(self) -> float:
        """Multiply-adds of a pair on the missing or the observed side, whichever is cheaper."""
        others = _n_missing(self.columns)
        run = max(1.0, len(self.columns.beliefs.whole) / len(others))
        missing = factor_cost(others, run) + 0.7 * self.squares[0]
        return float(np.mean(np.minimum(missing, factor_cost(self.d - others, run))))


def _n_missing(side: Side) -> FloatArray:
    return side.beliefs.whole.patterns.n_missing.astype(np.float64)


class Path(NamedTuple):
    """One way to compute pairs of rows."""

    name: str
    #: Whether it may be used: what it is made for, and how many digits it would lose.
    applies: Callable[[Pairs], bool]
    #: Estimated time of a pair, in multiply-adds in lanes.
    cost: Callable[[Pairs], float]
    #: Fills a region of a matrix.
    fill: Callable[[Side, Side, Smoothing, Region], None]


PATHS = (
    Path(
        "frequent patterns",  # a product of matrices: the cheapest wherever it applies
        applies=lambda pairs: pairs.frequent,
        cost=lambda pairs: 0.0,
        fill=fill_frequent,
    ),
    Path(
        "factors",  # measured at 34 to 300 columns, 2 to 20 factors
        applies=lambda pairs: all(has_factors(s.beliefs, pairs.smoothing) for s in pairs.sides),
        cost=lambda pairs: (
            1000
            + 0.43 * (pairs.q * (pairs.q + 1) * pairs.n_missing + (2 * pairs.q + 3) * pairs.d)
            + 0.43 * (2 * pairs.q) ** 3 / 3
        ),
        fill=fill_factors,
    ),
    Path(
        "few rows",  # no lane is empty: measured at 100 to 300 columns, 30 and 60 % missing
        applies=lambda pairs: pairs.few_rows and uses_lanes(*pairs.sides, pairs.smoothing),
        cost=lambda pairs: 0.45 * pairs.lane_cost,
        fill=fill_few_rows,
    ),
    Path(
        "overlaps",  # with the loading of scattered entries: measured at 34, 100 and 300 columns
        applies=lambda pairs: (
            pairs.d > _NARROW
            and pairs.euclidean
            and all(
                uses_precisions(side.beliefs, pairs.smoothing, _LARGEST_SPREAD_OVERLAPS)
                for side in pairs.sides
            )
        ),
        cost=lambda pairs: (
            500
            + 0.5 * (pairs.squares[0] + pairs.empty * pairs.squares[1])
            + 16 * pairs.overlap**2
            + 0.6 * (pairs.overlap + 1) ** 3
        ),
        fill=fill_overlaps,
    ),
    Path(
        "lanes",
        applies=lambda pairs: not pairs.few_rows and uses_lanes(*pairs.sides, pairs.smoothing),
        cost=lambda pairs: pairs.empty * pairs.lane_cost,
        fill=fill_lanes,
    ),
    Path(
        "explicit covariances",  # the most accurate: for pairs to which no other path applies
        applies=lambda pairs: True,
        cost=lambda pairs: np.inf,
        fill=fill_explicit,
    ),
)


def choose(pairs: Pairs) -> Path:
    """Return the cheapest path that applies."""
    *found, explicit = (path for path in PATHS if path.applies(pairs))
    if len(found) > 1:
        return min(found, key=lambda path: path.cost(pairs))
    return found[0] if found else explicit


def has_factors(beliefs: Beliefs, smoothing: Smoothing) -> bool:
    """Return whether the factors of a density may be used, and are few beside its columns."""
    prior, widths = beliefs.prior.low_rank, smoothing.diagonal
    if prior is None or widths is None or not beliefs.covariances.is_conditioned:
        return False
    if 4 * prior.n_factors > prior.n_features:
        return False
    variances = np.diagonal(prior.covariances, axis1=1, axis2=2)
    return bool((variances / widths).max() < _LARGEST_SPREAD)


def uses_precisions(
    beliefs: Beliefs, smoothing: Smoothing, largest_spread: float = _LARGEST_SPREAD
) -> bool:
    """Return whether rounding allows precisions of a density to be used instead of covariances."""
    least, most = smoothing.range_in_units(beliefs.prior)
    return (
        beliefs.prior.inflation < _LARGEST_INFLATION
        and most < largest_spread
        and least > _SMALLEST_SPREAD
    )


def uses_lanes(rows: Side, columns: Side, smoothing: Smoothing) -> bool:
    """Return whether the lanes may subtract squared lengths, in the metric of the precision."""
    if not (columns.is_conditioned and uses_precisions(columns.beliefs, smoothing)):
        return False
    centre = columns.prior_mean
    near: bool = cached(
        columns.beliefs.whole,
        smoothing,
        ("near", columns.component),
        lambda: _is_near(columns, centre, smoothing),
    )
    return near or _is_near(rows, centre, smoothing)


def _is_near(side: Side, centre: FloatArray, smoothing: Smoothing) -> bool:
    """Return whether all rows of the whole are so near that squares of offsets keep digits."""
    offsets = side.beliefs.whole.means[:, side.component] - centre
    largest = np.maximum(offsets.max(axis=0, initial=0.0), -offsets.min(axis=0, initial=0.0))
    return bool((largest**2 * np.diagonal(smoothing.information)).max() < _LARGEST_SQUARE)
