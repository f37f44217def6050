"""A user's table becomes an array of float64 in which NaN, and only NaN, means missing.

Lists with ``None``, NumPy arrays, pandas with ``pd.NA`` and nullable types and polars pass through
:func:`as_table`, so that no later stage has to check them again. The message on bad input says what
was found, what was expected and what to try.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from absentia.optional_imports import optional_import
from absentia.tables.phrases import listed

if TYPE_CHECKING:
    import pandas as pd

    from absentia.beliefs import Beliefs
    from absentia.tables.streams import Stream
    from absentia.tables.table import Table

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
#: Rows as a user may pass them: arrays and frames (which are array-like), streams and beliefs.
TableLike: TypeAlias = "ArrayLike | Table | Stream | Beliefs"

#: A sparse matrix may become an array of up to half a gigabyte.
_MOST_DENSE_CELLS = 2**26
_FINITE = "expected finite numbers, or NaN where a value is missing"
_NUMBERS = (
    "Put absentia.TableEncoder before the machine, which reads words, dates and numbers written as "
    "text: make_pipeline(TableEncoder(), StandardScaler(), SVC()); or drop these columns."
)


def as_table(X: TableLike, *, minimum_rows: int = 1) -> FloatArray:
    """Return ``X`` as a two-dimensional float64 array with NaN where a value is missing."""
    if issparse(X):
        raise TypeError(
            "Sparse data was passed, but dense data is required: zeros in a sparse matrix would be "
            "read as observed values. Use X.toarray(), with NaN where a value is missing."
        )
    X = native_frame(X)
    check_collected(X)
    array = _frame_to_array(X) if is_frame(X) else _values_to_array(X)
    _check_shape(array, minimum_rows)
    _check_finite(array, X)
    return array


def check_collected(X: Any, *, any_dask: bool = False) -> None:
    """Raise TypeError for a Dask frame of other columns than numbers, or with ``any_dask`` any."""
    if not (type(X).__module__.startswith("dask") and hasattr(X, "dtypes")):
        return
    if any_dask:
        raise TypeError("A Dask frame was passed, but its rows are needed now: use X.compute().")
    if any(dtype.kind not in "iufb" for dtype in X.dtypes):
        raise TypeError(
            "A Dask frame with columns of words or dates was passed; these are read from all rows "
            "at once: use X.compute()."
        )


def densified(X: Any) -> Any:
    """Return a sparse matrix of moderate size as an array, in which zeros are observed values."""
    if not issparse(X):
        return X
    if X.shape[0] * X.shape[1] > _MOST_DENSE_CELLS:
        raise ValueError(
            f"A sparse matrix of shape {X.shape} would take "
            f"{8e-9 * X.shape[0] * X.shape[1]:.1f} GB as an array, which kernels of beliefs need. "
            "Use fewer columns, for example after TruncatedSVD."
        )
    return X.toarray()


def column_names(X: Any, n_features: int) -> list[str]:
    """Return labels of the columns of ``X`` for messages: their names, else ``x0``, ``x1``..."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(n_features)]


def table_as(
    X: Any, array: FloatArray, columns: IntArray | None = None, names: list[str] | None = None
) -> Any:
    """Return ``array`` as the kind of table that ``X`` is, with the names of ``X``.

    ``columns`` are the places of the columns of ``array`` in ``X``, by default all of them;
    ``names`` their names, where ``X`` may lack some of them. Missing values of polars are nulls.
    """
    if not is_frame(X):
        return array
    if names is None:
        names = list(X.columns)
        names = names if columns is None else [names[j] for j in columns]
    if is_polars(X):
        polars = sys.modules["polars"]
        return polars.DataFrame(array, schema=names).fill_nan(None)
    return type(X)(array, index=X.index, columns=names)


def is_polars(frame: Any) -> bool:
    """Return whether a frame is one of polars."""
    return type(frame).__module__.startswith("polars")


def is_arrow(X: Any) -> bool:
    """Return whether a table is one of pyarrow."""
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "column_names")


