"""Gram matrices of beliefs that are factors and noise, computed in the factors.

A pair needs one system of ``2 q`` equations: :mod:`absentia.engine.gram.factor_tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from absentia.beliefs import Beliefs, LowRankPrior
from absentia.beliefs.low_rank_prior import FactorKnowledge, packed_products, unpacked
from absentia.engine.gram.factor_tiles import factor_tile
from absentia.engine.gram.products import in_lanes
from absentia.engine.lanes import LANES
from absentia.engine.threads import bounded_slices, row_tiles, run_single_threaded_blas
from absentia.kernels.gram.sides import Bounds, Region, Side
from absentia.kernels.metric import Smoothing, cached
from absentia.tables import BoolArray, FloatArray, IntArray

# A tile: what its columns need stays in the cache while its rows pass, and so do the sums of both.
_TILE_ROWS = 8
_TILE_COLUMNS = 128


@dataclass(frozen=True, eq=False)
class _FactorSide:
    """One component of the beliefs on one side of a matrix: its factors, pattern by pattern."""

    loadings: FloatArray  # (d, q)
    noise: FloatArray  # (d,)
    masks: BoolArray  # (n_groups, d)
    precisions: FloatArray  # ``G + W[L]' inv(C0 + p)[L] W[L]``, packed
    log_ratios: FloatArray  # part of a row alone in ``log det V - log det C0 - log det M``

    @classmethod
    def of(cls, beliefs: Beliefs, component: int, smoothing: Smoothing) -> _FactorSide:
        """Return those of the whole that beliefs are a tile of: the bits are the same in each."""
        what = "factors", component
        return cached(
            beliefs.whole, smoothing, what, lambda: cls._of(beliefs.whole, component, smoothing)
        )

    @classmethod
    def _of(cls, beliefs: Beliefs, component: int, smoothing: Smoothing) -> _FactorSide:
        prior, widths = _low_rank(beliefs), _widths(smoothing)
        # Copies of our own: arrays that came out of a file may be read-only, for which the compiled
        # loops would be compiled once more.
        W, noise = np.array(prior.loadings[component]), prior.noises[component]
        masks = np.array(beliefs.patterns.masks)
        t = prior.n_factors * (prior.n_factors + 1) // 2
        precisions, log_ratios = np.empty((len(masks), t)), np.empty(len(masks))
        rows, columns = np.tril_indices(prior.n_factors)
        sums = packed_products(W) / (widths + noise)[:, None]
        for part in bounded_slices(len(masks), len(noise) + 3 * prior.n_factors**2):
            known = FactorKnowledge.of(W, noise, masks[part])
            missing = masks[part].astype(np.float64)
            precisions[part] = known.precisions[:, rows, columns] + missing @ sums
            log_ratios[part] = missing @ np.log1p(noise / widths) - known.log_determinants
        return cls(W, noise, masks, precisions, log_ratios)


@dataclass(frozen=True, eq=False)
class _Overlaps:
    """Terms that columns of the table add to a pair where both rows miss them."""

    terms: FloatArray  # (d, n_terms); the last are parts of twice the logarithm
    own: IntArray  # (q, q), numbers of the terms in the diagonal block of the row
    other: IntArray  # in that of the column
    cross: IntArray  # in the block between them

    @classmethod
    def of(cls, rows: _FactorSide, columns: _FactorSide, widths: FloatArray) -> _Overlaps:
        alone, against = 1 / (widths + rows.noise), 1 / (widths + columns.noise)
        joint = 1 / (widths + rows.noise + columns.noise)
        # alone - joint, without the difference of two numbers that are nearly equal
        own = packed_products(rows.loadings).T * (columns.noise * alone * joint)
        log_part = np.log1p(-rows.noise * columns.noise * alone * against)
        q, p = rows.loadings.shape[1], columns.loadings.shape[1]
        own_place = _places(q)
        if rows.loadings is columns.loadings or np.array_equal(rows.loadings, columns.loadings):
            cross = packed_products(rows.loadings).T * joint
            terms = np.vstack([own, cross, log_part]).T.copy()
            return cls(terms, own_place, own_place, own_place + len(own))
        other = packed_products(columns.loadings).T * (rows.noise * against * joint)
        cross = packed_products(rows.loadings, columns.loadings).T * joint
        terms = np.vstack([own, other, cross, log_part]).T.copy()
        start = len(own) + len(other)
        return cls(terms, own_place, _places(p) + len(own), start + np.arange(q * p).reshape(q, p))


class ColumnTile(NamedTuple):
    """Some columns of a matrix, eight to a group of lanes: argument of compiled loops."""

    left: int
    n_columns: int
    means: FloatArray  # (n_groups, d * LANES)
    masks: FloatArray  # the same, as ones and zeros
    loadings: FloatArray  # (d, p)
    precisions: FloatArray  # (n_groups, p (p + 1) / 2 * LANES), packed

    @classmethod
    def of(
        cls, side: Side, groups: IntArray, factors: _FactorSide, left: int, right: int
    ) -> ColumnTile:
        """Return the columns from ``left`` to ``right``."""
        return cls(
            left,
            right - left,
            _in_lanes(side.means[left:right]),
            _in_lanes(factors.masks[groups]),
            factors.loadings,
            _in_lanes(factors.precisions[groups]),
        )

    def missing(self) -> FloatArray:
        """Return the masks as a matrix, (d, n_groups * LANES)."""
        n_groups = len(self.masks)
        return (
            self.masks.reshape(n_groups, -1, LANES).transpose(1, 0, 2).reshape(-1, n_groups * LANES)
        )


class RowPanel(NamedTuple):
    """Some rows of a matrix: argument of compiled loops."""

    means: FloatArray  # (n, d)
    constants: FloatArray  # (n,)
    missed: IntArray  # (n, d), columns of the table that a row misses, ascending
    n_missing: IntArray  # (n,)
    weights: FloatArray  # (n, d), ``inv(C0 + p)`` of a row by itself
    slopes: FloatArray  # (n, d), added to the weight where a column misses the value too
    loadings: FloatArray  # (d, q)
    precisions: FloatArray  # (n, q, q), ``G_i`` and the row's own part of ``U' inv(D) U``

    @classmethod
    def of(
        cls,
        means: FloatArray,
        constants: FloatArray,
        own: _FactorSide,
        other: _FactorSide,
        groups: IntArray,
        precisions: FloatArray,
        widths: FloatArray,
    ) -> RowPanel:
        """Return rows of some groups."""
        masks = own.masks[groups]
        missed = np.zeros(masks.shape, dtype=np.intp)
        for place, mask in enumerate(masks):
            index = np.flatnonzero(mask)
            missed[place, : len(index)] = index
        noise = widths + masks * own.noise
        weights = 1 / noise
        return cls(
            np.array(means),
            constants,
            missed,
            masks.sum(axis=1),
            weights,
            1 / (noise + other.noise) - weights,
            own.loadings,
            precisions[groups],
        )


def fill_factors(rows: Side, columns: Side, smoothing: Smoothing, region: Region) -> None:
    """Fill a region."""
    target, widths = region.target, _widths(smoothing)
    symmetric = target.symmetric
    own = _FactorSide.of(rows.beliefs, rows.component, smoothing)
    other = _FactorSide.of(columns.beliefs, columns.component, smoothing)
    row_groups, column_groups = _groups_of_whole(rows), _groups_of_whole(columns)
    overlaps = _Overlaps.of(own, other, widths)
    places = overlaps.own, overlaps.other, overlaps.cross
    precisions = unpacked(own.precisions, own.loadings.shape[1])
    row_constants, column_constants = rows.constants, columns.constants
    if target.scaled:
        # A complete row has no block of its own in the systems, and so none to be divided by.
        log_ratios = np.where(own.masks.any(axis=1), own.log_ratios, 0.0)
        row_constants = row_constants - 0.5 * log_ratios[row_groups]
        column_constants = column_constants - 0.5 * other.log_ratios[column_groups]
    bounds = rows.bounds_against(columns)

    def prepare() -> list[tuple[ColumnTile, FloatArray]]:
        tiles = []
        for left in range(target.first_column, region.last_column, _TILE_COLUMNS):
            right = min(left + _TILE_COLUMNS, region.last_column)
            tile = ColumnTile.of(columns, column_groups[left:right], other, left, right)
            tiles.append((tile, tile.missing()))
        return tiles

    if symmetric:
        tiles = prepare()
    else:
        what = "factor tiles", columns.component, target.first_column
        tiles = cached(columns.beliefs, smoothing, what, prepare)

    def fill_panel(begin: int, end: int) -> None:
        here = slice(begin, end)
        panel = RowPanel.of(
            rows.means[here], row_constants[here], own, other, row_groups[here], precisions, widths
        )
        missed = [index[:n] for index, n in zip(panel.missed, panel.n_missing, strict=True)]
        terms = [overlaps.terms[index].T for index in missed]
        sums = np.empty((end - begin, overlaps.terms.shape[1], _TILE_COLUMNS))
        for tile, missing in tiles:
            if symmetric and tile.left >= end:
                break
            width = missing.shape[1]
            if symmetric:  # as far as the lanes reach
                width = min(width, -(-(end - tile.left) // LANES) * LANES)
            masked = missing[:, :width]
            for place, index in enumerate(missed):
                if len(index):
                    np.matmul(terms[place], masked[index], out=sums[place, :, :width])
            constants = column_constants[tile.left : tile.left + tile.n_columns, None]
            factor_tile(
                target,
                begin,
                panel,
                tile,
                _in_lanes(constants),
                sums,
                places,
                Bounds(bounds.rows[here], bounds.columns[tile.left :], bounds.negligible),
            )

    n_rows = region.last_row - region.first_row
    panels = row_tiles(region.first_row, region.last_row, -(-n_rows // _TILE_ROWS), 1)[::-1]
    run_single_threaded_blas(fill_panel, panels, region.threads)


def factor_log_self_similarities(
    beliefs: Beliefs, a: int, b: int, smoothing: Smoothing
) -> tuple[FloatArray, FloatArray]:
    """Return ``log det V - log det C0`` and ``d' inv(V) d`` of components of each row.

    ``V = C0 + A + B`` with the covariances of components ``a`` and ``b``, ``d`` the difference of
    their means.
    """
    prior, widths = _low_rank(beliefs), _widths(smoothing)
    masks = beliefs.patterns.masks
    missing = masks.astype(np.float64)
    noise = prior.noises[a] + prior.noises[b]
    inverse = 1 / (widths + noise)
    log_ratios = missing @ np.log1p(noise / widths)
    groups = beliefs.group_of_row
    own = FactorKnowledge.of(prior.loadings[a], prior.noises[a], masks)
    if a == b:
        # Both rows have the same factors, so that their sum is one set with twice the variance.
        sums = 2 * packed_products(prior.loadings[a]) * inverse[:, None]
        systems = own.precisions + unpacked(missing @ sums, prior.n_factors)
        log_ratios += _roots_and_log_determinants(systems)[1] - own.log_determinants
        return log_ratios[groups], np.zeros(len(beliefs))
    other = FactorKnowledge.of(prior.loadings[b], prior.noises[b], masks)
    W, q = np.concatenate([prior.loadings[a], prior.loadings[b]], axis=1), prior.n_factors
    systems = unpacked(missing @ (packed_products(W) * inverse[:, None]), 2 * q)
    systems[:, :q, :q] += own.precisions
    systems[:, q:, q:] += other.precisions
    roots, log_determinants = _roots_and_log_determinants(systems)
    log_ratios += log_determinants - own.log_determinants - other.log_determinants
    difference = beliefs.means[:, a] - beliefs.means[:, b]
    scaled = difference * inverse
    solved = np.linalg.solve(roots[groups], (scaled @ W)[:, :, None])[:, :, 0]
    lengths = np.einsum("ij,ij->i", difference, scaled) - np.einsum("ij,ij->i", solved, solved)
    return log_ratios[groups], lengths


def _roots_and_log_determinants(systems: FloatArray) -> tuple[FloatArray, FloatArray]:
    roots = np.asarray(np.linalg.cholesky(systems), dtype=np.float64)
    return roots, 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)


def _low_rank(beliefs: Beliefs) -> LowRankPrior:
    prior = beliefs.prior.low_rank
    assert prior is not None
    return prior


def _widths(smoothing: Smoothing) -> FloatArray:
    widths = smoothing.diagonal
    assert widths is not None
    return widths


def _groups_of_whole(side: Side) -> IntArray:
    """Return the groups of a side's rows in the whole, in the order of computation."""
    beliefs = side.beliefs
    return beliefs.whole.group_of_row[beliefs.rows_of_whole][side.ordering.rows]


def _places(size: int) -> IntArray:
    """Return where the entries of a symmetric matrix are in its packed lower triangle."""
    place = np.zeros((size, size), dtype=np.intp)
    rows, columns = np.tril_indices(size)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return place


def _in_lanes(values: FloatArray | BoolArray) -> FloatArray:
    """Return rows eight to a group, (n_groups, n_values * LANES)."""
    return in_lanes(values).reshape(-1, values.shape[1] * LANES)
