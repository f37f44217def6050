"""One row as a form: values, unknown fields, bounds; what to measure next; batches."""

from __future__ import annotations

import base64
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import LogisticRegression, TableEncoder, measure_next
from absentia.densities.fit_density import believe
from absentia.predictions import predict_uncertainty
from absentia.predictions.marginal import find_density
from absentia.recipe.model import TableModel
from absentia.studio.jobs import train
from absentia.studio.reports import row_page
from absentia.studio.row_answers import FieldValue, RowAnswers, _round_points
from studio.tables_of_mine import HOSTILE, mixed_table, small_model

KNOWN = {
    "a": FieldValue("value", "1.5"),
    HOSTILE: FieldValue("value", "0,5"),  # a decimal comma is read as in a file
    "word": FieldValue("value", "high"),
    "noise": FieldValue("value", "0"),
}


@pytest.fixture(scope="module", params=[True, False], ids=["classes", "quantity"])
def answers(request):
    return RowAnswers(small_model(request.param))


def test_a_complete_row_has_the_answer_of_the_pipeline_and_nothing_to_measure(answers):
    frame = mixed_table().iloc[:1].assign(a=1.5, word="high", noise=0.0, **{HOSTILE: 0.5})
    found = answers.answer(KNOWN)
    expected = answers.model.estimator.predict(frame)[0]
    assert found["next"] == []
    assert found["n_unknown"] == 0
    assert found["missing_share"] == pytest.approx(0.0, abs=1e-9)
    if answers.classes:
        assert found["prediction"] == expected
        chances = answers.model.estimator.predict_proba(frame)[0]
        assert list(found["probabilities"].values()) == pytest.approx(chances.tolist(), abs=1e-10)
    else:
        assert found["prediction"] == pytest.approx(expected, rel=1e-6)
        assert found["lower"] < expected < found["upper"]


def test_what_matters_is_measured_first_unless_it_costs_too_much(answers):
    found = answers.answer({"noise": FieldValue("value", "0")})
    assert found["n_unknown"] == 3
    assert found["missing_share"] > 0.5
    assert found["next"][0]["name"] == "a"
    assert {entry["name"] for entry in found["next"]} == {"a", HOSTILE, "word"}
    dear = answers.answer({"noise": FieldValue("value", "0")}, {"a": 1e6})
    assert dear["next"][-1]["name"] == "a"
    with pytest.raises(ValueError, match="must be a positive number"):
        answers.answer({}, {"a": -1.0})


def test_a_value_too_far_away_is_named_as_the_form_has_it(answers):
    with pytest.raises(ValueError, match=r"has 1e\+308 in column 'a', which is too far"):
        answers.answer({"a": FieldValue("value", "1e308")})


def test_text_that_cannot_be_read_is_named_and_counts_as_unknown(answers):
    found = answers.answer({**KNOWN, "a": FieldValue("value", "tall")})
    assert found["unread"] == ["a"]
    assert found["n_unknown"] == 1
    assert answers.answer({**KNOWN, "a": FieldValue("at most", "tall")})["unread"] == ["a"]
    assert answers.answer({"no such field": FieldValue("value", "1")})["n_unknown"] == 4


def test_what_measuring_is_worth_is_in_units_that_are_read(answers):
    (entry,) = answers.answer({**KNOWN, "a": FieldValue()})["next"]
    if answers.classes:
        assert "doubt" not in entry
        return
    now = float(
        np.sqrt(predict_uncertainty(answers.model.machine, row_without_a(answers)).total[0])
    )
    assert entry["doubt"] == pytest.approx(now)
    assert 0 <= entry["gain"] <= 1
    assert entry["doubt_after"] == pytest.approx(now * np.sqrt(1 - entry["gain"]))


def row_without_a(answers):
    return answers._row({name: value for name, value in KNOWN.items() if name != "a"})[0]


def test_a_bound_lies_between_a_value_and_nothing(answers):
    def score(value):
        found = answers.answer({**KNOWN, "a": value})
        return found["probabilities"]["up"] if answers.classes else found["prediction"]

    nothing = score(FieldValue())
    assert score(FieldValue("at most", "-1")) < nothing < score(FieldValue("at least", "1"))
    # Written as in a file it is the same.
    assert score(FieldValue("value", "< -1")) == score(FieldValue("at most", "-1"))
    assert nothing < score(FieldValue("value", "1-2"))
    assert answers.answer({**KNOWN, "a": FieldValue("value", "<1")})["unread"] == []


