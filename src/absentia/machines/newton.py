"""Kernel logistic regression on a Gram matrix: Newton's method in the space of the kernel.

By the representer theorem the function that minimises

    1/2 |f|^2 + sum_i weight_i * loss(y_i, f(x_i) + b)

is ``f = sum_i c_i k(x_i, .)``, so that everything happens in the coefficients ``c`` of the
training rows, with ``|f|^2 = c'Kc``. The solvers are independent of rows and kernels: model
selection passes the same matrix to many of them.

Both stop on the *Newton decrement*, the length of the Newton step in the norm of the Hessian. The
Hessian is at least the identity of the kernel's space, so the decrement ``d`` bounds the distance
to the optimal function there, and with it the error ``d sqrt(k(x, x))`` of the log-odds of a row;
the error of the intercept is about ``d / sqrt(sum_i W_ii)`` with the second derivatives ``W`` of
the loss. The tolerance is compared with the larger of the two, so that a linear kernel on ``s X``
with ``C / s^2`` takes the same steps for every ``s``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, logsumexp, softmax

from absentia.progress import SolverStatus
from absentia.tables import FloatArray, IntArray

_SUFFICIENT_DECREASE = 1e-4
_SHORTEST_STEP = 2.0**-30
_RELATIVE_RESIDUAL = 0.01
#: Beyond it products of two such numbers leave the range of numbers.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class LogisticSolution:
    """Coefficients, (n_functions, n_samples), and intercepts of a kernel logistic regression.

    Two classes have one function (its value is the log-odds of the second), more have one per
    class.
    """

    coefficients: FloatArray
    intercept: FloatArray
    n_iter: int
    status: SolverStatus


def fit_gram(
    K: FloatArray,
    codes: IntArray,
    n_classes: int,
    weights: FloatArray,
    *,
    fit_intercept: bool = True,
    max_iter: int = 100,
    tol: float = 1e-6,
    start: LogisticSolution | None = None,
    single: bool = False,
) -> LogisticSolution:
    """Fit a kernel logistic regression to the positive semidefinite Gram matrix of training rows.

    ``codes`` are the classes of the rows, from 0 to ``n_classes - 1``; two classes give the binary
    model with one function, more the softmax with one per class. ``weights`` multiply the loss of
    each row: ``C`` times its sample and class weight. ``tol`` bounds the error of the log-odds of a
    typical row; ``start`` may be the solution for a neighbouring ``C``, which saves most of the
    steps. Two classes cost O(n^3 / 3) per step (a Cholesky factor), more classes O(n^2 k) per
    conjugate gradient step; neither needs ``K`` to be invertible. With ``single``, Cholesky factors
    are in single precision, in half the time: enough for a tolerance of a few digits.
    """
    if not float(weights.sum()) * float(np.abs(K.diagonal()).max(initial=0.0)) < _LARGEST:
        raise ValueError(
            f"C times the kernel is beyond {_LARGEST:g}, so that this problem cannot be solved. "
            "Use a smaller C, or standardise the columns (make_pipeline(StandardScaler(), "
            "machine))."
        )
    posed = K, np.eye(n_classes)[codes], weights, fit_intercept
    problem: _TwoClasses | _SeveralClasses = _SeveralClasses(*posed)
    if n_classes == 2:
        problem = _TwoClasses(*posed, K.astype(np.float32) if single else K)
    if start is None:
        n_functions = 1 if n_classes == 2 else n_classes
        c, b = np.zeros((len(K), n_functions)), np.zeros(n_functions)
    else:
        c, b = start.coefficients.T.copy(), start.intercept.copy()
    Kc = K @ c
    enough = decrement_of_tolerance(
        K, weights, tol, problem.loss(np.zeros_like(c)), fit_intercept=fit_intercept
    )
    step, length, status = 0, 1.0, SolverStatus.STALLED
    while length > 0.0:
        F = Kc + b
        change, K_change, b_change, slope = problem.newton_step(c, b, F)
        if np.sqrt(max(-slope, 0.0)) <= enough:
            c, b, status = c + change, b + b_change, SolverStatus.CONVERGED
            # Where the rounding of the kernel alone outweighs the loss, conjugate gradients lose
            # direction in the end, and no step is not a sign of the optimum.
            if n_classes > 2 and weights.max() * K.diagonal().max() * np.finfo(float).eps > 1.0:
                status = SolverStatus.STALLED
            break
        if step == max_iter:
            status = SolverStatus.EXHAUSTED
            break
        direction = change, K_change, K_change + b_change
        length = _step_length(problem.loss, (c, Kc, F), direction, slope)
        c, b = c + length * change, b + length * b_change
        Kc = K @ c
        step += 1
    # The softmax is invariant to a constant added to all classes: centre the offsets.
    return LogisticSolution(c.T.copy(), b if len(b) == 1 else b - b.mean(), step, status)


#: Change of the coefficients, ``K`` times it, change of the intercepts, and slope along them.
Step = tuple[FloatArray, FloatArray, FloatArray, float]


@dataclass(frozen=True, eq=False)
class _TwoClasses:
    """Log-odds of two classes, with exact Newton steps.

    With ``W`` the second derivatives of the weighted loss, a step solves ``(K + inv(W)) c + b = z``
    and ``sum(c) = 0`` by a Cholesky factor of ``I + W^(1/2) K W^(1/2)``, whose eigenvalues are at
    least one whatever ``K`` and ``W`` are: Section 3.4.3 of Rasmussen and Williams, Gaussian
    Processes for Machine Learning, with the offset added.
    """

    K: FloatArray
    indicators: FloatArray
    weights: FloatArray
    fit_intercept: bool
    K_factored: FloatArray

    def loss(self, F: FloatArray) -> float:
        signs = self.indicators[:, 1] - self.indicators[:, 0]
        return float(self.weights @ np.logaddexp(0.0, -signs * F[:, 0]))

    def newton_step(self, c: FloatArray, b: FloatArray, F: FloatArray) -> Step:
        f = F[:, 0]
        probabilities = expit(f)
        gradient = self.weights * (probabilities - self.indicators[:, 1])
        curvature = self.weights * probabilities * expit(-f)
        root = np.sqrt(curvature)
        rough = root.astype(self.K_factored.dtype)
        factor = factor_identity_plus(self.K_factored, rough)
        # A v with A = inv(K + inv(W)) and v = inv(W) u, arranged so that W is never inverted.
        u = curvature * f - gradient
        right = (root * (self.K @ u)).astype(rough.dtype)
        c_new = u - root * cho_solve(factor, right, check_finite=False)
        b_new = 0.0
        if self.fit_intercept:
            response = root * cho_solve(factor, rough, check_finite=False)
            b_new = c_new.sum() / max(response.sum(), np.finfo(float).tiny)
            c_new = c_new - b_new * response
        change, b_change = c_new - c[:, 0], b_new - b
        K_change = self.K @ change
        slope = float((c[:, 0] + gradient) @ K_change + gradient.sum() * b_change[0])
        return change[:, None], K_change[:, None], b_change, slope


@dataclass(frozen=True, eq=False)
class _SeveralClasses:
    """One function per class, with Newton steps by conjugate gradients.

    Each Newton system is solved in the inner product of the kernel's space, where the Hessian is
    the identity plus the curvature of the loss: conjugate gradients then need one product with
    ``K`` per step, no factorisation, and about as many steps as there are directions in which the
    data outweigh the penalty.
    """

    K: FloatArray
    indicators: FloatArray
    weights: FloatArray
    fit_intercept: bool

    def loss(self, F: FloatArray) -> float:
        return float(self.weights @ (logsumexp(F, axis=1) - (F * self.indicators).sum(axis=1)))

    def newton_step(self, c: FloatArray, b: FloatArray, F: FloatArray) -> Step:
        # Offsets are measured in the units of their own curvature, so that they do not slow the
        # conjugate gradients down.
        metric = float(self.weights.sum()) / len(b) if self.fit_intercept else 0.0
        P = softmax(F, axis=1)
        gradient = self.weights[:, None] * (P - self.indicators)
        b_gradient = gradient.sum(axis=0) / metric if self.fit_intercept else np.zeros(len(b))
        change, K_change, b_change = self._solve(P, metric, -(c + gradient), -b_gradient)
        slope = float(np.vdot(c + gradient, K_change) + metric * (b_gradient @ b_change))
        return change, K_change, b_change, slope

    def _solve(
        self, P: FloatArray, metric: float, right: FloatArray, right_offset: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``D``, ``K D`` and ``e`` with ``H (D, e)`` close to the right-hand side.

        ``H (D, e) = (D + V, sum(V) / metric)`` with ``V`` the second derivatives of the loss, at
        probabilities ``P``, applied to ``K D + e``. It is self-adjoint and at least the identity
        (on ``D``) in the inner product ``tr(D' K D) + metric |e|^2``.
        """
        D, KD, e = np.zeros_like(right), np.zeros_like(right), np.zeros_like(right_offset)
        residual, K_residual, e_residual = right, self.K @ right, right_offset
        size = float(np.vdot(residual, K_residual) + metric * (e_residual @ e_residual))
        direction, K_direction, e_direction = residual, K_residual, e_residual
        # A rough step is as good as an exact one far from the optimum, and near it this accuracy
        # gains two digits per step: asking for more would fight the rounding of large weights.
        enough = size * _RELATIVE_RESIDUAL**2
        for _ in range(10 * len(right)):
            if size <= enough:
                break
            spread = P * (K_direction + e_direction)
            spread -= P * spread.sum(axis=1, keepdims=True)
            bent = self.weights[:, None] * spread
            image = direction + bent
            e_image = bent.sum(axis=0) / metric if metric else e_direction
            curvature = float(np.vdot(K_direction, image) + metric * (e_direction @ e_image))
            if curvature <= 0.0:  # only rounding, or a kernel that is not positive definite
                break
            length = size / curvature
            D, KD = D + length * direction, KD + length * K_direction
            e = e + length * e_direction
            residual, e_residual = residual - length * image, e_residual - length * e_image
            K_residual = self.K @ residual
            previous = size
            size = float(np.vdot(residual, K_residual) + metric * (e_residual @ e_residual))
            direction = residual + size / previous * direction
            K_direction = K_residual + size / previous * K_direction
            e_direction = e_residual + size / previous * e_direction
        return D, KD, e


