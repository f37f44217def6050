"""Rows in the order in which compiled code wants them: by pattern, the smaller side first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from absentia.beliefs.prior import Prior
from absentia.engine.em.expected_moments import centre_rows
from absentia.engine.em.inverses import invert_principal, multiply_principal
from absentia.engine.em.principal import solve_principal
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["GroupedRows", "RowsGiven", "group_rows"]

_LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Some rows of a table, sorted by pattern, that are conditioned in one compiled call.

    Attributes
    ----------
    rows : ndarray of int, shape (n_rows,)
        Where they stand in the table.
    starts : ndarray of int, shape (n_patterns + 1,)
        Pattern ``p`` of the block has the rows ``rows[starts[p]:starts[p + 1]]``.
    members : ndarray of int, shape (n_patterns, most)
        The columns of the principal submatrix to factor, see ``members_are_missing``.
    sizes : ndarray of int, shape (n_patterns,)
        How many of ``members`` count.
    members_are_missing : bool
        True: the members are the missing columns, and the submatrix is one of the precision.
        False: they are the observed ones, and it is one of the covariance.
    """

    rows: IntArray
    starts: IntArray
    members: IntArray
    sizes: IntArray
    members_are_missing: bool

    @cached_property
    def pattern_of_row(self) -> IntArray:
        """Which pattern of the block each of its rows has."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    def n_observed(self, n_features: int) -> IntArray:
        """How many values each pattern has."""
        return n_features - self.sizes if self.members_are_missing else self.sizes


def group_rows(patterns: Patterns, rows_per_block: int = 4096) -> list[GroupedRows]:
    """Cut the rows of a table into blocks in which all patterns have the same smaller side."""
    d = patterns.masks.shape[1]
    n_missing = patterns.n_missing
    missing_side = 2 * n_missing <= d
    # Patterns of one size stand together, so that the padding of `members` stays narrow.
    order = np.lexsort((n_missing, ~missing_side))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    rank_of_row = rank[patterns.pattern_of_row]
    rows = np.argsort(rank_of_row, kind="stable")
    ranks = rank_of_row[rows]
    boundary = int(np.searchsorted(ranks, np.count_nonzero(missing_side)))
    blocks = []
    for begin, end, of_missing in ((0, boundary, True), (boundary, len(rows), False)):
        for start in range(begin, end, rows_per_block):
            stop = min(start + rows_per_block, end)
            first, last = ranks[start], ranks[stop - 1]
            masks = patterns.masks[order[first : last + 1]]
            flags = masks if of_missing else ~masks
            sizes = flags.sum(axis=1)
            starts = np.searchsorted(ranks[start:stop], np.arange(first, last + 2))
            blocks.append(
                GroupedRows(
                    rows[start:stop],
                    starts,
                    _listed_columns(flags, sizes),
                    sizes,
                    members_are_missing=of_missing,
                )
            )
    return blocks


def _listed_columns(flags: BoolArray, sizes: IntArray) -> IntArray:
    """List the true columns of each row, ascending, padded with zeros."""
    rows, columns = np.nonzero(flags)
    listed = np.zeros((len(flags), sizes.max()), dtype=np.intp)
    listed[rows, np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = columns
    return listed


@dataclass(frozen=True, eq=False)
class RowsGiven:
    """The rows of a block under one Gaussian, given what was observed of them.

    Attributes
    ----------
    vectors : ndarray of shape (n_rows, n_features)
        On the missing side the completed row less the mean, ``y``; on the observed side
        ``w = inv(S[O,O]) (x - mean)[O]`` with zeros elsewhere, from which ``y = S w``.
    log_densities : ndarray of shape (n_rows,)
        ``log N(x[O] | mean[O], S[O,O])``; NaN where ``S[O,O]`` is not positive definite.
    inverses : ndarray of shape (n_patterns, most, most)
        Of the submatrices of the block's patterns.
    """

    vectors: FloatArray
    log_densities: FloatArray
    inverses: FloatArray

    @classmethod
    def of(
        cls,
        block: GroupedRows,
        X: FloatArray,
        prior: Prior,
        component: int,
    ) -> RowsGiven:
        """Condition one component of a prior on what was observed of the rows ``X`` of a block.

        Eight patterns are inverted at once, unless the prior is so badly conditioned that one of
        them might fail to be positive definite; then they are factored one by one, failures show
        as NaN in the log-densities, and no inverses are kept.
        """
        n, d = X.shape
        vectors = np.empty((n, d))
        shape = block.members, block.sizes, block.starts
        centre_rows(X, prior.means[component], *shape, block.members_are_missing, vectors)
        if block.members_are_missing:
            G = prior.precisions[component]
            # The minus makes the solutions the completed values: y[L] = -inv(G[L,L]) (G y)[L].
            sides = vectors @ -G
            whole = -np.einsum("ij,ij->i", vectors, sides)
            solved = _solve(block, G, sides, vectors, prior.well_conditioned)
            quadratics = whole - solved.quadratics
            log_determinants = solved.log_determinants + prior.log_determinants[component]
        else:
            S = np.ascontiguousarray(prior.covariances[component])
            sides, vectors = vectors, np.zeros((n, d))
            solved = _solve(block, S, sides, vectors, prior.well_conditioned)
            quadratics, log_determinants = solved.quadratics, solved.log_determinants
        constants = log_determinants + _LOG_2_PI * block.n_observed(d)
        log_densities = -0.5 * (constants[block.pattern_of_row] + quadratics)
        return cls(vectors, log_densities, solved.inverses)


class _Solved(NamedTuple):
    quadratics: FloatArray
    log_determinants: FloatArray
    inverses: FloatArray


def _solve(
    block: GroupedRows, A: FloatArray, sides: FloatArray, X: FloatArray, by_inverses: bool
) -> _Solved:
    """Solve with the submatrices of ``A`` of the block's patterns, writing to their members."""
    n_patterns, most = block.members.shape
    quadratics = np.empty(len(sides))
    log_determinants = np.empty(n_patterns)
    shape = block.members, block.sizes, block.starts
    if by_inverses:
        inverses = np.empty((n_patterns, most, most))
        invert_principal(A, block.members, block.sizes, inverses, log_determinants)
        multiply_principal(inverses, *shape, sides, X, quadratics)
    else:
        inverses = np.empty((0, most, most))
        solve_principal(A, *shape, sides, X, quadratics, log_determinants)
    return _Solved(quadratics, log_determinants, inverses)
