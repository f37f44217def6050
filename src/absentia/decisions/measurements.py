"""What measuring the missing values of rows is worth, value by value: the answer of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Measurements"]


@dataclass(frozen=True, eq=False)
class Measurements:
    """The missing values of each row by what measuring them is worth.

    Attributes
    ----------
    columns : tuple of str
        Names of all columns.
    gain : ndarray of shape (n_samples, n_features)
        By how much measuring the value is expected to lower the loss, in the loss's own units;
        NaN where there is nothing to measure (observed, not among the columns asked about, or
        beyond the budget).
    cost : ndarray of shape (n_features,)
    loss_before : ndarray of shape (n_samples,)
        What the model expects to lose with what is known now: the entropy for ``"log"``.
    spread_after : ndarray of shape (n_samples, n_features)
        What the model is expected to lose after measuring; for ``"variance"`` the root of that, a
        standard deviation in the units of the target.
    stop_below : float
        The gain per cost below which measuring does not pay.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression, measure_next
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> machine = LogisticRegression().fit(X, X[:, 0] + 0.3 * X[:, 1] > 0)
    >>> found = measure_next(machine, [[np.nan, np.nan, np.nan], [1.0, 1.0, np.nan]])
    >>> found.ranking(0)
    ['x0', 'x1', 'x2']
    >>> found.best
    ['x0', 'x2']
    """

    columns: tuple[str, ...]
    gain: FloatArray
    cost: FloatArray
    loss_before: FloatArray
    spread_after: FloatArray
    stop_below: float

    @property
    def gain_per_cost(self) -> FloatArray:
        """The gain divided by the cost, infinite for a gain that costs nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: FloatArray = self.gain / self.cost
        # No gain at no cost counts as zero.
        return np.where((self.cost == 0) & (self.gain == 0), 0.0, ratio)

    @property
    def best_column(self) -> IntArray:
        """The column to measure next in each row, -1 where nothing pays."""
        worth = np.where(np.isnan(self.gain), -np.inf, self.gain_per_cost)
        best = worth.argmax(axis=1)
        pays = worth[np.arange(len(best)), best] > self.stop_below
        return np.where(pays, best, -1)

    @property
    def best(self) -> list[str]:
        """The name of the column to measure next in each row, ``"stop"`` where nothing pays."""
        return [self.columns[j] if j >= 0 else "stop" for j in self.best_column]

    def ranking(self, row: int) -> list[str]:
        """Return the columns of one row that can be measured, the most worthwhile first."""
        return [self.columns[j] for j in self._order(row)]

    def __len__(self) -> int:
        return len(self.gain)

    def __repr__(self) -> str:
        stopped = int((self.best_column < 0).sum())
        return (
            f"Measurements for {len(self)} row{'s' * (len(self) != 1)} of {len(self.columns)} "
            f"columns, {stopped} row{'s' * (stopped != 1)} with nothing worth measuring"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame, one line per row and missing column, the best first.

        Its columns are ``row``, ``column``, ``gain``, ``cost`` and ``gain_per_cost``.
        """
        import pandas as pd

        orders = [self._order(row) for row in range(len(self))]
        row = np.repeat(np.arange(len(self)), [len(order) for order in orders])
        column = np.concatenate([np.empty(0, dtype=np.intp), *orders])
        return pd.DataFrame(
            {
                "row": row,
                "column": [self.columns[j] for j in column],
                "gain": self.gain[row, column],
                "cost": self.cost[column],
                "gain_per_cost": self.gain_per_cost[row, column],
            }
        )

    def _order(self, row: int) -> IntArray:
        worth = self.gain_per_cost[row]
        order = np.argsort(-worth, kind="stable")
        return order[~np.isnan(self.gain[row][order])]
