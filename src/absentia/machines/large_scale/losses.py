"""Losses of linear scores, as sums over rows: value, gradient and curvature.

Each is convex in the scores. ``curvature_bound`` is the largest second derivative that a score can
have: with it the normal equations of least squares become a good metric for every loss.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from absentia.tables import FloatArray

__all__ = ["Logistic", "Loss", "Multinomial", "SquaredError", "SquaredHinge"]


class Loss(Protocol):
    """A loss of scores, given codes of the targets; both of shape (n, n_scores)."""

    curvature_bound: ClassVar[float]

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the loss of each row, (n,), and its derivatives by the scores, (n, n_scores)."""

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        """Return the second derivatives, by each score on its own, (n, n_scores)."""


class SquaredError:
    """``(t - f)^2 / 2``, summed over outputs: ridge regression, least-squares SVM."""

    curvature_bound: ClassVar[float] = 1.0

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return loss and gradient."""
        residuals = scores - codes
        return 0.5 * np.einsum("ij,ij->i", residuals, residuals), residuals

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        """Return ones."""
        return np.ones_like(scores)


class SquaredHinge:
    """``max(0, 1 - t f)^2`` with codes of +1 and -1, one score against the rest."""

    curvature_bound: ClassVar[float] = 2.0

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return loss and gradient."""
        short = np.maximum(1 - codes * scores, 0)
        return np.einsum("ij,ij->i", short, short), -2 * codes * short

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        """Return two inside the margin, zero outside."""
        return np.where(codes * scores < 1, 2.0, 0.0)


class Logistic:
    """``log(1 + exp(-t f))`` with codes of +1 and -1, one score."""

    curvature_bound: ClassVar[float] = 0.25

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return loss and gradient."""
        margins = codes * scores
        return -log_expit(margins).sum(axis=1), -codes * expit(-margins)

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        """Return ``p (1 - p)``."""
        probabilities: FloatArray = expit(scores)
        return probabilities * (1 - probabilities)


class Multinomial:
    """``-log softmax(f)`` of the true class, codes of +1 for it and -1 for the others."""

    curvature_bound: ClassVar[float] = 0.5

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return loss and gradient."""
        is_class = codes > 0
        return -(log_softmax(scores, axis=1) * is_class).sum(axis=1), (
            softmax(scores, axis=1) - is_class
        )

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        """Return ``p (1 - p)`` of each class: the Hessian without its parts between classes."""
        probabilities: FloatArray = softmax(scores, axis=1)
        return probabilities * (1 - probabilities)
