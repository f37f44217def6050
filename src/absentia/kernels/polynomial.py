"""The expected polynomial kernels of degree two and three."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from absentia.beliefs import Beliefs, Prior
from absentia.engine.sums import third_cumulants
from absentia.kernels.base import Diagonal, Kernel, with_params
from absentia.kernels.belief_moments import (
    BeliefMoments,
    inner_product_variance,
    paired_inner_product_variance,
    uncertain_columns,
)
from absentia.kernels.gram.expected import in_kernel_units
from absentia.kernels.gram.smoothing import Smoothing
from absentia.kernels.gram.tiles import assembled, cut
from absentia.kernels.metric import resolve_gammas
from absentia.parameters import FINITE, Rule, check_parameters, declared, finite
from absentia.tables import FloatArray

__all__ = ["ExpectedPolynomial"]


@declared
class ExpectedPolynomial(Kernel):
    """The polynomial kernel of two rows, averaged over what they could have been.

    ``E (gamma x'y + coef0)^degree`` for independent ``x``, ``y``. With means ``a``, ``b`` and
    covariances ``A``, ``B``, ``u = gamma a'b + coef0`` and
    ``v = gamma² var(x'y) = gamma² (tr(AB) + a'Ba + b'Ab)`` it is

    - degree 2: ``u² + v``, for any distributions with these moments, so for mixtures through
      their overall means and covariances;
    - degree 3: ``u³ + 3 u v + 6 gamma³ a'B A b`` for Gaussians; for mixtures the sum of this over
      all pairs of components, weighted by the products of their weights.

    A row that misses a value counts with its mean and, through ``v``, with its spread along the
    other row: degree two keeps what imputing the mean loses. On complete rows it is
    ``sklearn.metrics.pairwise.polynomial_kernel``. Positive definite where ``coef0`` is not
    negative.

    Parameters
    ----------
    degree : {2, 3}, default=2
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        ``"scale"`` is one over the trace of the data's covariance. An array gives each column a
        factor of its own in the inner product.
    coef0 : float, default=1.0
    diagonal : {"independent", "same"}, default="independent"
        What ``kernel(P)`` has on its diagonal: two independent draws of a row, or one and the
        same row, ``E (gamma x'x + coef0)^degree``, which is larger.

    Notes
    -----
    Degree 2 costs two products of d(d+1)/2 columns, paid for each pair of a pattern and a row:
    O(P n d²), and O(n² d) for the means; only the columns in which some row is uncertain enter
    d². Degree 3 adds O(s (k + l)) for each pair of rows, of which one misses k values, the other l
    and both s; times the pairs of components. The workspace is bounded.

    Examples
    --------
    >>> from absentia import Beliefs, ExpectedPolynomial
    >>> P = Beliefs.from_moments([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[0.0, 0.0]] * 2 + [[0, 4]])
    >>> ExpectedPolynomial(degree=2, gamma=1.0, coef0=0.0)(P)
    array([[ 1.,  0.,  1.],
           [ 0.,  1.,  5.],
           [ 1.,  5., 28.]])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "degree": Rule(("2", "3"), lambda degree: finite(degree) in (2.0, 3.0)),
        "coef0": FINITE,
    }

    degree: int = field(default=2, kw_only=False)
    gamma: float | str = field(default="scale", kw_only=False)
    coef0: float = field(default=1.0, kw_only=False)
    diagonal: Diagonal = "independent"

    @property
    def positive_definite(self) -> bool:
        """A polynomial with non-negative coefficients of an inner product is positive definite."""
        return self.coef0 >= 0

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with ``gamma="scale"`` resolved to a number."""
        check_parameters(self)
        return with_params(self, gamma=resolve_gammas(self.gamma, prior, "euclidean"))

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        diagonal = self._diag(P) if Q is None else None
        P, Q, kernel = self._in_kernel_units(P, Q)
        R = P if Q is None else Q
        left, right = kernel._parts(P, R)
        if Q is None:
            right = left

        def tile(rows: slice, columns: slice) -> FloatArray:
            values = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
            for ours, x in left:
                for theirs, y in right:
                    term = kernel._of_pairs(x, y, rows, columns)
                    term *= ours[rows, None]
                    term *= theirs[columns]
                    values += term
            return values

        shape = (len(P), len(R))
        step = left[0][1].tile_rows
        K = assembled(tile, shape, symmetric=Q is None, tile_rows=step, n_jobs=n_jobs)
        if diagonal is not None:
            np.fill_diagonal(K, diagonal)
        return K

    def _in_kernel_units(
        self, P: Beliefs, Q: Beliefs | None
    ) -> tuple[Beliefs, Beliefs | None, ExpectedPolynomial]:
        """Measure columns in units in which gamma is of order one, so that no power overflows."""
        smoothing = Smoothing.of(self.gamma, "euclidean", P.n_features)
        # To the power of six, and of inner products.
        P, Q, smoothing = in_kernel_units(P, Q, smoothing, farthest=1e45, of_differences=False)
        return P, Q, with_params(self, gamma=float(smoothing.gamma))

    def _parts(
        self, *beliefs: Beliefs
    ) -> tuple[list[tuple[FloatArray, BeliefMoments]], list[tuple[FloatArray, BeliefMoments]]]:
        """Return weights and moments: of the whole rows for degree 2, by components for 3."""
        columns = uncertain_columns(*beliefs)
        parts = []
        for some in beliefs:
            if self.degree == 2 or some.n_components == 1:
                parts.append([(np.ones(len(some)), BeliefMoments(some, columns=columns))])
            else:
                parts.append(
                    [
                        (weights, BeliefMoments(some, component=c, columns=columns))
                        for c, weights in enumerate(some.weights().T)
                    ]
                )
        return parts[0], parts[-1]

    def _of_pairs(
        self, x: BeliefMoments, y: BeliefMoments, rows: slice, columns: slice
    ) -> FloatArray:
        gamma, coef0 = float(self.gamma), float(self.coef0)
        u = gamma * (x.means[rows] @ y.means[columns].T) + coef0
        v = inner_product_variance(x, y, rows, columns)
        v *= gamma**2
        if self.degree == 2:
            return u**2 + v
        return u * (u**2 + 3 * v) + 6 * gamma**3 * _third_cumulant(x, y, rows, columns)

    def _diag(self, P: Beliefs) -> FloatArray:
        P, _, kernel = self._in_kernel_units(P, None)
        return kernel._same_row_twice(P) if self.diagonal == "same" else kernel._two_draws(P)

    def _two_draws(self, P: Beliefs) -> FloatArray:
        gamma, coef0 = float(self.gamma), float(self.coef0)
        total = np.zeros(len(P))
        left, right = self._parts(P)
        for ours, x in left:
            for theirs, y in right:
                u = gamma * np.einsum("ij,ij->i", x.means, y.means) + coef0
                v = gamma**2 * paired_inner_product_variance(x, y)
                if self.degree == 2:
                    term = u**2 + v
                else:
                    term = u * (u**2 + 3 * v) + 6 * gamma**3 * _paired_third_cumulant(x, y)
                total += ours * theirs * term
        return total

    def _same_row_twice(self, P: Beliefs) -> FloatArray:
        """Return ``E (gamma x'x + coef0)^degree`` from the cumulants of ``x'x``, by components."""
        gamma, coef0 = float(self.gamma), float(self.coef0)
        total = np.zeros(len(P))
        for c, weights in enumerate(P.weights().T):
            moments = BeliefMoments(P, component=c)
            means, images = moments.means, moments.images()
            u = gamma * (np.einsum("ij,ij->i", means, means) + moments.traces()) + coef0
            # Twice the variance of two independent draws: 2 tr(AA) + 4 a'Aa.
            v = gamma**2 * 2 * paired_inner_product_variance(moments, moments)
            if self.degree == 2:
                total += weights * (u**2 + v)
            else:
                third = 8 * _cube_traces(moments) + 24 * np.einsum("ij,ij->i", images, images)
                total += weights * (u * (u**2 + 3 * v) + gamma**3 * third)
        return total


def _third_cumulant(x: BeliefMoments, y: BeliefMoments, rows: slice, columns: slice) -> FloatArray:
    """Return ``a'B A b``, a sixth of the third cumulant of ``x'y``, for pairs of Gaussians."""
    a, b = x.means[rows][:, x.columns], y.means[columns][:, y.columns]
    return third_cumulants(*x.restricted(rows), a, *y.restricted(columns), b)


def _paired_third_cumulant(x: BeliefMoments, y: BeliefMoments) -> FloatArray:
    values = np.empty(len(x))
    for rows in cut(len(x), x.tile_rows):
        A, row_of = x.covariances(rows)
        B, column_of = y.covariances(rows)
        Ab = np.einsum("bij,bj->bi", A[row_of], y.means[rows])
        Ba = np.einsum("bij,bj->bi", B[column_of], x.means[rows])
        values[rows] = np.einsum("bi,bi->b", Ab, Ba)
    return values


def _cube_traces(moments: BeliefMoments) -> FloatArray:
    """Return the trace of the cube of each row's covariance."""
    traces = np.empty(len(moments))
    for rows in cut(len(moments), moments.tile_rows):
        A, index = moments.covariances(rows)
        traces[rows] = np.einsum("gij,gij->g", A @ A, A)[index]
    return traces
