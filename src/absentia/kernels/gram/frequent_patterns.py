"""One factorisation per pair of patterns: frequent patterns, and small matrices in NumPy.

With ``V = C0 + A + B = R R'`` for the covariances ``A`` and ``B`` of two groups, an entry is
``(det C0 / det V)^(1/2) exp(-1/2 |inv(R) (a - b)|^2)``, and the squared distance of all rows from
all columns comes from lengths and inner products, or in NumPy from differences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri

from absentia.beliefs import Beliefs
from absentia.engine.compiling import is_small
from absentia.engine.gram.products import exponentials_of_distances, in_lanes, row_products
from absentia.engine.small_patterns import inverse_triangles
from absentia.engine.threads import bounded_slices, run_single_threaded_blas
from absentia.kernels.gram.sides import Ordering, Region, Side
from absentia.kernels.gram.tiles import cancelled_pairs, centre_of, far_points, squares_of
from absentia.kernels.metric import Smoothing, cached
from absentia.tables import BoolArray, FloatArray, IntArray

#: From a pair of components, and orders of rows and columns, to a matrix of logarithms.
LogFactor = Callable[[int, int, IntArray, IntArray], FloatArray]

# Groups on either side, each pair of which has a factorisation of its own.
_FEW_GROUPS = 64
# Products of differences and roots, over all pairs: some ten milliseconds.
_FEW_PRODUCTS = 2**21

# Rows of a frequent pattern that make one task; twice as many where it prepares columns of its own.
_PANEL_ROWS = 128


class _Panel(NamedTuple):
    """Rows of one group and columns of another, whose ``a'b`` is their product by ``inv(V)``."""

    A: FloatArray  # (n, d)
    B: FloatArray  # (m, d)
    lanes: FloatArray  # ``B`` in lanes
    row_lengths: FloatArray  # (n,), squares in the metric of ``inv(V)``
    column_lengths: FloatArray  # (m,)
    log_ratio: float  # ``log det V - log det C0``
    metric: FloatArray | float  # ``inv(R)`` in lanes; or the factor of ``inv(V) = factor * I``

    @classmethod
    def of_points(cls, A: FloatArray, B: FloatArray, lanes: FloatArray, scale: float) -> _Panel:
        """Return that of complete rows and columns, where ``inv(V)`` is ``scale`` times ``I``."""
        A = A * scale
        return cls(A, B, lanes, squares_of(A) / scale, squares_of(B) * scale, 0.0, scale)

    @classmethod
    def of_groups(cls, A: FloatArray, B: FloatArray, V: FloatArray, smoothing: Smoothing) -> _Panel:
        """Return that of groups whose covariances and the kernel's add up to ``V``."""
        root = np.linalg.cholesky(V)
        whiten = in_lanes(np.ascontiguousarray(dtrtri(root, lower=1)[0]))
        A, B = row_products(A, whiten, A.shape[1]), row_products(B, whiten, A.shape[1])
        log_ratio = 2 * np.log(np.diagonal(root)).sum() - smoothing.log_determinant
        return cls(A, B, in_lanes(B), squares_of(A), squares_of(B), log_ratio, whiten)

    def cancelled(self) -> tuple[IntArray, IntArray]:
        """Return the pairs whose distance must be taken from their difference; usually none."""
        rows, columns = far_points(self.row_lengths), far_points(self.column_lengths)
        if not len(rows) or not len(columns):
            return rows[:0], columns[:0]
        products = row_products(self.A[rows], in_lanes(self.B[columns]), len(columns))
        i, j = cancelled_pairs(products, self.row_lengths[rows], self.column_lengths[columns])
        return rows[i], columns[j]

    def lengths(self, differences: FloatArray) -> FloatArray:
        """Return ``d' inv(V) d`` of differences of points."""
        if isinstance(self.metric, float):
            return squares_of(differences) * self.metric
        return squares_of(row_products(differences, self.metric, differences.shape[1]))


def fill_frequent(rows: Side, columns: Side, smoothing: Smoothing, region: Region) -> None:
    """Fill the entries of frequent patterns against frequent patterns, below the diagonal only."""
    if not rows.ordering.frequent or not columns.ordering.frequent:
        return
    out, _, symmetric, accumulate, scaled = region.target
    centre = cached(
        columns.beliefs.whole,
        smoothing,
        ("centre", columns.component),
        lambda: _frequent_centre(columns),
    )
    own_groups, other_groups = rows.ordering.frequent, columns.ordering.frequent
    (own_spread, own_certain), (other_spread, other_certain) = _spread(rows), _spread(columns)
    # Complete rows against complete rows: the columns are the same for all tasks.
    shared = {
        q: in_lanes(columns.means[start:stop] - centre)
        for q, (_, start, stop) in enumerate(other_groups)
        if smoothing.metric is None and other_certain[q] and own_certain.any()
    }

    def fill_panel(p: int, q: int, start: int, stop: int) -> None:
        _, left, right = other_groups[q]
        if symmetric and p == q:
            right = stop
        A, B = rows.means[start:stop] - centre, columns.means[left:right] - centre
        if q in shared and own_certain[p]:
            panel = _Panel.of_points(A, B, shared[q], float(2 * smoothing.gamma))
        else:
            V = smoothing.covariance + own_spread[p] + other_spread[q]
            panel = _Panel.of_groups(A, B, V, smoothing)
        row_cap = rows.constants[start:stop] - 0.5 * panel.log_ratio * scaled
        column_cap = columns.constants[left:right]
        i, j = panel.cancelled()
        before = out[start + i, left + j]
        exponentials_of_distances(
            out,
            start,
            left,
            panel.A,
            row_cap - 0.5 * panel.row_lengths,
            row_cap,
            panel.lanes,
            column_cap - 0.5 * panel.column_lengths,
            column_cap,
            accumulate,
        )
        for part in bounded_slices(len(i), A.shape[1]):
            differences = rows.means[start + i[part]] - columns.means[left + j[part]]
            lengths = panel.lengths(differences)
            exact = np.exp(row_cap[i[part]] + column_cap[j[part]] - 0.5 * lengths)
            if accumulate:
                exact += before[part]
            out[start + i[part], left + j[part]] = exact

    # Columns are whitened anew for each panel, unless they are shared.
    steps = np.where(own_certain & bool(shared), _PANEL_ROWS, 2 * _PANEL_ROWS).tolist()
    tasks = [
        (p, q, start, min(start + steps[p], row_stop))
        for p, (_, row_start, row_stop) in enumerate(own_groups)
        for start in range(row_start, row_stop, steps[p])
        for q in range(p + 1 if symmetric else len(other_groups))
    ]
    run_single_threaded_blas(fill_panel, tasks, region.threads)


