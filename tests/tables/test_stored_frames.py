"""Frames kept as arrays: the same types and cells come back, and broken ones are refused."""

from __future__ import annotations

import datetime
import decimal
import io
from dataclasses import replace

import numpy as np
import pytest

from absentia.tables.stored import StoredCells, StoredFrame

pd = pytest.importorskip("pandas")

DAYS = pd.to_datetime(["2020-03-29 01:30", None, "2021-10-31 00:00:00.000000001"], format="ISO8601")
COLUMNS = {
    "float64": pd.Series([1.5, np.nan, -0.0]),
    "float32": pd.Series([0.1, np.nan, 3.0], dtype="float32"),
    "int8": pd.Series([1, -2, 3], dtype="int8"),
    "bool": pd.Series([True, False, True]),
    "Int64": pd.Series([2**62 + 1, None, 3], dtype="Int64"),
    "Float32": pd.Series([0.1, None, 3], dtype="Float32"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "text": pd.Series(["Rome", None, "<0.5"], dtype=object),
    "str": pd.Series(["Rome", None, ""], dtype="str"),
    "string": pd.Series(["Rome", None, "x"], dtype="string"),
    "dates": pd.Series(DAYS),
    "seconds": pd.Series(DAYS).astype("datetime64[s]"),
    "zoned": pd.Series(DAYS).dt.tz_localize("UTC").dt.tz_convert("Europe/Rome"),
    "durations": pd.Series(pd.to_timedelta([1, None, 3], unit="h")),
    "ordered": pd.Series(pd.Categorical(["lo", None, "hi"], ["lo", "mid", "hi"], ordered=True)),
    "numbered": pd.Series(pd.Categorical([3, None, 1])),
    "cut": pd.Series(pd.cut([0.1, np.nan, 0.9], [0.0, 0.3, 1.0])),
    "days": pd.Series([datetime.date(2020, 1, 2), None, datetime.date(1, 1, 1)], dtype=object),
    "moments": pd.Series([datetime.datetime(2020, 1, 2, 3, 4, 5, 6), None, pd.NaT], dtype=object),
    "money": pd.Series([decimal.Decimal("1.10"), decimal.Decimal("1.1"), None], dtype=object),
    "months": pd.Series(pd.PeriodIndex(["2020-01", None, "2020-03"], freq="M")),
    "intervals": pd.Series(pd.arrays.IntervalArray.from_breaks([0.0, 1.0, 2.0, 3.0])),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0, np.nan, 2.0])),
    "anything": pd.Series(["1", 1, 1.0], dtype=object),
    "truths": pd.Series([True, 1, np.nan], dtype=object),
    "markers": pd.Series([None, np.nan, pd.NA], dtype=object),
    "zero byte": pd.Series(["a\0", "a", None], dtype=object),
    "lists": pd.Series([[1, 2], (3, 4), None], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_comes_back(name):
    frame = COLUMNS[name].to_frame("c")
    kept = StoredFrame.of(frame)
    kept.validate()
    again = kept.frame()
    pd.testing.assert_frame_equal(again, frame)
    for found, given in zip(again["c"], frame["c"], strict=True):
        assert type(found) is type(given)
        assert repr(found) == repr(given)


def test_names_and_rows_of_any_kind_come_back():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[0, 5], index=[7, 9])
    pd.testing.assert_frame_equal(StoredFrame.of(frame).frame(), frame.reset_index(drop=True))
    pairs = frame.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), axis=1)
    assert StoredFrame.of(pairs).frame().columns.equals(pairs.columns)


def test_a_frame_that_is_written_to_afterwards_does_not_change_what_was_kept():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    kept = StoredFrame.of(frame)
    frame.iloc[0, 0] = 9.0
    assert kept.frame()["a"].tolist() == [1.0, 2.0]


def test_text_is_kept_as_an_array_without_objects():
    kept = StoredCells.of(["Rome", None, "Oslo", "Rome"])
    np.save(io.BytesIO(), kept.texts, allow_pickle=False)
    np.testing.assert_array_equal(kept.texts, ["Rome", "None", "Oslo"])
    np.testing.assert_array_equal(kept.codes, [0, 1, 2, 0])


def changed(value, path, new):
    """Return a stored value with another part, such as ``values.codes``."""
    name, _, rest = path.partition(".")
    return replace(value, **{name: changed(getattr(value, name), rest, new) if rest else new})


@pytest.mark.parametrize(
    ("column", "part", "value"),
    [
        ("text", "values.codes", np.array([0, -5, 1])),
        ("text", "values.codes", np.array([0, 7, 1])),
        ("text", "values.codes", np.array([0.0, 0.0, 1.0])),
        ("text", "values.kinds", np.array(["code"] * 3)),
        ("text", "values.texts", np.arange(3)),
        ("text", "values.texts", np.array([1, 2, 3], dtype=object)),
        ("text", "values.kinds", np.array(["str"])),
        ("text", "values.kinds", ()),
        ("text", "values", np.zeros(3)),
        ("text", "type.name", "no type"),
        ("text", "type.name", "U20000000"),
        ("text", "type.name", "Sparse[object]"),
        ("text", "type", "object"),
        ("ordered", "values", np.array([0, 3, 1])),
        ("ordered", "type.levels", None),
        ("ordered", "type.levels.values.codes", np.array([9, 9, 9])),
        ("Int64", "values.codes", np.zeros(2)),
        ("Int64", "values", np.zeros((3, 1))),
        ("float64", "values", np.zeros(2)),
        ("float64", "values", None),
        ("float64", "values", np.zeros(3, dtype="M8[ns]")),
        ("float64", "type.name", "S100000000"),
        ("float64", "type.name", "datetime64[ns, dateutil//etc/localtime]"),
        ("float64", "type.name", "datetime64[ns, Nowhere/City]"),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(column, part, value):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": COLUMNS[column]})
    kept = StoredFrame.of(frame)
    kept.validate()
    first, second = kept.columns
    with pytest.raises(ValueError, match=r"Stored|stored|type"):
        replace(kept, columns=(first, changed(second, part, value))).validate()