def native_frame(X: Any) -> Any:
    """Return tables that only wrap or promise a frame as that frame, anything else as it is.

    Tables of pyarrow become pandas frames, in which whole numbers and booleans stay such beside
    missing values, frames of narwhals what they were made from, and LazyFrames are collected.
    """
    if type(X).__module__.startswith("narwhals"):
        X = X.to_native()
    if type(X).__name__ == "LazyFrame":
        warnings.warn("A LazyFrame was collected: all its rows are in memory.", stacklevel=2)
        return X.collect()
    if not is_arrow(X):
        return X
    import pandas as pd
    import pyarrow as pa

    whole = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    names = {kind: kind.replace("i", "I").replace("u", "U") for kind in whole}
    names["bool_"] = "boolean"
    types = {getattr(pa, k)(): pd.api.types.pandas_dtype(name) for k, name in names.items()}
    return X.to_pandas(types_mapper=types.get)


def as_arrow(tables: list[Any], given: Any) -> list[Any]:
    """Return frames as tables of pyarrow where ``given`` is one, in its types where these hold."""
    if not is_arrow(given):
        return tables
    import pyarrow as pa

    def column(cells: Any, kind: Any) -> Any:
        try:
            return pa.array(cells, type=kind, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # fractions of whole numbers
            return pa.array(cells, from_pandas=True)

    types = {field.name: field.type for field in given.schema}
    return [pa.table({n: column(t[n], types.get(n)) for n in t.columns}) for t in tables]


def is_frame(X: TableLike) -> bool:
    """Return whether a table has columns of its own, as pandas and polars frames have."""
    # In this order: a LazyFrame, which has no to_numpy, warns of being asked for its columns.
    return hasattr(X, "to_numpy") and hasattr(X, "columns") and hasattr(X, "dtypes")


def _check_shape(array: FloatArray, minimum_rows: int) -> None:
    if array.ndim != 2:
        advice = (
            " Reshape your data: X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one "
            "column."
            if array.ndim < 2
            else ""
        )
        raise ValueError(
            f"Expected a table with two dimensions (rows and columns), found an array of shape "
            f"{array.shape}.{advice}"
        )
    for count, kind, minimum in zip(
        array.shape, ("sample", "feature"), (minimum_rows, 1), strict=True
    ):
        if count < minimum:
            raise ValueError(
                f"Found {count} {kind}(s) (shape={array.shape}) while a minimum of {minimum} is "
                "required."
            )


def _check_finite(array: FloatArray, X: TableLike) -> None:
    infinite = np.isinf(array)
    if infinite.any():
        columns = np.flatnonzero(infinite.any(axis=0))
        names = column_names(X, array.shape[1])
        row = int(np.argmax(infinite.any(axis=1)))
        raise ValueError(
            f"Infinity, or a number too large for float64, was found in column"
            f"{'s' * (len(columns) > 1)} {listed([names[j] for j in columns])} (first in row "
            f"{row}): {_FINITE}. To treat infinities as missing: np.where(np.isinf(X), np.nan, X)."
        )


def _values_to_array(X: TableLike) -> FloatArray:
    """Turn what has no columns of its own (arrays, lists of lists) into float64."""
    if isinstance(X, np.ma.MaskedArray):
        # np.asarray would silently bring back the values under the mask.
        values = np.array(X.data, dtype=object if X.dtype.kind == "O" else np.float64)
        values[np.ma.getmaskarray(X)] = np.nan
        X = values
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            "Expected a table, but its rows have different lengths; write None or NaN where a "
            "value is missing."
        ) from error
    kind = values.dtype.kind
    if kind == "O":
        return _objects_to_array(values)
    if kind == "c":
        _refuse_complex("X")
    if kind in "US":
        _refuse_text(values)
    if kind in "mM":
        raise ValueError(
            "Every value must be a number, but X holds dates or durations; convert them "
            "to numbers in a suitable unit, for example days since the first."
        )
    if kind not in "fiub":
        raise TypeError(f"Every value must be a number, but X has the type {values.dtype}.")
    with np.errstate(over="ignore"):
        # A longdouble that overflows becomes an infinity, which is refused by name afterwards.
        return values.astype(np.float64, copy=False)


