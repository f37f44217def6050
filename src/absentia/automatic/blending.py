"""How to weigh members from their answers to rows that they had not seen.

Answers have the shape (n_members, n_samples, n_outputs). The loss of classifiers is the log loss of
the averaged probabilities, that of regressors the squared error of the averaged numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar, nnls
from scipy.special import log_softmax, softmax

from absentia.machines.targets import Task
from absentia.tables import FloatArray, IntArray

__all__ = [
    "FLOOR",
    "blend_weights",
    "fit_temperature",
    "greedy_weights",
    "losses",
    "shrunk_weights",
    "stacking_weights",
    "tempered",
    "weights_of_rows",
]

#: No probability is taken for smaller: one forest's zero would cost an infinite loss.
FLOOR = 1e-5
_ROUNDS = 40
_EM_STEPS = 300
_TEMPERATURES = (0.2, 5.0)
#: Rows that speak for every member before any row was judged.
_ROWS_PER_MEMBER = 1.0
#: How firmly a temperature is held at one: the precision of its logarithm.
_TEMPERATURE_PRECISION = 10.0


def losses(answers: FloatArray, y: np.ndarray, task: Task) -> FloatArray:
    """Return the loss of each row, the last axis but one of ``answers``.

    Parameters
    ----------
    answers : ndarray of shape (..., n_samples, n_outputs)
        Probabilities of classes, or numbers in one column.
    y : ndarray of shape (n_samples,)
        Class codes, or numbers.
    """
    if task == "regression":
        squared: FloatArray = (answers[..., 0] - y) ** 2
        return squared
    right = answers[..., np.arange(len(y)), y]
    return -np.log(np.maximum(right, FLOOR))


def greedy_weights(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, task: Task
) -> FloatArray:
    """Choose members one after the other, again and again, as the average gains most.

    Forward selection with replacement of Caruana and others (2004): the weight of a member is how
    often it was chosen in the best of the rounds.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, of sum one.
    """
    total = np.zeros(answers.shape[1:])
    counts = np.zeros(len(answers))
    best, best_loss = counts, np.inf
    for step in range(1, _ROUNDS + 1):
        tried = np.array(
            [
                np.average(losses((total + own) / step, y, task), weights=sample_weight)
                for own in answers
            ]
        )
        chosen = int(tried.argmin())
        total = total + answers[chosen]
        counts = counts + np.eye(len(answers))[chosen]
        if tried[chosen] < best_loss - 1e-12:
            best, best_loss = counts, tried[chosen]
    weights: FloatArray = best / best.sum()
    return weights


def stacking_weights(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, task: Task
) -> FloatArray:
    """Return the weights, not negative and of sum one, of the smallest loss of all.

    Numbers: non-negative least squares, the sum by a heavy last equation. Probabilities: the loss
    of a mixture is convex in its weights, and the EM algorithm finds the optimum.
    """
    if task == "regression":
        return _least_squares(answers, y, sample_weight, 0.0)
    return _mixture_weights(answers, y, sample_weight, 0.0)


def shrunk_weights(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, task: Task
) -> FloatArray:
    """Return weights as of stacking, pulled towards equal ones: few rows say little.

    Probabilities: the most probable weights under a Dirichlet distribution, as if one further row
    had spoken for each member. Numbers: least squares with the penalty ``K s^2 |w - 1/K|^2``, where
    ``s^2`` is the error of the best of the ``K`` members, which is as strong.

    Returns
    -------
    ndarray of shape (n_members,)
        Positive, of sum one.
    """
    if task == "regression":
        return _least_squares(answers, y, sample_weight, _ROWS_PER_MEMBER)
    return _mixture_weights(answers, y, sample_weight, _ROWS_PER_MEMBER)


def _mixture_weights(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, rows_per_member: float
) -> FloatArray:
    right = np.maximum(answers[:, np.arange(len(y)), y], FLOOR)
    weights = np.full(len(answers), 1.0 / len(answers))
    for _ in range(_EM_STEPS):
        parts = weights[:, None] * right
        counts = (parts / parts.sum(axis=0)) @ sample_weight + rows_per_member
        weights = counts / counts.sum()
    return weights


def _least_squares(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, rows_per_member: float
) -> FloatArray:
    n_members = len(answers)
    root = np.sqrt(sample_weight)
    design = (answers[..., 0] * root).T
    errors = np.average((answers[..., 0] - y) ** 2, axis=1, weights=sample_weight)
    pull = np.sqrt(rows_per_member * n_members * errors.min())
    heavy = 1e3 * max(1.0, float(np.linalg.norm(design)))
    solution, _ = nnls(
        np.vstack([design, pull * np.eye(n_members), np.full((1, n_members), heavy)]),
        np.concatenate([y * root, np.full(n_members, pull / n_members), [heavy]]),
    )
    weights: FloatArray = solution / solution.sum()
    return weights


def blend_weights(
    method: str, answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, task: Task
) -> FloatArray:
    """Return weights by name: ``"shrunk"``, ``"greedy"``, ``"stacking"`` or ``"equal"``."""
    if method == "equal":
        return np.full(len(answers), 1.0 / len(answers))
    choose = {
        "shrunk": shrunk_weights,
        "greedy": greedy_weights,
        "stacking": stacking_weights,
    }[method]
    weights = choose(answers, y, sample_weight, task)
    # What a member with a percent would say is not worth its fit.
    weights = np.where(weights < 0.02, 0.0, weights)
    kept: FloatArray = weights / weights.sum()
    return kept


def fit_temperature(probabilities: FloatArray, y: IntArray, sample_weight: FloatArray) -> float:
    """Return the temperature ``T`` of least log loss for ``softmax(log p / T)``, held near one.

    One parameter (Guo and others, 2017); above one the answers were too sure, below one too
    timid, as averages of different members are. ``5 log(T)^2`` is added to the sum of the log
    losses, so that a hundred rows that are all answered rightly do not make the answers certain.
    """
    logits = np.log(np.maximum(probabilities, FLOOR))
    rows = np.arange(len(y))

    def loss(log_temperature: float) -> float:
        found = log_softmax(logits / np.exp(log_temperature), axis=1)[rows, y]
        doubt = 0.5 * _TEMPERATURE_PRECISION * log_temperature**2
        return doubt - float(found @ sample_weight)

    found = minimize_scalar(loss, bounds=np.log(_TEMPERATURES), method="bounded")
    return float(np.exp(found.x))


def tempered(probabilities: FloatArray, temperature: FloatArray) -> FloatArray:
    """Return ``softmax(log p / T)``, one temperature per row."""
    logits = np.log(np.maximum(probabilities, FLOOR)) / np.reshape(temperature, (-1, 1))
    cooled: FloatArray = softmax(logits, axis=1)
    return cooled


def weights_of_rows(excess: FloatArray, levels: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weight of each member for each row, interpolated between levels.

    Parameters
    ----------
    excess : ndarray of shape (n_samples,)
        How much more rows miss than training rows do.
    levels : ndarray of shape (n_levels,)
        The excess at which weights were chosen; increasing.
    weights : ndarray of shape (n_levels, n_members)

    Returns
    -------
    ndarray of shape (n_samples, n_members)
    """
    columns = [np.interp(excess, levels, column) for column in weights.T]
    return np.stack(columns, axis=1)
