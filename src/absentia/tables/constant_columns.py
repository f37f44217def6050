"""Columns that have one value only, told by their values and not by a computed deviation."""

from __future__ import annotations

import numpy as np

from absentia.tables.reading import BoolArray, FloatArray

__all__ = ["is_constant"]

#: Values that differ by no more than this share of themselves differ by rounding.
_ROUNDING = 4 * float(np.finfo(float).eps)


def is_constant(values: FloatArray) -> BoolArray:
    """Return which columns have one value only, up to rounding; NaN does not count.

    ``max - min <= 4 eps max|x|``. The standard deviation does not tell: the mean of ``n`` times 0.1
    is not 0.1, so that the deviation comes out as 1e-17 and not as zero (as more, the more rows
    are added up), and a column that is divided by it has values of any size on other rows.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_features)
        At least one row.

    Returns
    -------
    ndarray of bool, shape () or (n_features,)
        False for a column without any value.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.tables.constant_columns import is_constant
    >>> table = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    >>> is_constant(table)
    array([ True, False])
    """
    largest, smallest = np.fmax.reduce(values, axis=0), np.fmin.reduce(values, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.maximum(np.abs(largest), np.abs(smallest))
        constant: BoolArray = np.asarray(largest - smallest <= _ROUNDING * sizes)
    return constant
