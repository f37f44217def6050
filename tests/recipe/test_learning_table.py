"""Rows that nothing can be learned from are left out, and said to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia.recipe.learning_table import sample_in_proportion, split_target
from absentia.tables.files.delimited import read_delimited


def frame(rows: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"a": rng.normal(size=rows), "b": ["x", "y"] * (rows // 2), "y": [0, 1] * (rows // 2)}
    )


@pytest.mark.parametrize(("empty", "said"), [(1, ("1 row has", "is")), (2, ("2 rows have", "are"))])
def test_rows_without_any_value_are_left_out(empty, said):
    table = frame()
    table.loc[: empty - 1, ["a", "b"]] = None
    found = split_target(table, "y")
    assert len(found.target) == 30 - empty
    assert found.notes == (f"{said[0]} no value other than that of y and {said[1]} left out.",)


def test_nothing_is_said_where_every_row_has_a_value():
    table = frame()
    table.loc[:5, "a"] = np.nan
    found = split_target(table, "y")
    assert len(found.target) == 30
    assert not found.notes


def test_a_table_without_values_has_nothing_to_learn_from():
    with pytest.raises(ValueError, match="Only 0 rows can be learned from"):
        split_target(frame().assign(a=np.nan, b=None), "y")


@pytest.mark.parametrize("share", [0.001, 0.99])
def test_a_share_that_leaves_out_a_class_is_refused_by_the_rows_it_keeps(share):
    frame = pd.DataFrame({"a": range(30), "y": ["p", "q", "r"] * 10})
    table = split_target(frame, "y")
    with pytest.raises(
        ValueError, match=r"holds out \d+ of 30 rows.*a row of each of the 3 classes"
    ):
        table.held_out(share)


def test_a_share_that_leaves_too_few_rows_of_a_class_is_refused():
    frame = pd.DataFrame({"a": range(300), "y": ["p", "q", "r"] * 100})
    with pytest.raises(ValueError, match=r"leaves [1-4] rows of a class to train on, of which 5"):
        split_target(frame, "y").held_out(0.96)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["12345678901234567", "12345678901234568", "73211009"], np.int64),
        (["10000000000000000000", "20000000000000000000", "30"], str),
        (["10000000000000000000", "10000000000000000001", "30"], str),
    ],
)
@pytest.mark.parametrize("hole", [False, True])
def test_classes_that_are_large_whole_numbers_stay_apart(codes, expected, hole):
    """As floating point, neighbours beyond 2^53 are one number, and beyond 2^63 none."""
    rows = [f"{k},{code}" for k, code in enumerate(codes * 10)] + ["30,"] * hole
    text = "a,y\n" + "\n".join(rows) + "\n"
    table = split_target(read_delimited(text.encode(), "codes.csv"), "y")
    assert table.task == "classification"
    np.testing.assert_array_equal(table.target, np.array(codes * 10, dtype=expected))


def test_classes_that_floating_point_has_merged_already_are_refused():
    codes = np.array([12345678901234567.0, 12345678901234568.0] * 10)
    table = pd.DataFrame({"a": range(20), "y": codes})
    with pytest.raises(ValueError, match=r"'y' holds whole numbers beyond 2\^53 as floating point"):
        split_target(table, "y", "classification")
    assert split_target(table.assign(y=codes * np.arange(20)), "y", "regression").target[1] > 1e16


@pytest.mark.parametrize("task", [None, "classification", "regression"])
@pytest.mark.parametrize("kind", ["text", "dates", "durations"])
def test_dates_as_a_target_get_one_sentence(task, kind):
    dates = pd.Series(pd.date_range("2020-01-01", periods=60))
    target = {
        "text": dates.dt.strftime("%d.%m.%Y"),
        "dates": dates,
        "durations": dates - dates[0],
    }[kind]
    frame = pd.DataFrame({"x": np.arange(60.0), "day": target})
    what = "durations" if kind == "durations" else "dates"
    with pytest.raises(ValueError, match=f"'day' holds {what}, which are not supported as targets"):
        split_target(frame, "day", task)
    # A few that come again and again are classes.
    frame["day"] = target.to_numpy()[np.arange(60) % 3]
    if task != "regression":
        assert len(np.unique(split_target(frame, "day", task).target)) == 3


def test_a_sample_has_the_classes_in_proportion():
    classes = np.repeat(["a", "b"], [80, 20])
    rows = sample_in_proportion(classes, 100, 10)
    assert np.unique(classes[rows], return_counts=True)[1].tolist() == [8, 2]


def test_the_best_constant_prediction_is_the_commonest_class_or_the_mean():
    table = frame().assign(y=["a", "b", "a"] * 10)
    score, said = split_target(table, "y").baseline()
    assert (score, said) == (20 / 30, "always 'a'")
    assert split_target(frame(), "a").baseline() == (0.0, "always the mean")
