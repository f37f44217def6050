"""A user's table becomes an array of float64 in which NaN, and only NaN, means missing.

The first room of the house: whatever a user hands over (lists with ``None``, NumPy arrays, pandas
with ``pd.NA`` and nullable types, polars) passes through :func:`as_table`, so that no later stage
asks again what it was given. Bad input ends here, in a sentence that says what was found, what was
expected and what to try.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

__all__ = ["as_table", "as_table_like", "remember_columns"]


def as_table(X: Any, *, minimum_rows: int = 1) -> FloatArray:
    """Return ``X`` as a two-dimensional float64 array with NaN where a value is missing.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers; NaN, ``None`` and ``pd.NA`` are missing values. pandas and polars frames with
        numeric or boolean columns are welcome.
    minimum_rows : int, default=1
        The smallest number of rows that makes sense to the caller.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The caller's own memory where that is float64 already, so never write to it.

    Raises
    ------
    TypeError
        For sparse matrices and for values that are no numbers.
    ValueError
        For infinities, text or date columns (they are named), duplicate column names, an empty
        table and anything that does not have two dimensions.

    Examples
    --------
    >>> from absentia.tables import as_table
    >>> as_table([[1, None], [2, 3]])
    array([[ 1., nan],
           [ 2.,  3.]])
    """
    if issparse(X):
        raise TypeError(
            "Sparse data was passed, but dense data is required: zeros in a sparse matrix would be "
            "read as observed values. Use X.toarray(), with NaN where a value is missing."
        )
    if _is_frame(X):
        X = _frame_to_array(X)
    array: FloatArray = check_array(
        X,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=minimum_rows,
        input_name="X",
    )
    return array


def as_table_like(estimator: Any, X: Any) -> FloatArray:
    """Return ``X`` as :func:`as_table` does, after checking its columns against training.

    The number of columns, and their names where both tables have names, must be those that
    ``estimator`` was fitted with.
    """
    array = as_table(X)
    validate_data(estimator, X if _is_frame(X) else array, reset=False, skip_check_array=True)
    return array


def remember_columns(estimator: Any, X: Any) -> None:
    """Set ``n_features_in_`` and, for frames, ``feature_names_in_``.

    Called as the last step of ``fit``, so that a failed fit leaves an estimator as it was.
    """
    validate_data(estimator, X if _is_frame(X) else as_table(X), skip_check_array=True)


def column_names(X: Any, n_features: int) -> list[str]:
    """Return what to call the columns of ``X`` in a message: their names, else ``x0``, ``x1``..."""
    if _is_frame(X):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(n_features)]


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "to_numpy")


def _frame_to_array(frame: Any) -> FloatArray:
    """Turn a pandas or polars frame into float64, naming the columns that cannot be."""
    names = [str(name) for name in frame.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"Column names must be unique, but {_listed(repeated)} came more than once. "
            "Rename or drop the copies."
        )
    columns = [_column_to_array(frame, j) for j in range(len(names))]
    unfit = [name for name, column in zip(names, columns, strict=True) if column is None]
    if unfit:
        raise ValueError(
            f"Every column must be numeric, but {_listed(unfit)} could not convert string to "
            "float: text and dates are not numbers. Encode categories (for example with "
            "OneHotEncoder or TargetEncoder in a ColumnTransformer), turn dates into numbers, "
            "or drop these columns."
        )
    if not columns:
        return np.empty((len(frame), 0))
    return np.column_stack([column for column in columns if column is not None])


def _column_to_array(frame: Any, j: int) -> FloatArray | None:
    """Return column ``j`` of a frame as float64, or None where it does not hold numbers."""
    if type(frame).__module__.startswith("polars"):
        polars = sys.modules["polars"]
        column = frame[:, j]
        if not (column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null)):
            return None
        values: FloatArray = column.cast(polars.Float64).to_numpy()
        return values
    column = frame.iloc[:, j]
    if column.dtype.kind in "mM":
        return None
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {frame.columns[j]!r} is complex.")
    if column.dtype.kind == "O" and any(isinstance(value, str) for value in column):
        return None
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None
    return values


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
