"""Linear models on out-of-core and distributed tables, by sums over chunks of rows.

The coefficients minimise ``sum_i weight_i loss(codes_i, z_i'B) + penalty(B)``, with a quadratic
penalty. For squared error that takes one pass, which sums the normal equations. For other losses
the same pass gives a metric in which the problem is well conditioned and a start, the solution
of least squares; L-BFGS needs a few passes from there, each of which sums one gradient.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.machines.losses import CURVATURE_BOUNDS, Loss, minimise, squared_error
from absentia.progress import report
from absentia.tables import FloatArray
from absentia.tables.streams import Chunk, Stream, pairwise_sum

#: Rows whose features are held at once.
SLICE_ROWS = 4096

CodesOf = Callable[[Any], FloatArray]


@dataclass(frozen=True, eq=False)
class DesignOf:
    """Map from rows to their design matrix: features, and a one for the intercept."""

    features: BaseEstimator
    fit_intercept: bool
    n_features: int

    @property
    def n_columns(self) -> int:
        """The number of columns of a design matrix."""
        return self.n_features + bool(self.fit_intercept)

    def of_rows(self, rows: object) -> FloatArray:
        """Return the features of rows, (n, n_features)."""
        if self.features is None:
            rows = np.asarray(rows)
            if np.isnan(rows).any():
                raise ValueError(
                    "features='passthrough' takes the columns as they are, but NaN was found in "
                    "them. Use features='fourier' or 'nystroem' for rows with missing values."
                )
            return rows
        # Features of our own skip the checks of names, which have been made; others take arrays.
        if hasattr(self.features, "of_rows"):
            Z: FloatArray = np.asarray(self.features.of_rows(rows))
        else:
            Z = np.asarray(self.features.transform(np.asarray(rows)))
        return Z

    def __call__(self, rows: object) -> FloatArray:
        """Return the design matrix of rows, (n, n_columns)."""
        Z = self.of_rows(rows)
        return np.column_stack([Z, np.ones(len(Z))]) if self.fit_intercept else Z


@dataclass(frozen=True, eq=False)
class QuadraticPenalty:
    """``sum_s (b_s - centre_s)' H_s (b_s - centre_s) / 2`` over the scores ``s``."""

    hessians: FloatArray
    centres: FloatArray

    @classmethod
    def ridge(
        cls, alpha: float, n_columns: int, n_scores: int, fit_intercept: bool
    ) -> QuadraticPenalty:
        """Return ``alpha |b|^2 / 2``, with nothing on the intercept."""
        weights = np.full(n_columns, float(alpha))
        if fit_intercept:
            weights[-1] = 0.0
        hessians = np.broadcast_to(np.diag(weights), (n_scores, n_columns, n_columns))
        return cls(hessians, np.zeros((n_columns, n_scores)))


