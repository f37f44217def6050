"""Whatever a user hands over becomes one kind of table, or one clear sentence."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from absentia.tables import Table, as_table, column_names, set_fitted

NAN = np.nan

WELCOME = {
    "lists with None": ([[1, None], [2, 3]], [[1, NAN], [2, 3]]),
    "tuples": (((1, 2), (None, 3)), [[1, 2], [NAN, 3]]),
    "lists with pd.NA": ([[1, pd.NA], [2, 3.5]], [[1, NAN], [2, 3.5]]),
    "lists of Decimal": ([[decimal.Decimal("1.5"), None]], [[1.5, NAN]]),
    "list of arrays": ([np.array([1.0, NAN]), np.array([2.0, 3.0])], [[1, NAN], [2, 3]]),
    "integers": (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "unsigned bytes": (np.array([[1, 255]], dtype=np.uint8), [[1, 255]]),
    "booleans": (np.array([[True, False]]), [[1, 0]]),
    "float32": (np.array([[0.5, NAN]], dtype=np.float32), [[0.5, NAN]]),
    "big-endian": (np.array([[0.5, NAN]], dtype=">f8"), [[0.5, NAN]]),
    "objects": (np.array([[1, None], [True, 2.5]], dtype=object), [[1, NAN], [1, 2.5]]),
    "masked": (np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]), [[1, NAN], [3, 4]]),
    "pandas with pd.NA": (
        pd.DataFrame({"a": [1, pd.NA], "b": [1.5, 2.0]}),
        [[1, 1.5], [NAN, 2]],
    ),
    "pandas nullable": (
        pd.DataFrame(
            {
                "a": pd.array([1, None], dtype="Int64"),
                "b": pd.array([None, 2.5], dtype="Float64"),
                "c": pd.array([True, None], dtype="boolean"),
            }
        ),
        [[1, NAN, 1], [NAN, 2.5, NAN]],
    ),
    "pandas objects with None": (
        pd.DataFrame({"a": [1, None], "b": [True, 0.5], "c": [None, None]}, dtype=object),
        [[1, 1, NAN], [NAN, 0.5, NAN]],
    ),
    "pandas on arrow": (
        pd.DataFrame(
            {
                "a": pd.array([1, None], dtype="int64[pyarrow]"),
                "b": pd.array([None, 2.5], dtype="double[pyarrow]"),
                "c": pd.array([True, None], dtype="bool[pyarrow]"),
                "d": pd.array(
                    [decimal.Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))
                ),
            }
        ),
        [[1, NAN, 1, 1.5], [NAN, 2.5, NAN, NAN]],
    ),
    "pandas numeric categories": (
        pd.DataFrame({"a": pd.Categorical([3, None, 1]), "b": pd.Categorical([0.5, None, 2])}),
        [[3, 0.5], [NAN, NAN], [1, 2]],
    ),
    "pandas sparse columns": (
        pd.DataFrame({"a": pd.arrays.SparseArray([0.0, NAN, 2.0])}),
        [[0], [NAN], [2]],
    ),
    "pandas integer names": (pd.DataFrame([[1.0, NAN]]), [[1, NAN]]),
    "polars": (
        pl.DataFrame(
            {
                "a": [1, None],
                "b": [None, 2.5],
                "c": [True, None],
                "d": [None, None],
                "e": [decimal.Decimal("1.5"), None],
                "f": [float("nan"), 1.0],
            }
        ),
        [[1, NAN, 1, NAN, 1.5, NAN], [NAN, 2.5, NAN, NAN, NAN, 1]],
    ),
}


@pytest.mark.parametrize("name", WELCOME)
def test_every_common_kind_of_table_is_read(name):
    given, expected = WELCOME[name]
    table = as_table(given)
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, np.array(expected, dtype=float))


DATE = datetime.date(2020, 1, 1)
REFUSED = {
    "infinity": ([[1.0, np.inf], [2.0, 3.0]], ValueError, r"Infinity.*'x1' \(first in row 0\)"),
    "minus infinity": (np.array([[1.0], [-np.inf]]), ValueError, r"'x0' \(first in row 1\)"),
    "infinity in a frame": (pd.DataFrame({"a": [1.0], "b": [np.inf]}), ValueError, "column 'b'"),
    "infinity in polars": (pl.DataFrame({"a": [1.0], "b": [np.inf]}), ValueError, "column 'b'"),
    "longdouble": (np.array([[1e300]], dtype=np.longdouble) ** 2, ValueError, "Infinity"),
    "huge integer": ([[10**400, 1]], ValueError, "too large"),
    "text": ([["a", "b"]], ValueError, "could not convert string to float: 'a'"),
    "numbers as text": ([["1", "2"]], ValueError, r"float\(\.\.\.\) on numbers"),
    "text among numbers": ([[1, "a"], [None, 2]], ValueError, "'a'"),
    "text and numbers as text": (np.array([["1", "n/a"]]), ValueError, "'n/a'"),
    "bytes": (np.array([[b"a"]]), ValueError, "text was found"),
    "one string": ("hello", ValueError, "text was found"),
    "text columns": (
        pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": ["1", "2"]}),
        ValueError,
        "'a', 'c' hold text.*TableEncoder",
    ),
    "text categories": (pd.DataFrame({"a": pd.Categorical(["x", "1"])}), ValueError, "'a' holds"),
    "text in polars": (pl.DataFrame({"a": ["1"], "b": [1]}), ValueError, "'a' holds text"),
    "dates": (np.array([["2020-01-01"]], dtype="datetime64[D]"), ValueError, "dates"),
    "date columns": (pd.DataFrame({"a": pd.to_datetime(["2020"])}), ValueError, "'a' holds"),
    "zoned dates": (pd.DataFrame({"a": pd.to_datetime(["2020"], utc=True)}), ValueError, "'a'"),
    "date objects": (pd.DataFrame({"a": [DATE, None]}), ValueError, "'a' holds"),
    "arrow dates": (
        pd.DataFrame({"a": pd.array([DATE, None], dtype="date32[pyarrow]")}),
        ValueError,
        "'a' holds",
    ),
    "durations": (pd.DataFrame({"a": pd.to_timedelta([1], unit="D")}), ValueError, "'a' holds"),
    "dates in polars": (pl.DataFrame({"a": [DATE]}), ValueError, "'a' holds"),
    "lists in a column": (pd.DataFrame({"a": [[1.0], [2.0]]}), ValueError, "'a' holds"),
    "sparse": (sparse.csr_array(np.eye(2)), TypeError, r"Sparse.*toarray\(\)"),
    "complex": (np.array([[1j, 2]]), ValueError, "Complex data not supported"),
    "complex list": ([[1j, None]], ValueError, "Complex data not supported"),
    "complex column": (pd.DataFrame({"z": [1j, 2]}), ValueError, "not supported: column 'z'"),
    "complex objects": (
        pd.DataFrame({"z": [1j, None]}, dtype=object),
        ValueError,
        "not supported: column 'z'",
    ),
    "objects": ([[{"a": 1}, 2.0]], TypeError, "argument must be a string or a real number"),
    "dictionary": ({"a": [1, 2]}, TypeError, "must be a number"),
    "records": (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), TypeError, "has the type"),
    "no rows": (np.empty((0, 3)), ValueError, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no columns": (np.empty((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
    "nothing": ([], ValueError, "two dimensions"),
    "None": (None, ValueError, "two dimensions"),
    "empty frame": (pd.DataFrame(), ValueError, "0 sample"),
    "frame without rows": (pd.DataFrame({"a": []}), ValueError, r"shape=\(0, 1\)"),
    "empty polars": (pl.DataFrame(), ValueError, "0 sample"),
    "one dimension": ([1.0, 2.0], ValueError, "Reshape your data"),
    "three dimensions": (np.ones((2, 2, 2)), ValueError, r"shape \(2, 2, 2\)"),
    "a series": (pd.Series([1.0, 2.0]), ValueError, "Reshape your data"),
    "ragged": ([[1, 2], [3]], ValueError, "different lengths"),
    "duplicate names": (pd.DataFrame(np.eye(2), columns=["a", "a"]), ValueError, "unique.*'a'"),
    "mixed names": (pd.DataFrame(np.eye(2), columns=["a", 1]), TypeError, "string names.*'1'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_of_numbers_gets_one_clear_sentence(name):
    given, error, sentence = REFUSED[name]
    with pytest.raises(error, match=sentence) as caught:
        as_table(given)
    assert "\n" not in str(caught.value)


def test_too_few_rows_for_the_caller():
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2"):
        as_table([[1.0]], minimum_rows=2)


def test_float64_is_not_copied():
    X = np.eye(3)
    assert np.shares_memory(as_table(X), X)


def test_a_long_list_of_unfit_columns_is_cut():
    frame = pd.DataFrame({f"text{j}": ["x"] for j in range(15)})
    with pytest.raises(ValueError, match="'text9' and 5 more"):
        as_table(frame)


class Columns(BaseEstimator):
    """The least that has columns."""

    def fit(self, X):
        set_fitted(self, Table.of(X), {})
        return self


def test_a_wrong_number_of_columns_is_refused():
    estimator = Columns().fit(np.eye(3))
    assert estimator.n_features_in_ == 3
    with pytest.raises(ValueError, match="X has 2 features, but Columns is expecting 3 features"):
        Table.of(np.eye(2)).checked(estimator)
    with pytest.raises(ValueError, match="X has 2 features, but Columns is expecting 3 features"):
        Table.of(pd.DataFrame(np.eye(2))).checked(estimator)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_are_recognised_by_name(frame):
    estimator = Columns().fit(frame({"a": [1.0, None], "b": [1.0, 2.0]}))
    assert list(estimator.feature_names_in_) == ["a", "b"]
    again = Table.of(frame({"a": [5], "b": [None]})).checked(estimator)
    np.testing.assert_array_equal(again.array, [[5.0, NAN]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- c"):
        Table.of(frame({"a": [1.0], "c": [1.0]})).checked(estimator)
    with pytest.warns(UserWarning, match="lacks 'b'"):
        less = Table.of(frame({"a": [1.0]})).checked(estimator)
    np.testing.assert_array_equal(less.array, [[1.0, NAN]])
    with pytest.raises(ValueError, match="same order"):
        Table.of(frame({"b": [1.0], "a": [1.0]})).checked(estimator)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        Table.of(np.eye(2)).checked(estimator)


def test_a_refit_without_names_forgets_them():
    estimator = Columns().fit(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    estimator.fit(np.eye(3))
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 3


def test_columns_are_named_for_messages():
    assert column_names(pd.DataFrame({"a": [1]}), 1) == ["a"]
    assert column_names(np.eye(2), 2) == ["x0", "x1"]
