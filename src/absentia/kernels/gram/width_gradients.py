"""Derivatives of expected RBFs by the widths of their columns, summed over pairs of rows.

:mod:`absentia.engine.gram.width_tiles` has the formula. What an optimiser needs is never the
n x n x d derivatives but a weighted sum of them, added up pair by pair for all columns at once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from absentia.beliefs import Beliefs
from absentia.beliefs.prior import inverse_and_log_determinant
from absentia.engine.gram.explicit import explicit_width_rows
from absentia.engine.gram.width_tiles import width_rows
from absentia.engine.principal import conditional_covariances
from absentia.engine.threads import bounded_slices, n_threads, run_tiles
from absentia.kernels.gram.dispatch import uses_lanes, uses_precisions
from absentia.kernels.gram.expected import in_kernel_units
from absentia.kernels.gram.frequent_patterns import LogFactor, is_small_gram
from absentia.kernels.gram.lane_pairs import LaneColumns, LaneRows, explicit_blocks
from absentia.kernels.gram.sides import Region, Side, Target, threads_that_pay
from absentia.kernels.metric import Smoothing
from absentia.tables import FloatArray


def width_gradient(
    P: Beliefs,
    smoothing: Smoothing,
    weights: FloatArray,
    *,
    log_norms: FloatArray | None = None,
    scaled: bool = True,
    log_factor: LogFactor | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return ``sum_ij weights[i, j] d k_ij / d log c`` for the rows of ``P`` against each other.

    In the Euclidean metric, with one width or one per column, shape (n_features,). Arguments are
    those of :func:`~absentia.kernels.gram.expected.expected_gram`; the change of ``log_norms`` is
    the caller's to add (:func:`self_width_gradient`).
    """
    if smoothing.metric is not None:
        raise ValueError("Widths of columns belong to the Euclidean metric.")
    P, _, smoothing = in_kernel_units(P, None, smoothing)
    norms = np.zeros(len(P)) if log_norms is None else log_norms
    sides = Side.of_components(P, norms)
    ordering = sides[0].ordering
    # Each pair once, with the weights of both orders.
    folded = weights + weights.T
    np.fill_diagonal(folded, np.diagonal(weights))
    if not ordering.identity:
        folded = folded[np.ix_(ordering.rows, ordering.rows)]
    total = np.zeros(smoothing.n_features)
    small = is_small_gram(P, P, smoothing)
    threads = n_threads(n_jobs)
    for (a, rows), (b, columns) in product(enumerate(sides), repeat=2):
        pairs = folded
        if log_factor is not None:
            pairs = folded * np.exp(log_factor(a, b, ordering.rows, ordering.rows))
        term = rows, columns, smoothing, pairs, scaled
        found = _sum_in_numpy(*term) if small else None
        total += _sum_in_lanes(*term, threads) if found is None else found
    return total


def _sum_in_numpy(
    rows: Side, columns: Side, smoothing: Smoothing, weights: FloatArray, scaled: bool
) -> FloatArray | None:
    """Return the sum of one pair of components over pairs of rows on and below the diagonal.

    One group of rows at a time, from covariances and differences, as the Gram matrix of small
    tables; None where rounding is large.
    """
    groups, local = np.unique(rows.ordering.groups, return_inverse=True)
    ours, theirs = rows.covariances(groups), columns.covariances(groups)
    weights, variances = np.tril(weights), np.diagonal(smoothing.covariance)
    total = np.zeros(smoothing.n_features)
    for group in range(len(groups)):
        own = np.flatnonzero(local == group)
        V = smoothing.covariance + ours[group] + theirs
        signs, log_dets = np.linalg.slogdet(V)
        if (signs <= 0).any():
            return None
        inverses = np.linalg.inv(V)
        differences = rows.means[own] - columns.means[:, None]
        solved = differences @ inverses[local]
        logs = rows.constants[own] + columns.constants[:, None]
        logs -= 0.5 * np.einsum("jik,jik->ji", solved, differences)
        if scaled:
            logs -= 0.5 * (log_dets - smoothing.log_determinant)[local, None]
        pairs = weights[own].T * np.exp(np.minimum(logs, 700.0))
        derivative = variances * np.einsum("ji,jik->k", pairs, solved**2)
        if scaled:
            counts = np.bincount(local, pairs.sum(axis=1), len(groups))
            diagonals = np.diagonal(inverses, axis1=1, axis2=2)
            derivative += counts @ (1 - variances * diagonals)
        total += 0.5 * derivative
    return total


