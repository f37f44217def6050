"""Choices by out-of-fold predictions: weights of members, and the candidate of each member.

Predictions have the shape (n_members, n_samples, n_outputs). The loss of classifiers is the log
loss of the averaged probabilities, that of regressors the squared error of the averaged numbers.

A member tries a few candidates (widths, penalties, sizes of leaves) on held-out rows, and the one
with the smallest loss predicts new rows. Its loss on the rows that chose it is optimistic, the more
so the fewer rows and the more candidates there are. By nested selection, rows ``T`` of a fold are
therefore predicted by

    argmin_c  sum_{i in J without T} w_i loss_c(i) / sum_{i in J without T} w_i,

where ``J`` are the rows on which candidates were scored. For kernels, where a width at which the
rows of ``T`` predict others well is one at which others predict them well, the losses in this sum
are those of models without ``T`` too: of each other fold by the model without both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar, nnls
from scipy.special import log_softmax, softmax

from absentia.machines.targets import Task
from absentia.tables import FloatArray, IntArray

#: The smallest probability: one forest's zero would cost an infinite loss.
FLOOR = 1e-5
_EM_STEPS = 300
_TEMPERATURES = (0.2, 5.0)
#: Pseudo-counts of the prior, per member.
PSEUDO_COUNTS = 1.0
#: Precision of the prior of a log temperature, which has mean zero.
_TEMPERATURE_PRECISION = 10.0
#: Members of a smaller weight are left out.
_SMALLEST_WEIGHT = 0.02


def losses(answers: FloatArray, y: np.ndarray, task: Task) -> FloatArray:
    """Return the loss of each row of ``answers`` (..., n_samples, n_outputs)."""
    if task == "regression":
        return (answers[..., 0] - y) ** 2
    right = answers[..., np.arange(len(y)), y]
    return -np.log(np.maximum(right, FLOOR))


def stacking_weights(
    answers: FloatArray,
    y: np.ndarray,
    sample_weight: FloatArray,
    task: Task,
    pseudo_counts: float = 0.0,
) -> FloatArray:
    """Return the weights, not negative and of sum one, of the smallest loss.

    Probabilities: the loss of a mixture is convex in its weights, and the EM algorithm finds the
    optimum. With pseudo-counts these are the most probable weights under a Dirichlet distribution.
    Numbers: non-negative least squares, the sum by a heavy last equation. With pseudo-counts ``c``
    the penalty is ``c K s^2 |w - 1/K|^2``, where ``s^2`` is the error of the best of the ``K``
    members, which is as strong.
    """
    n_members = len(answers)
    if task == "classification":
        right = np.maximum(answers[:, np.arange(len(y)), y], FLOOR)
        weights = np.full(n_members, 1.0 / n_members)
        for _ in range(_EM_STEPS):
            parts = weights[:, None] * right
            counts = (parts / parts.sum(axis=0)) @ sample_weight + pseudo_counts
            weights = counts / counts.sum()
        return weights
    root = np.sqrt(sample_weight)
    design = (answers[..., 0] * root).T
    errors = np.average((answers[..., 0] - y) ** 2, axis=1, weights=sample_weight)
    pull = np.sqrt(pseudo_counts * n_members * errors.min())
    heavy = 1e3 * max(1.0, float(np.linalg.norm(design)))
    solution, _ = nnls(
        np.vstack([design, pull * np.eye(n_members), np.full((1, n_members), heavy)]),
        np.concatenate([y * root, np.full(n_members, pull / n_members), [heavy]]),
    )
    return solution / solution.sum()


def shrunk_weights(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, task: Task
) -> FloatArray:
    """Return the weights of least loss, shrunk towards equal ones, without very small ones."""
    weights = stacking_weights(answers, y, sample_weight, task, PSEUDO_COUNTS)
    kept: FloatArray = np.where(weights < _SMALLEST_WEIGHT, 0.0, weights)
    return kept / kept.sum()


def fit_temperature(probabilities: FloatArray, y: IntArray, sample_weight: FloatArray) -> float:
    """Return the temperature ``T`` of least log loss for ``softmax(log p / T)``, shrunk to one.

    One parameter (Guo and others, 2017); above one the probabilities were overconfident, below one
    underconfident, as averages of different members are. ``5 log(T)^2`` is added to the sum of the
    log losses, so that a hundred rows that are all predicted rightly do not make it certain.
    """
    logits = np.log(np.maximum(probabilities, FLOOR))
    rows = np.arange(len(y))

    def loss(log_temperature: float) -> float:
        found = log_softmax(logits / np.exp(log_temperature), axis=1)[rows, y]
        penalty = 0.5 * _TEMPERATURE_PRECISION * log_temperature**2
        return penalty - float(found @ sample_weight)

    found = minimize_scalar(loss, bounds=np.log(_TEMPERATURES), method="bounded")
    return float(np.exp(found.x))


def tempered(probabilities: FloatArray, temperature: FloatArray) -> FloatArray:
    """Return ``softmax(log p / T)``, one temperature per row."""
    logits = np.log(np.maximum(probabilities, FLOOR)) / np.reshape(temperature, (-1, 1))
    return softmax(logits, axis=1)


def weights_of_rows(excess: FloatArray, levels: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weight of each member for each row, shape (n_samples, n_members).

    The ``weights`` (n_levels, n_members) were chosen at increasing ``levels`` of excess, and are
    interpolated at the ``excess`` of each row: how much more it misses than training rows do.
    """
    columns = [np.interp(excess, levels, column) for column in weights.T]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The loss of each candidate of a member on held-out rows.

    The losses ``found`` are an array (n_candidates, n_samples), NaN for rows that were not scored.
    ``nested`` are such losses for each fold of the first repeat, of candidates that were trained
    without its rows; they choose for the fold, where there are any.
    """

    found: FloatArray | None = None
    weights: FloatArray | None = None
    nested: Sequence[FloatArray] = ()

    def for_fold(self, fold: int, rows: IntArray) -> int:
        """Return the candidate that predicts a fold of these rows, counted over all repeats."""
        if fold < len(self.nested):
            return self._best(self.nested[fold], [])
        return self.without(rows)

    def without(self, rows: ArrayLike) -> int:
        """Return the candidate with the smallest loss on all other rows, by default the first."""
        return 0 if self.found is None else self._best(self.found, rows)

    def _best(self, found: FloatArray, left_out: ArrayLike) -> int:
        others = np.asarray(~np.isnan(found).all(axis=0))
        others[np.asarray(left_out, dtype=int)] = False
        if not others.any():
            return 0
        weights = None if self.weights is None else self.weights[others]
        means = np.average(found[:, others], axis=1, weights=weights)
        return int(np.nan_to_num(means, nan=np.inf).argmin())
