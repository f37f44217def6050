"""Measure, condition, repeat: acquisition step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.decisions.acquisition import Lookahead, LossName, measure_next
from absentia.decisions.measurements import Costs, read_costs
from absentia.decisions.trial_model import Loss, TrialModel, read_rows
from absentia.predictions.answers import find_density
from absentia.tables import (
    BoolArray,
    FloatArray,
    IntArray,
    Table,
    TableLike,
    as_table,
    is_absent,
    table_as,
)
from absentia.tables.reading import as_frame, is_frame, with_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AcquisitionPolicy", "AcquisitionTrace"]


@dataclass(frozen=True, eq=False)
class AcquisitionTrace:
    """What was measured in which order, and what the model answered after each step.

    Attributes
    ----------
    columns : tuple of str
    measured : ndarray of int, shape (n_steps, n_samples)
        The column that each row had measured in each step, -1 where it had stopped.
    gain : ndarray of shape (n_steps, n_samples)
        What was expected of it; zero after stopping.
    spent : ndarray of shape (n_steps + 1, n_samples)
        The cost so far, before the first step and after each.
    answers : ndarray of shape (n_steps + 1, n_samples, n_classes) or (n_steps + 1, n_samples, 2)
        Probabilities, or the mean and variance of a regressor, before the first step and after
        each.
    table : ndarray of shape (n_samples, n_features), or a frame for rows with words
        The rows with all that was measured.
    """

    columns: tuple[str, ...]
    measured: IntArray
    gain: FloatArray
    spent: FloatArray
    answers: FloatArray
    table: Any

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.measured)

    def __repr__(self) -> str:
        n_steps, n = self.measured.shape
        return (
            f"AcquisitionTrace of {n} row{'s' * (n != 1)}: {(self.measured >= 0).sum()} values "
            f"measured in {n_steps} step{'s' * (n_steps != 1)} for {self.spent[-1].sum():g}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame, one line per measurement.

        Its columns are ``row``, ``step``, ``column``, ``value``, ``gain`` and ``spent``.
        """
        import pandas as pd

        row, step = np.nonzero(self.measured.T >= 0)
        column = self.measured[step, row]
        return pd.DataFrame(
            {
                "row": row,
                "step": step + 1,
                "column": [self.columns[j] for j in column],
                "value": _cells(self.table, row, column),
                "gain": self.gain[step, row],
                "spent": self.spent[step + 1, row],
            }
        )


def _cells(table: Any, row: IntArray, column: IntArray) -> Any:
    """Return some cells of an array or of a frame."""
    values = table if isinstance(table, np.ndarray) else as_frame(table).to_numpy(dtype=object)
    return values[row, column]


