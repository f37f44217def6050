"""Cross-validation in closed form: one fit to all rows gives the fits without any sets of rows.

With ``K`` the Gram matrix, ``a`` the dual coefficients, ``b`` the intercept and ``W`` the second
derivatives of the weighted loss, the system of the last Newton step of a fit to all rows is

    [K + inv(W)  1; 1'  0],    M the upper left block of its inverse, s the rest of its last row.

Without the rows ``F``,

    q = inv(M[F, F]) a[F],    a_F = a - M[:, F] q  (zero on F),    b_F = b - s[F] q,

which is exact for squared error and the first order for other losses. There Newton steps on the
remaining rows follow, all sets side by side. Their systems are solved by conjugate gradients:
``M`` without ``F`` inverts the system of all rows, which is close, and may be in single precision.
Sets for which the objective does not fall, or the steps do not come to an end, are fitted anew
(many rows left out, or rows that the fit depends on). All is scaled by ``W^(1/2)``, so that rows
of no weight divide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotri, get_lapack_funcs
from scipy.special import expit

from absentia.machines.gram_matrices import CentredGram
from absentia.machines.newton import (
    LogisticSolution,
    decrement_of_tolerance,
    factor_identity_plus,
    fit_gram,
)
from absentia.tables import BoolArray, FloatArray, IntArray

#: Error of the log-odds that the fit to all rows may have: Newton steps follow in any case.
_ROUGH = 0.1
#: Newton steps on the remaining rows before a set is fitted anew, and steps for each system.
_STEPS, _INNER_STEPS = 5, 30
#: Relative residual of each system, and least curvature relative to that of all rows.
_RESIDUAL, _LEAST_CURVATURE = 0.1, 1e-3
#: Largest trace of ``W^(1/2) K W^(1/2)`` at which single precision has digits left.
_SINGLE = 1e5
_TINY = np.finfo(float).tiny


class LeftOut(NamedTuple):
    """Models without each of several sets of rows.

    ``coefficients``, (n_sets, n_functions, n_samples), are zero on the rows of the set,
    ``intercepts`` have shape (n_sets, n_functions): the decision values of any rows by the model
    without set ``s`` are ``K_rows @ coefficients[s].T + intercepts[s]``, with ``K_rows`` their
    kernel with *all* training rows. They may be the rows of the set, with further values hidden.
    ``refitted``, (n_sets,), says which sets were fitted anew.
    """

    coefficients: FloatArray
    intercepts: FloatArray
    refitted: BoolArray

    def values(self, K_rows: FloatArray, s: int) -> FloatArray:
        """Return the decision values of rows by the model without set ``s``, (n, n_functions)."""
        found: FloatArray = K_rows @ self.coefficients[s].T + self.intercepts[s]
        return found


def ridge_left_out(
    K: FloatArray, targets: FloatArray, weights: FloatArray, alpha: float, sets: Sequence[IntArray]
) -> LeftOut:
    """Return kernel ridge regression without each set of rows: exact, by one Cholesky factor.

    ``targets`` have shape (n_samples, n_targets). LinAlgError is raised where the matrix
    ``weights^(1/2) K weights^(1/2) + alpha I`` is not positive definite.
    """
    root = np.sqrt(weights)
    A = np.array(K.T, order="F")  # symmetric: a plain copy, in the order that LAPACK wants
    if not (weights == 1).all():
        A *= root
        A *= root[:, None]
    A[np.diag_indices_from(A)] += alpha
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve(factor, root[:, None] * targets, check_finite=False)
    inverse = dpotri(factor[0], lower=1, overwrite_c=1)[0]  # its lower triangle
    shape = (len(K), len(sets), targets.shape[1])
    taken = np.zeros(shape)
    for s, rows in enumerate(sets):
        rows = np.sort(rows)
        block = cho_factor(inverse[np.ix_(rows, rows)], lower=True, check_finite=False)
        taken[rows, s] = cho_solve(block, solved[rows], check_finite=False)
    flat = taken.reshape(len(K), -1)
    left = solved[:, None] - dsymm(1.0, inverse, flat, lower=1).reshape(shape)
    for s, rows in enumerate(sets):
        left[rows, s] = 0.0
    coefficients = (root[:, None, None] * left).transpose(1, 2, 0)
    return LeftOut(coefficients, np.zeros(shape[1:]), np.zeros(len(sets), dtype=bool))


def logistic_left_out(
    K: FloatArray,
    codes: IntArray,
    n_classes: int,
    weights: FloatArray,
    Cs: Sequence[float],
    sets: Sequence[IntArray],
    *,
    set_weights: FloatArray | None = None,
    fit_intercept: bool = True,
    tol: float = 0.02,
    max_iter: int = 100,
) -> list[LeftOut]:
    """Return kernel logistic regressions without each set of rows, one result for each penalty.

    ``K`` is the positive semidefinite Gram matrix of all training rows, ``codes`` are their classes
    from 0 to ``n_classes - 1``, and ``weights`` their sample weights times class weights; rows of
    weight zero are absent. Two classes have one function, the log-odds of the second, more have one
    each (softmax). ``Cs`` may be in any order; each fit starts from its neighbour's. ``sets`` hold
    the rows to leave out: folds, groups, or unions of two folds for nested selection.
    ``set_weights``, (n_sets, n_samples), are the weights of the rows without each set, where they
    differ (balanced classes). ``tol`` bounds the error of the log-odds of a typical row
    before the last Newton step, after which it is about its square.

    A class that a set leaves without rows has an intercept of minus infinity there.
    """
    centred = CentredGram.of(K) if fit_intercept else CentredGram(K)
    K = centred.values
    own = np.tile(weights, (len(sets), 1)) if set_weights is None else set_weights.copy()
    for s, rows in enumerate(sets):
        own[s, rows] = 0.0
    found: dict[float, LeftOut] = {}
    start: LogisticSolution | None = None
    for C in sorted(set(Cs)):
        start = fit_gram(
            K, codes, n_classes, C * weights,
            fit_intercept=fit_intercept, max_iter=max_iter, tol=_ROUGH, start=start,
            single=C * float(weights @ K.diagonal()) < 4 * _SINGLE,
        )  # fmt: skip
        if n_classes == 2:
            left = _two_classes(K, codes, C * weights, C * own, sets, start, fit_intercept, tol)
        else:
            shape = (len(sets), n_classes)
            left = LeftOut(np.empty((*shape, len(K))), np.empty(shape), np.ones(len(sets), bool))
        for s in np.flatnonzero(left.refitted).tolist():
            left.coefficients[s], left.intercepts[s] = _refitted(
                K, codes, n_classes, C * own[s], fit_intercept, max_iter, tol, start
            )
        if centred.taken_off is not None:
            # They sum to nearly zero: what is left would be multiplied by the kernel of new rows.
            counting = (own > 0)[:, None]
            excess = left.coefficients.sum(axis=2, keepdims=True)
            left.coefficients[:] -= counting * excess / counting.sum(axis=2, keepdims=True)
            left.intercepts[:] -= left.coefficients @ centred.taken_off
        found[C] = left
    return [found[C] for C in Cs]


def _two_classes(
    K: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    own: FloatArray,
    sets: Sequence[IntArray],
    full: LogisticSolution,
    fit_intercept: bool,
    tol: float,
) -> LeftOut:
    """Return the log-odds of two classes without each set; ``own`` are the weights of each set."""
    c, b = full.coefficients[0], float(full.intercept[0])
    f = K @ c + b
    root = np.sqrt(weights * expit(f) * expit(-f))
    without = _Without(K, root, sets, fit_intercept)
    x, offsets = without.first_order(c, b)
    own, targets = own.T, (codes == 1).astype(np.float64)[:, None]
    counting, signs = own > 0, 2 * targets - 1
    both = counting[codes == 1].any(axis=0) & counting[codes == 0].any(axis=0)
    failed = ~(both & np.isfinite(x).all(axis=0) & np.isfinite(offsets))
    x[:, failed], offsets[failed] = 0.0, 0.0
    enough = decrement_of_tolerance(
        K, weights, tol, float(np.log(2.0) * weights.sum()), fit_intercept=fit_intercept
    )

    def objective(x: FloatArray, F: FloatArray, offsets: FloatArray) -> FloatArray:
        loss = (own * np.logaddexp(0.0, -signs * F)).sum(axis=0)
        total: FloatArray = 0.5 * (x * (F - offsets)).sum(axis=0) + loss
        return total

    F, done = K @ x + offsets, failed.copy()
    value = objective(x, F, offsets)
    for _ in range(_STEPS):
        if done.all():
            break
        p = expit(F)
        gradient = own * (p - targets)
        curvature = np.maximum(
            own * p * expit(-F), _LEAST_CURVATURE * counting * root[:, None] ** 2
        )
        change, K_change = _newton_systems(K, without, -(x + gradient), curvature, done)
        shift = np.zeros(len(sets))
        if fit_intercept:
            total = np.maximum(curvature.sum(axis=0), _TINY)
            shift = -(gradient + curvature * K_change).sum(axis=0) / total
        slope = ((x + gradient) * K_change).sum(axis=0) + gradient.sum(axis=0) * shift
        step = np.where(done, 0.0, 1.0)
        moved = x + step * change, F + step * (K_change + shift), offsets + step * shift
        after = objective(*moved)
        failed |= ~(after <= value + 1e-12 * np.abs(value)) & ~done
        x, F, offsets = (
            np.where(failed, old, new) for old, new in zip((x, F, offsets), moved, strict=True)
        )
        value = np.where(failed, value, after)
        done |= failed | (np.sqrt(np.maximum(-slope, 0.0)) <= enough)
    return LeftOut(x.T[:, None].copy(), offsets[:, None], failed | ~done)


class _Without:
    """The inverse ``M`` of a Newton system without sets of rows, ``W^(1/2) N W^(1/2)``.

    ``N = inv(B) - u u' / (r'u)`` with ``r`` the roots of the curvatures, ``B = I + r K r`` and
    ``u = inv(B) r``; without an intercept ``N = inv(B)``.
    """

    def __init__(
        self, K: FloatArray, root: FloatArray, sets: Sequence[IntArray], fit_intercept: bool
    ):
        self.root, self.sets = root, sets
        if float(root**2 @ K.diagonal()) < _SINGLE:
            K, root = K.astype(np.float32), root.astype(np.float32)
        self.N = _inverse(factor_identity_plus(K, root)[0])
        self.last_row = np.zeros(len(K))
        if fit_intercept:
            u = self.N @ root
            self.last_row = u / max(float(root @ u), _TINY)
            self.N -= np.outer(u, self.last_row)
        lift = np.finfo(self.N.dtype).eps  # a block is singular if only its rows have curvature
        self.factors = []
        for rows in sets:
            block = self.N[np.ix_(rows, rows)]
            block[np.diag_indices_from(block)] += lift
            self.factors.append(cho_factor(block, lower=True, check_finite=False))

    def first_order(self, c: FloatArray, b: float) -> tuple[FloatArray, FloatArray]:
        """Return coefficients, (n_samples, n_sets), and intercepts without each set."""
        x, offsets = np.tile(c[:, None], len(self.sets)), np.full(len(self.sets), b)
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(c == 0, 0.0, c / self.root)
        for s, rows in enumerate(self.sets):
            q = cho_solve(self.factors[s], scaled[rows].astype(self.N.dtype), check_finite=False)
            x[:, s] -= self.root * (q @ self.N[rows])
            x[rows, s] = 0.0
            offsets[s] -= self.last_row[rows] @ q
        return x, offsets

    def times(self, R: FloatArray) -> FloatArray:
        """Return ``M`` without each set times the set's column of ``R``, zero on the set."""
        Y = self.N @ (self.root[:, None] * R).astype(self.N.dtype)
        for s, rows in enumerate(self.sets):
            q = cho_solve(self.factors[s], Y[rows, s], check_finite=False)
            Y[:, s] -= q @ self.N[rows]
            Y[rows, s] = 0.0
        product: FloatArray = self.root[:, None] * Y
        return product


