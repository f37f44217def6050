"""The expected inner product and its powers: linear and polynomial kernels."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import Beliefs, Prior
from absentia.engine.sums import third_cumulants
from absentia.engine.threads import cut
from absentia.kernels.base import Diagonal, Kernel, with_params
from absentia.kernels.belief_moments import (
    BeliefMoments,
    inner_product_variance,
    paired_inner_product_variance,
    uncertain_columns,
)
from absentia.kernels.gram.expected import in_kernel_units
from absentia.kernels.gram.tiles import assembled, squares_of, symmetrised
from absentia.kernels.metric import Smoothing
from absentia.parameters import CENTRE, Rule, check_parameters, declared, finite, words
from absentia.tables import FloatArray

#: Squared length of the mean over the sum of variances from which "auto" takes the mean off.
#: Products then lose five of sixteen digits; before that, machines centre the matrix instead.
_FAR = 1e5


@declared
class ExpectedLinear(Kernel):
    """The inner product of two rows, averaged over what they could have been.

    ``E[(x - m)'(y - m)] = (a - m)'(b - m)`` for independent ``x``, ``y`` with means ``a``, ``b``
    and a centre ``m``, which is zero unless one is given.

    A row that misses a value is compared by its conditional mean: off the diagonal this is the
    linear kernel after imputing that mean, for Gaussians and mixtures alike. Uncertainty shows
    only where a row meets itself.

    Parameters
    ----------
    diagonal : {"independent", "same"}, default="independent"
        Diagonal of ``kernel(P)``: two independent draws of a row, ``a'a`` (for
        ``m = 0``); or one and the same row, ``E[x'x] = a'a + tr A`` with ``A`` its covariance,
        Eq. (2) of [Anderson2011]_, which shrinks what a linear machine makes of an uncertain row,
        as a ridge of the row's own. Both are positive definite.
    centre : array-like of shape (n_features,), "auto" or None, default=None
        ``m``. ``"auto"`` is the mean of the density where it is so far from zero that products lose
        the digits in which rows differ (its squared length is more than 100,000 times the sum of
        the columns' variances: a mean of some 300 deviations), else none. Machines whose
        predictions do not depend on it, because they have an intercept or centre for themselves,
        take ``"auto"`` where no centre is given.

    Notes
    -----
    One product of the means: O(n² d), whatever the patterns. The kernel has no metric of its
    own; to weigh columns, standardise them or use :meth:`Beliefs.transform`.

    Examples
    --------
    >>> from absentia import Beliefs, ExpectedLinear
    >>> means = [[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]
    >>> P = Beliefs.from_moments(means, [[0.0, 0.5], [0.0, 0.0], [0.0, 0.0]])
    >>> ExpectedLinear()(P)
    array([[1., 1., 0.],
           [1., 5., 2.],
           [0., 2., 1.]])
    >>> ExpectedLinear(diagonal="same")(P)
    array([[1.5, 1. , 0. ],
           [1. , 5. , 2. ],
           [0. , 2. , 1. ]])
    """

    name = "expected-linear"
    _rules: ClassVar[dict[str, Rule]] = {"centre": CENTRE | words("auto", None)}

    diagonal: Diagonal = "independent"
    centre: ArrayLike | Literal["auto"] | None = None

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with a centre of numbers, or with none."""
        check_parameters(self)
        if self.centre is None:
            return self
        if isinstance(self.centre, str):
            mean = prior.mean()
            # In units of the largest mean, whose square may be no number.
            largest = float(np.abs(mean).max(initial=0.0)) or 1.0
            spread = float(np.trace(prior.covariance() / largest / largest))
            far = float(np.sum((mean / largest) ** 2)) > _FAR * spread
            return with_params(self, centre=mean if far else None)
        centre: FloatArray = np.array(self.centre, dtype=np.float64)
        if len(centre) != prior.n_features:
            raise ValueError(
                f"centre must have one number for each of the {prior.n_features} columns, found "
                f"{len(centre)}. Columns without any observed value are left out by a density: "
                "give centre[density.columns_] then."
            )
        return with_params(self, centre=centre)

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        means = self._means(P)
        K: FloatArray = means @ (means if Q is None else self._means(Q)).T
        if Q is None:
            symmetrised(K)
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        means = self._means(P)
        squares: FloatArray = np.einsum("ij,ij->i", means, means)
        return squares + BeliefMoments(P).traces() if self.diagonal == "same" else squares

    def centred_at(self, centre: FloatArray | Literal["auto"]) -> Kernel:
        """Return this kernel with a centre where it had none."""
        return with_params(self, centre=centre) if self.centre is None else self

    def _means(self, P: Beliefs) -> FloatArray:
        means = P.mean()
        return means if self.centre is None else means - np.asarray(self.centre)


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
        Diagonal of ``kernel(P)``: two independent draws of a row, or one and the
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

    name = "expected-polynomial"
    _rules: ClassVar[dict[str, Rule]] = {
        "degree": Rule(("2", "3"), lambda degree: finite(degree) in (2.0, 3.0))
    }

    degree: int = field(default=2, kw_only=False)
    gamma: float | str = field(default="scale", kw_only=False)
    coef0: float = field(default=1.0, kw_only=False)
    diagonal: Diagonal = "independent"

    @property
    def positive_definite(self) -> bool:
        """A polynomial with non-negative coefficients of an inner product is positive definite."""
        return self.coef0 >= 0

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        diagonal = self._diag(P) if Q is None else None
        P, Q, kernel = self._in_kernel_units(P, Q)
        left, right = kernel._parts(P, *(() if Q is None else (Q,)))

        def tile(rows: slice, columns: slice) -> FloatArray:
            values = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
            for ours, x in left:
                for theirs, y in right:
                    term = kernel._of_pairs(x, y, rows, columns)
                    term *= ours[rows, None]
                    term *= theirs[columns]
                    values += term
            return values

        shape = (len(P), len(P if Q is None else Q))
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
            weights = np.ones((1, len(some))) if self.degree == 2 else some.weights().T
            components = [None] if self.degree == 2 else range(len(weights))
            moments = [BeliefMoments(some, component=c, columns=columns) for c in components]
            parts.append(list(zip(weights, moments, strict=True)))
        return parts[0], parts[-1]

    def _of_pairs(
        self, x: BeliefMoments, y: BeliefMoments, rows: slice, columns: slice
    ) -> FloatArray:
        gamma, coef0 = float(self.gamma), float(self.coef0)
        u = gamma * (x.means[rows] @ y.means[columns].T) + coef0
        v = inner_product_variance(x, y, rows, columns)
        v *= gamma**2
        if self.degree == 2:
            return self._power(u, v, 0.0)
        a = np.ascontiguousarray(x.means[rows][:, x.columns])
        b = np.ascontiguousarray(y.means[columns][:, y.columns])
        third = third_cumulants(*x.uncertain(rows), a, *y.uncertain(columns), b)
        return self._power(u, v, 6 * gamma**3 * third)

    def _power(self, u: FloatArray, v: FloatArray, third: FloatArray | float) -> FloatArray:
        """Return the mean of a power from mean, variance and third cumulant."""
        return u**2 + v if self.degree == 2 else u * (u**2 + 3 * v) + third

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
                third = 0.0 if self.degree == 2 else _paired_third_cumulant(x, y)
                total += ours * theirs * self._power(u, v, 6 * gamma**3 * third)
        return total

    def _same_row_twice(self, P: Beliefs) -> FloatArray:
        """Return ``E (gamma x'x + coef0)^degree`` from the cumulants of ``x'x``, by components."""
        gamma, coef0 = float(self.gamma), float(self.coef0)
        total = np.zeros(len(P))
        for c, weights in enumerate(P.weights().T):
            moments = BeliefMoments(P, component=c)
            means = moments.means
            u = gamma * (np.einsum("ij,ij->i", means, means) + moments.traces()) + coef0
            # Twice the variance of two independent draws: 2 tr(AA) + 4 a'Aa.
            v = gamma**2 * 2 * paired_inner_product_variance(moments, moments)
            third: FloatArray | float = 0.0
            if self.degree == 3:
                third = 8 * _cube_traces(moments) + 24 * squares_of(moments.images())
            total += weights * self._power(u, v, gamma**3 * third)
        return total


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
