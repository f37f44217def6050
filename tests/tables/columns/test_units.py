"""Numbers with a unit behind them, and words that differ in case only."""

import numpy as np
import pandas as pd
import pytest

from absentia import ColumnPlan, TableEncoder, describe_missingness
from absentia.recipe.learning_table import split_target
from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import read_as, read_column
from absentia.tables.columns.numerals import split_unit

RNG = np.random.default_rng(0)
NUMBERS = RNG.gamma(2.0, 10.0, size=60).round(1)


@pytest.mark.parametrize("unit", ["kg", "mg/dl", "km/h", "m²", "°C", "mmHg", "Stück"])
@pytest.mark.parametrize("blank", [" ", "", "  "])
def test_one_unit_is_read_and_named(unit, blank):
    column = pd.Series([f"{v}{blank}{unit}" for v in NUMBERS] + [None, "n.d."])
    reading = read_column(column)
    assert (reading.kind, reading.unit) == ("number", unit)
    assert f"with the unit {unit!r}" in reading.note
    np.testing.assert_array_equal(reading.values(column)[:60, 0], NUMBERS)
    later = reading.values(pd.Series([f"3{blank}{unit}", "4", "5 furlongs", None]))[:, 0]
    np.testing.assert_array_equal(later, [3, 4, np.nan, np.nan])
    np.testing.assert_array_equal(reading.values(pd.Series([3.5]))[:, 0], 3.5)


def test_commas_limits_and_bare_numbers():
    words = [f"{v} kg".replace(".", ",") for v in NUMBERS] + ["<0,5 kg", "7"]
    reading = read_column(pd.Series(words))
    assert reading.decimal == ","
    assert reading.counts.bounds == 1
    assert "(also assumed for 1 value without a unit)" in reading.note
    lower, upper = reading.limits(Column(pd.Series(["<0,5 kg", "2,5 kg"])))
    assert (lower[0], upper[0], upper[1]) == (-np.inf, 0.5, 2.5)


@pytest.mark.parametrize(
    "words",
    [
        ["12A", "13A", "14A"],  # seats, rooms
        ["1st", "2nd", "3rd"],
        ["9 am", "10 am", "11 am"],
        ["5-10 kg", "11-20 kg", "21-30 kg"],
        ["kg", "lb", "t"],
        ["12 Elm Road", "13 Elm Road"],
        ["5 kg", "6 kg", "heavy"],
        ["5 kg", "11 lb", "6 kg", "13 lb"],
    ],
)
def test_what_is_no_unit_stays_words(words):
    assert read_column(pd.Series(words * 5)).kind == "category"


def test_the_owner_knows_better_about_units():
    column = pd.Series(["5 kg", "6 kg", "-999 kg", "-999 kg"] * 5)
    assert read_as(column, "category").kind == "category"
    asked = read_as(column, "number")
    assert asked.unit == "kg"
    assert asked.values(column).min() == -999
    assert read_column(column).sentinels == (-999.0,)
    words = pd.Series(["much", "little"] * 5)
    assert (
        read_as(words, "number").note == "left out, none of its values, such as 'much', is a number"
    )


def test_another_unit_at_predict_is_said():
    frame = pd.DataFrame({"mass": [f"{v} kg" for v in NUMBERS], "w": ["a", "b"] * 30})
    new = pd.DataFrame({"mass": ["5 lb", "6 kg"], "w": "a"})
    with pytest.warns(UserWarning, match="'5 lb' in row 1"):
        assert np.isnan(TableEncoder().fit(frame).transform(new)[0, 0])
    encoder = TableEncoder(limits=True).fit(frame)
    with pytest.warns(UserWarning, match="'5 lb' in row 1"):
        assert not np.isnan(encoder.transform(new).array[1, 0])


def test_long_texts_are_not_searched():
    assert split_unit("1a" * 50_000 + "!") == ("1a" * 50_000 + "!", "")


def test_words_that_differ_in_case_are_said():
    said = "'Yes' and 'yes' differ only in case: they count as two different words"
    frame = pd.DataFrame(
        {"ok": ["yes", "no", "Yes", " yes "] * 5, "x": range(20), "y": [1, 2] * 10}
    )
    reading = read_column(frame["ok"])
    assert reading.categories == ("Yes", "no", "yes")
    assert reading.note.endswith(f"; {said}")
    assert any(note == f"ok: {said}." for note in describe_missingness(frame).notes)
    assert said in repr(ColumnPlan.of(frame, codes=True))
    table = split_target(frame, "ok")
    assert set(table.target) == {"yes", "no", "Yes"}
    assert f"ok: {said}." in table.notes
    assert "differ only in case" not in "".join(split_target(frame, "y").notes)
    three = read_column(pd.Series(["SÜD", "Süd", "süd", "z", "Z"] * 5)).note
    assert (
        "'SÜD', 'Süd' and 'süd' differ only in case: they count as three different words" in three
    )
    assert "(and there are other such words)" in three
