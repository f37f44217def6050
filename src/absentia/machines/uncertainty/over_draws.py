"""The parts of an uncertainty by averages over draws, for any model that can predict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from absentia.beliefs import Beliefs
from absentia.beliefs.column_nodes import column_trials
from absentia.beliefs.draws import DrawPoints, map_draws, rows_by_pattern
from absentia.engine.slices import bounded_slices
from absentia.machines.uncertainty.parts import Uncertainty, entropy
from absentia.tables import FloatArray

__all__ = ["Answer", "first_order_parts", "uncertainty_over_draws"]

#: From complete rows to answers (n, n_outputs) and, None where not known, the model's own doubt:
#: variances of numbers, or (n, 1) the entropies that knowing the model exactly would leave.
Answer = Callable[[FloatArray], tuple[FloatArray, FloatArray | None]]
Unit = Literal["variance", "entropy"]

_NODES = 5


def uncertainty_over_draws(
    answer: Answer,
    believe: Callable[[FloatArray], Beliefs],
    table: FloatArray,
    points: DrawPoints,
    unit: Unit,
    columns: tuple[str, ...],
    *,
    noise: FloatArray | float = 0.0,
    by_column: bool = True,
    n_jobs: int | None = None,
) -> Uncertainty:
    """Return the parts of the uncertainty of a model's answers.

    Parameters
    ----------
    answer : callable
        The model, for complete rows.
    believe : callable
        From rows with NaN to their beliefs.
    table : ndarray of shape (n_samples, n_features)
    points : DrawPoints
    unit : {"variance", "entropy"}
        Whether answers are numbers or probabilities.
    columns : tuple of str
    noise : float or array of shape (n_outputs,), default=0
        Variance of the target about the model, where known.
    by_column : bool, default=True
        Whether to compute the parts of single columns too, which takes about as many predictions
        for each missing value as the rest.
    n_jobs : int, optional

    Returns
    -------
    Uncertainty
        With a last axis for outputs, also where there is only one.
    """
    holes = np.isnan(table).any(axis=1)
    plain, drawn = np.flatnonzero(~holes), np.flatnonzero(holes)
    pieces: list[tuple[FloatArray, ...]] = []
    if len(plain):
        values, variances = answer(table[plain])
        pieces.append(_parts(values[:, None], _column(variances), unit))
    if len(drawn):
        drawn = drawn[rows_by_pattern(table[drawn])]

        def parts_of(draws: FloatArray, _: slice) -> tuple[FloatArray, ...]:
            n, m, d = draws.shape
            values, variances = answer(draws.reshape(n * m, d))
            spread = None if variances is None else variances.reshape(n, m, -1)
            return _parts(values.reshape(n, m, -1), spread, unit)

        pieces += map_draws(parts_of, believe, table[drawn], points, n_jobs)
    order = np.argsort(np.concatenate([plain, drawn]))
    prediction, model, expected, missing = (
        np.concatenate([piece[k] for piece in pieces])[order] for k in range(4)
    )
    shares = np.zeros((len(table), table.shape[1], missing.shape[1]))
    if by_column and len(drawn):
        few = points.first(max(2, len(points) // 4))
        shares = first_order_parts(
            lambda rows: np.concatenate(
                map_draws(lambda draws, _: _mean_answer(answer, draws), believe, rows, few, n_jobs)
            ),
            believe,
            table,
            missing,
            unit,
        )
    elif not by_column:
        shares[np.isnan(table)] = np.nan
    if unit == "entropy":
        return Uncertainty.of_parts(
            prediction, model[:, 0], expected[:, 0], missing[:, 0], shares[:, :, 0], columns, unit
        )
    expected = expected + noise
    return Uncertainty.of_parts(prediction, model, expected, missing, shares, columns, unit)


def first_order_parts(
    average: Callable[[FloatArray], FloatArray],
    believe: Callable[[FloatArray], Beliefs],
    table: FloatArray,
    missing: FloatArray,
    unit: Unit,
) -> FloatArray:
    """Return what each missing value alone would remove of the uncertainty, on average.

    ``var(E[f | o, x_j])`` over ``x_j`` given what was observed, or the mutual information of class
    and ``x_j``; the outer average is a quadrature over the belief about ``x_j``.

    Parameters
    ----------
    average : callable
        From rows with NaN to averaged answers, shape (n, n_outputs).
    believe : callable
    table : ndarray of shape (n_samples, n_features)
    missing : ndarray of shape (n_samples, n_outputs)
        What all missing values together remove; the part of a value that is missing alone.
    unit : {"variance", "entropy"}

    Returns
    -------
    ndarray of shape (n_samples, n_features, n_outputs)
    """
    mask = np.isnan(table)
    n, d = table.shape
    shares = np.zeros((n, d, missing.shape[1]))
    alone = mask.sum(axis=1) == 1
    shares[alone] = mask[alone][:, :, None] * missing[alone][:, None, :]
    several = np.flatnonzero(mask.sum(axis=1) > 1)
    for rows in bounded_slices(len(several), _NODES * d * d):
        chosen = several[rows]
        trials = column_trials(believe(table[chosen]), table[chosen], _NODES)
        answers = average(trials.table).reshape(*trials.weights.shape, -1)
        mean = np.einsum("vk,vko->vo", trials.weights, answers)
        if unit == "variance":
            squares = (answers - mean[:, None]) ** 2
            part = np.einsum("vk,vko->vo", trials.weights, squares)
        else:
            expected = np.einsum("vk,vk->v", trials.weights, entropy(answers))
            part = (entropy(mean) - expected)[:, None]
        shares[chosen[trials.row], trials.column] = part
    return shares


def _parts(values: FloatArray, variances: FloatArray | None, unit: Unit) -> tuple[FloatArray, ...]:
    """Return prediction, model, expected noise and missing part from answers (n, m, k)."""
    mean = values.mean(axis=1)
    if unit == "entropy":
        expected = entropy(values).mean(axis=1)[:, None]
        noise = expected if variances is None else np.minimum(variances.mean(axis=1), expected)
        return mean, expected - noise, noise, entropy(mean)[:, None] - expected
    model = np.zeros_like(mean) if variances is None else variances.mean(axis=1)
    return mean, model, np.zeros_like(mean), values.var(axis=1)


def _mean_answer(answer: Answer, draws: FloatArray) -> FloatArray:
    n, m, d = draws.shape
    return answer(draws.reshape(n * m, d))[0].reshape(n, m, -1).mean(axis=1)


def _column(variances: FloatArray | None) -> FloatArray | None:
    return None if variances is None else variances[:, None]
