"""Sequential minimal optimisation of a support vector machine whose rows ask different margins.

scikit-learn's solver asks a margin of 1 of every row. The geometric margin asks ``s[i]`` of row i,
so the linear term of the dual differs from row to row, and that it does not offer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.engine.compiling import compiled
from absentia.progress import SolverStatus
from absentia.tables import FloatArray

_SMALL = 1e-12


@dataclass(frozen=True, eq=False)
class DualSolution:
    """The minimum of the dual.

    Attributes
    ----------
    dual : ndarray of shape (n_samples,)
        ``beta``, non-negative; the machine is ``f(x) = sum beta[i] y[i] k(x_i, x) + bias``.
    bias : float
    n_iter : int
    ending : SolverStatus
        Converged where the optimality conditions hold to the tolerance.
    """

    dual: FloatArray
    bias: float
    n_iter: int
    ending: SolverStatus


def solve_dual(
    K: FloatArray,
    signs: FloatArray,
    margins: FloatArray,
    upper: FloatArray,
    *,
    tol: float = 1e-4,
    max_iter: int = 1_000_000,
) -> DualSolution:
    """Minimise ``1/2 beta' Q beta - margins' beta``, ``Q[i,j] = signs[i] signs[j] K[i,j]``.

    Subject to ``0 <= beta <= upper`` and ``signs' beta = 0``. Two variables at a time; the pair is
    the one that promises the largest decrease to second order (Fan, Chen and Lin 2005).

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric.
    signs : ndarray of shape (n_samples,)
        +1 and -1.
    margins : ndarray of shape (n_samples,)
        What ``signs[i] * f(x_i)`` should reach.
    upper : ndarray of shape (n_samples,)
    tol : float
        The largest violation of the optimality conditions that counts as none.
    max_iter : int

    Returns
    -------
    DualSolution
    """
    dual, gradient, n_iter, converged = _minimise(
        np.ascontiguousarray(K), signs, margins, upper, tol, max_iter
    )
    free = (dual > _SMALL * upper) & (dual < upper * (1 - _SMALL))
    if free.any():
        bias = -float(np.mean(signs[free] * gradient[free]))
    else:
        # Any bias between the two groups that bound it is optimal: take the middle.
        raises, lowers = _movable(dual, signs, upper)
        values = -signs * gradient
        highest = values[raises].max() if raises.any() else values[lowers].min()
        lowest = values[lowers].min() if lowers.any() else values[raises].max()
        bias = float(highest + lowest) / 2
    return DualSolution(
        dual, bias, int(n_iter), SolverStatus.CONVERGED if converged else SolverStatus.EXHAUSTED
    )


def _movable(
    dual: FloatArray, signs: FloatArray, upper: FloatArray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which variables may move along +signs, and which along -signs."""
    grows = dual < upper * (1 - _SMALL)
    shrinks = dual > _SMALL * upper
    raises = np.where(signs > 0, grows, shrinks)
    lowers = np.where(signs > 0, shrinks, grows)
    return raises, lowers


@compiled()
def _minimise(K, signs, margins, upper, tol, max_iter):  # type: ignore[no-untyped-def]
    n = len(signs)
    dual = np.zeros(n)
    gradient = -margins.copy()
    diagonal = np.diag(K).copy()
    for n_iter in range(max_iter):
        # i: the steepest ascent along +signs.
        i, steepest = -1, -np.inf
        for t in range(n):
            movable = dual[t] < upper[t] if signs[t] > 0 else dual[t] > 0
            if movable and -signs[t] * gradient[t] > steepest:
                i, steepest = t, -signs[t] * gradient[t]
        # j: the partner that gains most, among those that can move the other way.
        j, best, lowest = -1, 0.0, np.inf
        for t in range(n):
            movable = dual[t] > 0 if signs[t] > 0 else dual[t] < upper[t]
            if movable:
                value = -signs[t] * gradient[t]
                lowest = min(lowest, value)
                slope = steepest - value
                if i >= 0 and slope > 0:
                    curvature = max(diagonal[i] + diagonal[t] - 2 * K[i, t], _SMALL)
                    if slope * slope / curvature > best:
                        best, j = slope * slope / curvature, t
        if i < 0 or j < 0 or steepest - lowest < tol:
            return dual, gradient, n_iter, True
        curvature = max(diagonal[i] + diagonal[j] - 2 * K[i, j], _SMALL)
        step = (steepest + signs[j] * gradient[j]) / curvature
        # Along +signs for i and -signs for j, as far as the box allows. A variable that reaches
        # its bound is put there exactly: a remainder of rounding would be chosen again and again.
        room_i = upper[i] - dual[i] if signs[i] > 0 else dual[i]
        room_j = dual[j] if signs[j] > 0 else upper[j] - dual[j]
        step = min(step, room_i, room_j)
        dual[i] += signs[i] * step
        dual[j] -= signs[j] * step
        if room_i - step <= _SMALL * upper[i]:
            dual[i] = upper[i] if signs[i] > 0 else 0.0
        if room_j - step <= _SMALL * upper[j]:
            dual[j] = 0.0 if signs[j] > 0 else upper[j]
        for t in range(n):
            gradient[t] += signs[t] * step * (K[i, t] - K[j, t])
    return dual, gradient, max_iter, False
