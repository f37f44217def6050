"""Popular groups against popular groups: one factorisation per pair of groups, a product of rows.

With ``V = C0 + A + B = R R'`` for the covariances ``A`` and ``B`` of two groups, an entry is
``(det C0 / det V)^(1/2) exp(-1/2 |inv(R) (a - b)|^2)``, and the squared distance of all rows from
all columns comes from lengths and inner products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri

from absentia.engine.gram.row_products import exponentials_of_distances, in_lanes, row_products
from absentia.engine.threads import bounded_slices, run_single_threaded_blas
from absentia.kernels.gram.far_pairs import centre_of, far_pairs, far_points
from absentia.kernels.gram.kept import kept_for
from absentia.kernels.gram.ordering import Ordering
from absentia.kernels.gram.region import Region
from absentia.kernels.gram.side import Side
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["fill_popular"]

# Rows of a popular group that make one task; twice as many where it prepares columns of its own.
_PANEL_ROWS = 128


@dataclass(frozen=True, eq=False)
class _PopularSide:
    """The popular rows of one side.

    Attributes
    ----------
    groups : list of (group, start, stop)
    points, centred : ndarray of shape (n_popular, d)
        Means, and means relative to a point that both sides have in common.
    constants : ndarray of shape (n_popular,)
    covariances : ndarray of shape (n_groups, d, d)
    certain : ndarray of bool, shape (n_groups,)
        Which groups have no covariance.
    """

    groups: list[tuple[int, int, int]]
    points: FloatArray
    centred: FloatArray
    constants: FloatArray
    covariances: FloatArray
    certain: BoolArray

    @classmethod
    def of(cls, side: Side, centre: FloatArray) -> _PopularSide:
        n_popular = side.ordering.n_popular
        points, covariances = side.means[:n_popular], side.popular_covariances()
        return cls(
            side.ordering.popular,
            points,
            np.ascontiguousarray(points - centre),
            side.constants[:n_popular],
            covariances,
            np.logical_not(covariances.any(axis=(1, 2))),
        )


class _Panel(NamedTuple):
    """Rows of one group and columns of another, such that ``a'b`` is their product by ``inv(V)``.

    Attributes
    ----------
    A, B : ndarray of shape (n, d) and (m, d)
    lanes : flat ndarray
        ``B`` in lanes.
    row_lengths, column_lengths : ndarray of shape (n,) and (m,)
        Squares in the metric of ``inv(V)``.
    log_ratio : float
        ``log det V - log det C0``.
    metric : flat ndarray or float
        ``inv(R)`` in lanes; or the number by which ``inv(V)`` is a multiple of the identity.
    """

    A: FloatArray
    B: FloatArray
    lanes: FloatArray
    row_lengths: FloatArray
    column_lengths: FloatArray
    log_ratio: float
    metric: FloatArray | float

    @classmethod
    def of_points(cls, A: FloatArray, B: FloatArray, lanes: FloatArray, scale: float) -> _Panel:
        """Return that of complete rows and columns, where ``inv(V)`` is ``scale`` times ``I``."""
        A = A * scale
        return cls(A, B, lanes, _squares(A) / scale, _squares(B) * scale, 0.0, scale)

    @classmethod
    def of_groups(cls, A: FloatArray, B: FloatArray, V: FloatArray, smoothing: Smoothing) -> _Panel:
        """Return that of groups whose covariances and the kernel's add up to ``V``."""
        root = np.linalg.cholesky(V)
        whiten = in_lanes(np.ascontiguousarray(dtrtri(root, lower=1)[0]))
        A, B = row_products(A, whiten, A.shape[1]), row_products(B, whiten, A.shape[1])
        log_ratio = 2 * np.log(np.diagonal(root)).sum() - smoothing.log_determinant
        return cls(A, B, in_lanes(B), _squares(A), _squares(B), log_ratio, whiten)

    def far_pairs(self) -> tuple[IntArray, IntArray]:
        """Return the pairs whose distance must be taken from their difference; usually none."""
        rows, columns = far_points(self.row_lengths), far_points(self.column_lengths)
        if not len(rows) or not len(columns):
            return rows[:0], columns[:0]
        products = row_products(self.A[rows], in_lanes(self.B[columns]), len(columns))
        i, j = far_pairs(products, self.row_lengths[rows], self.column_lengths[columns])
        return rows[i], columns[j]

    def lengths(self, differences: FloatArray) -> FloatArray:
        """Return ``d' inv(V) d`` of differences of points."""
        if isinstance(self.metric, float):
            return _squares(differences) * self.metric
        return _squares(row_products(differences, self.metric, differences.shape[1]))


def fill_popular(
    out: FloatArray,
    rows: Side,
    columns: Side,
    smoothing: Smoothing,
    region: Region,
) -> None:
    """Fill the entries of popular groups against popular groups, below the diagonal only."""
    if not rows.ordering.popular or not columns.ordering.popular:
        return
    symmetric = region.symmetric
    centre = kept_for(
        columns.beliefs.whole,
        smoothing,
        ("centre", columns.component),
        lambda: _popular_centre(columns),
    )
    own, other = _PopularSide.of(rows, centre), _PopularSide.of(columns, centre)
    # Complete rows against complete rows: the columns are the same for all tasks.
    shared = {
        q: in_lanes(other.centred[start:stop])
        for q, (_, start, stop) in enumerate(other.groups)
        if smoothing.metric is None and other.certain[q] and own.certain.any()
    }

    def fill_panel(p: int, q: int, start: int, stop: int) -> None:
        _, left, right = other.groups[q]
        if symmetric and p == q:
            right = stop
        A, B = own.centred[start:stop], other.centred[left:right]
        if q in shared and own.certain[p]:
            panel = _Panel.of_points(A, B, shared[q], float(2 * smoothing.gamma))
        else:
            V = smoothing.covariance + own.covariances[p] + other.covariances[q]
            panel = _Panel.of_groups(A, B, V, smoothing)
        row_cap = own.constants[start:stop] - 0.5 * panel.log_ratio * region.scaled
        column_cap = other.constants[left:right]
        i, j = panel.far_pairs()
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
            region.accumulate,
        )
        for part in bounded_slices(len(i), A.shape[1]):
            differences = own.points[start + i[part]] - other.points[left + j[part]]
            lengths = panel.lengths(differences)
            exact = np.exp(row_cap[i[part]] + column_cap[j[part]] - 0.5 * lengths)
            if region.accumulate:
                exact += before[part]
            out[start + i[part], left + j[part]] = exact

    # Columns are whitened anew for each panel, unless they are shared.
    steps = np.where(own.certain & bool(shared), _PANEL_ROWS, 2 * _PANEL_ROWS).tolist()
    tasks = [
        (p, q, start, min(start + steps[p], row_stop))
        for p, (_, row_start, row_stop) in enumerate(own.groups)
        for start in range(row_start, row_stop, steps[p])
        for q in range(p + 1 if symmetric else len(other.groups))
    ]
    run_single_threaded_blas(fill_panel, tasks, region.threads)


def _squares(points: FloatArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->i", points, points)
    return squares


def _popular_centre(columns: Side) -> FloatArray:
    """Return a point among the popular rows of the whole that the columns belong to."""
    whole = columns.beliefs.whole
    ordering = Ordering.of(whole)
    return centre_of(whole.means[ordering.rows[: ordering.n_popular], columns.component])
