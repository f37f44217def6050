"""Values that are known to lie between limits, in tables and through steps before a machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from absentia.tables.reading import FloatArray, TableLike
from absentia.tables.rows import TakesMissing
from absentia.tables.table import Table

__all__ = ["KeepsLimits", "bounded", "broadcast_limits", "with_limits"]


def bounded(
    X: TableLike,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    errors: ArrayLike | None = None,
) -> Table:
    """Return a table with known limits for missing values, and known errors of observed ones.

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
    errors : array-like, optional
        Standard deviations of the measurement errors of observed values, anything that broadcasts
        to the shape of ``X``; zero where a value is exact. The belief about such a value is its
        density times ``N(x | v, s^2)``, in closed form. Densities learn from the values as they
        are, without their errors.

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
    if errors is not None:
        deviations, _ = broadcast_limits(errors, np.inf, table.shape)
        if not (deviations >= 0).all():
            raise ValueError("errors must be finite and not negative: zero where a value is exact.")
        errors = deviations
    ends: Any = {"lower": low, "upper": high, "errors": errors}
    return replace(table, array=values, **ends, _known={}, _whole=None)


def with_limits(
    values: FloatArray, lower: ArrayLike, upper: ArrayLike, names: list[str] | None = None
) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return values and limits as a :class:`Table` has them, checked.

    Only missing values have limits, which are infinite where there is none, and both None where
    there is none at all. Two equal limits become the value; ``names`` are those of the columns.
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


class KeepsLimits(TransformerMixin, TakesMissing):
    """A transformer whose every column is an increasing function of itself, applied to limits too.

    Such as :class:`~sklearn.preprocessing.StandardScaler` and
    :class:`~sklearn.preprocessing.QuantileTransformer`. Tables without limits come back as the
    transformer returns them. While it is fitted, a value with limits counts as the middle of its
    interval, or as its only limit.
    """

    transformer_: BaseEstimator

    def __init__(self, transformer: BaseEstimator):
        self.transformer = transformer

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Fit the transformer."""
        self.transformer_ = clone(self.transformer).fit(_at_limits(X))
        return self

    def transform(self, X: Any) -> Any:
        """Return an array, or a table where values have limits."""
        check_is_fitted(self)
        if not isinstance(X, Table):
            return self.transformer_.transform(X)
        values = self.transformer_.transform(X.array)
        if X.lower is None or X.upper is None:
            return values
        ends = (
            self.transformer_.transform(np.where(np.isfinite(end), end, np.nan))
            for end in (X.lower, X.upper)
        )
        values, lower, upper = with_limits(values, *ends)
        return Table(values, lower=lower, upper=upper)


def _at_limits(X: Any) -> Any:
    """Return an array in which a value with limits is the middle of them, or its only limit."""
    if not isinstance(X, Table):
        return X
    if X.lower is None or X.upper is None:
        return X.array
    lower = np.where(np.isfinite(X.lower), X.lower, X.upper)
    upper = np.where(np.isfinite(X.upper), X.upper, X.lower)
    out = np.array(X.array)
    out[X.limited] = 0.5 * lower[X.limited] + 0.5 * upper[X.limited]
    return out
