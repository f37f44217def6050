"""Linear models on features, fitted without each of several sets of rows.

Cross-validation and nested selection need the same model without fold ``F``, without the folds
``F`` and ``G``, and so on. All of these models have the features ``Z`` (n, p) in common. A Gram
matrix ``K = L L'`` has the features ``L``, which makes kernel machines a case of this.

Numbers: ridge regression on targets less their mean. With ``H = Z'WZ + alpha I``, residuals ``e``
and the hat matrix ``A = W^(1/2) Z inv(H) Z' W^(1/2)``, the coefficients without the rows ``F`` are

    b_F = b - inv(H) Z_F' W_F^(1/2) inv(I - A_FF) e_F    (Sherman, Morrison and Woodbury).

Classes: the logistic or softmax loss with an intercept. All sets are solved at once by L-BFGS in
the metric ``c Z'WZ + I / C`` of all rows, where ``c`` bounds the second derivatives of the loss
(Boehning and Lindsay 1988), so that a step of one is never too long. A step is two products with
``Z``, whatever the number of sets, and nothing is factorised but the metric.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.special import expit, log_expit, log_softmax, softmax

from absentia.automatic.blending import losses
from absentia.tables import FloatArray, IntArray

_MEMORY, _MOST_STEPS, _MOST_HALVINGS = 8, 100, 12
#: Squared length of the gradient in the metric, per row, at which log losses have four digits.
_ENOUGH = 1e-6
#: Penalty of the intercept per row: it stays finite where a set leaves a class without rows.
_INTERCEPT_PENALTY = 1e-7

Objective = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


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
        enough: float = _ENOUGH,
    ):
        self.Z = np.column_stack([Z, np.ones(len(Z))])
        self.y, self.weights, self.n_classes, self.left_out = y, weights, n_classes, left_out
        self.enough = enough * weights.sum()
        self.gram = (self.Z * weights[:, None]).T @ self.Z
        self.kept = np.tile(weights, (len(left_out), 1))
        for own, rows in zip(self.kept, left_out, strict=True):
            own[rows] = 0.0

    def fit(self, penalty: float, start: FloatArray | None = None) -> FloatArray:
        """Return coefficients at ``alpha`` for numbers, at ``C`` for classes.

        ``start`` may be the coefficients at a neighbouring ``C``.
        """
        return self._ridge(penalty) if self.n_classes is None else self._logistic(penalty, start)

    def losses(self, coefficients: FloatArray) -> FloatArray:
        """Return the loss of each row by each model, (n_sets, n_rows)."""
        n_sets, q, n_scores = coefficients.shape
        scores = self.Z @ coefficients.transpose(1, 0, 2).reshape(q, -1)
        own = as_answers(scores.reshape(-1, n_sets, n_scores).swapaxes(0, 1), self.n_classes)
        return losses(own, self.y, "regression" if self.n_classes is None else "classification")

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
        n_scores = 1 if self.n_classes == 2 else int(self.n_classes or 0)
        penalty = np.full(q, 1.0 / C)
        penalty[-1] = _INTERCEPT_PENALTY * self.weights.sum()
        bound = 0.25 if n_scores == 1 else 0.5
        factor = cholesky(bound * self.gram + np.diag(penalty), lower=True)
        targets = 2.0 * self.y[:, None] - 1.0 if n_scores == 1 else np.eye(n_scores)[self.y]
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
            signed = targets[:, None]
            if n_scores == 1:
                loss, slopes = -log_expit(signed * scores), -signed * expit(-signed * scores)
            else:
                loss = -(log_softmax(scores, axis=2) * signed).sum(axis=2, keepdims=True)
                slopes = softmax(scores, axis=2) - signed
            pulled = penalty[:, None] * B
            gradient = self.Z.T @ (kept * slopes).reshape(len(scores), -1) + pulled
            value = (kept * loss).sum(axis=(0, 2))
            value += 0.5 * (B * pulled).sum(axis=0).reshape(n_sets, -1).sum(axis=1)
            return value, as_sets(
                solve_triangular(factor, gradient, lower=True, check_finite=False)
            )

        begin = np.zeros((n_sets, q * n_scores))
        if start is not None:
            begin = as_sets(factor.T @ as_columns(start.reshape(n_sets, -1)))
        found = minimise_all(objective, begin, self.enough)
        return as_sets(coefficients(found)).reshape(n_sets, q, n_scores)


def as_answers(scores: FloatArray, n_classes: int | None) -> FloatArray:
    """Return probabilities, or numbers in one column, from scores (..., n_scores)."""
    if n_classes is None:
        return scores
    if n_classes == 2:
        return np.concatenate([expit(-scores), expit(scores)], axis=-1)
    probabilities: FloatArray = softmax(scores, axis=-1)
    return probabilities


def minimise_all(objective: Objective, start: FloatArray, enough: float) -> FloatArray:
    """Minimise independent functions, one per row of ``start``, by L-BFGS with common passes.

    ``objective`` returns values (n,) and gradients. A function rests when its squared gradient is
    at most ``enough``, or when no step along its direction lowers it.
    """
    points = start
    values, gradients = objective(points)
    pairs: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
    moving = np.ones(len(points), dtype=bool)
    for _ in range(_MOST_STEPS):
        moving &= (gradients**2).sum(axis=1) > enough
        if not moving.any():
            break
        directions = -_times_inverse_hessian(pairs, gradients)
        descent = (gradients * directions).sum(axis=1)
        lengths = moving.astype(float)
        for _ in range(_MOST_HALVINGS):
            steps = lengths[:, None] * directions
            tried, slopes = objective(points + steps)
            short = tried <= values + 1e-4 * lengths * descent + 1e-13 * np.abs(values)
            if short.all():
                break
            lengths = np.where(short, lengths, lengths / 2)
        moving &= short
        steps = np.where(short[:, None], steps, 0.0)
        changes = np.where(short[:, None], slopes - gradients, 0.0)
        pairs.append((steps, changes, (steps * changes).sum(axis=1)))
        points, values = points + steps, np.where(short, tried, values)
        gradients = gradients + changes
    return points


def _times_inverse_hessian(
    pairs: deque[tuple[FloatArray, FloatArray, FloatArray]], gradients: FloatArray
) -> FloatArray:
    """Return gradients times what the last steps say about the inverse Hessians."""
    out, shares = gradients.copy(), []
    for steps, changes, curvature in reversed(pairs):
        share = _ratio((steps * out).sum(axis=1), curvature)
        shares.append(share)
        out -= share[:, None] * changes
    if pairs:
        _, changes, curvature = pairs[-1]
        scale = _ratio(curvature, (changes**2).sum(axis=1))
        out *= np.where(scale > 0, scale, 1.0)[:, None]
    for (steps, changes, curvature), share in zip(pairs, reversed(shares), strict=True):
        out += (share - _ratio((changes * out).sum(axis=1), curvature))[:, None] * steps
    return out


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return a quotient, zero where the denominator is not positive."""
    return np.where(below > 0, above, 0.0) / np.where(below > 0, below, 1.0)
