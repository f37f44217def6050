"""Targets as codes, chunk by chunk, and scores as answers.

Module-level functions and values, so that they can be sent to other processes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from absentia.machines.validation import check_numbers
from absentia.tables import FloatArray
from absentia.tables.streams import Chunk

__all__ = [
    "NumberCodes",
    "all_columns",
    "classes_of",
    "first_column",
    "log_probabilities_of",
    "probabilities_of",
    "widths_of",
]


@dataclass(frozen=True, eq=False)
class NumberCodes:
    """Targets that are numbers, as columns."""

    n_scores: int

    def __call__(self, y: np.ndarray) -> FloatArray:
        if y is None:
            raise ValueError("The table has no targets: make each chunk a tuple (X, y).")
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
    if chunk.y is None:
        raise ValueError("The table has no targets: make each chunk a tuple (X, y).")
    every = np.unique(chunk.y)
    if chunk.sample_weight is None:
        return Labels(every, every)
    return Labels(np.unique(np.asarray(chunk.y)[np.asarray(chunk.sample_weight) > 0]), every)


@dataclass(frozen=True, eq=False)
class Widths:
    """The shape of targets without their number; the sum of equals is the same."""

    widths: tuple[int, ...]

    def __add__(self, other: Widths) -> Widths:
        if self.widths != other.widths:
            raise ValueError(
                f"The targets of all chunks must have one shape, found {self.widths} and "
                f"{other.widths}."
            )
        return self


def widths_of(chunk: Chunk) -> Widths:
    if chunk.y is None:
        raise ValueError("The table has no targets: make each chunk a tuple (X, y).")
    return Widths(tuple(np.shape(chunk.y)[1:]))


def first_column(scores: FloatArray) -> FloatArray:
    first: FloatArray = scores[:, 0]
    return first


def all_columns(scores: FloatArray) -> FloatArray:
    return scores


def probabilities_of(scores: FloatArray) -> FloatArray:
    if scores.shape[1] == 1:
        of_second: FloatArray = expit(scores)
        return np.hstack([1 - of_second, of_second])
    probabilities: FloatArray = softmax(scores, axis=1)
    return probabilities


def log_probabilities_of(scores: FloatArray) -> FloatArray:
    if scores.shape[1] == 1:
        return np.hstack([log_expit(-scores), log_expit(scores)])
    logarithms: FloatArray = log_softmax(scores, axis=1)
    return logarithms
