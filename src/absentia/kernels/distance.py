"""Kernels of the squared distance of incomplete rows, from its mean (ESD) and variance (EGK)."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import Beliefs
from absentia.engine.threads import cut
from absentia.kernels.base import Diagonal, Kernel
from absentia.kernels.belief_moments import (
    BeliefMoments,
    inner_product_variance,
    paired_inner_product_variance,
    uncertain_columns,
)
from absentia.kernels.gram import tiles
from absentia.kernels.gram.expected import in_kernel_units
from absentia.kernels.metric import Smoothing, Widths, metric_root
from absentia.parameters import Rule, declared, words
from absentia.tables import FloatArray, IntArray


class _OfDistance(Kernel):
    """Base class of the two kernels, which have widths and a metric."""

    gamma: Any
    metric: Any

    def _in_kernel_units(
        self, P: Beliefs, Q: Beliefs | None
    ) -> tuple[Beliefs, Beliefs | None, float, FloatArray | None]:
        """Return beliefs in units in which no moment overflows, gamma and the metric's root."""
        smoothing = Smoothing.of(self.gamma, self.metric, P.n_features)
        # Fourth powers are taken.
        P, Q, smoothing = in_kernel_units(P, Q, smoothing, farthest=1e70)
        root = None if smoothing.metric is None else metric_root(smoothing.metric)
        return P, Q, float(smoothing.gamma), root


@declared
class ExpectedDistanceRBF(_OfDistance):
    """ESD: the Gaussian kernel of the expected squared distance of two rows.

    ``exp(-gamma E[z])`` with ``z = |x - y|²`` for independent ``x``, ``y``, and
    ``E[z] = |a - b|² + tr A + tr B``: exact for any distributions with means ``a``, ``b`` and
    covariances ``A``, ``B``, so for mixtures through their overall moments [Mesquita]_.

    A row that misses a value is imputed with its mean and then faded by ``exp(-gamma tr A)``
    against every other row, near or far: simple, and harsher than the expectation of the kernel
    itself (:class:`ExpectedRBF`), which by Jensen's inequality is never smaller. On complete rows
    it is ``sklearn.metrics.pairwise.rbf_kernel``. Positive definite.

    Parameters
    ----------
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        ``"scale"`` is one over the trace of the data's covariance in the metric. An array gives
        each column a width of its own.
    metric : {"euclidean", "mahalanobis"} or array-like of shape (n_features, n_features)
        The matrix of the squared distance; ``"mahalanobis"`` whitens by the density's covariance.
    diagonal : {"same", "independent"}, default="same"
        Diagonal of ``kernel(P)``: 1, since a row is at distance zero from itself; or
        two independent draws of a row, ``exp(-2 gamma tr A)``. The faded diagonal cancels the
        fading: once rows are weighed by it, what is left is imputation. Both are positive
        definite.

    Notes
    -----
    One product of the means, O(n² d), and the traces, once per pattern.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import Beliefs, ExpectedDistanceRBF
    >>> P = Beliefs.from_moments([[0.0], [1.0], [3.0]], [[0.0], [0.0], [1.0]])
    >>> np.log(ExpectedDistanceRBF(gamma=0.5)(P))
    array([[ 0. , -0.5, -5. ],
           [-0.5,  0. , -2.5],
           [-5. , -2.5,  0. ]])
    """

    name = "esd"
    gamma: Widths = field(default="scale", kw_only=False)
    metric: str | ArrayLike = field(default="euclidean", kw_only=False)
    diagonal: Diagonal = "same"

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        P, Q, gamma, root = self._in_kernel_units(P, Q)
        x, y = _moments(P, Q, root)
        K = tiles.distances_of(
            x.means, y.means, lambda i, j: x.differences(i, y, j), scale=2 * gamma
        )
        K += x.traces()[:, None]
        K += y.traces()
        K *= -gamma
        np.exp(K, out=K)
        if Q is None:
            tiles.symmetrised(K)
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        if self.diagonal == "same":
            return np.ones(len(P))
        P, _, gamma, root = self._in_kernel_units(P, None)
        return np.exp(-2 * gamma * BeliefMoments(P, root=root).traces())


