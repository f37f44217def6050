"""Transformers of single columns in front of machines, with the limits of values carried along."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from absentia.tables.bounded_table import with_limits
from absentia.tables.table import Table
from absentia.tables.takes_missing import TakesMissing

__all__ = ["KeepsLimits"]


class KeepsLimits(TransformerMixin, TakesMissing):
    """A transformer whose every column is an increasing function of itself, applied to limits too.

    Such as :class:`~sklearn.preprocessing.StandardScaler` and
    :class:`~sklearn.preprocessing.QuantileTransformer`. Tables without limits come back as the
    transformer returns them. While it is fitted, a value with limits counts as the middle of its
    interval, or as its only limit.

    Parameters
    ----------
    transformer : transformer

    Attributes
    ----------
    transformer_ : transformer
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from absentia import bounded
    >>> from absentia.tables.limited_steps import KeepsLimits
    >>> rows = bounded([[0.0], [4.0], [np.nan]], upper=[[np.inf], [np.inf], [2.0]])
    >>> scaled = KeepsLimits(StandardScaler()).fit_transform(rows)
    >>> scaled.upper.ravel().round(2)
    array([inf, inf,  0.])
    """

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
    limited, out = X.limited, np.array(X.array)
    lower, upper = X.lower[limited], X.upper[limited]
    lower, upper = (
        np.where(np.isfinite(own), own, other) for own, other in ((lower, upper), (upper, lower))
    )
    out[limited] = 0.5 * lower + 0.5 * upper
    return out