def _spread(side: Side) -> tuple[FloatArray, BoolArray]:
    """Return the covariances of frequent patterns, and which patterns have none."""
    groups = np.array([group for group, _, _ in side.ordering.frequent])
    covariances = side.covariances(groups, len(Ordering.of(side.beliefs.whole).frequent))
    return covariances, np.logical_not(covariances.any(axis=(1, 2)))


def _frequent_centre(columns: Side) -> FloatArray:
    """Return a point among the rows of frequent patterns, of the whole."""
    whole = columns.beliefs.whole
    ordering = Ordering.of(whole)
    return centre_of(whole.means[ordering.rows[: ordering.n_frequent], columns.component])


def small_gram(
    P: Beliefs,
    Q: Beliefs | None,
    smoothing: Smoothing,
    row_norms: FloatArray,
    column_norms: FloatArray,
    *,
    scaled: bool,
    log_factor: LogFactor | None = None,
) -> FloatArray | None:
    """Return the matrix of :func:`expected_gram`, or None where it is not for NumPy to compute.

    From covariances and differences, so that rows far from all others keep their digits.
    """
    columns_of = P if Q is None else Q
    d = smoothing.n_features
    if not is_small_gram(P, columns_of, smoothing):
        return None
    n_groups = [_n_groups(side.whole, smoothing) for side in (P, columns_of)]
    row_groups, local_rows = np.unique(P.group_of_row, return_inverse=True)
    column_groups, local_columns = np.unique(columns_of.group_of_row, return_inverse=True)
    row_spreads = P.covariances.dense(row_groups, n_groups[0])
    column_spreads = columns_of.covariances.dense(column_groups, n_groups[1])
    out = np.zeros((len(P), len(columns_of)))
    everything = np.arange(len(P)), np.arange(len(columns_of))
    for a in range(P.n_components):
        row_constants = P.log_weights[:, a] - row_norms
        for b in range(columns_of.n_components):
            column_constants = columns_of.log_weights[:, b] - column_norms
            column_means = columns_of.means[:, b]
            factor = None if log_factor is None else log_factor(a, b, *everything)
            for group in range(len(row_groups)):
                rows = np.flatnonzero(local_rows == group)
                try:
                    roots = np.linalg.cholesky(
                        smoothing.covariance + row_spreads[group, a] + column_spreads[:, b]
                    )
                except np.linalg.LinAlgError:  # rounding as large as C0
                    return None
                whiten = inverse_triangles(roots).transpose(0, 2, 1)[local_columns]
                differences = P.means[rows, a] - column_means[:, None]
                # Term by term: a product of matrices would group the sums by the number of rows.
                white = differences[:, :, :1] * whiten[:, None, 0]
                for k in range(1, d):
                    white += differences[:, :, k : k + 1] * whiten[:, None, k]
                logs = row_constants[rows] - 0.5 * np.einsum("jik,jik->ji", white, white)
                logs += column_constants[:, None]
                if scaled:
                    log_dets = 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
                    logs -= 0.5 * (log_dets - smoothing.log_determinant)[local_columns, None]
                if factor is not None:
                    logs += factor[rows].T
                out[rows] += np.exp(logs).T
    return out if Q is not None else np.tril(out) + np.tril(out, -1).T


def is_small_gram(P: Beliefs, Q: Beliefs, smoothing: Smoothing) -> bool:
    """Return whether NumPy computes a matrix: by the wholes, so that all parts are alike."""
    wholes = P.whole, Q.whole
    # Most matrices end here, those of new rows with the support vectors again and again.
    if not is_small(len(wholes[0]) * len(wholes[1]) * smoothing.n_features**2, _FEW_PRODUCTS):
        return False
    return is_small(max(_n_groups(whole, smoothing) for whole in wholes), _FEW_GROUPS)


def _n_groups(beliefs: Beliefs, smoothing: Smoothing) -> int:
    # Counted, which is quicker than finding the groups.
    count = partial(np.bincount, beliefs.group_of_row)
    return cached(beliefs, smoothing, "groups", lambda: int(np.count_nonzero(count())))