@declared
class GammaRBF(_OfDistance):
    """EGK: the expected Gaussian kernel, with the squared distance taken as a Gamma variable.

    ``E exp(-gamma z) = (beta / (beta + gamma))^alpha`` with ``alpha = E[z]² / var z`` and
    ``beta = E[z] / var z``, for the squared distance ``z = |x - y|²`` of two independent rows
    [Mesquita]_. Computed as ``exp(-gamma E[z] log(1 + r) / r)``, ``r = gamma var z / E[z]``, which
    neither overflows nor fails where the variance vanishes: there it is ``exp(-gamma E[z])``.

    Mean and variance of ``z`` are exact. For Gaussians with covariances ``A``, ``B`` and means
    that differ by ``d``, ``E[z] = |d|² + tr A + tr B`` and
    ``var z = 2 tr((A + B)²) + 4 d'(A + B)d``; for mixtures the law of total variance adds the
    spread between components. A row that misses a value fades against rows close by, less so
    against rows far away. It approximates :class:`ExpectedRBF`, which has the expectation itself
    in closed form; use this one to repeat the paper, or where a distribution is known by its
    moments alone.

    **Not positive definite**: in a search over some thousand small matrices the eigenvalues went
    down to -0.14 with ``diagonal="independent"``, and to -7e-7 with ``diagonal="same"``, which is
    why that one is the default. A mixture with a component far away from the rest (100 rows, one
    value of 1e9) has eigenvalues down to -15 with either: that is the formula, not rounding. See
    :func:`repair_psd`.

    Parameters
    ----------
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        As in :class:`ExpectedDistanceRBF`.
    metric : {"euclidean", "mahalanobis"} or array-like of shape (n_features, n_features)
        As in :class:`ExpectedDistanceRBF`.
    variance : {"exact", "independent"}, default="exact"
        The paper takes the columns as independent, which is ``A + B`` cut to its diagonal in
        the variance; ``"independent"`` is that, the columns being those after the metric's map.
    diagonal : {"same", "independent"}, default="same"
        Diagonal of ``kernel(P)``: 1, since a row is at distance zero from
        itself; or the formula for two independent draws of a row.

    Notes
    -----
    Two products of d(d+1)/2 columns, paid for each pair of a pattern and a row, O(P n d²), and
    O(n² d) for the means; for mixtures P is n, and the number of components does not matter.
    ``variance="independent"`` costs O(n² d).

    Examples
    --------
    >>> from absentia import Beliefs, GammaRBF
    >>> P = Beliefs.from_moments([[0.0], [1.0], [3.0]], [[0.0], [0.0], [1.0]])
    >>> GammaRBF(gamma=0.5)(P).round(3)
    array([[1.   , 0.607, 0.061],
           [0.607, 1.   , 0.239],
           [0.061, 0.239, 1.   ]])
    """

    name = "egk"
    positive_definite = False

    _rules: ClassVar[dict[str, Rule]] = {"variance": words("exact", "independent")}

    gamma: Widths = field(default="scale", kw_only=False)
    metric: str | ArrayLike = field(default="euclidean", kw_only=False)
    variance: str = "exact"
    diagonal: Diagonal = "same"

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        P, Q, gamma, root = self._in_kernel_units(P, Q)
        x, y = _moments(P, Q, root, self.variance)
        ours = _Spread.of(x)
        theirs = ours if y is x else _Spread.of(y)

        def tile(rows: slice, columns: slice) -> FloatArray:
            # With w = x - y less its mean d, E[w] = 0:
            # var z = 4 d'(A+B)d + 4 d'E[w|w|²] + var |w|²,  and  E[w|w|²] = E[u|u|²] - E[v|v|²],
            # var |w|² = var |u|² + var |v|² + 4 tr(AB)  for the parts u, v of x and y.
            a, b = x.means[rows], y.means[columns]
            mean, far = tiles.squared_distances(
                a @ b.T,
                ours.squares[rows],
                theirs.squares[columns],
                scale=2 * gamma,
                close=1e-4,  # a Gamma variable may be small where its mean is large
            )
            mean += ours.traces[rows, None] + theirs.traces[columns]
            variance = inner_product_variance(x, y, rows, columns)
            variance *= 4
            variance += ours.scalars[rows, None] + theirs.scalars[columns]
            variance -= ours.vectors[rows] @ b.T
            variance -= a @ theirs.vectors[columns].T
            for i, j in tiles.in_parts(far, x.means.shape[1] ** 2):
                pairs = rows.start + i, columns.start + j
                mean[i, j], variance[i, j] = _paired_moments(x, y, ours, theirs, *pairs)
            return _gamma_transform(mean, variance, gamma)

        shape = (len(x), len(y))
        K = tiles.assembled(tile, shape, symmetric=Q is None, tile_rows=x.tile_rows, n_jobs=n_jobs)
        if Q is None:
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        if self.diagonal == "same":
            return np.ones(len(P))
        # At the mean there is no distance, and var(u'v) = tr(AA).
        P, _, gamma, root = self._in_kernel_units(P, None)
        x, _ = _moments(P, None, root, self.variance)
        spread = _Spread.of(x)
        x.means = np.zeros_like(x.means)
        variance = 2 * spread.quartics + 4 * paired_inner_product_variance(x, x)
        return _gamma_transform(2 * spread.traces, variance, gamma)


