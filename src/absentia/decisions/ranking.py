"""Columns of a user's table ranked by gain, where several encoded columns come from one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from absentia.decisions.acquisition import read_costs
from absentia.tables import FloatArray

__all__ = ["RankedColumn", "per_cost", "rank_source_columns"]


class RankedColumn(NamedTuple):
    """A missing column of one row: what measuring it is expected to gain, and its cost."""

    name: str
    gain: float
    cost: float
    gain_per_cost: float


def rank_source_columns(
    gains: FloatArray, sources: Sequence[str], costs: Mapping[str, float] | None = None
) -> list[list[RankedColumn]]:
    """Return the missing columns of each row, best first; of indicator columns the best counts.

    Parameters
    ----------
    gains : ndarray of shape (n_samples, n_encoded)
        NaN where there is nothing to measure.
    sources : sequence of str
        The column of the user's table that each encoded column is read from.
    costs : mapping from column to float, optional
        1 for columns that it does not have.

    Examples
    --------
    >>> import numpy as np
    >>> gains = np.array([[0.5, 0.1, 0.3], [np.nan, 0.2, 0.1]])
    >>> for row in rank_source_columns(gains, ["age", "ward", "ward"], {"age": 2}):
    ...     print([(column.name, column.gain_per_cost) for column in row])
    [('ward', 0.3), ('age', 0.25)]
    [('ward', 0.2)]
    """
    names = list(dict.fromkeys(sources))
    prices = read_costs(costs, names)
    column_of = np.array([names.index(source) for source in sources])
    best = np.full((len(gains), len(names)), -np.inf)
    for j, column in enumerate(column_of):
        best[:, column] = np.fmax(best[:, column], gains[:, j])
    ranked = []
    for row in best.tolist():
        columns = [
            RankedColumn(name, gain, cost, per_cost(gain, cost))
            for name, gain, cost in zip(names, row, prices.tolist(), strict=True)
            if gain > -np.inf
        ]
        ranked.append(sorted(columns, key=lambda column: -column.gain_per_cost))
    return ranked


def per_cost(gain: float, cost: float) -> float:
    """Return the gain per unit of cost; what costs nothing and gains anything comes first."""
    if cost > 0:
        return gain / cost
    return np.inf if gain > 0 else 0.0
