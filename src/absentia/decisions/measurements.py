"""Missing values ranked by the expected gain of measuring them, and by their costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from absentia.parameters import numbers
from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

#: One cost per column, or costs by the name of the column.
Costs = Mapping[str, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Measurements:
    """The missing values of each row by the expected gain of measuring them.

    Attributes
    ----------
    columns : tuple of str
        Names of all columns.
    gain : ndarray of shape (n_samples, n_features)
        The expected drop of the loss, in its own units; NaN where there is nothing to measure
        (observed, excluded by ``among``, or beyond the budget).
    cost : ndarray of shape (n_features,)
    loss_before : ndarray of shape (n_samples,)
        The expected loss with what is known now: the entropy for ``"log"``, the square of
        ``return_std`` for a Gaussian process. Gains of a process are shares of the variance over
        what a row could be (``predict_uncertainty(X).total``), which may be larger.
    spread_after : ndarray of shape (n_samples, n_features)
        The expected loss after measuring; for ``"variance"`` its root, a standard deviation in the
        units of the target.
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
        return per_cost(self.gain, self.cost)

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


def read_costs(
    costs: Costs, names: Sequence[str], what: str = "costs", missing: float = 1.0
) -> FloatArray:
    """Return one cost per column, checked; ``missing`` for columns that a dict leaves out."""
    if costs is None:
        return np.ones(len(names))
    if isinstance(costs, Mapping):
        given = {str(name): value for name, value in costs.items()}
        unknown = [name for name in given if name not in names]
        if unknown:
            raise unknown_column(f"{what} name", unknown[0], names)
        costs = [given.get(name, missing) for name in names]
    values = np.array(numbers(what, costs, "finite numbers, one per column"))
    if values.shape != (len(names),):
        raise ValueError(
            f"{what} must be one number per column, {len(names)} of them, or a dict from column "
            f"to number, found an array of shape {values.shape}."
        )
    wrong = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if len(wrong):
        raise ValueError(
            f"{what} must be finite and not negative, found {values[wrong[0]]:g} for column "
            f"{names[wrong[0]]!r}."
        )
    return values


class RankedColumn(NamedTuple):
    """A missing column of one row, with its expected gain and its cost."""

    name: str
    gain: float
    cost: float
    gain_per_cost: float


def rank_source_columns(
    gains: FloatArray, sources: Sequence[str], costs: Mapping[str, float] | None = None
) -> list[list[RankedColumn]]:
    """Return the missing columns of each row, best first, with the best of their indicators.

    ``gains`` (n_samples, n_encoded) are NaN where there is nothing to measure; ``sources`` are the
    columns of the user's table that encoded columns are read from.
    """
    names = list(dict.fromkeys(sources))
    best = np.full((len(gains), len(names)), np.nan)
    for j, source in enumerate(sources):
        column = names.index(source)
        best[:, column] = np.fmax(best[:, column], gains[:, j])
    cost = read_costs(costs, names)
    rate = per_cost(best, cost)
    return [
        [
            RankedColumn(names[j], float(best[i, j]), float(cost[j]), float(rate[i, j]))
            for j in np.argsort(-rate[i], kind="stable")
            if not np.isnan(best[i, j])
        ]
        for i in range(len(gains))
    ]


def per_cost(gain: FloatArray, cost: FloatArray) -> FloatArray:
    """Return gains per unit of cost; what costs nothing and gains anything comes first."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((cost == 0) & (gain == 0), 0.0, gain / cost)


def unknown_column(name: str, column: object, names: Sequence[str]) -> ValueError:
    """Return the error of an argument that names a column which the table does not have."""
    return ValueError(
        f"{name} the column {column!r}, which the table does not have; its columns are "
        f"{', '.join(names[:10])}{', ...' * (len(names) > 10)}."
    )