def _sum_in_lanes(
    rows: Side, columns: Side, smoothing: Smoothing, weights: FloatArray, scaled: bool, threads: int
) -> FloatArray:
    """Return the same sum, eight rows at a time."""
    n = len(rows.means)
    totals = np.zeros((n, smoothing.n_features))
    threads = threads_that_pay(threads, n**2)
    sums = totals, np.ascontiguousarray(weights), scaled
    region = Region(Target(totals, 0, True, True, scaled), 0, n, n, threads)
    if uses_lanes(rows, columns, smoothing) and rows.is_conditioned:
        prepared = LaneColumns.of(columns, 0, True, scaled)
        others = prepared._replace(constants=prepared.constants + columns.constants)
        own = LaneRows.conditioned(rows, columns, smoothing)
        run_tiles(width_rows, region.tiles(0, n), threads, *sums, own, others)
        return totals.sum(axis=0)
    variances = np.diagonal(smoothing.covariance).copy()
    for tiles, *block in explicit_blocks(rows, columns, smoothing, region):
        run_tiles(explicit_width_rows, tiles, threads, *sums, variances, *block)
    return totals.sum(axis=0)


def self_width_gradient(
    P: Beliefs,
    smoothing: Smoothing,
    weights: FloatArray,
    *,
    log_factor: Callable[[int, int], FloatArray] | None = None,
) -> FloatArray:
    """Return ``sum_i weights[i] d log k_ii / d log c`` of two independent draws of each row.

    Parameters are those of :func:`~absentia.kernels.gram.expected.log_self_similarities`.
    """
    P, _, smoothing = in_kernel_units(P, None, smoothing)
    variances = np.diagonal(smoothing.covariance)
    total = np.zeros(smoothing.n_features)
    if P.n_components == 1 and P.covariances.is_conditioned and uses_precisions(P, smoothing):
        # The derivative of -1/2 log det(I + 2 inv(C0) inv(G[L,L])).
        by_group = np.bincount(P.group_of_row, weights, P.covariances.n_groups)
        spread = P.prior.precisions[0] + 2 * smoothing.information
        inverse = inverse_and_log_determinant(spread)[0]
        for part in bounded_slices(len(by_group), smoothing.n_features**2):
            masks = np.array(P.patterns.masks[part])
            inverses = np.zeros((len(masks), *spread.shape))
            conditional_covariances(inverse, spread, masks, inverses)
            total += by_group[part] @ np.diagonal(inverses, axis1=1, axis2=2)
        return total / variances
    k = P.n_components
    for part in bounded_slices(len(P), 4 * k * k * smoothing.n_features**2):
        groups, group_of_row = np.unique(P.group_of_row[part], return_inverse=True)
        dense = P.covariances.dense(groups)
        means, log_weights = P.means[part], P.log_weights[part]
        logs, derivatives = [], []
        for a, b in product(range(k), repeat=2):
            V = smoothing.covariance + dense[:, a] + dense[:, b]
            inverse = np.asarray(np.linalg.inv(V), dtype=np.float64)
            d = means[:, a] - means[:, b]
            solved = np.einsum("nij,nj->ni", inverse[group_of_row], d) if a != b else d
            log = log_weights[:, a] + log_weights[:, b] - 0.5 * (solved * d).sum(axis=1)
            log += 0.5 * np.linalg.slogdet(inverse)[1][group_of_row]
            if log_factor is not None:
                log += log_factor(a, b)[part]
            diagonals = np.diagonal(inverse, axis1=1, axis2=2)
            derivatives.append(variances * solved**2 + (1 - variances * diagonals)[group_of_row])
            logs.append(log)
        shares = np.exp(np.array(logs) - np.max(logs, axis=0))
        shares *= weights[part] / shares.sum(axis=0)
        total += 0.5 * np.einsum("tn,tnk->k", shares, np.array(derivatives))
    return total
