"""Frames in model files: the same types and cells come back, and broken ones are refused."""

from __future__ import annotations

import datetime
import decimal
import json

import numpy as np
import pytest

from absentia.persistence.nodes import Reader, Writer
from absentia.predictions.hiding_table import HidingTable

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


def again(value, change=None):
    """Return a value that was written and read, with its node changed in between."""
    writer = Writer()
    node = writer.node(value)
    if change:
        change(node, writer.arrays)
    return Reader(writer.arrays, 10**4).model(json.loads(json.dumps(node)))


@pytest.mark.parametrize("name", sorted(COLUMNS.keys() - {"lists"}))
def test_a_column_comes_back(name):
    frame = COLUMNS[name].to_frame("c")
    found = again(frame)
    pd.testing.assert_frame_equal(found, frame)
    for cell, given in zip(found["c"], frame["c"], strict=True):
        assert type(cell) is type(given)
        assert repr(cell) == repr(given)


def test_cells_of_other_kinds_are_refused():
    with pytest.raises(ValueError, match="Cells of the type"):
        again(COLUMNS["lists"])


def test_names_of_any_kind_come_back():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[0, 5])
    pd.testing.assert_frame_equal(again(frame), frame)
    pairs = frame.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), axis=1)
    assert again(pairs).columns.equals(pairs.columns)


def test_a_frame_that_is_written_to_afterwards_does_not_change_what_was_kept():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    kept = HidingTable.of(frame).copied()
    frame.iloc[0, 0] = 9.0
    assert kept.values["a"].to_dict() == {0: 1.0, 1: 2.0}


def values(new):
    def change(node, arrays):
        if isinstance(new, np.ndarray):
            arrays.append(new)
        node["column"][4] = {"array": len(arrays) - 1} if isinstance(new, np.ndarray) else new

    return change


def part(at, new):
    def change(node, arrays):
        node["column"][at] = new

    return change


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("text", values(np.zeros(3))),
        ("text", values({"objects": [[1], [{"tuple": []}]]})),
        ("text", values({"objects": [[1, 1], ["a"]]})),
        ("text", part(1, "no type")),
        ("text", part(1, "U20000000")),
        ("text", part(1, "Sparse[object]")),
        ("text", part(1, None)),
        ("text", part(0, "os")),
        ("text", part(0, "polars")),
        ("text", part(4, [])),
        ("ordered", values(np.array([0, 3, 1]))),
        ("ordered", values(np.array([0.0, 1.0]))),
        ("ordered", part(2, None)),
        ("Int64", values(np.zeros((3, 1)))),
        ("float64", values(np.zeros((2, 1)))),
        ("float64", values(None)),
        ("float64", values(np.zeros(3, dtype="M8[ns]"))),
        ("float64", part(1, "S100000000")),
        ("float64", part(1, "datetime64[ns, dateutil//etc/localtime]")),
        ("float64", part(1, "datetime64[ns, Nowhere/City]")),
        ("days", values({"objects": [[1], [{"date": "somewhen"}]]})),
        ("days", values({"objects": [[1], [{"Period": "1 x"}]]})),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(column, change):
    again(COLUMNS[column])
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        again(COLUMNS[column], change)


def test_frames_of_columns_of_other_lengths_are_refused():
    def shorter(node, arrays):
        arrays[0] = arrays[0][:1]

    def unnamed(node, arrays):
        node["frame"][0] = ["a"]

    for change in (shorter, unnamed):
        with pytest.raises(ValueError, match="one column per name, all of one length"):
            again(pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]}), change)