def _newton_systems(
    K: FloatArray, without: _Without, right: FloatArray, curvature: FloatArray, done: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the Newton step without each set, and ``K`` times it, by conjugate gradients.

    A step solves ``(K + inv(W)) d + e = inv(W) right`` with ``sum(d) = 0`` on the rows with a
    curvature ``W``, one column for each set.
    """
    counting = curvature > 0
    inverse = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=counting)
    residual = inverse * right
    d, Kd = np.zeros_like(right), np.zeros_like(right)
    direction = without.times(residual)
    size = (residual * direction).sum(axis=0)
    enough = np.where(done, np.inf, _RESIDUAL**2 * size)
    for _ in range(_INNER_STEPS):
        K_direction = K @ direction
        image = counting * (K_direction + inverse * direction)
        bend = (direction * image).sum(axis=0)
        length = np.divide(size, bend, out=np.zeros_like(size), where=(bend > 0) & (size > enough))
        if not length.any():
            break
        d, Kd = d + length * direction, Kd + length * K_direction
        residual = residual - length * image
        z = without.times(residual)
        following = (residual * z).sum(axis=0)
        direction = (
            z + np.divide(following, size, out=np.zeros_like(size), where=size > 0) * direction
        )
        size = following
    return d, Kd


def _refitted(
    K: FloatArray,
    codes: IntArray,
    n_classes: int,
    weights: FloatArray,
    fit_intercept: bool,
    max_iter: int,
    tol: float,
    start: LogisticSolution,
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercepts, by function, of a fit to the rows that count."""
    rows = np.flatnonzero(weights > 0)
    present, own = np.unique(codes[rows], return_inverse=True)
    n_functions = 1 if n_classes == 2 else n_classes
    coefficients, intercepts = np.zeros((n_functions, len(K))), np.full(n_functions, -np.inf)
    if len(present) == 1:
        if n_classes == 2:
            intercepts[0] = np.inf if present[0] == 1 else -np.inf
        else:
            intercepts[present] = 0.0
        return coefficients, intercepts
    whole = len(present) == n_classes
    model = fit_gram(
        K[np.ix_(rows, rows)], own, len(present), weights[rows],
        fit_intercept=fit_intercept, max_iter=max_iter, tol=tol,
        start=replace(start, coefficients=start.coefficients[:, rows]) if whole else None,
    )  # fmt: skip
    functions = present if n_classes > 2 else np.array([0])
    if len(present) == 2 < n_classes:  # one function, the log-odds of the second class present
        intercepts[present[0]], functions = 0.0, present[1:]
    coefficients[np.ix_(functions, rows)] = model.coefficients
    intercepts[functions] = model.intercept
    return coefficients, intercepts


def _inverse(factor: FloatArray) -> FloatArray:
    """Return the inverse of a matrix from its lower Cholesky factor."""
    (potri,) = get_lapack_funcs(("potri",), (factor,))
    lower = potri(np.tril(factor), lower=1, overwrite_c=1)[0]
    inverse: FloatArray = lower + lower.T
    inverse[np.diag_indices_from(inverse)] /= 2
    return inverse
