"""Measure, condition, repeat: acquisition step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.decisions.acquisition import Costs, LossName, measure_next, read_costs
from absentia.decisions.model_answers import Loss, Questions
from absentia.tables import FloatArray, IntArray, TableLike, as_table, column_names, table_as

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
    table : ndarray of shape (n_samples, n_features)
        The rows with all that was measured.
    """

    columns: tuple[str, ...]
    measured: IntArray
    gain: FloatArray
    spent: FloatArray
    answers: FloatArray
    table: FloatArray

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
                "value": self.table[row, column],
                "gain": self.gain[step, row],
                "spent": self.spent[step + 1, row],
            }
        )


class AcquisitionPolicy:
    """Measure the most worthwhile value of each row, again and again, until nothing pays.

    Parameters
    ----------
    model : fitted classifier or regressor
    costs, loss, lookahead, among, stop_below, density
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
        model: Any,
        *,
        costs: Costs = None,
        loss: LossName | Loss | None = None,
        lookahead: int = 1,
        among: Sequence[Any] | None = None,
        budget: float | None = None,
        stop_below: float = 0.0,
        density: Any = None,
        max_steps: int | None = None,
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
        table = as_table(X).copy()
        n, d = table.shape
        names = tuple(column_names(X, d))
        costs = read_costs(self.costs, names)
        ask = Questions.to(self.model, X)
        truth = None if callable(oracle) else _true_values(oracle, table)
        hopeless = np.zeros((n, d), dtype=bool)  # requested and not available
        if truth is not None:
            hopeless |= np.isnan(truth)
        spent, answers = [np.zeros(n)], [ask(table)]
        measured: list[IntArray] = []
        gains: list[FloatArray] = []
        active = np.array(np.isnan(table).any(axis=1))
        most = d if self.max_steps is None else self.max_steps
        while active.any() and len(measured) < most:
            rows = np.flatnonzero(active)
            column, gain = np.full(n, -1), np.zeros(n)
            column[rows], gain[rows] = self._choose(
                X, table[rows], hopeless[rows], spent[-1][rows], costs
            )
            active = column >= 0
            for row in np.flatnonzero(active):
                j = int(column[row])
                value = oracle(int(row), j) if truth is None else truth[row, j]
                table[row, j] = value
                if np.isnan(value):
                    hopeless[row, j] = True
                    column[row], gain[row] = -1, 0.0
            if (column < 0).all():
                continue  # all have stopped, or ask for something else now
            measured.append(column)
            gains.append(gain)
            spent.append(spent[-1] + np.where(column >= 0, costs[column], 0.0))
            answers.append(ask(table))
        return AcquisitionTrace(
            names,
            np.array(measured, dtype=np.intp).reshape(-1, n),
            np.array(gains, dtype=np.float64).reshape(-1, n),
            np.array(spent),
            np.array(answers),
            table,
        )

    def _choose(
        self, X: TableLike, table: FloatArray, hopeless: Any, spent: FloatArray, costs: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the column to measure in each row, -1 to stop, and its expected gain."""
        found = measure_next(
            self.model,
            _like(X, table),
            costs=costs,
            loss=self.loss,
            lookahead=self.lookahead,
            among=self.among,
            budget=self.budget,
            stop_below=self.stop_below,
            density=self.density,
        )
        worth = np.where(np.isnan(found.gain) | hopeless, -np.inf, found.gain_per_cost)
        if self.budget is not None:
            worth[costs[None, :] + spent[:, None] > self.budget] = -np.inf
        column = worth.argmax(axis=1)
        rows = np.arange(len(table))
        pays = worth[rows, column] > self.stop_below
        return np.where(pays, column, -1), np.where(pays, found.gain[rows, column], 0.0)


def _true_values(oracle: Any, table: FloatArray) -> FloatArray:
    truth = as_table(oracle)
    if truth.shape != table.shape:
        raise ValueError(
            f"The oracle must have the shape of X, {table.shape}, found {truth.shape}: one true "
            "value per cell, NaN where a value cannot be measured."
        )
    return truth


def _like(X: Any, table: FloatArray) -> Any:
    return table_as(X[: len(table)], table) if hasattr(X, "columns") else table