class _Spread:
    """Terms of one row in the mean and variance of a squared distance.

    For a row with mean ``a`` and centred part ``u`` of covariance ``A``: ``squares = |a|²``,
    ``traces = tr A``, ``thirds = E[u|u|²]``, ``quartics = var |u|²``,
    ``vectors = 8 A a + 4 thirds`` and ``scalars = 4 a'Aa + 4 a'thirds + quartics``.
    """

    def __init__(self, x: BeliefMoments, thirds: FloatArray, quartics: FloatArray):
        images = x.images()
        self.squares = tiles.squares_of(x.means)
        self.traces = x.traces()
        self.thirds = thirds
        self.quartics = quartics
        self.vectors = 8 * images + 4 * thirds
        self.scalars = 4 * np.einsum("ij,ij->i", x.means, images + thirds) + quartics

    @classmethod
    def of(cls, x: BeliefMoments) -> _Spread:
        """Sum over the components: a Gaussian has no third moment, and ``var |u|² = 2 tr(AA)``."""
        thirds, quartics = np.empty_like(x.means), np.empty(len(x))
        for rows in cut(len(x), x.tile_rows):
            S = x.component_covariances(rows)
            weights, o = x.weights_and_offsets(rows)
            if x.coordinatewise:
                variances = np.diagonal(S, axis1=2, axis2=3)
                thirds[rows] = np.einsum("bc,bci->bi", weights, o * (o**2 + 3 * variances))
                within = 2 * variances**2 + 4 * o**2 * variances
                mean = o**2 + variances
                mean -= np.einsum("bc,bci->bi", weights, mean)[:, None]
                quartics[rows] = np.einsum("bc,bci->b", weights, within + mean**2)
            else:
                So = np.einsum("bcij,bcj->bci", S, o)
                mean = np.einsum("bci,bci->bc", o, o) + np.trace(S, axis1=2, axis2=3)
                thirds[rows] = np.einsum("bc,bci->bi", weights, o * mean[..., None] + 2 * So)
                within = 2 * np.einsum("bcij,bcij->bc", S, S)
                within += 4 * np.einsum("bci,bci->bc", o, So)
                mean -= np.einsum("bc,bc->b", weights, mean)[:, None]
                quartics[rows] = np.einsum("bc,bc->b", weights, within + mean**2)
        return cls(x, thirds, quartics)


def _gamma_transform(mean: FloatArray, variance: FloatArray, gamma: float) -> FloatArray:
    """Return ``E exp(-gamma z)`` of a Gamma variable with these moments, overwriting ``variance``.

    Where the mean is zero so is ``z``, and where the variance is zero, ``z`` is its mean.
    """
    ratio = np.zeros_like(variance)
    np.divide(gamma * variance, mean, out=ratio, where=(mean > 0) & (variance > 0))
    shrink = np.ones_like(ratio)
    np.divide(np.log1p(ratio), ratio, out=shrink, where=ratio > 0)
    shrink *= mean
    shrink *= -gamma
    return np.exp(shrink, out=shrink)


def _moments(
    P: Beliefs, Q: Beliefs | None, root: FloatArray | None, variance: str | None = None
) -> tuple[BeliefMoments, BeliefMoments]:
    """Return the moments of both sides, centred among the rows; for a variance, where it varies."""
    columns = None
    if variance is not None and root is None:
        columns = uncertain_columns(P.whole, P.whole if Q is None else Q.whole)
    x, *rest = (
        BeliefMoments(
            some,
            centre=tiles.centre_of(P.whole.means[:, 0]),
            root=root,
            columns=columns,
            coordinatewise=variance == "independent",
        )
        for some in (P, Q)
        if some is not None
    )
    return x, rest[0] if rest else x


def _paired_moments(
    x: BeliefMoments, y: BeliefMoments, ours: _Spread, theirs: _Spread, i: IntArray, j: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the squared distance of pairs, from the difference of means."""
    d = x.differences(i, y, j)
    (A, row_of), (B, column_of) = x.covariances(i), y.covariances(j)
    A, B = A[row_of], B[column_of]
    if x.coordinatewise:
        A, B = A * np.eye(d.shape[1]), B * np.eye(d.shape[1])
    variance = 4 * np.einsum("pi,pij,pj->p", d, A + B, d) + 4 * np.einsum("pij,pij->p", A, B)
    variance += 4 * np.einsum("pi,pi->p", d, ours.thirds[i] - theirs.thirds[j])
    variance += ours.quartics[i] + theirs.quartics[j]
    return tiles.squares_of(d) + ours.traces[i] + theirs.traces[j], variance
