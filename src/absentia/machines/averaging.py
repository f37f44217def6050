"""Averages over draws of missing values, and the uncertainty that they leave.

Every model of the library averages over missing values through :func:`over_draws`, and every
uncertainty comes from :func:`uncertainty_over_draws` or, for kernel machines with closed forms,
from :func:`machine_uncertainty`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from absentia.beliefs import Beliefs
from absentia.beliefs.column_trials import missing_cells, trapezoidal
from absentia.beliefs.draws import DrawPoints, map_draws, rows_by_pattern
from absentia.densities.missing_values import MissingValues
from absentia.engine.threads import bounded_slices
from absentia.machines.uncertainty import Uncertainty, Unit, entropy
from absentia.tables import BoolArray, FloatArray, IntArray, Table, TableLike, open_known, plan_of

if TYPE_CHECKING:
    from absentia.machines.base import KernelMachine

#: From complete rows, and the row of the table that each was made from, to predictions
#: (n, n_outputs) and the model's own uncertainty, None where unknown: variances of numbers, or
#: the entropies (n, 1) that remain when the model is known exactly.
Answer = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray | None]]

#: Rules agree where they differ by this share of the largest part of a row; the last of four
#: rules, of step 1/8 deviations, is taken as it is.
_TOLERANCE, LEVELS = 0.02, 4


def over_draws(
    function: Callable[[FloatArray, IntArray], tuple[FloatArray, ...]],
    unknowns: MissingValues,
    table: Table,
    points: DrawPoints,
    n_jobs: int | None = None,
) -> tuple[FloatArray, ...]:
    """Apply a function to draws of the rows of a table, in bounded memory.

    The function takes complete rows, shape (n_some, n_draws, n_features), and the rows of the table
    that they are draws of, shape (n_some,), to arrays with one entry per row; these are returned in
    the order of the table. Rows that miss nothing come with a single draw, themselves. ``n_jobs``
    threads share the chunks of draws; None is one, because the function may use threads itself.
    """
    incomplete = unknowns.incomplete(table.array)
    whole, drawn = np.flatnonzero(~incomplete), np.flatnonzero(incomplete)
    parts = []
    if len(whole):
        parts.append(function(table.array[whole][:, None], whole))
    if len(drawn):
        drawn = drawn[rows_by_pattern(table[drawn])]
        some = table[drawn]

        def of_chunk(draws: FloatArray, rows: slice) -> tuple[FloatArray, ...]:
            return function(unknowns.completed(some[rows], draws), drawn[rows])

        parts += map_draws(of_chunk, unknowns.believe, some, points, n_jobs)
    order = np.argsort(np.concatenate([whole, drawn]))
    return tuple(np.concatenate(part)[order] for part in zip(*parts, strict=True))


def mean_over_draws(
    predict: Callable[[FloatArray, IntArray], FloatArray],
    unknowns: MissingValues,
    table: Table,
    points: DrawPoints,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return ``E[f(x) | observed values]`` of each row, shape (n_samples, n_outputs).

    ``predict`` takes complete rows and the row of the table that each is a draw of; the other
    parameters are those of :func:`over_draws`.
    """

    def mean(complete: FloatArray, rows: IntArray) -> tuple[FloatArray]:
        n, m, d = complete.shape
        values = predict(complete.reshape(n * m, d), np.repeat(rows, m))
        return (values.reshape(n, m, -1).mean(axis=1),)

    return over_draws(mean, unknowns, table, points, n_jobs)[0]