def test_a_bound_far_away_says_nothing_and_an_impossible_one_is_ignored(answers):
    unknown = answers.answer({**KNOWN, "a": FieldValue()})
    loose = answers.answer({**KNOWN, "a": FieldValue("at least", "-50")})
    absurd = answers.answer({**KNOWN, "a": FieldValue("at least", "50")})
    assert "ignored" in absurd["note"]
    assert absurd["prediction"] == unknown["prediction"]
    if answers.classes:
        # 512 draws against 64 points of a quadrature.
        assert loose["probabilities"]["up"] == pytest.approx(
            unknown["probabilities"]["up"], abs=0.05
        )
    else:
        assert loose["prediction"] == pytest.approx(unknown["prediction"], abs=0.5)


def test_a_batch_says_what_single_rows_say(answers):
    frame = mixed_table().head(6)
    batch = answers.batch(answers.read_table(frame))
    for i in range(6):
        values = {
            name: FieldValue("value", str(frame[name].iloc[i]))
            for name in answers.names
            if frame[name].notna().iloc[i]
        }
        one = answers.answer(values)
        assert batch["unknown_fields"][i] == one["n_unknown"]
        assert batch["due_to_unknown"][i] == pytest.approx(one["missing_share"], abs=1e-6)
        if answers.classes:
            assert batch["prediction"][i] == one["prediction"]
        else:
            assert batch["prediction"][i] == pytest.approx(one["prediction"], rel=1e-6)


def test_the_form_has_a_field_per_column_that_is_used(answers):
    fields = {field["name"]: field for field in answers.fields()}
    assert list(fields) == ["a", HOSTILE, "word", "noise"]
    assert fields["word"]["choices"] == ["high", "low", "middle"]
    assert fields["a"]["mean"] == pytest.approx(np.nanmean(mixed_table()["a"]))


def test_other_models_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="not made by `absentia train` or the studio"):
        TableModel(make_pipeline(StandardScaler()))


def trained_on(frame, target):
    return train(lambda share, text: None, frame, target)[0]


