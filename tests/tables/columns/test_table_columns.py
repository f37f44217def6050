"""What a comma means, by the evidence of the whole table, at fit and at predict."""

import warnings

import numpy as np
import pandas as pd
import pytest

from absentia import KernelRidge, TableEncoder, describe_missingness, load, save
from absentia.evaluation.learning_table import split_target
from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.columns.table_columns import read_columns
from absentia.tables.files.delimited import read_delimited

RNG = np.random.default_rng(0)
THREE = [f"{v:.3f}".replace(".", ",") for v in RNG.uniform(1, 9, 30)]
ONE = [f"{v:.1f}".replace(".", ",") for v in RNG.uniform(1, 9, 30)]
POINTS = [f"{v:.1f}" for v in RNG.uniform(1, 9, 30)]


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
    reading = read_columns(pd.DataFrame({"density": THREE, **others}))[0]
    assert reading.decimal == decimal
    expected = float(THREE[0].replace(",", "." if decimal == "," else ""))
    assert reading.values(pd.Series(THREE))[0, 0] == expected
    assert f"{THREE[0]!r} is {expected:g}" in reading.note
    assert ("commas taken as thousands" in reading.note) == (decimal == ".")


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
    assert any("with decimal commas as the rest" in n for n in describe_missingness(frame).notes)


@pytest.mark.parametrize(
    ("trained", "later", "said", "read"),
    [
        (ONE, ["0.415"], "'0.415' is 0.415, where training has a decimal comma", 0.415),
        (ONE, ["2.500"], "'2.500' is 2500, thousands, which training does not have", 2500),
        (ONE, ["0.4", "2.500"], "'2.500' is 2500, thousands", 0.4),
        ([*ONE, "1.234,5"], ["0.4", "2.500"], "'2.500' is 2500, thousands", 0.4),
        (POINTS, ["0,4", "0,5"], "(2 values like it)", 0.4),
        (POINTS, ["2,500"], "'2,500' is 2500, thousands, which training does not have", 2500),
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
    signs = [str(w.message) for w in caught if "otherwise than in training" in str(w.message)]
    assert bool(signs) == bool(said)
    assert said in "".join(signs)
    assert bool(TableEncoder().fit(frame).other_signs(new)) == bool(said)


def test_a_reading_of_before_is_read(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"x": ONE}))
    save(encoder, tmp_path / "e.abs")
    assert load(tmp_path / "e.abs").plan_.readings[0].shown == ","
    state = encoder.plan_.readings[0].__getstate__()
    old = ColumnReading.__new__(ColumnReading)
    old.__setstate__({k: v for k, v in state.items() if k not in ("shown", "grouped")})
    old.validate()
    assert old.grouped  # not known, so that nothing is said
