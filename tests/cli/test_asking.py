"""The command line says how sure a prediction is, and what to measure next."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from absentia.cli import main
from absentia.cli.model_commands import _show, costs_from
from absentia.reports.safe_text import printable
from absentia.studio.row_answers import FieldValue
from absentia.studio.workspaces import Workspace
from absentia.tables.files.delimited import read_delimited

N = 90
QUANTITIES = ["price", "price-calibrated", "price-automatic"]


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Columns that matter much, a little (as words) and not at all; a name with an escape."""
    rng = np.random.default_rng(seed)
    dose, other = rng.normal(size=(2, n))
    ward = rng.choice(["A", "B", "C"], n)
    frame = pd.DataFrame({"dose": dose, "ward": ward, "other\x1b[31m": other})
    signal = dose + 0.5 * (ward == "A")
    frame["price"] = 100 + 30 * signal + 3 * rng.normal(size=n)
    frame["outcome"] = np.where(signal + 0.3 * rng.normal(size=n) > 0, "=ill", "well")
    for name in frame.columns[:3]:
        frame.loc[rng.random(n) < 0.15, name] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Train machines of both tasks, calibrated or not, and one average of different models."""
    place = tmp_path_factory.mktemp("models")
    table().to_csv(place / "train.csv", index=False)
    rows = table(6, seed=1).drop(columns=["price", "outcome"])
    rows.loc[0] = [0.1, "A", 0.3]
    rows.loc[1] = [None, None, None]
    rows.loc[2] = [None, "A", 0.3]
    rows.to_csv(place / "new.csv", index=False)
    for target, other in (("price", "outcome"), ("outcome", "price")):
        for share in ("0", "0.4"):
            command = ["train", str(place / "train.csv"), "-t", target, "--ignore", other, "-q"]
            name = f"{target}{'-calibrated' if share != '0' else ''}"
            command += ["--method", "genrbf", "--calibrate", share, "-o", str(place / name)]
            assert main(command) == 0
    command = ["train", str(place / "train.csv"), "-t", "price", "--ignore", "outcome", "-q"]
    command += ["--time-budget", "3", "--calibrate", "0.4", "-o", str(place / "price-automatic")]
    assert main(command) == 0
    return place


def run(capsys, *command) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(word) for word in command])
    out, err = capsys.readouterr()
    return code, out, err


def predicted(capsys, folder, model, *options) -> pd.DataFrame:
    code, out, _ = run(capsys, "predict", folder / model, folder / "new.csv", *options)
    assert code == 0
    return pd.read_csv(io.StringIO(out))


@pytest.mark.parametrize("model", QUANTITIES)
def test_a_quantity_has_an_interval_wider_where_more_is_missing(capsys, folder, model):
    found = predicted(capsys, folder, model, "--uncertainty")
    assert (found["lower"] < found["prediction"]).all()
    assert (found["prediction"] < found["upper"]).all()
    assert found["due_to_missing"].between(0, 1).all()
    assert found["due_to_missing"][0] == 0
    assert found["due_to_missing"][1] > 0.5
    width = found["upper"] - found["lower"]
    assert width[0] < width[1]
    assert found["doubt"][0] < found["doubt"][1]
    plain = predicted(capsys, folder, model)
    np.testing.assert_allclose(found["prediction"], plain["prediction"])


@pytest.mark.parametrize("model", ["outcome", "outcome-calibrated"])
def test_classes_have_probabilities_and_a_doubt(capsys, folder, model):
    found = predicted(capsys, folder, model, "--uncertainty")
    chances = found[["probability_=ill", "probability_well"]]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert found["doubt"].between(0, np.log(2) + 1e-9).all()
    assert found["due_to_missing"][0] == 0
    assert found["due_to_missing"][2] > 0.2
    np.testing.assert_allclose(found["doubt_percent"], 100 * found["doubt"] / np.log(2))
    asked = run(capsys, "ask", folder / model, folder / "new.csv", "-o", folder / "asked.csv", "-f")
    assert asked[0] == 0
    first = pd.read_csv(folder / "asked.csv").drop_duplicates("row").set_index("row")["column"]
    expected = [printable(first.get(row, "")) for row in range(1, 7)]
    assert [printable(name) for name in found["matters_most"].fillna("")] == expected


@pytest.mark.parametrize("command", ["ask", "explain"])
def test_ids_are_kept_beside_what_is_said_of_their_rows(capsys, folder, command):
    rows = pd.read_csv(folder / "new.csv", dtype=str)
    rows.insert(0, "patient", [f"P-{k:03d}" for k in range(len(rows))])
    rows["row"] = "7"  # a name that the output has
    rows.to_csv(folder / "named.csv", index=False)
    out = folder / f"{command}-kept.csv"
    files = [folder / "outcome", folder / "named.csv", "-o", out]
    assert run(capsys, command, *files, "--keep")[0] == 0
    found = pd.read_csv(out)
    assert list(found.columns[:3]) == ["row", "patient", "row_2"]
    assert (found["patient"] == [f"P-{k - 1:03d}" for k in found["row"]]).all()
    assert (found["row_2"] == 7).all()
    assert run(capsys, command, *files, "-f")[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv(out), found.drop(columns=["patient", "row_2"]))


def test_numbers_are_printed_with_their_digits(capsys):
    _show(pd.DataFrame({"doubt": [123456.7, 12.3456, 0.000123456]}), None)
    assert capsys.readouterr().out.split() == ["doubt", "123457", "12.35", "0.0001235"]


def test_regions_are_guaranteed_or_say_that_they_are_not(capsys, folder):
    narrow = predicted(capsys, folder, "price-calibrated", "--coverage", "0.5")
    wide = predicted(capsys, folder, "price-calibrated", "--coverage", "0.9")
    assert ((wide["upper"] - wide["lower"]) >= (narrow["upper"] - narrow["lower"])).all()
    assert (wide["calibration_rows"] > 0).all()
    sets = predicted(capsys, folder, "outcome-calibrated", "--coverage", "0.9")
    assert set(sets.columns) == {"prediction", "in_set_=ill", "in_set_well", "calibration_rows"}
    assert sets.loc[1, ["in_set_=ill", "in_set_well"]].all()  # nothing is known
    code, out, err = run(
        capsys, "predict", folder / "price-calibrated", folder / "new.csv", "--coverage", "0.999"
    )
    assert code == 0
    assert "6 of 6 rows have too few calibration rows for a coverage of 0.999" in err
    assert np.isinf(pd.read_csv(io.StringIO(out))["upper"]).all()


@pytest.mark.parametrize("model", [*QUANTITIES, "outcome", "outcome-calibrated"])
def test_ask_ranks_what_to_measure(capsys, folder, model):
    code, out, err = run(capsys, "ask", folder / model, folder / "new.csv")
    assert code == 0
    assert "\x1b" not in out + err  # control characters are written out
    assert r"other\x1b[31m" in out
    assert "rows miss nothing that the model uses" in err
    place = folder / f"{model}.csv"
    assert run(capsys, "ask", folder / model, folder / "new.csv", "-o", place)[0] == 0
    found = pd.read_csv(place)
    doubts = ["doubt", "doubt_after"] if model in QUANTITIES else []
    gains = ["gain"] if model in QUANTITIES else ["gain", "gain_percent"]
    assert list(found.columns) == ["row", "column", *doubts, *gains, "cost", "gain_per_cost"]
    assert found[found["row"] == 2]["column"].tolist()[0] == "dose"
    assert 1 not in set(found["row"])
    assert (found["gain"] > -1e-9).all()
    if model in QUANTITIES:  # in units of the price, whose spread is about 30
        best = found[found["row"] == 2].iloc[0]
        assert 20 < best["doubt"] < 50
        assert best["doubt_after"] < 0.8 * best["doubt"]
        left = 1 - found["gain"].clip(0, 1)
        np.testing.assert_allclose(found["doubt_after"] ** 2, left * found["doubt"] ** 2)
        place = folder / f"{model}-doubts.csv"
        command = ["predict", folder / model, folder / "new.csv", "--uncertainty", "-o", place]
        assert run(capsys, *command)[0] == 0
        assert best["doubt"] == pytest.approx(pd.read_csv(place)["doubt"][1])


@pytest.mark.parametrize("model", [*QUANTITIES, "outcome", "outcome-calibrated"])
def test_the_studio_opens_every_model_and_gives_the_same_answers(capsys, folder, model):
    options = ["--uncertainty"] + ["--probabilities"] * ("outcome" in model)
    found = predicted(capsys, folder, model, *options)
    place = folder / f"{model}-asked.csv"
    assert run(capsys, "ask", folder / model, folder / "new.csv", "-o", place, "-f")[0] == 0
    ranked = pd.read_csv(place)
    workspace = Workspace.of_model((folder / model).read_bytes(), model)
    rows = pd.read_csv(folder / "new.csv")
    batch = workspace.answers.batch(workspace.answers.read_table(rows))
    assert batch["prediction"].tolist() == pytest.approx(found["prediction"].tolist())
    np.testing.assert_allclose(batch["doubt"], found["doubt"])
    np.testing.assert_allclose(batch["due_to_unknown"], found["due_to_missing"])
    for i, row in rows.iterrows():
        values = {k: FieldValue("value", str(v)) for k, v in row.dropna().items()}
        one = workspace.model_answers.answer(values, {})
        if "outcome" in model:
            assert one["prediction"] == found["prediction"][i]
            assert one["probabilities"]["well"] == pytest.approx(found["probability_well"][i])
        else:
            assert one["prediction"] == pytest.approx(found["prediction"][i])
            assert one["lower"] == pytest.approx(found["lower"][i])
            known = {**values, "dose": FieldValue("at least", "0.5")}
            bounded = workspace.model_answers.answer(known, {})
            assert bounded["prediction"] > 100
        best = ranked[ranked["row"] == i + 1]
        assert [entry["name"] for entry in one["next"]][:3] == best["column"].tolist()
        gains = [entry["gain"] for entry in one["next"]][:3]
        np.testing.assert_allclose(gains, best["gain"], rtol=1e-6, atol=1e-12)
    assert Workspace.of_model(workspace.model_file(), model).answers.names == [*rows.columns]


def test_costs_and_top_change_the_list(capsys, folder):
    costs = folder / "costs.csv"
    costs.write_text("column,cost\ndose,1000000\nward,2\n")
    out = folder / "asked.parquet"
    command = ["ask", folder / "outcome", folder / "new.csv", "--costs", costs, "-o", out]
    assert run(capsys, *command, "--top", "1")[0] == 0
    found = pd.read_parquet(out)
    assert (found.groupby("row").size() == 1).all()
    assert found.loc[found["row"] == 2, "column"].item() != "dose"
    code, _, err = run(capsys, *command)
    assert code == 1
    assert "already exists" in err
    assert run(capsys, *command, "--force")[0] == 0
    assert len(pd.read_parquet(out)) > len(found)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("column,cost\nnone,1\n", "costs name the column 'none', which the table does not have"),
        ("column,cost\ndose,-1\n", "not negative, found -1 for column 'dose'"),
        ("column,cost\ndose,much\n", "gives 'much' as the cost of 'dose'; expected a number"),
        ("column,cost\ndose,1\ndose,2\n", "names a column more than once"),
        ("column,cost,why\ndose,1,x\n", "has 3 columns; expected two"),
    ],
)
def test_costs_that_make_no_sense_get_one_sentence(capsys, folder, text, sentence):
    costs = folder / "wrong.csv"
    costs.write_text(text)
    code, out, err = run(capsys, "ask", folder / "price", folder / "new.csv", "--costs", costs)
    assert (code, out) == (1, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_mistakes_get_one_sentence(capsys, folder):
    new = folder / "new.csv"
    for command, sentence in (
        (["predict", folder / "price", new, "--coverage", "0.9"], "train it with --calibrate 0.2"),
        (["predict", folder / "price-calibrated", new, "--coverage", "90"], "between 0 and 1"),
        (["ask", folder / "price", new, "-o", folder / "new.csv"], "is an input"),
        (
            ["ask", folder / "price", new, "-o", folder / "x.doc"],
            "not a kind of file that can be written",
        ),
        (
            ["train", folder / "train.csv", "-t", "price", "--calibrate", "2", "-o", folder / "m"],
            "between 0 and 1, found 2",
        ),
    ):
        code, _, err = run(capsys, *command)
        assert code == 1
        assert sentence in err


def test_a_column_that_is_not_there_can_be_measured(capsys, folder):
    rows = pd.read_csv(folder / "new.csv").drop(columns="dose")
    rows.to_csv(folder / "less.csv", index=False)
    code, out, err = run(capsys, "ask", folder / "price", folder / "less.csv", "--top", "1")
    assert code == 0
    assert "lacks 'dose', which the model was trained on" in err
    assert out.count("dose") == len(rows)


def test_costs_may_have_any_two_headers():
    assert costs_from(pd.DataFrame({"a": ["x", "y"], "b": [1, 2.5]}), "t") == {"x": 1.0, "y": 2.5}


@pytest.mark.parametrize("text", ["Alter;10\nStadt;2,5\n", "column;cost\nAlter;10\nStadt;2,5\n"])
def test_costs_may_have_no_header(text):
    assert costs_from(read_delimited(text.encode(), "t"), "t") == {"Alter": 10.0, "Stadt": 2.5}
    whole = text.replace("2,5", "2").replace(";", ",")
    assert costs_from(read_delimited(whole.encode(), "t"), "t") == {"Alter": 10.0, "Stadt": 2.0}


def test_costs_may_have_decimal_commas():
    frame = pd.DataFrame({"name": ["x", "y", "z"], "cost": ["2,5", "1.200,00", "3 €"]})
    assert costs_from(frame, "t") == {"x": 2.5, "y": 1200.0, "z": 3.0}
    with pytest.raises(ValueError, match="gives 'much' as the cost of 'z'; expected a number"):
        costs_from(frame.assign(cost=["2,5", "1", "much"]), "t")


@pytest.mark.parametrize("name", ["price", "outcome", "price-automatic"])
def test_explanations_add_up_from_the_base_to_the_prediction(folder, capsys, name):
    new = folder / "new.csv"
    code, out, _ = run(capsys, "explain", folder / name, new, "--top", 9, "-o", "-")
    assert code == 0
    found = pd.read_csv(io.StringIO(out))
    rows = found.groupby("row")
    assert 2 not in rows.groups  # nothing is known about it
    total = rows["base"].first() + rows["value"].sum()
    np.testing.assert_allclose(total, rows["prediction"].first(), rtol=1e-6)
    assert set(found["column"]) == {"dose", "ward", "other\x1b[31m"}
    assert ("class" in found) == (name == "outcome")
    assert rows["value"].apply(lambda values: values.abs().is_monotonic_decreasing).all()
