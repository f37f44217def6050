"""Numbers that had a type in training and come as text: the later table decides on their sign."""

import warnings

import numpy as np
import pandas as pd
import pytest

from absentia import AutoRegressor, ColumnPlan, KernelRidge, TableEncoder
from absentia.tables.files.delimited import read_delimited

N = 40
TRAINING = pd.DataFrame(
    {
        "rent": np.linspace(1001, 2999, N).round().astype(int),
        "lactate": np.linspace(0.4, 6.6, N).round(3),
        "ward": ["a", "b"] * (N // 2),
    }
)


def numbers(later, training=TRAINING):
    """Rent and lactate of a later table, and what is said of their spelling."""
    encoder = TableEncoder().fit(training)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = encoder.transform(later)[:, :2]
    said = "".join(str(warning.message) for warning in caught)
    return out.tolist(), said


def german(*lines):
    return read_delimited("\n".join(["rent;lactate;ward", *lines]).encode(), "later.csv")


def test_a_table_with_decimal_commas_has_points_between_thousands():
    found, said = numbers(german("2.000;2,5;a"))
    assert found == [[2000.0, 2.5]]
    assert "in 'rent', '2.000' is 2000" in said
    found, _ = numbers(german("1.410;1,724;a", "2.000;0,950;b", "1.200;2,5;a"))
    assert found == [[1410.0, 1.724], [2000.0, 0.95], [1200.0, 2.5]]


def test_semicolons_alone_say_that_commas_are_decimal_ones():
    found, said = numbers(german("2000;1,724;a"))
    assert found == [[2000.0, 1.724]]
    assert "'1,724' is 1.724" in said
    text = pd.DataFrame({"rent": ["2000"], "lactate": ["1,724"], "ward": "a"})
    found, said = numbers(text)
    assert found == [[2000.0, 1724.0]]
    assert "'1,724' is 1724" in said


def test_points_stay_points():
    text = pd.DataFrame({"rent": ["2000", "1410.0"], "lactate": ["1.724", "0.5"], "ward": "a"})
    assert numbers(text) == ([[2000.0, 1.724], [1410.0, 0.5]], "")
    text = text.assign(rent=["2,000", "1,410"])
    found, _ = numbers(text)
    assert found == [[2000.0, 1.724], [1410.0, 0.5]]


def test_thousands_and_decimals_in_one_number():
    text = pd.DataFrame({"rent": ["1.720,5", "1.200"], "lactate": [0.5, 1.5], "ward": "a"})
    assert numbers(text)[0] == [[1720.5, 0.5], [1200.0, 1.5]]


def test_limits_go_by_the_same_sign():
    later = pd.DataFrame({"rent": ["<2.000", "1.500"], "lactate": ["2,5", "<0,5"], "ward": "a"})
    plan = ColumnPlan.of(TRAINING)
    with pytest.warns(UserWarning, match="'<2.000' is 2000"):
        table = plan.read(later)
    assert table.upper[0, 0] * plan.scales[0] + plan.centres[0] == pytest.approx(2000.0)


@pytest.mark.filterwarnings("ignore:The range of column 'rent'")
@pytest.mark.parametrize(
    "training", [TRAINING, TRAINING[["rent", "lactate"]]], ids=["mixed", "plain"]
)
def test_machines_read_them_too(training):
    y = TRAINING["rent"] / 10 + 50 * TRAINING["lactate"]
    machine = KernelRidge().fit(training, y)
    typed = pd.DataFrame({"rent": [2000, 1410], "lactate": [2.5, 1.724], "ward": "a"})
    text = typed.assign(rent=["2.000", "1.410"], lactate=["2,5", "1,724"])
    expected = machine.predict(typed[list(training)])
    with pytest.warns(UserWarning, match="'2.000' is 2000"):
        np.testing.assert_allclose(machine.predict(text[list(training)]), expected)


def test_cells_that_cannot_be_read_are_warned_of():
    frame = TRAINING.assign(
        rent=[*TRAINING["rent"].astype(str)[:-2], "unclear", "n/a"],
        seen=pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y"),
    )
    model = AutoRegressor(members=["linear"], n_repeats=1).fit(frame, np.arange(N))
    model.predict(frame)  # nothing that training did not have
    later = frame.assign(rent="1001 yrs.", seen=31122023.0).iloc[:3]
    said = "rent: 3 values cannot be read as a number, such as '1001 yrs.' in row 1.*; seen: 3"
    with pytest.warns(UserWarning, match=said):
        model.predict(later)
    model.predict(frame.assign(rent="n/a"))  # missing, and says so


def test_dates_that_may_be_read_either_way_round_are_said():
    frame = TRAINING.assign(seen=pd.date_range("2024-01-01", periods=N))
    later = frame.assign(seen="05/04/2024")
    said = numbers(later, frame)[1]
    assert "in 'seen', '05/04/2024' is read as day first" in said
    assert numbers(frame.assign(seen="05.04.2024"), frame)[1] == ""


def test_names_that_come_twice_get_a_sentence_later_too():
    encoder = TableEncoder().fit(TRAINING)
    twice = TRAINING[["rent", "lactate", "ward", "rent"]]
    with pytest.raises(ValueError, match="Column names must be unique, but 'rent'"):
        encoder.transform(twice)


def test_points_of_training_beside_decimal_commas_stay_points():
    text = "a;b\n" + "".join(f"{k + 0.411:.3f};{k},3\n" for k in range(30)) + "7.25;5,1\n"
    training = read_delimited(text.encode(), "train.csv")
    encoder = TableEncoder().fit(training)
    later = read_delimited(b"a;b\n1.411;5,3\n", "new.csv")
    with pytest.warns(UserWarning, match="written differently"):
        assert encoder.transform(later).tolist() == [[1.411, 5.3]]


@pytest.mark.parametrize(
    "cells", [[1, 2], [1.5, None], ["1", "2"], [True, False], pd.to_datetime(["2024-01-01"] * 2)]
)
def test_numbers_are_no_durations(cells):
    encoder = TableEncoder().fit(pd.DataFrame({"t": pd.to_timedelta(range(30), unit="D")}))
    with pytest.warns(UserWarning, match="cannot be read"):
        found = encoder.transform(pd.DataFrame({"t": cells}))
    assert np.isnan(found).all()
    mixed = pd.DataFrame({"t": pd.Series(["36 hours", pd.Timedelta("2D"), None], dtype=object)})
    assert encoder.transform(mixed)[:2, 0].tolist() == [1.5, 2.0]
