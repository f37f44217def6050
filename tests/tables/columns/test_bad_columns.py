"""Columns that nobody would choose: a sound answer, or one sentence."""

import datetime

import numpy as np
import pandas as pd
import pytest

from absentia import SVC, ColumnPlan, bounded

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2


def with_age(**columns):
    ward = np.where(RNG.random(40) < 0.5, "north", "south")
    return pd.DataFrame({"age": RNG.normal(40 + 15 * Y, 5), "ward": ward, **columns})


def used_as(machine):
    return dict(machine.columns_.to_frame()[["column", "used as"]].itertuples(index=False))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([f"w{k}" for k in range(40)], "a different word in each row"),
        (["same"] * 40, "its only value is 'same'"),
        (["same", None] * 20, "its only value is 'same'"),
        (pd.Series([None] * 40, dtype=object), "it has no values"),
        (pd.Categorical([None] * 40, ["a", "b"]), "it has no values"),
        (pd.Categorical([None] * 40, ["a", "b"], ordered=True), "it has no values"),
        (pd.Categorical([None] * 40, [], ordered=True), "it has no values"),
        ([pd.NaT] * 40, "it has no values"),
        (["<0.5"] * 40, "its only value is '<0.5'"),
        (["<0.5", "<0.2"] * 20, ""),
        ([[1, 2], {"a": 1}] * 20, ""),
    ],
    ids=lambda value: str(value)[:25],
)
def test_a_useless_column_is_left_out_and_the_rest_is_learned(column, said):
    frame = with_age(odd=column)
    machine = SVC().fit(frame, Y)
    assert machine.score(frame, Y) > 0.8
    if said:
        assert used_as(machine)["odd"] == "left out"
        assert said in repr(machine.columns_)
        # What a later table has in such a column does not matter.
        later = machine.decision_function(frame.assign(odd="whatever"))
        np.testing.assert_array_equal(later, machine.decision_function(frame))


def test_ten_thousand_categories_are_left_out_in_no_time():
    n = 20_000
    frame = pd.DataFrame({"age": np.arange(n) % 70, "code": [f"c{k % 10_000}" for k in range(n)]})
    plan = ColumnPlan.of(frame)
    assert "text with 10,000 different values" in repr(plan)
    assert plan.read(frame).shape == (n, 1)
    kept = ColumnPlan.of(frame.head(200), kinds={"code": "category"}, max_categories=200)
    assert kept.read(frame.head(200)).shape == (200, 201)


def test_nothing_but_useless_columns_is_one_sentence():
    frame = pd.DataFrame({"a": [f"w{k}" for k in range(40)], "b": "same"})
    with pytest.raises(ValueError, match=r"No column has anything.*a: .*b: .*'same'\.$"):
        SVC().fit(frame, Y)


def test_several_types_in_one_column():
    cells = [1, "2", 3.5, True, None, "n/a", np.nan, pd.NA, "4,5", np.int64(3)] * 4
    machine = SVC().fit(with_age(odd=pd.Series(cells, dtype=object)), Y)
    assert used_as(machine)["odd"] == "number"
    words = [1, "red", datetime.date(2024, 1, 1), None] * 10
    machine = SVC().fit(with_age(odd=pd.Series(words, dtype=object)), Y)
    assert used_as(machine)["odd"] == "category"


def test_a_lower_end_above_the_upper_one():
    cells = [*RNG.random(37).round(2).astype(str), "0.5-0.5", "0.9-0.2", "0.2-0.9"]
    plan = ColumnPlan.of(with_age(odd=cells))
    assert "1 unreadable value ('0.9-0.2') counts as missing" in repr(plan)
    table = plan.read(with_age(odd=cells))
    assert np.isinf(table.lower[-2]).all()
    assert np.isfinite(table.lower[-1, 2])
    value = table.array[-3, 2] * plan.scales[2] + plan.centres[2]
    np.testing.assert_allclose(value, 0.5)  # two equal ends are a value
    with pytest.raises(ValueError, match="lower limit of 3 above its upper limit of 2"):
        bounded([[np.nan, 1.0]], lower=3.0, upper=2.0)


def test_a_name_twice_is_one_sentence():
    frame = with_age(odd=["a", "b"] * 20)
    frame.columns = ["age", "age", "odd"]
    with pytest.raises(ValueError, match="'age' appears more than once"):
        SVC().fit(frame, Y)
    with pytest.raises(ValueError, match="'weight', which the table does not have"):
        ColumnPlan.of(with_age(), kinds={"weight": "number"})


def test_numbers_beside_a_column_without_values():
    frame = with_age(odd=pd.Series([None] * 40, dtype=object)).drop(columns="ward")
    with pytest.warns(UserWarning, match="missing in every training row: odd"):
        machine = SVC().fit(frame, Y)
    assert "it has no values" in repr(machine.columns_)
