"""Sequential acquisition: measure the best value, condition on it, repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.decisions.acquisition import Lookahead, LossName, measure_next
from absentia.decisions.measurements import Costs, read_costs
from absentia.decisions.trial_model import Loss, TrialModel, absent_cells, cells_of, read_rows
from absentia.predictions.wrapped_model import take_rows
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike, as_table, table_as
from absentia.tables.frames import with_cells
from absentia.tables.phrases import counted
from absentia.tables.reading import as_frame, is_frame, native_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class AcquisitionTrace:
    """The values that were measured, and the predictions after each step.

    Attributes
    ----------
    columns : tuple of str
    measured : ndarray of int, shape (n_steps, n_samples)
        The column that each row had measured in each step, -1 where it had stopped.
    gain : ndarray of shape (n_steps, n_samples)
        Its expected gain; zero after stopping.
    spent : ndarray of shape (n_steps + 1, n_samples)
        The cost so far, before the first step and after each.
    answers : ndarray of shape (n_steps + 1, n_samples, n_classes) or (n_steps + 1, n_samples, 2)
        Probabilities, or the mean and variance of a regressor, before the first step and after
        each.
    table : ndarray of shape (n_samples, n_features), or a frame for rows with words
        The rows with all measured values.
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
            f"AcquisitionTrace of {counted(n, 'row')}: {(self.measured >= 0).sum()} values "
            f"measured in {counted(n_steps, 'step')} for {self.spent[-1].sum():g}"
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
                "value": cells_of(self.table)[row, column],
                "gain": self.gain[step, row],
                "spent": self.spent[step + 1, row],
            }
        )


@dataclass(eq=False, repr=False)
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

    model: BaseEstimator
    _: KW_ONLY
    costs: Costs = None
    loss: LossName | Loss | None = None
    lookahead: Lookahead = 1
    among: Sequence[Any] | None = None
    budget: float | None = None
    stop_below: float = 0.0
    density: BaseEstimator | None = None
    max_steps: int | None = None
    worth: Costs = None
    worth_share: float = 0.5
    n_draws: int | None = None

    def run(self, X: TableLike, oracle: Any) -> AcquisitionTrace:
        """Measure values of rows one by one, and record the predictions of the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows before the first measurement, NaN where a value is missing.
        oracle : array-like of shape (n_samples, n_features), or callable
            The true values; NaN for a value that cannot be measured. A callable takes a row and
            a column (integers) and returns the value, when it is measured.

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
                continue  # all rows have stopped, or choose another column now
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
            measuring.current,
        )

    def _choose(
        self, measuring: _Measuring, rows: IntArray, spent: FloatArray, costs: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return the column to measure in each row, -1 to stop, and its expected gain."""
        shared = {f.name: getattr(self, f.name) for f in fields(self)}
        del shared["model"], shared["max_steps"]
        found = measure_next(self.model, measuring.rows(rows), **shared | {"costs": costs})
        beyond = measuring.hopeless[rows]
        if self.budget is not None:
            beyond |= costs + spent[:, None] > self.budget
        gain = np.where(beyond, np.nan, found.gain)
        column = replace(found, gain=gain).best_column
        return column, np.where(column >= 0, gain[np.arange(len(rows)), column], 0.0)


@dataclass(eq=False)
class _Measuring:
    """Rows while their values are measured, as an array of numbers or as a frame with words.

    ``current`` has the values known so far, ``truth`` is the oracle; ``missing`` are the cells that
    are missing at first, and ``hopeless`` those that cannot be measured.
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
        X = native_frame(X)
        table, unknowns, given = read_rows(model, X, density)
        names = tuple(column.name for column in unknowns.columns)
        missing, worded = unknowns.missing(table.array), given is not None
        shape, truth = missing.shape, oracle
        hopeless = np.zeros(shape, dtype=np.bool_)
        if not callable(oracle):
            truth = cells_of(as_frame(oracle)) if worded else as_table(oracle)
            if truth.shape != shape:
                raise ValueError(
                    f"The oracle must have the shape of X, {shape}, found {truth.shape}: one true "
                    "value per cell, NaN where a value cannot be measured."
                )
            hopeless |= absent_cells(truth)
        current = X if worded else table.array.copy()
        return cls(model, names, X, current, truth, missing, hopeless, density)

    def rows(self, rows: IntArray) -> np.ndarray | pd.DataFrame:
        """Return some rows as they are known now, in the kind of table that the user gave."""
        if not isinstance(self.current, np.ndarray):
            return take_rows(self.current, rows)
        if is_frame(self.given):
            return table_as(self.given[: len(rows)], self.current[rows])
        return self.current[rows]

    def answers(self) -> FloatArray:
        """Return the predictions for the rows as they are known now."""
        rows = self.rows(np.arange(len(self.missing)))
        read = read_rows(self.model, rows, self.density)
        return TrialModel.of(self.model, rows, read)(read.table, np.arange(len(rows)))

    def measure(self, column: IntArray) -> IntArray:
        """Measure a column of each row (-1 for none); return the rows where there was no value."""
        failed = []
        filled = np.zeros(self.missing.shape, dtype=np.bool_)
        values = np.full(self.missing.shape, None, dtype=object)
        for row in np.flatnonzero(column >= 0):
            j = int(column[row])
            value = self.truth(int(row), j) if callable(self.truth) else self.truth[row, j]
            if absent_cells(np.array([value], dtype=object))[0]:
                self.hopeless[row, j] = True
                failed.append(row)
            else:
                filled[row, j], values[row, j] = True, value
        if isinstance(self.current, np.ndarray):
            self.current[filled] = values[filled].astype(np.float64)
        else:
            self.current = with_cells(self.current, values, filled)
        return np.array(failed, dtype=np.intp)
