"""Tables in which some values are known to lie between limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from absentia.tables.reading import FloatArray, TableLike
from absentia.tables.table import Table

__all__ = ["bounded", "broadcast_limits", "with_limits"]


def bounded(X: TableLike, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> Table:
    """Return a table with known limits for some of its missing values.

    A value below a limit of detection, a rounded number, an age group: less than a number, and more
    than nothing. Densities learn from limits, and the belief about a limited value is the truncated
    density, replaced by the Gaussian of the same mean and covariance. The table can be passed to
    densities and machines wherever they take rows.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Numbers, NaN where a value is missing. Observed values are used as they are, whatever
        limits they have.
    lower, upper : array-like, optional
        Limits of the missing values: anything that broadcasts to the shape of ``X``. NaN and
        infinities are no limit; two equal limits are a value.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity, bounded
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(size=(500, 1))
    >>> X = np.where(values > -0.5, values, np.nan)  # a limit of detection
    >>> GaussianDensity().fit(X).mean_.round(1)
    array([0.5])
    >>> GaussianDensity().fit(bounded(X, upper=-0.5)).mean_.round(1)
    array([-0.])
    """
    table = Table.of(X)
    values, low, high = with_limits(
        table.array,
        -np.inf if lower is None else lower,
        np.inf if upper is None else upper,
        table.labels,
    )
    return replace(table, array=values, lower=low, upper=high, _known={}, _whole=None)


def with_limits(
    values: FloatArray, lower: ArrayLike, upper: ArrayLike, names: list[str] | None = None
) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return values and limits as a :class:`Table` has them, checked.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        NaN where missing; limits of other values are left out.
    lower, upper : array-like
        Broadcast to the shape of ``values``; NaN and infinities are no limit. Two equal limits
        become the value.
    names : list of str, optional
        What to call the columns.

    Returns
    -------
    values, lower, upper : ndarray of shape (n_samples, n_features)
        The limits infinite where there is none, and both None where there is none at all.
    """
    low, high = broadcast_limits(lower, upper, values.shape)
    if (low > high).any():
        row, column = np.argwhere(low > high)[0]
        name = f"x{column}" if names is None else names[column]
        raise ValueError(
            f"Row {row} of column {name!r} has a lower limit of {low[row, column]:g} above its "
            f"upper limit of {high[row, column]:g}: exchange them, or leave the value missing."
        )
    missing = np.isnan(values)
    known = missing & (low == high)
    if known.any():
        values = np.where(known, low, values)
    limited = missing & ~known & (np.isfinite(low) | np.isfinite(high))
    if not limited.any():
        return values, None, None
    return values, np.where(limited, low, -np.inf), np.where(limited, high, np.inf)


def broadcast_limits(
    lower: ArrayLike, upper: ArrayLike, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return limits as arrays, infinite where they are NaN or infinite."""
    try:
        low = np.broadcast_to(np.asarray(lower, dtype=np.float64), shape)
        high = np.broadcast_to(np.asarray(upper, dtype=np.float64), shape)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"lower and upper must be numbers that broadcast to {shape}, one limit per value, "
            f"found shapes {np.shape(lower)} and {np.shape(upper)}."
        ) from None
    return np.where(np.isfinite(low), low, -np.inf), np.where(np.isfinite(high), high, np.inf)
