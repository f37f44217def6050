"""The columns of a Gram matrix as the lanes take them: sides chosen, constants added up.

All of it depends on the columns and the kernel alone, so that it is computed once for the support
vectors of a machine and the bits of an entry do not depend on the rows that it is computed with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.beliefs import Prior
from absentia.engine.gram.output import TILE
from absentia.engine.gram.row_products import in_lanes, row_products
from absentia.engine.lanes import LANES
from absentia.engine.principal import principal_log_determinants
from absentia.kernels.gram.side import Side
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["LaneColumns"]

# Measured: entries are off by 5e-15 times the variance inflation of the density on the observed
# side, which subtracts squared lengths in the metric of the precision.
_LARGEST_INFLATION_OBSERVED = 2e4


@dataclass(frozen=True, eq=False)
class LaneColumns:
    """Columns from some place on; arguments of ``absentia.engine.gram.pair_tiles.gram_rows``.

    Attributes
    ----------
    means : ndarray of shape (m, d), relative to the mean of their density
    lanes : flat ndarray, the means in lanes, filled up to whole tiles with zeros
    constants : ndarray of shape (m,)
        What the sides add to the logarithm of an entry, without the constants of the columns.
    run_starts, index, sizes, observed
        Runs of columns of one pattern, and on which side each is computed.
    precision : ndarray of shape (d, d)
    """

    means: FloatArray
    lanes: FloatArray
    constants: FloatArray
    run_starts: IntArray
    index: IntArray
    sizes: IntArray
    observed: BoolArray
    precision: FloatArray

    @classmethod
    def of(
        cls, columns: Side, first_column: int, rows_are_conditioned: bool, scaled: bool
    ) -> LaneColumns:
        """Prepare the columns from ``first_column`` on."""
        prior = columns.beliefs.prior
        means = np.array(columns.means[first_column:], order="C")
        means -= prior.means[columns.component]
        d = means.shape[1]
        run_starts, run_groups = columns.ordering.runs(first_column)
        # Copies of our own: arrays that came out of a file may be read-only, for which the compiled
        # loops would be compiled once more.
        precision = prior.precisions[columns.component].copy()
        masks = columns.beliefs.patterns.masks[run_groups]
        observed = _use_observed_side(columns, masks, prior, rows_are_conditioned)
        index = np.argsort(np.where(observed[:, None], masks, ~masks), axis=1, kind="stable")
        n_missing = masks.sum(axis=1)
        sizes = np.where(observed, d - n_missing, n_missing)
        run_lengths = np.diff(run_starts)
        constants = np.zeros(len(means))
        if scaled:
            log_determinants = principal_log_determinants.choose(
                columns.beliefs.whole.patterns.masks.size * d
            )
            constants += np.repeat(0.5 * log_determinants(precision, masks), run_lengths)
        if observed.any():
            images = row_products(means, in_lanes(precision), d)
            lengths = np.einsum("ij,ij->i", images, means)
            constants += np.where(np.repeat(observed, run_lengths), 0.5 * lengths, 0.0)
        whole_tiles = np.zeros((-(-len(means) // TILE) * TILE, d))
        whole_tiles[: len(means)] = means
        lanes = in_lanes(whole_tiles)
        return cls(means, lanes, constants, run_starts, index, sizes, observed, precision)

    def arguments(self, constants: FloatArray) -> tuple[Any, ...]:
        """Return the arguments of the compiled loop; ``constants`` are added to the columns'."""
        return (
            self.means,
            self.lanes,
            self.constants + constants,
            self.run_starts,
            self.index,
            self.sizes,
            self.observed,
            self.precision,
        )


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
    missing, observed = _factor_cost(expected), _factor_cost(d - expected)
    # One column on the missing side costs all that are computed with it the products U d, and one
    # on the observed side costs the row an inverse. Checked against times at 20 and 34 columns.
    products = float(np.mean(expected**2)) if rows_are_conditioned else float(d * d)
    inverse = d**3 / len(columns.beliefs.whole)
    share_with_products = 1 - float(np.mean(observed < missing)) ** LANES
    mixed = np.minimum(missing, observed).mean() + share_with_products * products + inverse
    all_missing, all_observed = missing.mean() + products, observed.mean() + inverse
    if mixed < min(all_missing, all_observed):
        n_missing = masks.sum(axis=1).astype(float)
        return np.asarray(_factor_cost(d - n_missing) < _factor_cost(n_missing))
    return np.full(len(masks), all_observed < all_missing)


def _factor_cost(size: FloatArray) -> FloatArray:
    # Multiply-adds of a pair; those of small factorisations run at about half the speed.
    return size**3 / 6 + 2 * size**2
