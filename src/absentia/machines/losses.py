"""Losses of scores, probabilities from scores, and L-BFGS for many problems side by side.

Scores and codes of the targets have one column for each score on their last axis. A loss returns
the loss of each row and its first and second derivatives by each score on its own; that of several
classes leaves out the parts of the Hessian between classes. Losses are functions of a module, so
that they can be sent to other processes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from absentia.progress import SolverStatus
from absentia.tables import BoolArray, FloatArray

Loss = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
Objective = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

_MEMORY = 12
_SUFFICIENT = 1e-4
# Values closer than this, relative to themselves, are equal but for rounding.
_NOISE = 1e-12
_LONGEST_SEARCH = 30


def squared_error(
    scores: FloatArray, codes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``(t - f)^2 / 2``, summed over outputs: ridge regression, least-squares SVM."""
    residuals = scores - codes
    return 0.5 * (residuals**2).sum(axis=-1), residuals, np.ones_like(scores)


def squared_hinge(
    scores: FloatArray, codes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``max(0, 1 - t f)^2`` with codes of +1 and -1, one score against the rest."""
    short = np.maximum(1 - codes * scores, 0)
    return (short**2).sum(axis=-1), -2 * codes * short, np.where(short > 0, 2.0, 0.0)


def logistic(scores: FloatArray, codes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``log(1 + exp(-t f))`` with codes of +1 and -1, one score."""
    margins = codes * scores
    wrong: FloatArray = expit(-margins)
    return -log_expit(margins).sum(axis=-1), -codes * wrong, wrong * (1 - wrong)


def multinomial(scores: FloatArray, codes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``-log softmax(f)`` of the true class, codes of +1 for it and -1 for the others."""
    is_class, p = codes > 0, softmax(scores, axis=-1)
    return -(log_softmax(scores, axis=-1) * is_class).sum(axis=-1), p - is_class, p * (1 - p)


#: The largest second derivative that a score can have (Boehning and Lindsay 1988): with it the
#: normal equations of least squares are a metric in which a step of one is never too long.
CURVATURE_BOUNDS: dict[Loss, float] = {
    squared_error: 1.0,
    squared_hinge: 2.0,
    logistic: 0.25,
    multinomial: 0.5,
}


def probabilities_of(scores: FloatArray) -> FloatArray:
    """Return the probabilities of the classes; one score is the log-odds of the second of two."""
    if scores.shape[-1] == 1:
        return np.concatenate([expit(-scores), expit(scores)], axis=-1)
    return softmax(scores, axis=-1)


def log_probabilities_of(scores: FloatArray) -> FloatArray:
    """Return the logarithms of the probabilities, exact if a probability underflows."""
    if scores.shape[-1] == 1:
        return np.concatenate([log_expit(-scores), log_expit(scores)], axis=-1)
    return log_softmax(scores, axis=-1)


@dataclass(frozen=True, eq=False)
class Minima:
    """The result of a search: points, sizes of the gradients there, and the cost."""

    points: FloatArray
    slopes: FloatArray
    n_evaluations: int
    status: SolverStatus


def minimise(
    objective: Objective, start: FloatArray, *, tol: float, max_iter: int, norm: float = np.inf
) -> Minima:
    """Minimise independent functions, one per row of ``start``, by L-BFGS with common passes.

    ``objective`` returns values (n,) and gradients (n, p). A function rests when a norm of its
    gradient, by default the largest entry, is at most ``tol``, or when no step lowers it.

    Implemented here rather than taken from a library, for the sake of the last digits, and of
    common passes. The digits of a sum of a million losses are noise: if two values differ by no
    more than that, the slopes decide (the approximate condition of Hager and Zhang, 2005), so that
    the gradient can be lowered as far as its own digits reach. SciPy's L-BFGS-B takes as many
    passes over the data, but stops at a gradient of about 1e-9, where this one reaches 1e-11.
    """
    points, moving = start, np.ones(len(start), dtype=bool)
    values, gradients = objective(points)
    pairs: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(maxlen=_MEMORY)
    n_evaluations = 1
    for _ in range(max_iter):
        moving &= np.linalg.norm(gradients, norm, axis=1) > tol
        if not moving.any():
            break
        directions = -_times_inverse_hessian(pairs, gradients)
        descents = (gradients * directions).sum(axis=1)
        lengths = moving.astype(np.float64)
        for _ in range(_LONGEST_SEARCH):
            steps = lengths[:, None] * directions
            tried, slopes = objective(points + steps)
            n_evaluations += 1
            good = _accepted(values, descents, lengths, tried, (slopes * directions).sum(axis=1))
            if good.all():
                break
            # To the minimum of a parabola, within reason.
            excess = tried - values - lengths * descents
            parabola = _ratio(-lengths * descents, 2 * np.where(np.isfinite(excess), excess, 0.0))
            shorter = np.where(parabola > 0, np.clip(parabola, 0.1, 0.5), 0.5)
            lengths = np.where(good, lengths, lengths * shorter)
        moving &= good  # where no step helps, the gradient is as small as its digits allow
        steps = np.where(good[:, None], steps, 0.0)
        changes = np.where(good[:, None], slopes - gradients, 0.0)
        pairs.append((steps, changes, (steps * changes).sum(axis=1)))
        points, gradients = points + steps, gradients + changes
        values = np.where(good, tried, values)
    sizes = np.linalg.norm(gradients, norm, axis=1)
    status = SolverStatus.EXHAUSTED if moving.any() else SolverStatus.STALLED
    status = SolverStatus.CONVERGED if (sizes <= tol).all() else status
    return Minima(points, sizes, n_evaluations, status)


def _accepted(
    values: FloatArray,
    descents: FloatArray,
    lengths: FloatArray,
    tried: FloatArray,
    tried_slopes: FloatArray,
) -> BoolArray:
    equal = np.abs(tried - values) <= _NOISE * np.abs(values)
    level = tried_slopes <= (2 * _SUFFICIENT - 1) * descents
    return np.where(equal, level, tried <= values + _SUFFICIENT * lengths * descents)


def _times_inverse_hessian(
    pairs: deque[tuple[FloatArray, FloatArray, FloatArray]], gradients: FloatArray
) -> FloatArray:
    """Return gradients times what the last steps say about the inverse Hessians."""
    out, shares = gradients.copy(), []
    for steps, changes, curvatures in reversed(pairs):
        shares.append(_ratio((steps * out).sum(axis=1), curvatures))
        out -= shares[-1][:, None] * changes
    if pairs:
        _, changes, curvatures = pairs[-1]
        scale = _ratio(curvatures, (changes**2).sum(axis=1))
        out *= np.where(scale > 0, scale, 1.0)[:, None]
    for (steps, changes, curvatures), share in zip(pairs, reversed(shares), strict=True):
        out += (share - _ratio((changes * out).sum(axis=1), curvatures))[:, None] * steps
    return out


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return a quotient, zero where the denominator is not positive."""
    return np.where(below > 0, above, 0.0) / np.where(below > 0, below, 1.0)