def minimise_sum(
    chunks: Stream,
    design_of: DesignOf,
    codes_of: CodesOf,
    loss: Loss,
    penalty: QuadraticPenalty,
    *,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, int]:
    """Return the coefficients, (n_columns, n_scores), and the number of passes over the data.

    L-BFGS stops when no entry of the gradient, per unit of weight and in the metric of the normal
    equations, is larger than ``tol``, or after ``max_iter`` steps.
    """
    gram, cross, total = chunks.map_sum(in_slices, _normal_equations, design_of, codes_of)
    if not total > 0:
        raise ValueError("There is nothing to learn from: no row has a positive weight.")
    pull = np.einsum("sij,js->is", penalty.hessians, penalty.centres)
    bound = CURVATURE_BOUNDS[loss]
    # All scores share the Hessian of the penalty, except where it summarises earlier rows.
    same = all(np.array_equal(H, penalty.hessians[0]) for H in penalty.hessians[1:])
    hessians = penalty.hessians[:1] if same else penalty.hessians
    # Rounding may have taken that from the diagonal: features can depend on one another.
    lifts = [np.finfo(float).eps * np.trace(bound * gram + H) * np.eye(len(H)) for H in hessians]
    roots = [
        cholesky(bound * gram + H + lift, lower=True)
        for H, lift in zip(hessians, lifts, strict=True)
    ]
    start = _backward(roots, _forward(roots, bound * cross + pull))
    if loss is squared_error:
        return start, 1
    unscale = np.sqrt(total)

    def objective(flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        B = unscale * _backward(roots, flat.reshape(start.shape))
        value, gradient = chunks.map_sum(
            in_slices, _loss_and_gradient, design_of, codes_of, loss, B
        )
        offsets = B - penalty.centres
        pulled = np.einsum("sij,js->is", penalty.hessians, offsets)
        value = float(value) + 0.5 * float((offsets * pulled).sum())
        inner = unscale * _forward(roots, gradient + pulled) / total
        return np.array([value]) / total, inner.reshape(1, -1)

    begin = _by_score(lambda root, b: root.T @ b, roots, start)
    found = minimise(objective, begin.reshape(1, -1) / unscale, tol=tol, max_iter=max_iter)
    slope = float(found.slopes[0])
    report("L-BFGS: %d passes over the rows, largest slope %.2g", found.n_evaluations, slope)
    # A gradient at the last digits of its sum cannot be lowered, whatever the tolerance.
    if slope > max(tol, 1e-12):
        warnings.warn(
            f"L-BFGS stopped before it converged (at most max_iter={max_iter} steps): its gradient "
            f"is {slope:.1e} (tol={tol:g}). Raise max_iter or tol, or penalise more.",
            ConvergenceWarning,
            stacklevel=4,
        )
    B = unscale * _backward(roots, found.points.reshape(start.shape))
    return B, 1 + found.n_evaluations


def in_slices(chunk: Chunk, function: Callable[..., Any], *shared: object) -> Any:
    """Sum over slices of a chunk: a partition may be large, and its features larger."""
    return pairwise_sum(function(part, *shared) for part in chunk.slices(SLICE_ROWS))


def _normal_equations(
    chunk: Chunk, design_of: DesignOf, codes_of: CodesOf
) -> tuple[FloatArray, FloatArray, float]:
    Z = design_of(chunk.X)
    weighted = Z if chunk.sample_weight is None else Z * chunk.sample_weight[:, None]
    total = len(Z) if chunk.sample_weight is None else chunk.sample_weight.sum()
    return weighted.T @ Z, weighted.T @ codes_of(chunk.y), float(total)


def _loss_and_gradient(
    chunk: Chunk, design_of: DesignOf, codes_of: CodesOf, loss: Loss, B: FloatArray
) -> tuple[float, FloatArray]:
    Z = design_of(chunk.X)
    values, slopes, _ = loss(Z @ B, codes_of(chunk.y))
    if chunk.sample_weight is not None:
        values = values * chunk.sample_weight
        slopes = slopes * chunk.sample_weight[:, None]
    return float(values.sum()), Z.T @ slopes


def curvature_of(
    chunk: Chunk, design_of: DesignOf, codes_of: CodesOf, loss: Loss, B: FloatArray
) -> FloatArray:
    """Return the sum of the losses' Hessians at ``B``, (n_scores, n_columns, n_columns)."""
    Z = design_of(chunk.X)
    curvature = loss(Z @ B, codes_of(chunk.y))[2]
    if chunk.sample_weight is not None:
        curvature = curvature * chunk.sample_weight[:, None]
    return np.stack([(Z * column[:, None]).T @ Z for column in curvature.T])


def _by_score(
    function: Callable[[FloatArray, FloatArray], FloatArray], roots: list[FloatArray], B: FloatArray
) -> FloatArray:
    """Apply a function of a root and columns, with the root that all scores share or each's own."""
    if len(roots) == 1:
        return function(roots[0], B)
    return np.stack([function(root, b) for root, b in zip(roots, B.T, strict=True)], axis=1)


def _backward(roots: list[FloatArray], U: FloatArray) -> FloatArray:
    """Return coefficients from the well-conditioned variables, ``inv(R') u``."""
    return _by_score(lambda R, u: solve_triangular(R, u, lower=True, trans="T"), roots, U)


def _forward(roots: list[FloatArray], G: FloatArray) -> FloatArray:
    """Return the gradient by the well-conditioned variables, ``inv(R) g``."""
    return _by_score(lambda R, g: solve_triangular(R, g, lower=True), roots, G)
