"""What the reader finds in columns, what it says, and how its owner overrules it."""

import numpy as np
import pandas as pd
import pytest

from absentia import ColumnPlan, TableEncoder
from absentia.tables.columns.guesses import read_as, read_column

RNG = np.random.default_rng(0)
NUMBERS = RNG.gamma(2.0, size=60).round(2)


def column(values, name="x"):
    return pd.Series(values, name=name)


@pytest.mark.parametrize(
    ("values", "kind", "said"),
    [
        ([f"${v:,.2f}" for v in 1000 * NUMBERS], "number", "amounts of money in $"),
        ([f"{v} €" for v in NUMBERS[:30]] + [f"£{v}" for v in NUMBERS], "number", "not converted"),
        ([f"{v} %" for v in NUMBERS], "number", "percentages"),
        ([f"{v}".replace(".", ",") for v in NUMBERS], "number", "decimal commas"),
        ([*NUMBERS, -999.0, -999.0], "number", "2 values of -999, far from the others"),
        ([*map(str, NUMBERS), "-999", "-999"], "number", "2 values of -999"),
        ([*map(str, NUMBERS), "<0.1", "5-6"], "number", "2 values such as '<0.1'"),
        ([*map(str, NUMBERS), *["bad"] * 5], "number", "5 unreadable values ('bad')"),
        (["<18", "18-65", ">65"] * 9, "ordered", "ranges of numbers"),
        (["[0-10)", "[10-20)", "[20-30)", None] * 9, "ordered", "from 0 ('[0-10)')"),
        ([20240101 + k for k in range(31)], "date", "whole numbers such as 20240101"),
        (["2024-01-02", "03.01.2024", "5 Jan 2024"] * 9, "date", "3 date formats"),
        (["01/02/2024", "03/04/2024"] * 9, "date", "read as day first"),
        (["13/02/2024", "03/04/2024"] * 9, "date", "days since 1970"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_found_is_said(values, kind, said):
    reading = read_column(column(values))
    assert reading.kind == kind
    assert said in reading.note
    assert np.isfinite(reading.values(column(values))).any()


def test_ranges_are_numbered_in_their_order():
    groups = column([">65", "18-65", "<18"])
    reading = read_column(column([">65", "18-65", "<18"] * 9))
    np.testing.assert_array_equal(reading.values(groups)[:, 0], [2, 1, 0])


def test_dates_of_several_spellings_are_the_same_days():
    reading = read_column(column(["2024-01-02", "03.01.2024", "5 Jan 2024"] * 9))
    days = reading.values(column(["2024-01-05", "05.01.2024", "5 Jan 2024", "01/13/2024"]))[:, 0]
    assert days[0] == days[1] == days[2]
    assert np.isnan(days[3])


def test_whole_numbers_as_dates_also_beside_missing_ones():
    reading = read_column(column([20240101 + k for k in range(31)]))
    later = reading.values(column([20240131.0, np.nan]))[:, 0]
    np.testing.assert_array_equal(later, [19753.0, np.nan])


def test_many_keys_are_encoded_by_the_target_and_numbers_without_one():
    frame = pd.DataFrame({"customer_id": list(range(60)) * 3, "w": ["a", "b", "c"] * 60})
    assert ColumnPlan.of(frame).by_name["customer_id"].kind == "number"
    rng = np.random.default_rng(0)
    assert ColumnPlan.of(frame, rng.normal(size=180)).by_name["customer_id"].kind == "number"
    plan = ColumnPlan.of(frame, np.tile(rng.normal(size=60), 3))
    assert plan.by_name["customer_id"].encoding
    assert "60 categories, encoded by what they say about the target" in repr(plan)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("admission_type_id", [1, 2, 3] * 9, "category"),
        ("wardCode", [1.0, 2.0, 3.0, None] * 9, "category"),
        ("stage", [1, 2, 3] * 9, "number"),  # few whole numbers mostly have an order
        ("flag_id", [0, 1] * 9, "number"),
        ("person_id", list(range(40)), "number"),
    ],
)
def test_keys_are_categories_and_other_whole_numbers_are_not(name, values, kind):
    reading = read_column(column(values, name))
    assert reading.kind == kind
    if kind == "category":
        assert reading.categories == ("1", "2", "3")
        np.testing.assert_array_equal(reading.values(column([2.0, np.nan], name))[0], [0, 1, 0])
        np.testing.assert_array_equal(reading.values(column([2], name))[0], [0, 1, 0])


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["Ulm", "Bonn", "k.A."] * 9, "3 categories, one indicator column for each; 'k.A.' counts"),
        (["Ulm", "Unbekannt"] * 9, "'Unbekannt' counts as a category"),
        (["a", "b", "-", "Not applicable"] * 9, "'-' and 'Not applicable' count as categories"),
    ],
)
def test_a_category_that_would_be_missing_among_numbers_is_named(values, note):
    assert note in read_column(column(values)).note
    assert "count" not in read_column(column(["Ulm", "Bonn", "Trier"] * 9)).note


@pytest.mark.parametrize("word", ["k.A.", "k. A.", "s/d", "inconnu", "NC", "n/r", "not reported"])
def test_what_people_write_for_nothing_is_missing_among_numbers_and_dates(word):
    for known in (NUMBERS.astype(str), pd.date_range("2020-01-05", periods=60).astype(str)):
        reading = read_column(column([*known, *[word] * 60]))
        assert reading.kind in ("number", "date")
        assert reading.counts.unreadable == 60
        assert np.isnan(reading.values(column([word]))[0]).all()