def factor_identity_plus(K: FloatArray, root: FloatArray) -> tuple[FloatArray, bool]:
    """Return the Cholesky factor of ``I + root K root``, for :func:`scipy.linalg.cho_solve`."""
    B = K * root[:, None]
    B *= root
    B[np.diag_indices_from(B)] += 1.0
    try:
        # Symmetric, so the transpose is the same matrix in the order that LAPACK wants.
        factor: tuple[FloatArray, bool] = cho_factor(
            B.T, lower=True, overwrite_a=True, check_finite=False
        )
    except LinAlgError as error:
        raise ValueError(
            "The kernel matrix is not positive semidefinite, or C times the kernel is too large "
            "for double precision, so this problem has no solution. Use a kernel whose "
            "positive_definite attribute is True, such as GenRBF, a smaller C, or standardised "
            "columns."
        ) from error
    return factor


def decrement_of_tolerance(
    K: FloatArray, weights: FloatArray, tol: float, at_zero: float, *, fit_intercept: bool
) -> float:
    """Return the Newton decrement at which log-odds have the tolerance.

    ``at_zero`` is the objective of the zero function: where the tolerance is finer than what its
    rounding leaves, that is enough (columns far from zero have large ``k(x, x)``, but not
    differences).
    """
    diagonal = K.diagonal()
    positive = diagonal[diagonal > 0]
    size = float(np.median(positive)) if positive.size else 0.0
    if fit_intercept:
        size = max(size, 4.0 / max(float(weights.sum()), np.finfo(float).tiny))
    rounding = np.sqrt(8 * np.finfo(float).eps * at_zero)
    return max(tol / np.sqrt(size), min(tol, rounding)) if size > 0.0 else tol


Point = tuple[FloatArray, FloatArray, FloatArray]


def _step_length(
    loss: Callable[[FloatArray], float], point: Point, direction: Point, slope: float
) -> float:
    """Return the first of 1, 1/2, 1/4... that lowers the objective enough, or 0.

    ``point`` and ``direction`` hold coefficients, ``K`` times them, and scores; the objective is
    ``1/2 tr(c'Kc) + loss(scores)``.
    """

    def objective(length: float) -> float:
        c, Kc, F = (x + length * dx for x, dx in zip(point, direction, strict=True))
        return 0.5 * float(np.vdot(c, Kc)) + loss(F)

    here = objective(0.0)
    rounding = 8 * np.finfo(float).eps * abs(here)
    length = 1.0
    while length > _SHORTEST_STEP:
        if objective(length) <= here + _SUFFICIENT_DECREASE * length * slope + rounding:
            return length
        length /= 2
    return 0.0