class AcquisitionPolicy:
    """Measure the most worthwhile missing value of each row, one by one, until none is worth it.

    Parameters
    ----------
    model : fitted classifier or regressor
    costs, loss, lookahead, among, stop_below, density, worth, worth_share, n_draws
        As in :func:`~absentia.measure_next`.
    budget : float, optional
        What may be spent on each row in total.
    max_steps : int, optional
        The most values to measure in a row; as many as it misses by default.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import AcquisitionPolicy, LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] + 0.3 * X[:, 1] > 0
    >>> machine = LogisticRegression().fit(X[:200], y[:200])
    >>> policy = AcquisitionPolicy(machine, max_steps=2)
    >>> trace = policy.run(np.full((100, 3), np.nan), X[200:])
    >>> np.bincount(trace.measured[0])
    array([100])
    >>> [round(float((p.argmax(axis=1) == y[200:]).mean()), 1) for p in trace.answers]
    [0.6, 0.9, 1.0]
    """

    def __init__(
        self,
        model: BaseEstimator,
        *,
        costs: Costs = None,
        loss: LossName | Loss | None = None,
        lookahead: Lookahead = 1,
        among: Sequence[Any] | None = None,
        budget: float | None = None,
        stop_below: float = 0.0,
        density: BaseEstimator | None = None,
        max_steps: int | None = None,
        worth: Costs = None,
        worth_share: float = 0.5,
        n_draws: int | None = None,
    ):
        self.model = model
        self.costs = costs
        self.loss = loss
        self.lookahead = lookahead
        self.among = among
        self.budget = budget
        self.stop_below = stop_below
        self.density = density
        self.max_steps = max_steps
        self.worth = worth
        self.worth_share = worth_share
        self.n_draws = n_draws

    def run(self, X: TableLike, oracle: Any) -> AcquisitionTrace:
        """Measure values of rows one by one, and record what the model answers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            What is known at first, NaN elsewhere.
        oracle : array-like of shape (n_samples, n_features), or callable
            The true values; NaN for a value that cannot be measured. A callable takes a row and
            a column (integers) and returns the value, when it is asked for.

        Returns
        -------
        AcquisitionTrace
        """
        measuring = _Measuring.of(self.model, X, oracle, self.density)
        n, d = measuring.missing.shape
        costs = read_costs(self.costs, measuring.names)
        spent, answers = [np.zeros(n)], [measuring.answers()]
        measured: list[IntArray] = []
        gains: list[FloatArray] = []
        active = measuring.missing.any(axis=1)
        most = d if self.max_steps is None else self.max_steps
        while active.any() and len(measured) < most:
            rows = np.flatnonzero(active)
            column, gain = np.full(n, -1), np.zeros(n)
            column[rows], gain[rows] = self._choose(measuring, rows, spent[-1][rows], costs)
            active = column >= 0
            failed = measuring.measure(column)
            column[failed], gain[failed] = -1, 0.0
            if (column < 0).all():
                continue  # all have stopped, or ask for something else now
            measured.append(column)
            gains.append(gain)
            spent.append(spent[-1] + np.where(column >= 0, costs[column], 0.0))
            answers.append(measuring.answers())
        return AcquisitionTrace(
            measuring.names,
            np.array(measured, dtype=np.intp).reshape(-1, n),
            np.array(gains, dtype=np.float64).reshape(-1, n),
            np.array(spent),
            np.array(answers),
            measuring.table(),
        )

    def _choose(
        self, measuring: _Measuring, rows: IntArray, spent: FloatArray, costs: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the column to measure in each row, -1 to stop, and its expected gain."""
        found = measure_next(
            self.model,
            measuring.rows(rows),
            costs=costs,
            loss=self.loss,
            lookahead=self.lookahead,
            among=self.among,
            budget=self.budget,
            stop_below=self.stop_below,
            density=self.density,
            worth=self.worth,
            worth_share=self.worth_share,
            n_draws=self.n_draws,
        )
        worth = np.where(
            np.isnan(found.gain) | measuring.hopeless[rows], -np.inf, found.gain_per_cost
        )
        if self.budget is not None:
            worth[costs[None, :] + spent[:, None] > self.budget] = -np.inf
        column = worth.argmax(axis=1)
        at = np.arange(len(rows))
        pays = worth[at, column] > self.stop_below
        return np.where(pays, column, -1), np.where(pays, found.gain[at, column], 0.0)


@dataclass(eq=False)
class _Measuring:
    """Rows while their values come in, as an array of numbers or as a frame with words.

    Attributes
    ----------
    names : tuple of str
        The user's columns.
    current : ndarray or frame
        What is known.
    truth : ndarray of shape (n_samples, n_features), or callable
        Where values come from.
    missing : ndarray of bool, shape (n_samples, n_features)
        Which cells are missing at first.
    hopeless : ndarray of bool, shape (n_samples, n_features)
        Which cells cannot be had.
    """

    model: BaseEstimator
    names: tuple[str, ...]
    given: Any
    current: Any
    truth: Any
    missing: BoolArray
    hopeless: BoolArray
    density: BaseEstimator

    @classmethod
    def of(
        cls, model: BaseEstimator, X: TableLike, oracle: Any, density: BaseEstimator
    ) -> _Measuring:
        density = getattr(density, "estimator", density) or find_density(model)
        opened, unknowns = read_rows(model, X, density)
        table = opened if isinstance(opened, Table) else opened.table
        names = tuple(column.name for column in unknowns.columns)
        missing = unknowns.missing(table.array)
        shape = missing.shape
        worded = not isinstance(opened, Table)
        truth = oracle
        hopeless = np.zeros(shape, dtype=np.bool_)
        if not callable(oracle):
            truth = as_frame(oracle).to_numpy(dtype=object) if worded else as_table(oracle)
            if truth.shape != shape:
                raise ValueError(
                    f"The oracle must have the shape of X, {shape}, found {truth.shape}: one true "
                    "value per cell, NaN where a value cannot be measured."
                )
            hopeless |= _absent(truth)
        current = X if worded else table.array.copy()
        return cls(model, names, X, current, truth, missing, hopeless, density)

    def rows(self, rows: IntArray) -> np.ndarray | pd.DataFrame:
        """Return some rows as they are known now, in the kind of table that the user gave."""
        if not isinstance(self.current, np.ndarray):
            polars = type(self.current).__module__.startswith("polars")
            return self.current[rows] if polars else self.current.iloc[rows]
        if is_frame(self.given):
            return table_as(self.given[: len(rows)], self.current[rows])
        return self.current[rows]

    def answers(self) -> FloatArray:
        """Return what the model answers now."""
        rows = self.rows(np.arange(len(self.missing)))
        opened, _ = read_rows(self.model, rows, self.density)
        table = opened if isinstance(opened, Table) else opened.table
        return TrialModel.of(self.model, rows, opened)(table, np.arange(len(table)))

    def measure(self, column: IntArray) -> IntArray:
        """Measure a column of each row (-1 for none); return the rows where there was no value."""
        failed = []
        filled = np.zeros(self.missing.shape, dtype=np.bool_)
        values = np.full(self.missing.shape, None, dtype=object)
        for row in np.flatnonzero(column >= 0):
            j = int(column[row])
            asked = callable(self.truth)
            value = self.truth(int(row), j) if asked else self.truth[row, j]
            if _absent(np.array([value], dtype=object))[0]:
                self.hopeless[row, j] = True
                failed.append(row)
            else:
                filled[row, j], values[row, j] = True, value
        if isinstance(self.current, np.ndarray):
            self.current[filled] = values[filled].astype(np.float64)
        else:
            self.current = with_cells(self.current, values, filled)
        return np.array(failed, dtype=np.intp)

    def table(self) -> np.ndarray | pd.DataFrame:
        """Return the rows with all that was measured."""
        return self.current


def _absent(values: np.ndarray) -> BoolArray:
    """Return which values of an array, of numbers or of objects, are missing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    flat = [is_absent(value) or value != value for value in values.ravel()]  # NaN is not NaN
    return np.array(flat, dtype=np.bool_).reshape(values.shape)
