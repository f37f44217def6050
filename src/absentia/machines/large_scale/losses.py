"""Losses of linear scores, codes of the targets, and functions of the scores.

Each loss is a sum over rows and convex in the scores. ``curvature_bound`` is the largest second
derivative that a score can have: with it the normal equations of least squares become a good metric
for every loss. Functions and values are at module level, so that they can be sent to other
processes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from absentia.machines.validation import check_numbers
from absentia.tables import FloatArray
from absentia.tables.streams import Chunk


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
        residuals = scores - codes
        return 0.5 * np.einsum("ij,ij->i", residuals, residuals), residuals

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        return np.ones_like(scores)


class SquaredHinge:
    """``max(0, 1 - t f)^2`` with codes of +1 and -1, one score against the rest."""

    curvature_bound: ClassVar[float] = 2.0

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        short = np.maximum(1 - codes * scores, 0)
        return np.einsum("ij,ij->i", short, short), -2 * codes * short

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        return np.where(codes * scores < 1, 2.0, 0.0)


class Logistic:
    """``log(1 + exp(-t f))`` with codes of +1 and -1, one score."""

    curvature_bound: ClassVar[float] = 0.25

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        margins = codes * scores
        return -log_expit(margins).sum(axis=1), -codes * expit(-margins)

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        probabilities: FloatArray = expit(scores)
        return probabilities * (1 - probabilities)


class Multinomial:
    """``-log softmax(f)`` of the true class, codes of +1 for it and -1 for the others."""

    curvature_bound: ClassVar[float] = 0.5

    def value_and_gradient(
        self, scores: FloatArray, codes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        is_class = codes > 0
        values = -(log_softmax(scores, axis=1) * is_class).sum(axis=1)
        return values, softmax(scores, axis=1) - is_class

    def curvature(self, scores: FloatArray, codes: FloatArray) -> FloatArray:
        """Return ``p (1 - p)`` of each class: the Hessian without its parts between classes."""
        probabilities: FloatArray = softmax(scores, axis=1)
        return probabilities * (1 - probabilities)


@dataclass(frozen=True, eq=False)
class NumberCodes:
    """Targets that are numbers, as columns."""

    n_scores: int

    def __call__(self, y: np.ndarray) -> FloatArray:
        check_numbers(y)
        columns = np.asarray(y, dtype=np.float64)
        columns = columns[:, None] if columns.ndim == 1 else columns
        if columns.shape[1] != self.n_scores:
            raise ValueError(
                f"y must have {self.n_scores} column(s), as in the rows before, found "
                f"{columns.shape[1]}."
            )
        if not np.isfinite(columns).all():
            raise ValueError("y must hold finite numbers, found NaN or infinity.")
        return columns


@dataclass(frozen=True, eq=False)
class Labels:
    """The class labels of rows that count, and of all rows; the sum is the union."""

    labels: np.ndarray
    every: np.ndarray

    def __add__(self, other: Labels) -> Labels:
        return Labels(np.union1d(self.labels, other.labels), np.union1d(self.every, other.every))


def classes_of(chunk: Chunk) -> Labels:
    """Return the class labels of a chunk."""
    y = _targets_of(chunk)
    every = np.unique(y)
    if chunk.sample_weight is None:
        return Labels(every, every)
    return Labels(np.unique(np.asarray(y)[np.asarray(chunk.sample_weight) > 0]), every)


def shapes_of(chunk: Chunk) -> Counter[tuple[int, ...]]:
    """Return the shape of a chunk's targets without their number; a sum has those of all chunks."""
    return Counter([np.shape(_targets_of(chunk))[1:]])


def _targets_of(chunk: Chunk) -> np.ndarray:
    if chunk.y is None:
        raise ValueError("The table has no targets: make each chunk a tuple (X, y).")
    targets: np.ndarray = chunk.y
    return targets


def first_column(scores: FloatArray) -> FloatArray:
    """Return the scores of one output, (n,)."""
    first: FloatArray = scores[:, 0]
    return first


def all_columns(scores: FloatArray) -> FloatArray:
    """Return the scores as they are."""
    return scores


def probabilities_of(scores: FloatArray) -> FloatArray:
    """Return the probabilities of the classes, (n, n_classes)."""
    if scores.shape[1] == 1:
        of_second: FloatArray = expit(scores)
        return np.hstack([1 - of_second, of_second])
    probabilities: FloatArray = softmax(scores, axis=1)
    return probabilities


def log_probabilities_of(scores: FloatArray) -> FloatArray:
    """Return the logarithms of the probabilities, exact if a probability underflows."""
    if scores.shape[1] == 1:
        return np.hstack([log_expit(-scores), log_expit(scores)])
    logarithms: FloatArray = log_softmax(scores, axis=1)
    return logarithms
