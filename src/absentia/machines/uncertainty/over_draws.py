"""The parts of an uncertainty by averages over draws, for any model that can predict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from absentia.beliefs.column_trials import column_trials, missing_cells
from absentia.beliefs.quasi_random import DrawPoints, map_draws, rows_by_pattern
from absentia.densities.missing_values import Unknowns
from absentia.engine.threads import bounded_slices
from absentia.machines.uncertainty.parts import Uncertainty, entropy
from absentia.tables import FloatArray, IntArray, Table

__all__ = ["Answer", "first_order_parts", "uncertainty_over_draws"]

#: From complete rows, and which row of the table each was made from, to answers (n, n_outputs)
#: and, None where not known, the model's own doubt: variances of numbers, or (n, 1) the entropies
#: that knowing the model exactly would leave.
Answer = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray | None]]
#: From rows with NaN, and which row of the table each was made from, to averaged answers.
Average = Callable[[Table, IntArray], FloatArray]
Unit = Literal["variance", "entropy"]

_NODES = 5


def uncertainty_over_draws(
    answer: Answer,
    unknowns: Unknowns,
    table: Table,
    points: DrawPoints,
    unit: Unit,
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
    unknowns : Unknowns
        What the missing values could be.
    table : Table of shape (n_samples, n_features)
    points : DrawPoints of ``unknowns.n_drawn`` columns
    unit : {"variance", "entropy"}
        Whether answers are numbers or probabilities.
    noise : float or array of shape (n_outputs,), default=0
        Variance of the target about the model, where known.
    by_column : bool, default=True
        Whether to compute the parts of single columns too, which takes about as many predictions
        for each missing value as the rest.
    n_jobs : int, optional

    Returns
    -------
    Uncertainty
        Of the user's columns that something is believed about, with a last axis for outputs, also
        where there is only one.
    """
    holes = unknowns.incomplete(table.array)
    plain, drawn = np.flatnonzero(~holes), np.flatnonzero(holes)
    pieces: list[tuple[FloatArray, ...]] = []
    if len(plain):
        values, variances = answer(table.array[plain], plain)
        pieces.append(_parts(values[:, None], _column(variances), unit))
    if len(drawn):
        drawn = drawn[rows_by_pattern(table[drawn])]
        incomplete = table[drawn]

        def parts_of(draws: FloatArray, rows: slice) -> tuple[FloatArray, ...]:
            n, m, _ = draws.shape
            complete = unknowns.completed(incomplete[rows], draws).reshape(n * m, -1)
            values, variances = answer(complete, np.repeat(drawn[rows], m))
            spread = None if variances is None else variances.reshape(n, m, -1)
            return _parts(values.reshape(n, m, -1), spread, unit)

        pieces += map_draws(parts_of, unknowns.believe, incomplete, points, n_jobs)
    order = np.argsort(np.concatenate([plain, drawn]))
    prediction, model, expected, missing = (
        np.concatenate([piece[k] for piece in pieces])[order] for k in range(4)
    )
    columns = unknowns.believed()
    shares = np.zeros((len(table), len(columns), missing.shape[1]))
    if by_column and len(drawn):
        few = points.first(max(2, len(points) // 4))

        def average(rows: Table, origin: IntArray) -> FloatArray:
            def mean_answer(draws: FloatArray, part: slice) -> FloatArray:
                n, m, _ = draws.shape
                complete = unknowns.completed(rows[part], draws).reshape(n * m, -1)
                values = answer(complete, np.repeat(origin[part], m))[0]
                means: FloatArray = values.reshape(n, m, -1).mean(axis=1)
                return means

            return np.concatenate(map_draws(mean_answer, unknowns.believe, rows, few, n_jobs))

        shares = first_order_parts(average, unknowns, table, missing, unit)
    elif not by_column:
        shares[missing_cells(table.array, columns)] = np.nan
    names = tuple(column.name for column in columns)
    if unit == "entropy":
        return Uncertainty.of_parts(
            prediction, model[:, 0], expected[:, 0], missing[:, 0], shares[:, :, 0], names, unit
        )
    expected = expected + noise
    return Uncertainty.of_parts(prediction, model, expected, missing, shares, names, unit)


def first_order_parts(
    average: Average, unknowns: Unknowns, table: Table, missing: FloatArray, unit: Unit
) -> FloatArray:
    """Return what each missing value alone would remove of the uncertainty, on average.

    ``var(E[f | o, x_j])`` over ``x_j`` given what was observed, or the mutual information of class
    and ``x_j``; the outer average is over the points of the belief about ``x_j``.

    Parameters
    ----------
    average : callable
        From rows with NaN to averaged answers, shape (n, n_outputs).
    unknowns : Unknowns
    table : Table of shape (n_samples, n_features)
    missing : ndarray of shape (n_samples, n_outputs)
        What all missing values together remove; the part of a value that is missing alone.
    unit : {"variance", "entropy"}

    Returns
    -------
    ndarray of shape (n_samples, n_columns, n_outputs)
        Of the user's columns that something is believed about.
    """
    columns = unknowns.believed()
    mask = missing_cells(table.array, columns)
    shares = np.zeros((*mask.shape, missing.shape[1]))
    alone = mask.sum(axis=1) == 1
    shares[alone] = mask[alone][:, :, None] * missing[alone][:, None, :]
    several = np.flatnonzero(mask.sum(axis=1) > 1)
    d = table.n_features
    for rows in bounded_slices(len(several), _NODES * d * d):
        chosen = several[rows]
        some = table[chosen]
        before = unknowns.before_limits(some)
        trials = column_trials(unknowns.believe(some), some, columns, mask[chosen], _NODES, before)
        answers = average(trials.table, chosen[trials.origin])
        mean = trials.expected(answers)
        if unit == "variance":
            deviations = answers - np.repeat(mean, trials.counts, axis=0)
            part = trials.expected(deviations**2)
        else:
            part = (entropy(mean) - trials.expected(entropy(answers)))[:, None]
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


def _column(variances: FloatArray | None) -> FloatArray | None:
    return None if variances is None else variances[:, None]
