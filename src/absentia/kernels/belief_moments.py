"""Moments of beliefs, a tile of rows at a time: what the kernels without an exponential need.

The variance of an inner product of two independent rows,

    var(x'y) = tr(AB) + b'Ab + a'Ba = <A, B + bb'> + <aa', B>,

depends on their means ``a``, ``b`` and covariances ``A``, ``B`` alone, also for mixtures. Written
with ``<.,.>`` the sum of the products of all entries, it is an inner product of one vector
per row, so that BLAS computes all pairs; and no term is subtracted, so that it is exactly
zero between complete rows. The polynomial kernels, the variance of the linear kernel and the
variance of a squared distance are made of it.
"""

from __future__ import annotations

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.threads import cut
from absentia.tables import FloatArray, IntArray

_FLOATS = 2**22  # of a workspace: 32 MB
_LARGEST_TILE = 256  # rows: the few matrices of a tile stay in the cache


class BeliefMoments:
    """Means and covariances of beliefs, of the whole rows or of one component of each.

    ``centre`` is subtracted from the means, where only differences matter and digits are to be
    saved, and ``root`` is the map ``x -> root x`` under which the rows are seen: ``points`` are the
    means as they are, ``means`` centred and mapped. The covariances are zero outside ``columns``,
    and cut to their diagonals if ``coordinatewise``. ``tile_rows`` bounds the workspace.
    """

    def __init__(
        self,
        beliefs: Beliefs,
        *,
        component: int | None = None,
        centre: FloatArray | None = None,
        root: FloatArray | None = None,
        columns: IntArray | None = None,
        coordinatewise: bool = False,
    ):
        self.beliefs = beliefs
        self.root = root
        self.columns = np.arange(beliefs.n_features) if columns is None else columns
        self.coordinatewise = coordinatewise
        # Rows of one pattern share the covariance of a component, not that of a mixture.
        self._component = 0 if beliefs.n_components == 1 else component
        means = beliefs.mean() if self._component is None else beliefs.means[:, self._component]
        self.points = means
        self._weights = beliefs.weights()
        self.means = self._seen(means if centre is None else means - centre)
        self._upper = np.triu_indices(len(self.columns))
        # An inner product of symmetric matrices counts what is off the diagonal twice.
        self._packing = np.where(self._upper[0] == self._upper[1], 1.0, np.sqrt(2.0))
        floats_per_row = beliefs.n_components * beliefs.n_features**2
        self.tile_rows = min(_LARGEST_TILE, max(1, _FLOATS // max(1, floats_per_row)))
        # A tile of rows meets many others; where all tiles fit, each is prepared once.
        self._keeps = len(beliefs) * floats_per_row <= 2 * _FLOATS
        self._cached: dict[tuple[str, int, int], tuple[FloatArray, IntArray]] = {}

    def __len__(self) -> int:
        return len(self.beliefs)

    def _seen(self, points: FloatArray) -> FloatArray:
        return points if self.root is None else points @ self.root.T

    def differences(self, rows: IntArray, other: BeliefMoments, others: IntArray) -> FloatArray:
        """Return the means of some rows less those of as many of another's, mapped afterwards."""
        return self._seen(self.points[rows] - other.points[others])

    def covariances(self, rows: slice | IntArray) -> tuple[FloatArray, IntArray]:
        """Return the different covariances of some rows, and which of them each row has."""
        dense, index = self._dense(rows)
        if self._component is not None:
            different = dense[:, self._component]
        else:
            weights, offsets = self.weights_and_offsets(rows, seen=False)
            different = np.einsum("bc,bcij->bij", weights, dense[index])
            different += np.einsum("bc,bci,bcj->bij", weights, offsets, offsets)
            index = np.arange(len(weights))
        if self.root is not None:
            different = self.root @ different @ self.root.T
        return different, index

    def component_covariances(self, rows: slice) -> FloatArray:
        """Return the covariances of all components of some rows, (b, n_components, d, d)."""
        dense, index = self._dense(rows)
        if self.root is not None:
            dense = self.root @ dense @ self.root.T
        return np.asarray(dense[index])

    def _dense(self, rows: slice | IntArray) -> tuple[FloatArray, IntArray]:
        groups, index = np.unique(self.beliefs.group_of_row[rows], return_inverse=True)
        return self.beliefs.covariances.dense(groups), index

    def weights_and_offsets(
        self, rows: slice | IntArray, *, seen: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the components, and their means less the overall mean."""
        some = self.beliefs
        weights = self._weights[rows]
        offsets = some.means[rows] - some.means[rows, :1]
        offsets -= np.einsum("bc,bcj->bj", weights, offsets)[:, None]
        return weights, self._seen(offsets) if seen else offsets

    def packed(self, rows: slice) -> tuple[FloatArray, IntArray]:
        """Return the covariances as vectors, (n_different, n_packed), and which each row has."""
        return self._prepared("packed", rows)

    def uncertain(self, rows: slice) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
        """Return the covariances on ``columns``, for :func:`~absentia.engine.sums.third_cumulants`.

        The uncertain columns of each come first, then their numbers and how many they are; and
        which of the covariances each row has.
        """
        values, index = self._prepared("restricted", rows)
        certain = np.diagonal(values, axis1=1, axis2=2) <= 0
        members = np.argsort(certain, axis=1, kind="stable")
        blocks = np.take_along_axis(values, members[:, :, None], axis=1)
        blocks = np.take_along_axis(blocks, members[:, None], axis=2)
        return blocks, members, np.count_nonzero(~certain, axis=1), index

    def _prepared(self, form: str, rows: slice) -> tuple[FloatArray, IntArray]:
        key = (form, rows.start, rows.stop)
        if key in self._cached:
            return self._cached[key]
        different, index = self.covariances(rows)
        if form == "restricted":
            values = different[:, self.columns[:, None], self.columns]
        elif self.coordinatewise:
            values = np.diagonal(different, axis1=1, axis2=2)[:, self.columns].copy()
        else:
            i, j = self._upper
            values = different[:, self.columns[i], self.columns[j]] * self._packing
        if self._keeps:
            self._cached[key] = values, index
        return values, index

    def packed_outer(self, rows: slice) -> FloatArray:
        """Return the outer products of the means with themselves as vectors, (b, n_packed)."""
        means = self.means[rows][:, self.columns]
        if self.coordinatewise:
            return means**2
        vectors = np.empty((len(means), len(self._packing)))
        start = 0
        for j in range(means.shape[1]):  # row j of the upper triangle
            stop = start + means.shape[1] - j
            np.multiply(means[:, j, None], means[:, j:], out=vectors[:, start:stop])
            start = stop
        vectors *= self._packing
        return vectors

    def traces(self) -> FloatArray:
        """Return the trace of each row's covariance, shape (n,)."""
        if self._component is not None and self.root is None:
            totals = self.beliefs.covariances.diagonals()[:, self._component].sum(axis=1)
            return totals[self.beliefs.group_of_row]
        traces = np.empty(len(self))
        for rows in cut(len(self), self.tile_rows):
            different, index = self.covariances(rows)
            traces[rows] = np.trace(different, axis1=1, axis2=2)[index]
        return traces

    def images(self) -> FloatArray:
        """Return the covariance of each row times its mean, shape (n, n_features)."""
        images = np.empty_like(self.means)
        for rows in cut(len(self), self.tile_rows):
            different, index = self.covariances(rows)
            if self.coordinatewise:
                variances = np.diagonal(different, axis1=1, axis2=2)
                images[rows] = variances[index] * self.means[rows]
            else:
                images[rows] = np.einsum("bij,bj->bi", different[index], self.means[rows])
        return images


def inner_product_variance(
    P: BeliefMoments, Q: BeliefMoments, rows: slice, columns: slice
) -> FloatArray:
    """Return ``var(x'y)`` of some rows of ``P`` against some of ``Q``, drawn independently.

    ``coordinatewise`` it is the sum of the variances of the ``x_j y_j``.
    """
    A, row_of = P.packed(rows)
    B, column_of = Q.packed(columns)
    second = Q.packed_outer(columns)
    second += B[column_of]
    # One row of the product for each different covariance; where nearly all differ, for each row.
    values = A[row_of] @ second.T if 2 * len(A) > len(row_of) else (A @ second.T)[row_of]
    if 2 * len(B) > len(column_of):
        values += P.packed_outer(rows) @ B[column_of].T
    else:
        values += np.take(P.packed_outer(rows) @ B.T, column_of, axis=1)
    return values


def paired_inner_product_variance(P: BeliefMoments, Q: BeliefMoments) -> FloatArray:
    """Return ``var(x'y)`` of each row of ``P`` against the same row of ``Q``, shape (n,)."""
    values = np.empty(len(P))
    for rows in cut(len(P), P.tile_rows):
        A, row_of = P.packed(rows)
        B, column_of = Q.packed(rows)
        A, B = A[row_of], B[column_of]
        values[rows] = np.einsum("bs,bs->b", A, Q.packed_outer(rows) + B)
        values[rows] += np.einsum("bs,bs->b", P.packed_outer(rows), B)
    return values


def uncertain_columns(*beliefs: Beliefs) -> IntArray:
    """Return the columns in which some row is uncertain."""
    uncertain = np.zeros(beliefs[0].n_features, dtype=bool)
    for some in beliefs:
        uncertain |= some.covariances.uncertain_columns()
        if some.n_components > 1:
            uncertain |= (some.means != some.means[:, :1]).any(axis=(0, 1))
    return np.flatnonzero(uncertain)