def uncertainty_over_draws(
    answer: Answer,
    unknowns: MissingValues,
    table: Table,
    points: DrawPoints,
    model: BaseEstimator,
    *,
    noise: FloatArray | float | None = 0.0,
    by_column: bool = True,
    n_jobs: int | None = None,
    one_output: bool = False,
) -> Uncertainty:
    """Return the parts of the uncertainty of any model's predictions.

    ``answer`` is the model for complete rows; the parts are entropies where ``model`` is a
    classifier, variances for others. ``noise``, of shape (n_outputs,), is the variance of the
    target about the model, where known; None if ``answer`` returns it. ``by_column`` takes about as
    many predictions for each missing value as the rest. With ``one_output`` numbers have no axis
    for outputs.
    """
    unit: Unit = "entropy" if is_classifier(model) else "variance"

    def parts(complete: FloatArray, rows: IntArray) -> tuple[FloatArray, ...]:
        n, m, d = complete.shape
        values, spread = answer(complete.reshape(n * m, d), np.repeat(rows, m))
        values = values.reshape(n, m, -1)
        own = None if spread is None else spread.reshape(n, m, -1).mean(axis=1)
        mean = values.mean(axis=1)
        if unit == "entropy":
            expected = entropy(values).mean(axis=1)[:, None]
            left = expected if own is None else np.minimum(own, expected)
            return mean, expected - left, left, entropy(mean)[:, None] - expected
        own = np.zeros_like(mean) if own is None else own
        if noise is None:
            return mean, np.zeros_like(mean), own, values.var(axis=1)
        return mean, own, np.zeros_like(mean) + noise, values.var(axis=1)

    def average(rows: Table, origin: IntArray) -> FloatArray:
        few = points.first(max(2, len(points) // 4))
        return mean_over_draws(
            lambda complete, at: answer(complete, origin[at])[0], unknowns, rows, few, n_jobs
        )

    found = over_draws(parts, unknowns, table, points, n_jobs)
    return _added_up(found, average if by_column else None, unknowns, table, model, one_output)


def machine_uncertainty(
    machine: KernelMachine,
    X: TableLike,
    *,
    n_draws: int = 64,
    by_column: bool = True,
    random_state: int = 0,
) -> Uncertainty:
    """Return the parts of the uncertainty of a fitted kernel machine.

    A machine may offer

    - ``_belief_moments(beliefs)``: prediction, model variance, noise and variance due to missing
      values in closed form, or None where there is none;
    - ``_with_own_doubt(beliefs)``: its predictions and its own uncertainty, as in
      :data:`Answer`, and ``_noise_variance``.

    All others are averaged over draws of ``predict_proba`` or ``predict``.
    """
    table, unknowns = _rows_of(machine, X)
    method = "predict_proba" if is_classifier(machine) else "predict"
    if method == "predict_proba":
        require_probabilities(machine)
    predict: Any = getattr(machine, method)
    one_output = method == "predict" and np.ndim(predict(unknowns.believe(table[:1]))) == 1

    def predicted(rows: Table) -> FloatArray:
        return np.reshape(predict(unknowns.believe(rows)), (len(rows), -1))

    if hasattr(machine, "_belief_moments"):
        moments = machine._belief_moments(X if isinstance(X, Beliefs) else unknowns.believe(table))
        if moments is not None:
            # The prediction is the average of the learned function, without draws.
            average = (lambda rows, _: predicted(rows)) if by_column else None
            return _added_up(moments, average, unknowns, table, machine, one_output)

    def answer(rows: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray | None]:
        complete = Table(rows, columns_checked=True)
        if hasattr(machine, "_with_own_doubt"):
            return machine._with_own_doubt(unknowns.believe(complete))
        return predicted(complete), None

    points = DrawPoints.sobol(n_draws, unknowns.n_drawn, random_state)
    return uncertainty_over_draws(
        answer, unknowns, table, points, machine,
        noise=getattr(machine, "_noise_variance", 0.0), by_column=by_column, one_output=one_output,
    )  # fmt: skip


def require_probabilities(model: BaseEstimator) -> None:
    """Raise ValueError with a remedy for a classifier without probabilities."""
    if not hasattr(model, "predict_proba"):
        name = type(getattr(model, "estimator", model)).__name__
        raise ValueError(
            f"{name} has no predict_proba, so that its uncertainty is unknown. Wrap it in "
            f"sklearn.calibration.CalibratedClassifierCV({name}(...), method='sigmoid'); if it is "
            "fitted already, around FrozenEstimator(model) and with rows that it was not trained "
            "on."
        )


def _rows_of(machine: KernelMachine, X: TableLike) -> tuple[Table, MissingValues]:
    """Return rows as a table, and what a machine believes about their missing values."""
    density = machine.density_
    if density is None or isinstance(X, Beliefs):
        beliefs = machine._believe(X)
        beliefs.require_numbers("An uncertainty of beliefs")
        names = [f"x{j}" for j in range(beliefs.n_features)]
        return MissingValues.of_beliefs(beliefs, names)
    table = open_known(X, machine)
    assert isinstance(table, Table)
    return table, MissingValues.of(density, table.labels, table.n_features, plan_of(machine))


def _added_up(
    parts: tuple[FloatArray, ...],
    average: Callable[[Table, IntArray], FloatArray] | None,
    unknowns: MissingValues,
    table: Table,
    model: BaseEstimator,
    one_output: bool,
) -> Uncertainty:
    """Return an uncertainty from prediction, model, noise and missing part, each (n, n_outputs).

    ``average`` returns averaged predictions of rows with NaN, and of which row each was made;
    without it the parts of single columns are NaN.
    """
    unit: Unit = "entropy" if is_classifier(model) else "variance"
    columns = unknowns.believed()
    # Rounding may leave something below zero.
    own, noise, missing = (np.maximum(part, 0.0) for part in parts[1:])
    if average is None:
        cells = missing_cells(table.array, columns)[:, :, None]
        shares = np.where(cells, np.nan, np.zeros(missing.shape[1]))
    else:
        shares = _first_order_parts(average, unknowns, table, parts[0], missing, unit)
        # First-order parts cannot exceed the whole: the excess is an error of draws or of a rule.
        shares = np.minimum(np.maximum(shares, 0.0), missing[:, None])
    prediction = parts[0][:, 0] if one_output else parts[0]
    if one_output or unit == "entropy":
        own, noise, missing, shares = own[:, 0], noise[:, 0], missing[:, 0], shares[:, :, 0]
    names = tuple(column.name for column in columns)
    total = own + noise + missing
    known = getattr(model, "classes_", ()) if unit == "entropy" else ()
    classes = tuple(str(label) for label in known)
    return Uncertainty(prediction, total, own, noise, missing, shares, names, unit, classes)


def _first_order_parts(
    average: Callable[[Table, IntArray], FloatArray],
    unknowns: MissingValues,
    table: Table,
    prediction: FloatArray,
    missing: FloatArray,
    unit: Unit,
) -> FloatArray:
    """Return the part that each missing value alone would remove, (n, n_columns, n_outputs).

    ``var(E[f | o, x_j])`` over ``x_j`` given what was observed, or the mutual information of class
    and ``x_j``. ``missing`` is the part of all missing values together, and that of a value that is
    missing alone.
    """
    believed = np.array([column.believed for column in unknowns.columns])
    mask = unknowns.missing(table.array)
    several = mask.sum(axis=1) > 1
    shares = mask[:, :, None] * missing[:, None]

    def moments(rows: Table, origin: IntArray) -> FloatArray:
        answers = average(rows, origin)
        if unit == "entropy":
            return np.column_stack([answers, entropy(answers)])
        deviations = answers - prediction[origin]
        return np.column_stack([deviations, deviations**2])

    def part(expected: FloatArray, rows: IntArray) -> FloatArray:
        if unit == "entropy":
            return (entropy(expected[:, :-1]) - expected[:, -1])[:, None]
        mean, square = np.split(expected, 2, axis=1)
        return square - mean**2

    cells = mask & several[:, None]
    shares[cells] = over_values(moments, part, unknowns, table, cells, missing)[0]
    return shares[:, believed]


def over_values(
    moments: Callable[[Table, IntArray], FloatArray],
    part: Callable[[FloatArray, IntArray], FloatArray],
    unknowns: MissingValues,
    table: Table,
    cells: BoolArray,
    scale: FloatArray,
    levels: int = LEVELS,
) -> tuple[FloatArray, FloatArray]:
    """Return functions of averages over what each missing cell could be, and the averages.

    ``moments`` returns the numbers to average, (n_trials, n_moments), for rows with one cell filled
    in and the row of the table that each was made from. ``part`` turns averages, and the row of
    each, into what is wanted, (n_cells, n_parts). Trapezoidal rules are refined, cell by cell,
    until two of them agree to 2 % of the largest part in the row or of ``scale``, (n, n_parts).
    """
    row, column = np.nonzero(cells)
    numbers = np.array([c.options is None for c in unknowns.columns])
    unsettled = np.arange(len(row))
    for level in range(levels):
        rule = trapezoidal(level)
        tried = np.zeros_like(cells)
        tried[row[unsettled], column[unsettled]] = True
        found = []
        for some in bounded_slices(len(table), len(rule[0]) * table.n_features**2):
            trials = unknowns.trials(table[some], tried[some], rule)
            if len(trials.row):
                found.append(trials.expected(moments(trials.table, some.start + trials.origin)))
        if not found:
            break
        if level == 0:
            expected = np.concatenate(found)
            parts = part(expected, row)
            # The average over categories is exact.
            unsettled = unsettled[numbers[column]]
            continue
        expected[unsettled] = (expected[unsettled] + np.concatenate(found)) / 2
        before, parts[unsettled] = parts[unsettled], part(expected[unsettled], row[unsettled])
        largest = scale.copy()
        with np.errstate(invalid="ignore"):  # infinite parts are equal or hopeless
            np.fmax.at(largest, row, np.abs(parts))
            change = np.abs(parts[unsettled] - before)
            unsettled = unsettled[(change > _TOLERANCE * largest[row[unsettled]]).any(axis=1)]
    if not len(row):
        return (np.empty((0, scale.shape[1])),) * 2
    return parts, expected
