"""Functions of what rows could be: draws from a density, within the limits that rows have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from absentia.beliefs.draws import DrawPoints, map_draws, rows_by_pattern
from absentia.densities.fit_density import believe
from absentia.tables import FloatArray, IntArray, Table

__all__ = ["columns_of", "over_draws"]


def columns_of(density: BaseEstimator, table: Table) -> IntArray:
    """Return which columns of a table a density knows."""
    return np.asarray(getattr(density, "columns_", np.arange(table.shape[1])))


def over_draws(
    function: Callable[[FloatArray], FloatArray],
    table: Table,
    density: BaseEstimator,
    points: DrawPoints,
) -> FloatArray:
    """Return a function of the draws of each row, in the order of the rows.

    Parameters
    ----------
    function : callable
        From draws of some rows on the columns of the density, shape (n_some, n_draws, n_columns),
        to an array of n_some rows.
    table : Table
        At least one row; rows without missing values are drawn as they are.
    density : density
    points : DrawPoints
    """
    columns = columns_of(density, table)
    order = rows_by_pattern(table)
    asked = table[order]

    def within_limits(draws: FloatArray, part: slice) -> FloatArray:
        limits = asked[part].limits_of(columns)
        if limits is not None:
            draws = np.clip(draws, limits[0][:, None], limits[1][:, None])
        return function(draws)

    parts = map_draws(within_limits, lambda some: believe(density, some), asked, points)
    found = np.concatenate(parts)
    out = np.empty_like(found)
    out[order] = found
    return out