def _objects_to_array(values: np.ndarray) -> FloatArray:
    """Turn an array of Python objects into float64; None, pd.NA and NaT become NaN."""
    missing = np.frompyfunc(is_absent, 1, 1)(values)
    values = np.where(np.asarray(missing, dtype=bool), np.nan, values)
    for value in values.flat:
        if isinstance(value, str | bytes):
            _refuse_text(values)
        if isinstance(value, complex | np.complexfloating):
            _refuse_complex("X")
    try:
        return values.astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"A number too large for float64 was found: {_FINITE}.") from error
    except (TypeError, ValueError) as error:
        raise TypeError(f"Every value must be a number: {error}.") from error


def is_absent(value: object) -> bool:
    """Return whether a Python object marks a missing value; NaN, a number, is never passed."""
    # By name, so that pandas need not be imported to recognise its markers.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _refuse_complex(where: str) -> NoReturn:
    raise ValueError(
        f"Complex data not supported: {where} holds complex numbers. Pass the real and the "
        "imaginary parts as two columns."
    )


def _refuse_text(values: np.ndarray) -> NoReturn:
    texts = [value for value in values.flat if isinstance(value, str | bytes)]
    example = next((text for text in texts if not reads_as_number(text)), texts[0])
    raise ValueError(
        f"Every value must be a number, but text was found: could not convert string to float: "
        f"{str(example)!r}. Use None or NaN where a value is missing, and float(...) on numbers "
        "that are written as text."
    )


def reads_as_number(text: str | bytes) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _frame_to_array(frame: pd.DataFrame) -> FloatArray:
    """Turn a pandas or polars frame into float64, naming the columns that cannot be."""
    _check_names(frame)
    names = [str(name) for name in frame.columns]
    columns = [_column_to_array(frame, j) for j in range(len(names))]
    unfit = [name for name, column in zip(names, columns, strict=True) if column is None]
    if unfit:
        raise ValueError(
            f"Every column must be numeric, but {listed(unfit)} hold{'s' * (len(unfit) == 1)} "
            f"text, dates or other objects. {_NUMBERS}"
        )
    if not columns:
        return np.empty((len(frame), 0))
    return np.column_stack([column for column in columns if column is not None])


def _check_names(frame: pd.DataFrame) -> None:
    # Here and not only where scikit-learn records the names, which is the end of a fit.
    names = list(frame.columns)
    _check_unique(names)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise TypeError(
            f"Feature names are only supported if all input features have string names, but "
            f"{listed([str(name) for name in names if not isinstance(name, str)])} "
            "is of another type. Use X.columns = X.columns.astype(str)."
        )


def _check_unique(names: list[Any]) -> None:
    repeated = [str(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Column names must be unique, but {listed(repeated)} appear"
            f"{'s' * (len(repeated) == 1)} more than once: rename or drop the copies."
        )


def _column_to_array(frame: pd.DataFrame, j: int) -> FloatArray | None:
    """Return column ``j`` of a frame as float64, or None where it does not hold numbers."""
    if is_polars(frame):
        polars = sys.modules["polars"]
        column = frame[:, j]
        if not (column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null)):
            return None
        return column.cast(polars.Float64).to_numpy()
    column = frame.iloc[:, j]
    if column.dtype.kind in "mM":
        return None
    objects = column.dtype.kind == "O"
    if column.dtype.kind == "c" or (
        objects and any(isinstance(value, complex) for value in column)
    ):
        _refuse_complex(f"column {str(frame.columns[j])!r}")
    try:
        if objects:
            return _objects_to_array(column.to_numpy(dtype=object))
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return None
    return values


def has_columns_of_words(frame: pd.DataFrame) -> bool:
    """Return whether a pandas or polars frame has a column that does not hold numbers."""
    _check_names(frame)
    return any(_column_to_array(frame, j) is None for j in range(len(frame.columns)))


def as_frame(X: TableLike) -> pd.DataFrame:
    """Return a copy of a table as a pandas frame, with text for column names."""
    pd = optional_import("pandas", "tables", "A table of words or dates")
    X = native_frame(X)
    check_collected(X, any_dask=True)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    try:
        frame = X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    except ValueError as error:
        raise ValueError(
            f"Expected a table (a frame, or an array of rows and columns), found a "
            f"{type(X).__name__}: {error}"
        ) from error
    frame.columns = [str(name) for name in frame.columns]
    _check_unique(list(frame.columns))
    return frame
