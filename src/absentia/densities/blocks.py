"""Rows in the order in which compiled code wants them: by pattern, the smaller side first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.engine.conditioning_principal import solve_principal
from absentia.engine.em_moments import centre_rows
from absentia.gaussians import Prior
from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray

__all__ = ["PatternBlock", "RowsGiven", "blocks_of"]

_LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class PatternBlock:
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

    @property
    def pattern_of_row(self) -> IntArray:
        """Which pattern of the block each of its rows has."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    def n_observed(self, n_features: int) -> IntArray:
        """How many values each pattern has."""
        return n_features - self.sizes if self.members_are_missing else self.sizes


def blocks_of(patterns: Patterns, rows_per_block: int = 4096) -> list[PatternBlock]:
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
            members = np.argsort(~flags, axis=1, kind="stable")[:, : sizes.max()]
            starts = np.searchsorted(ranks[start:stop], np.arange(first, last + 2))
            blocks.append(
                PatternBlock(
                    rows[start:stop],
                    starts,
                    np.ascontiguousarray(members),
                    sizes,
                    members_are_missing=of_missing,
                )
            )
    return blocks


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
        Of the submatrices of the block's patterns; empty unless asked for.
    """

    vectors: FloatArray
    log_densities: FloatArray
    inverses: FloatArray

    @classmethod
    def of(
        cls,
        block: PatternBlock,
        X: FloatArray,
        prior: Prior,
        component: int,
        *,
        keep_inverses: bool = False,
    ) -> RowsGiven:
        """Condition one component of a prior on what was observed of the rows ``X`` of a block."""
        n, d = X.shape
        n_patterns, most = block.members.shape
        vectors = np.empty((n, d))
        quadratics = np.empty(n)
        log_determinants = np.empty(n_patterns)
        inverses = np.empty((n_patterns, most, most) if keep_inverses else (0, 0, 0))
        shape = block.members, block.sizes, block.starts
        mean = prior.means[component]
        centre_rows(X, mean, *shape, block.members_are_missing, vectors)
        if block.members_are_missing:
            G = prior.precisions[component]
            # The minus makes the solutions the completed values: y[L] = -inv(G[L,L]) (G y)[L].
            sides = vectors @ -G
            whole = -np.einsum("ij,ij->i", vectors, sides)
            solve_principal(G, *shape, sides, vectors, quadratics, log_determinants, inverses)
            quadratics = whole - quadratics
            log_determinants += prior.log_determinants[component]
        else:
            S = np.ascontiguousarray(prior.covariances[component])
            sides = vectors
            vectors = np.zeros((n, d))
            solve_principal(S, *shape, sides, vectors, quadratics, log_determinants, inverses)
        constants = log_determinants + _LOG_2_PI * block.n_observed(d)
        return cls(vectors, -0.5 * (constants[block.pattern_of_row] + quadratics), inverses)
