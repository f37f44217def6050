"""Values with limits as numbers, for models that know no limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from absentia.densities.believing import believe
from absentia.tables import Table

__all__ = ["filled_within_limits"]


def filled_within_limits(density: BaseEstimator, table: Table) -> Table:
    """Return rows whose values with limits are their conditional means, within the limits.

    What is missing without a limit stays missing; so does a limited value of a column that the
    density does not know.

    Parameters
    ----------
    density : fitted density
    table : Table

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity, bounded
    >>> from absentia.densities.limited_values import filled_within_limits
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> rows = bounded([[1.0, np.nan], [1.0, np.nan]], upper=[[np.inf, -1.0], [np.inf, np.inf]])
    >>> filled_within_limits(GaussianDensity().fit(X), rows).array.round(1)
    array([[ 1. , -1.5],
           [ 1. ,  nan]])
    """
    limited = table.limited
    rows = np.flatnonzero(limited.any(axis=1))
    if not len(rows):
        return replace(table, lower=None, upper=None, _whole=None, _known={})
    some = table[rows]
    beliefs = believe(density, some)
    columns = getattr(density, "number_columns_", getattr(density, "columns_", None))
    columns = np.arange(table.n_features) if columns is None else np.asarray(columns)
    guesses = np.full(some.shape, np.nan)
    guesses[:, columns] = beliefs.to_table_units(beliefs.mean())[:, : len(columns)]
    guesses = np.clip(guesses, some.lower, some.upper)
    array = np.array(table.array)
    array[rows] = np.where(limited[rows], guesses, some.array)
    return replace(table, array=array, lower=None, upper=None, _whole=None, _known={})
