"""L-BFGS for smooth convex functions whose every evaluation is a pass over the data.

Implemented here rather than taken from a library, for the sake of the last digits. Those of a sum
of a million losses are noise: where two values differ by no more than that, the slopes decide (the
approximate condition of Hager and Zhang, 2005), so that the gradient can be lowered as far as its
own digits reach. SciPy's L-BFGS-B takes as many passes over the data, but stops at a gradient of
about 1e-9, where this one reaches 1e-11.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from absentia.engine.solver_status import SolverStatus
from absentia.progress import report
from absentia.tables import FloatArray

__all__ = ["Minimum", "minimise"]

_MEMORY = 20
_SUFFICIENT = 1e-4
# Values closer than this, relative to themselves, are equal but for rounding.
_NOISE = 1e-12
_LONGEST_SEARCH = 30

Objective = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False)
class Minimum:
    """The result of a search: the point, the largest entry of the gradient, and the cost."""

    point: FloatArray
    slope: float
    n_evaluations: int
    ending: SolverStatus


def minimise(objective: Objective, start: FloatArray, *, tol: float, max_iter: int) -> Minimum:
    """Minimise a function from a start, until no entry of the gradient is larger than ``tol``.

    Parameters
    ----------
    objective : callable
        From a point to its value and gradient.
    start : ndarray of shape (n,)
    tol : float
    max_iter : int
        The largest number of steps.
    """
    point = start
    value, gradient = objective(point)
    n_evaluations = 1
    pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=_MEMORY)
    ending = SolverStatus.EXHAUSTED
    for _ in range(max_iter):
        if np.abs(gradient).max() <= tol:
            break
        direction = -_times_inverse_hessian(pairs, gradient)
        descent = float(gradient @ direction)
        length = 1.0
        for _ in range(_LONGEST_SEARCH):
            step = length * direction
            tried_value, tried_gradient = objective(point + step)
            n_evaluations += 1
            if _accepted(value, descent, length, tried_value, float(tried_gradient @ direction)):
                break
            length *= _shrinkage(value, descent, length, tried_value)
        else:
            ending = (
                SolverStatus.STALLED
            )  # no step helps: the gradient is as small as its digits allow
            break
        change = tried_gradient - gradient
        curvature = float(step @ change)
        if curvature > 0:
            pairs.append((step, change, curvature))
        point, value, gradient = point + step, tried_value, tried_gradient
    slope = float(np.abs(gradient).max())
    report("L-BFGS: %d passes over the rows, largest slope %.2g", n_evaluations, slope)
    return Minimum(point, slope, n_evaluations, SolverStatus.CONVERGED if slope <= tol else ending)


def _accepted(
    value: float, descent: float, length: float, tried: float, tried_slope: float
) -> bool:
    if abs(tried - value) <= _NOISE * abs(value):
        return tried_slope <= (2 * _SUFFICIENT - 1) * descent
    return tried <= value + _SUFFICIENT * length * descent


def _shrinkage(value: float, descent: float, length: float, tried: float) -> float:
    """Return how much shorter to try: to the minimum of a parabola, within reason."""
    excess = tried - value - length * descent
    if not (np.isfinite(excess) and excess > 0):
        return 0.5
    return float(np.clip(-length * descent / (2 * excess), 0.1, 0.5))


def _times_inverse_hessian(
    pairs: deque[tuple[FloatArray, FloatArray, float]], gradient: FloatArray
) -> FloatArray:
    """Return the gradient times what the last steps say about the inverse of the Hessian."""
    out = gradient.copy()
    shares = []
    for step, change, curvature in reversed(pairs):
        shares.append(float(step @ out) / curvature)
        out -= shares[-1] * change
    if pairs:
        _, change, curvature = pairs[-1]
        out *= curvature / float(change @ change)
    for (step, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        out += (share - float(change @ out) / curvature) * step
    return out
