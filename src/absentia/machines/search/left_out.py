"""Cross-validation in closed form: one fit to all rows gives the fits without any sets of rows.

With ``K`` the Gram matrix, ``a`` the dual coefficients, ``b`` the intercept and ``W`` the second
derivatives of the weighted loss, the system of the last Newton step of a fit to all rows is

    [K + inv(W)  1; 1'  0],    M the upper left block of its inverse, s the rest of its last row.

Without the rows ``F``,

    q = inv(M[F, F]) a[F],    a_F = a - M[:, F] q  (zero on F),    b_F = b - s[F] q,

which is exact for squared error and the first order for other losses. There it is where Newton's
method on the remaining rows begins, and one step is mostly the last. All is scaled by ``W^(1/2)``,
so that rows of no weight divide nothing.

The same for linear models on features ``Z`` (n, p), which the rows of ``L`` are for a Gram matrix
``K = L L'``. With ``H = Z'WZ + alpha I``, residuals ``e`` and the hat matrix
``A = W^(1/2) Z inv(H) Z' W^(1/2)``, the coefficients of ridge regression without ``F`` are

    b_F = b - inv(H) Z_F' W_F^(1/2) inv(I - A_FF) e_F    (Sherman, Morrison and Woodbury).

Logistic regressions without all of the sets are solved at once by L-BFGS in the metric
``c Z'WZ + I / C`` of all rows, where ``c`` bounds the second derivatives of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve, solve_triangular
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotri, get_lapack_funcs
from scipy.special import expit

from absentia.machines.gram_matrices import CentredGram
from absentia.machines.losses import CURVATURE_BOUNDS, logistic, minimise, multinomial
from absentia.machines.newton import LogisticSolution, factor_identity_plus, fit_gram
from absentia.tables import FloatArray, IntArray

#: Error of the log-odds that the fit to all rows may have: Newton steps follow in any case.
_ROUGH = 0.1
#: Largest trace of ``W^(1/2) K W^(1/2)`` at which single precision has digits left.
_SINGLE = 1e5
#: Squared length of the gradient in the metric, per row, at which log losses have four digits.
_ENOUGH = 1e-6
_MOST_STEPS = 100
#: Penalty of the intercept per row: it stays finite where a set leaves a class without rows.
_INTERCEPT_PENALTY = 1e-7


class LeftOut(NamedTuple):
    """Models without each of several sets of rows.

    ``coefficients``, (n_sets, n_functions, n_samples), are zero on the rows of the set,
    ``intercepts`` have shape (n_sets, n_functions): the decision values of any rows by the model
    without set ``s`` are ``K_rows @ coefficients[s].T + intercepts[s]``, with ``K_rows`` their
    kernel with *all* training rows. They may be the rows of the set, with further values hidden.
    """

    coefficients: FloatArray
    intercepts: FloatArray


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
    return LeftOut(coefficients, np.zeros(shape[1:]))


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
    K, n_functions = centred.values, 1 if n_classes == 2 else n_classes
    own = np.tile(weights, (len(sets), 1)) if set_weights is None else set_weights.copy()
    for s, rows in enumerate(sets):
        own[s, rows] = 0.0
    counting = (own > 0)[:, None]
    shape = len(sets), n_functions
    models = {
        C: LeftOut(np.zeros((*shape, len(K))), np.full(shape, -np.inf)) for C in sorted(set(Cs))
    }
    options: dict[str, Any] = {"fit_intercept": fit_intercept, "max_iter": max_iter}
    singles = {C: C * float(weights @ K.diagonal()) < 4 * _SINGLE for C in models}
    starts: dict[float, list[LogisticSolution]] = {}
    full: LogisticSolution | None = None
    for C, single in singles.items():
        posed = K, codes, n_classes, C * weights
        full = fit_gram(*posed, tol=_ROUGH, start=full, single=single, **options)
        starts[C] = [full] * len(sets)
        if n_classes == 2:
            starts[C] = _first_order(K, C * weights, sets, full, fit_intercept)
    for s in range(len(sets)):
        rows = np.flatnonzero(own[s])
        present, codes_here = np.unique(codes[rows], return_inverse=True)
        functions, base = np.arange(n_functions), present[:0]
        if len(present) == 1:  # its probability is one
            for left in models.values():
                left.intercepts[s] = np.inf if n_classes == 2 and present[0] else -np.inf
                left.intercepts[s, present if n_classes > 2 else []] = 0.0
            continue
        whole = len(present) == n_classes
        if not whole:
            functions = present
        if len(present) == 2 < n_classes:  # one function, the log-odds of the second of them
            base, functions = present[:1], present[1:]
        K_here = K[np.ix_(rows, rows)]
        for C, left in models.items():
            start = starts[C][s]
            model = fit_gram(
                K_here, codes_here, len(present), C * own[s, rows], tol=tol, single=singles[C],
                start=replace(start, coefficients=start.coefficients[:, rows]) if whole else None,
                **options,
            )  # fmt: skip
            left.coefficients[s][np.ix_(functions, rows)] = model.coefficients
            left.intercepts[s, functions] = model.intercept
            left.intercepts[s, base] = 0.0
    for left in models.values():
        if centred.taken_off is None:
            break
        # They sum to nearly zero: what is left would be multiplied by the kernel of new rows.
        excess = left.coefficients.sum(axis=2, keepdims=True)
        left.coefficients[:] -= counting * excess / counting.sum(axis=2, keepdims=True)
        left.intercepts[:] -= left.coefficients @ centred.taken_off
    return [models[C] for C in Cs]


def _first_order(
    K: FloatArray,
    weights: FloatArray,
    sets: Sequence[IntArray],
    full: LogisticSolution,
    fit_intercept: bool,
) -> list[LogisticSolution]:
    """Return the log-odds of two classes without each set, to first order in what is left out.

    ``M = W^(1/2) N W^(1/2)`` with ``N = inv(B) - u u' / (r'u)``, ``r`` the roots of the curvatures,
    ``B = I + r K r`` and ``u = inv(B) r``; without an intercept ``N = inv(B)``. Where a block of
    it is singular, since only its rows have curvature, the start is the fit to all rows.
    """
    c = full.coefficients[0]
    f = K @ c + full.intercept
    root = np.sqrt(weights * expit(f) * expit(-f))
    dtype = np.float32 if float(root**2 @ K.diagonal()) < _SINGLE else np.float64
    factor = factor_identity_plus(K.astype(dtype), root.astype(dtype))[0]
    (potri,) = get_lapack_funcs(("potri",), (factor,))
    lower = potri(np.tril(factor), lower=1, overwrite_c=1)[0]
    N = lower + np.tril(lower, -1).T
    last_row = np.zeros(len(K))
    if fit_intercept:
        u = N @ root.astype(dtype)
        last_row = u / max(float(root @ u), np.finfo(float).tiny)
        N -= np.outer(u, last_row)
    scaled = np.divide(c, root, out=np.zeros_like(c), where=root > 0)
    found = []
    for rows in sets:
        try:
            block = cho_factor(N[np.ix_(rows, rows)], lower=True, check_finite=False)
        except LinAlgError:
            found.append(full)
            continue
        q = cho_solve(block, scaled[rows].astype(dtype), check_finite=False)
        start = c - root * (q @ N[rows])
        found.append(
            replace(full, coefficients=start[None], intercept=full.intercept - last_row[rows] @ q)
        )
    return found


class Refits:
    """Fits to features ``Z`` of rows with targets ``y``, without each of the sets ``left_out``.

    ``y`` are codes of ``n_classes`` classes, or numbers if that is None. Coefficients have the
    shape (n_sets, p + 1, n_scores) with the intercept last; two classes have one score.
    """

    def __init__(
        self,
        Z: FloatArray,
        y: np.ndarray,
        weights: FloatArray,
        n_classes: int | None,
        left_out: Sequence[IntArray],
    ):
        self.Z = np.column_stack([Z, np.ones(len(Z))])
        self.y, self.weights, self.n_classes, self.left_out = y, weights, n_classes, left_out
        self.tol = float(np.sqrt(_ENOUGH * weights.sum()))
        self.gram = (self.Z * weights[:, None]).T @ self.Z
        self.kept = np.tile(weights, (len(left_out), 1))
        for own, rows in zip(self.kept, left_out, strict=True):
            own[rows] = 0.0

    def fit(self, penalty: float, start: FloatArray | None = None) -> FloatArray:
        """Return coefficients at ``alpha`` for numbers, at ``C`` for classes.

        ``start`` may be the coefficients at a neighbouring ``C``.
        """
        return self._ridge(penalty) if self.n_classes is None else self._logistic(penalty, start)

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Return the scores of all rows by each model, (n_sets, n_rows, n_scores)."""
        n_sets, q, n_scores = coefficients.shape
        scores = self.Z @ coefficients.transpose(1, 0, 2).reshape(q, -1)
        return scores.reshape(-1, n_sets, n_scores).swapaxes(0, 1)

    def _ridge(self, alpha: float) -> FloatArray:
        root, p = np.sqrt(self.weights), len(self.gram) - 1
        hessian = self.gram[:p, :p] + alpha * np.eye(p)
        factor = cholesky(hessian, lower=True)
        design = solve_triangular(factor, (self.Z[:, :p] * root[:, None]).T, lower=True)
        # A set has targets less their mean in its own rows: fits to y and to one give all means.
        targets = np.stack([self.y, np.ones(len(self.y))], axis=1) * root[:, None]
        whole = design @ targets
        residuals = targets - design.T @ whole
        found = []
        for rows, kept in zip(self.left_out, self.kept, strict=True):
            own, mean = design[:, rows], float(np.average(self.y, weights=kept))
            if not len(rows):
                both = whole
            elif len(rows) <= p:
                leverage = np.eye(len(rows)) - own.T @ own
                both = whole - own @ solve(leverage, residuals[rows], assume_a="pos")
            else:
                both = solve(np.eye(p) - own @ own.T, whole - own @ targets[rows], assume_a="pos")
            b = solve_triangular(factor, both @ [1.0, -mean], lower=True, trans="T")
            found.append(np.append(b, mean)[:, None])
        return np.stack(found)

    def _logistic(self, C: float, start: FloatArray | None) -> FloatArray:
        n_sets, q = len(self.left_out), self.Z.shape[1]
        n_scores, loss = (
            (1, logistic) if self.n_classes == 2 else (self.n_classes or 0, multinomial)
        )
        penalty = np.full(q, 1.0 / C)
        penalty[-1] = _INTERCEPT_PENALTY * self.weights.sum()
        factor = cholesky(CURVATURE_BOUNDS[loss] * self.gram + np.diag(penalty), lower=True)
        codes = 2.0 * (self.y[:, None] == np.arange(n_scores) + (n_scores == 1)) - 1.0
        kept = self.kept.T[:, :, None]

        def as_columns(flat: FloatArray) -> FloatArray:
            return flat.reshape(n_sets, q, n_scores).transpose(1, 0, 2).reshape(q, -1)

        def as_sets(columns: FloatArray) -> FloatArray:
            return columns.reshape(q, n_sets, n_scores).transpose(1, 0, 2).reshape(n_sets, -1)

        def coefficients(flat: FloatArray) -> FloatArray:
            return solve_triangular(
                factor, as_columns(flat), lower=True, trans="T", check_finite=False
            )

        def objective(flat: FloatArray) -> tuple[FloatArray, FloatArray]:
            B = coefficients(flat)
            scores = (self.Z @ B).reshape(-1, n_sets, n_scores)
            values, slopes, _ = loss(scores, codes[:, None])
            pulled = penalty[:, None] * B
            gradient = self.Z.T @ (kept * slopes).reshape(len(scores), -1) + pulled
            value = (self.kept.T * values).sum(axis=0)
            value += 0.5 * (B * pulled).sum(axis=0).reshape(n_sets, -1).sum(axis=1)
            return value, as_sets(
                solve_triangular(factor, gradient, lower=True, check_finite=False)
            )

        begin = np.zeros((n_sets, q * n_scores))
        if start is not None:
            begin = as_sets(factor.T @ as_columns(start.reshape(n_sets, -1)))
        found = minimise(objective, begin, tol=self.tol, max_iter=_MOST_STEPS, norm=2)
        return as_sets(coefficients(found.points)).reshape(n_sets, q, n_scores)
