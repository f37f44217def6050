"""What commas and points mean, by the evidence of the whole table, at fit and at predict."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from absentia import KernelRidge, TableEncoder, describe_missingness
from absentia.recipe.learning_table import split_target
from absentia.tables.columns.guesses import read_column, read_columns
from absentia.tables.files.delimited import read_delimited

RNG = np.random.default_rng(0)
THREE = [f"{v:.3f}".replace(".", ",") for v in RNG.uniform(1, 9, 30)]
ONE = [f"{v:.1f}".replace(".", ",") for v in RNG.uniform(1, 9, 30)]
POINTS = [f"{v:.1f}" for v in RNG.uniform(1, 9, 30)]


def first_reading(frame):
    _, readings = read_columns(frame)
    return next(iter(readings.values()))


@pytest.mark.parametrize(
    ("others", "decimal"),
    [
        ({}, "."),
        ({"ph": ONE}, ","),
        ({"ph": ONE, "n": range(30)}, ","),
        ({"ph": ONE, "t": POINTS}, "."),
        ({"ph": ONE, "t": RNG.normal(size=30)}, "."),
        ({"t": RNG.normal(size=30)}, "."),
        ({"n": ["1,234,567", "2,345,678"] * 15, "ph": ONE}, "."),
        ({"words": ["about 5,3", "none"] * 15}, "."),
    ],
    ids=lambda value: "-".join(value),
)
def test_other_columns_say_what_commas_are(others, decimal):
    reading = first_reading(pd.DataFrame({"density": THREE, **others}))
    assert reading.decimal == decimal
    expected = float(THREE[0].replace(",", "." if decimal == "," else ""))
    assert reading.values(pd.Series(THREE))[0, 0] == expected
    assert f"{THREE[0]!r} is {expected:g}" in reading.note
    assert ("commas read as thousands separators" in reading.note) == (decimal == ".")


@pytest.mark.parametrize(
    ("text", "values", "note"),
    [
        ("x;ph\n1.410;5,3\n;8,1\n-2.000;7\n", [1410, np.nan, -2000], "'1.410' is 1410"),
        ("x;ph\n1.410;5,3\n999;8,1\n", [1410, 999], "'1.410' is 1410"),
        ("x\tph\n1.410\t5,3\n2.350\t8,1\n", [1410, 2350], "'1.410' is 1410"),
        ('x,ph\n1.410,"5,3"\n2.350,"8,1"\n', [1410, 2350], "'1.410' is 1410"),
        ("x;ph\n1.410 kg;5,3\n2.350 kg;8,1\n", [1410, 2350], "'1.410' is 1410"),
        ("x;ph\n1.410;5,312\n2.350;8,150\n", [1410, 2350], "'1.410' is 1410"),
        ("x;n\n1.410;5\n1.234.567;8\n", [1410, 1234567], "points read as thousands separators"),
        # Points are decimal ones where nothing says otherwise, or another column has them.
        ("x;n\n1.410;5\n2.350;8\n", [1.41, 2.35], "'1.410' is 1.41"),
        ("x;ph;t\n1.410;5,3;0.5\n2.350;8,1;1.5\n", [1.41, 2.35], "'1.410' is 1.41"),
        ("x;ph\n1.410;5,3\n2.35;8,1\n", [1.41, 2.35], ""),
        ("x;ph\n1.410;5,3\n0.350;8,1\n", [1.41, 0.35], ""),
        ("x,n\n1.410,5\n2.350,8\n", [1.41, 2.35], ""),
        ("x\tn\n1.410\t5\n2.350\t8\n", [1.41, 2.35], "'1.410' is 1.41"),
    ],
)
def test_points_are_thousands_where_other_columns_have_decimal_commas(text, values, note):
    frame = read_delimited(text.encode(), "my.csv")
    reading = first_reading(frame)
    np.testing.assert_array_equal(reading.values(frame["x"])[:, 0], values)
    assert note in reading.note
    assert bool(reading.note) == bool(note)


@pytest.mark.parametrize("sign", [".", ","])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_thousands_beside_hundreds(sign, separator):
    values = np.random.default_rng(0).integers(800, 1700, 60)
    words = [f"{value:,}".replace(",", sign) for value in values]
    text = f"x{separator}n\n" + "".join(f'"{word}"{separator}1\n' for word in words)
    frame = read_delimited(text.encode(), "my.csv")
    reading = first_reading(frame)
    np.testing.assert_array_equal(reading.values(frame["x"])[:, 0], values)
    kind = "points" if sign == "." else "commas"
    assert f"{kind} read as thousands separators: {words[0]!r} is {values[0]}" in reading.note


@pytest.mark.parametrize(
    "words",
    [
        ["1.410", "2.385", "2.071", "950", "815", "1990"],  # a thousand without a sign
        ["1.410", "2.385", "2.071", "9", "8", "990"],  # weights of some, numbers of others
        ["1.410", "2.385", "950", "815", "990"],  # too few to tell
        ["1.125", "2.375", "3.625", "100", "250", "500"],  # eighths
        ["1.410", "2.385", "2.071", "2.5", "815", "850", "990"],
    ],
)
def test_what_stands_beside_decimals(words):
    assert read_column(pd.Series(words)).decimal == "."


def test_points_are_decimal_ones_where_commas_separate_the_values():
    text = "x,n\n" + "".join(f"{word},1\n" for word in ["1.411", "2.385", "3.071", 950, 815, 990])
    frame = read_delimited(text.encode(), "my.csv")
    assert frame["x"].tolist() == [1.411, 2.385, 3.071, 950, 815, 990]


def test_addresses_of_computers_are_no_numbers():
    addresses = pd.DataFrame({"host": ["192.168.178.120", "192.168.178.121"] * 15})
    assert first_reading(addresses).kind == "category"


def test_one_later_row_has_the_same_thousands():
    text = "x;ph\n" + "".join(f"{k}.{100 + k};{ph}\n" for k, ph in enumerate(ONE, 1))
    encoder = TableEncoder().fit(read_delimited(text.encode(), "my.csv"))
    later = encoder.transform(read_delimited(b"x;ph\n1.000;5\n", "later.csv"))
    np.testing.assert_array_equal(later, [[1000.0, 5.0]])


def test_semicolons_say_it_too_and_what_is_decided_stays():
    text = "density;n\n" + "".join(f"{word};{k % 7}\n" for k, word in enumerate(THREE))
    frame = read_delimited(text.encode(), "my.csv")
    encoder = TableEncoder().fit(frame.iloc[::-1].drop(columns="n"))
    later = encoder.transform(pd.DataFrame({"density": ["2,500", "2,5"]}))
    np.testing.assert_array_equal(later[:, 0], 2.5)
    commas = read_delimited(text.replace(",", ".").replace(";", ",").encode(), "my.csv")
    assert TableEncoder().fit(commas).notes_ == []


def test_a_target_and_a_report_go_by_the_table_as_well():
    frame = pd.DataFrame({"density": THREE, "ph": ONE})
    table = split_target(frame, "density")
    assert table.task == "regression"
    assert table.target.max() < 10
    assert "is " + f"{float(THREE[0].replace(',', '.')):g}" in table.notes[0]
    assert any("with decimal commas as in the rest" in n for n in describe_missingness(frame).notes)


@pytest.mark.parametrize(
    ("trained", "later", "said", "read"),
    [
        (ONE, ["0.415"], "'0.415' is 0.415", 0.415),
        (
            ONE,
            ["2.500"],
            "'2.500' is 2500",
            2500,
        ),
        (ONE, ["0.4", "2.500"], "'0.4' is 0.4", 0.4),
        ([*ONE, "1.234,5"], ["0.4", "2.500"], "'0.4' is 0.4", 0.4),
        (POINTS, ["0,4", "0,5"], "'0,4' is 0.4", 0.4),
        (
            POINTS,
            ["2,500"],
            "'2,500' is 2500",
            2500,
        ),
        ([*POINTS, "1,234.5"], ["2,500"], "", 2500),
        (ONE, ["2,500"], "", 2.5),
        (THREE, ["2,500"], "", 2500),
        ([3, 5] * 15, ["2,5"], "", 2.5),
    ],
)
def test_another_sign_at_predict_is_said(trained, later, said, read):
    frame = pd.DataFrame({"x": trained, "w": ["a", "b", "c"] * 10 + ["a"] * (len(trained) - 30)})
    machine = KernelRidge().fit(frame, np.arange(len(trained)))
    new = pd.DataFrame({"x": later, "w": "a"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = machine.columns_.read(new)
    plan = machine.columns_
    assert table.array[0, 0] * plan.scales[0] + plan.centres[0] == pytest.approx(read)
    signs = [
        str(w.message)
        for w in caught
        if "written differently from those in training" in str(w.message)
    ]
    assert bool(signs) == bool(said)
    assert said in "".join(signs)


@pytest.mark.parametrize("around", ["{}", "{} €", "€ {}", "-{}", "+{}", "{} %", "{} kg"])
@pytest.mark.parametrize("others", [[], ["k.A."], ["n.a.", "-"]])
def test_hundreds_tell_whatever_stands_around_and_beside_them(around, others):
    values = [1410, 1385, 2071, 950, 815, 990]
    words = [around.format(f"{value:,}".replace(",", ".")) for value in values] * 4 + others
    reading = read_column(pd.Series(words))
    found = np.abs(reading.values(pd.Series(words))[:6, 0])
    np.testing.assert_array_equal(found, values)
    assert "points read as thousands separators" in reading.note


@pytest.mark.parametrize("kind", [float, Decimal])
@pytest.mark.parametrize("others", [[950, 815, 990], ["n/a"], ["7,5"]])
def test_numbers_among_objects_are_what_they_are(kind, others):
    values = [kind("1.411"), kind("2.385"), kind("-3.075")]
    frame = pd.DataFrame({"a": pd.Series([*values, *others], dtype=object)})
    frame["b"] = ["5,3", "6,1"] * 3 if len(frame) == 6 else ["5,3", "6,1", "7,2", "8,8"]
    found = first_reading(frame).values(frame["a"])[:, 0]
    np.testing.assert_array_equal(found[:3], [1.411, 2.385, -3.075])