def test_training_learns_from_limits():
    """As missing values, those below the one limit and above the other are the same."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(150, 2))
    text = values[:, 0].round(4).astype(str)
    text = np.where(values[:, 0] < -0.5, "<-0.5", np.where(values[:, 0] > 0.5, ">0.5", text))
    frame = pd.DataFrame({"a": text, "b": values[:, 1]})
    frame["kind"] = np.where(values[:, 0] > 0, "high", "low")
    frame["size"] = values[:, 0]
    holes = frame.assign(a=frame["a"].where(~frame["a"].str.contains("[<>]"), ""))
    classes, quantity = frame.drop(columns="size"), frame.drop(columns="kind")
    trained = trained_on(classes, "kind")
    assert any("are limits" in note for note in trained.notes)
    assert trained.score > trained_on(holes.drop(columns="size"), "kind").score + 0.1
    answers = RowAnswers(trained.model)
    batch = answers.batch(answers.read_table(classes))
    assert not batch["unknown_fields"].any()
    assert (batch["prediction"] == frame["kind"])[frame["a"] == ">0.5"].mean() > 0.95
    field = answers.fields()[0]
    known = values[np.abs(values[:, 0]) <= 0.5, 0]
    assert abs(field["mean"] - known.mean()) < 0.2  # in the units of the table
    regression = trained_on(quantity, "size")
    assert regression.score > trained_on(holes.drop(columns="kind"), "size").score + 0.2
    intervals = RowAnswers(regression.model)
    intervals = intervals.batch(intervals.read_table(quantity))
    assert (intervals["lower"] < intervals["upper"]).all()


def test_every_unknown_field_has_its_belief(answers):
    known = {name: value for name, value in KNOWN.items() if name in ("a", "noise")}
    beliefs = answers.answer(known)["beliefs"]
    assert beliefs.keys() == {HOSTILE, "word"}
    word = dict(zip(beliefs["word"]["labels"], beliefs["word"]["heights"], strict=True))
    assert word.keys() == {"low", "middle", "high"}
    assert sum(word.values()) == pytest.approx(1.0)
    # The density of a Gaussian belief: its mean and deviation are those of the draws.
    x, heights = (np.array(beliefs[HOSTILE][part], dtype=float) for part in ("labels", "heights"))
    assert heights.max() == 1.0
    row = answers._row(known)[0]
    draws = believe(find_density(answers.model.machine), row).sample(4000, random_state=0)[:, 0]
    plan = answers.model.encoder.plan_
    own = draws[:, 1] * plan.scales[1] + plan.centres[1]
    assert (x @ heights) / heights.sum() == pytest.approx(own.mean(), abs=0.1)


def test_beliefs_are_drawn_at_round_values_and_a_wild_one_does_not_press_the_others_together():
    rng = np.random.default_rng(0)
    n = 80
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame = pd.DataFrame({"mass": rng.normal(70, 10, n).round(1), "day": days})
    frame["share"] = rng.uniform(0, 1, n).round(3)
    frame["children"] = rng.integers(0, 5, n)
    frame.loc[0, "mass"] = 4000.0
    encoder = TableEncoder(limits=True).fit(frame)
    machine = LogisticRegression(C=1.0).fit(encoder.transform(frame), rng.random(n) < 0.5)
    model = TableModel(Pipeline([("encode", encoder), ("machine", machine)]))
    beliefs = RowAnswers(model).answer({})["beliefs"]
    labels = {name: belief["labels"] for name, belief in beliefs.items()}
    assert float(labels["mass"][-1]) < 70 + 5 * frame["mass"].std() < 4000
    assert labels["share"][:3] == ["0", "0.02", "0.04"]
    assert labels["share"][-1] == "1"  # values stay in the support of their column
    assert labels["children"] == ["0", "1", "2", "3", "4"]
    assert all(len(label) == len("2024-01-01") for label in labels["day"])
    assert all(20 <= len(labels[name]) <= 60 for name in ("mass", "share", "day"))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3e-7, 4e-7), (5e8, 5e8), (12.0, 999.0)])
def test_round_points_reach_beyond_both_ends(low, high):
    points = _round_points(low, high, in_days=False)
    assert points[0] <= low <= high <= points[-1]
    assert 20 <= len(points) <= 60
    minutes = _round_points(0.25, 0.75, in_days=True) * 1440 / 15
    assert minutes == pytest.approx(np.rint(minutes), abs=1e-9)


def test_what_if_answers_are_those_of_the_filled_row(answers):
    known = {name: value for name, value in KNOWN.items() if name in ("a", "noise")}
    labels = answers.answer(known)["beliefs"]["word"]["labels"]
    tried = answers.what_if(known, "word")
    filled = answers.answer({**known, "word": FieldValue("value", "high")})
    found = tried[labels.index("high")]
    if answers.classes:
        assert found == [filled["prediction"], pytest.approx(max(filled["probabilities"].values()))]
    else:
        assert found == pytest.approx(filled["prediction"])
    limited = {**known, HOSTILE: FieldValue("at least", "0")}  # the limit makes way for the value
    labels = answers.answer(known)["beliefs"][HOSTILE]["labels"]
    assert len(answers.what_if(limited, HOSTILE)) == len(labels)
    with pytest.raises(ValueError, match="There is no field 'nothing'"):
        answers.what_if(known, "nothing")


def test_the_columns_that_made_an_answer_add_up(answers):
    found = answers.parts(KNOWN)
    answer = answers.answer(KNOWN)
    total = found["base"] + sum(value for _, value in found["parts"])
    if answers.classes:
        assert total == pytest.approx(answer["probabilities"][found["class"]], abs=1e-6)
    else:
        assert total == pytest.approx(answer["prediction"], rel=1e-6)
    assert {name for name, _ in found["parts"]} == set(KNOWN)
    assert found["parts"][0][0] == "a"
    assert answers.parts({})["parts"] == []


def test_the_page_of_a_row_has_its_cells_as_they_were_typed(answers):
    page = row_page(answers, {**KNOWN, "a": FieldValue("at most", "1.25")}, "kind")
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    made = base64.b64decode(pictures[0]).decode()
    assert "<!-- a = at most 1.25 -->" in made
    assert "<!-- word = high -->" in made
    assert "row 0" not in made


def test_a_value_far_beyond_training_is_warned_about_in_the_form_as_in_a_batch(answers):
    note = answers.answer({"a": FieldValue("value", "250")})["note"]
    assert note.startswith("Far beyond the range of training: 250 in 'a' (training: -")
    assert "Far beyond" not in answers.answer(KNOWN)["note"]


def test_a_field_with_a_limit_is_worth_what_measure_next_says(answers):
    values = {**KNOWN, "a": FieldValue("at least", "1")}
    found = {entry["name"]: entry["gain"] for entry in answers.answer(values)["next"]}
    row = answers._row(values)[0]
    assert row.limited.any()
    gain = measure_next(answers.model.machine, row).gain[0, 0]
    if not answers.classes:
        # The variance is from draws here, the gain from a rule, so that it may be a little larger.
        gain /= predict_uncertainty(answers.model.machine, row, by_column=False).total[0]
        gain = min(gain, 1.0)
    assert found == {"a": pytest.approx(gain)}