CASES = RNG.permutation(10001 + np.arange(80))[:60]
APART = RNG.permutation(5000)[:60] + 20


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("case_no", CASES, True),  # a fourth of the rows left out
        ("case_no", CASES.astype(str), True),
        ("case_no", 3000 + np.arange(20), True),
        ("case", CASES, False),  # without a name that says so they are numbers
        ("case", 10001 + 3 * np.arange(60), False),  # two of three left out
        ("case", [*CASES[:-1], CASES[0]], False),
        ("case", [*CASES[:-1], np.nan], False),
        ("case", CASES + 0.5, False),
        *((name, APART, True) for name in ("Nr", "Nr.", "No", "no.", "num", "Number", "Nummer")),
        *((name, APART, True) for name in ("Fall_Nr", "case_no", "CaseNumber", "invoice number")),
        *((name, APART, True) for name in ("Lfd. Nr.", "lfd nr", "lfdNr", "caseNo", "Fallnummer")),
        ("Fall_Nr", [*APART[:-1], APART[0]], False),
        ("Fall_Nr", APART[:19], False),
        *((name, APART, False) for name in ("NO", "SNR", "INR", "piano", "casino", "number_of_x")),
        ("year", 1990 + np.arange(30), False),
        ("temperature", 20 + np.arange(25), False),  # a designed grid
        ("day", 45000 + np.arange(60), False),  # days of a spreadsheet
        ("week", 202401 + np.arange(52), False),
        ("day", 2024001 + np.arange(366), False),
        ("day", [str(20240101 + k) for k in range(31)], False),
        ("visit_id", 1000 * APART, True),
    ],
)
def test_whole_numbers_that_only_number_the_rows(name, values, is_id):
    assert read_column(column(values, name)).is_id == is_id


def test_a_categorical_type_says_that_these_are_categories():
    codes = pd.Series([10, 20, 30, None] * 5, dtype="category")
    assert read_column(codes).categories == ("10", "20", "30")
    assert read_column(pd.Series(NUMBERS).astype("category")).kind == "number"  # too many


def test_the_owner_knows_better():
    coded = column([*NUMBERS, -999.0, -999.0])
    assert (read_as(coded, "number").values(coded) == -999).sum() == 2
    text = column([*map(str, NUMBERS), "-999", "-999"])
    assert (read_as(text, "number").values(text) == -999).sum() == 2
    dates = column(pd.date_range("2020-01-01", periods=60, freq="15D"))
    assert read_column(dates).cycles == ("year",)
    assert read_as(dates, "date").cycles == ()
    assert read_as(dates, "cyclic date").cycles == ("year", "week")
    assert read_as(column([20240101, 20240102]), "date").values(column([20240103]))[0, 0] == 19725
    assert read_as(column([1, 2, 3]), "left out").left_out
    with pytest.raises(ValueError, match="'cyclic date' or 'left out', found 'words'"):
        read_as(column([1, 2]), "words")


def test_a_plan_can_be_made_by_hand_and_warns_of_codes():
    frame = pd.DataFrame({"lead": [*NUMBERS, -999.0, -999.0], "ward": ["a", "b"] * 31})
    with pytest.warns(UserWarning, match="'lead' has 2 values of -999"):
        plan = ColumnPlan.of(frame)
    assert np.isnan(plan.read(frame).array[-2:, 0]).all()
    plan = ColumnPlan.of(frame, kinds={"lead": "number", "ward": "left out"})
    assert plan.labels == ["lead"]
    assert plan.source_columns().tolist() == ["lead"]
    assert not plan.read(frame).mask.any()


def test_the_encoder_reads_as_the_plan_does():
    frame = pd.DataFrame(
        {
            "pay": [f"${v:,.2f}" for v in 1000 * NUMBERS],
            "seen": pd.date_range("2020-01-01", periods=60, freq="15D"),
            "lead": np.where(np.arange(60) < 3, -999.0, NUMBERS),
        }
    )
    encoder = TableEncoder().fit(frame)
    names = ["pay", "seen", "seen (sine of year)", "seen (cosine of year)", "lead"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.plan_.source_columns().tolist() == ["pay", *["seen"] * 3, "lead"]
    with pytest.warns(UserWarning, match="Codes"):
        plan = ColumnPlan.of(frame)
    read = plan.read(frame).array * plan.scales + plan.centres
    np.testing.assert_allclose(read, encoder.transform(frame), rtol=1e-12, atol=1e-9)
    assert np.isnan(read[:3, -1]).all()


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_a_plan_has_standard_units_whatever_the_units_were(unit):
    frame = pd.DataFrame({"a": unit * NUMBERS, "ward": ["a", "b"] * 30})
    found = ColumnPlan.of(frame).read(frame).array[:, 0]
    np.testing.assert_allclose(found, (NUMBERS - NUMBERS.mean()) / NUMBERS.std(), rtol=1e-9)


def test_control_characters_in_names_do_not_reach_the_terminal():
    plan = ColumnPlan.of(pd.DataFrame({"\x1b[31mré": [1.0, 2.0, 3.0], "word": ["a", "b", "a"]}))
    assert "\x1b" not in repr(plan)
    assert "\\x1b[31mré" in repr(plan)


def test_quantities_that_are_called_numbers_stay():
    rng = np.random.default_rng(0)
    platelets = rng.choice(np.arange(150_000, 400_000), 60, replace=False)
    assert not read_column(pd.Series(platelets, name="platelet number")).is_id
    grid = pd.Series(np.arange(3000, 3240, 4), name="wavelength")  # steps of four, designed
    assert not read_column(grid.sample(frac=1.0, random_state=0)).is_id
    assert read_column(pd.Series(np.arange(3000, 3060), name="case_no")).is_id
