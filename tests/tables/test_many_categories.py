"""Columns with many categories are used, as the user says or by what they say about the target."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import TargetEncoder

from absentia import (
    SVC,
    AutoRegressor,
    ColumnPlan,
    KernelRidge,
    MixedDensity,
    TableEncoder,
    load,
    save,
)

RNG = np.random.default_rng(0)
N, K = 400, 50
STATE = RNG.integers(K, size=N)
EFFECT = RNG.normal(size=K)
X1 = RNG.normal(size=N)
Y = EFFECT[STATE] + 0.3 * X1 + 0.1 * RNG.normal(size=N)
KINDS = {"state": "category"}
FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}


def table(dtype=object):
    states = pd.Series([f"state {k}" for k in STATE], dtype=object).astype(dtype)
    return pd.DataFrame({"state": states, "x": X1})


@pytest.mark.parametrize("kind", FRAMES)
def test_what_the_user_says_is_done(kind):
    for frame, how in ((table(), {"kinds": {"state": "category"}}), (table("category"), {})):
        plan = ColumnPlan.of(FRAMES[kind](frame), **how)
        assert plan.by_name["state"].kind == "category"
        assert plan.read(FRAMES[kind](frame)).shape == (N, K + 1)
    coded = ColumnPlan.of(FRAMES[kind](table()), codes=True)
    assert coded.category_columns == (0,)


@pytest.mark.parametrize("kind", FRAMES)
def test_categories_are_encoded_by_the_target(kind):
    frame = FRAMES[kind](table())
    machine = KernelRidge(alpha=0.01).fit(frame, Y)
    assert "50 categories, encoded by what they say about the target" in repr(machine.columns_)
    assert machine.columns_.labels == ["state", "x"]
    assert machine.score(frame, Y) > 0.9
    alone = KernelRidge(alpha=0.01).fit(FRAMES[kind](table()[["x"]]), Y)
    assert alone.score(FRAMES[kind](table()[["x"]]), Y) < 0.3


def test_encodings_are_cross_fitted_and_later_ones_those_of_scikit_learn():
    frame, encoder = table(), TableEncoder()
    training = encoder.fit_transform(frame, Y)[:, 0]
    later = encoder.transform(frame)[:, 0]
    codes = np.array([[text] for text in frame["state"]], dtype=object)
    own = TargetEncoder(target_type="continuous").fit(codes, Y)
    np.testing.assert_allclose(later, own.transform(codes)[:, 0], rtol=1e-12)
    # Noise as target: what a row's own target says about it must not come through.
    noise = np.random.default_rng(1).normal(size=N)
    crossed = TableEncoder(kinds=KINDS).fit_transform(frame, noise)[:, 0]
    assert abs(np.corrcoef(crossed, noise)[0, 1]) < 0.15
    assert (
        np.corrcoef(TableEncoder(kinds=KINDS).fit(frame, noise).transform(frame)[:, 0], noise)[0, 1]
        > 0.2
    )
    assert not np.allclose(training, later)


def test_missing_and_new_categories_are_beliefs():
    frame = table()
    frame.loc[::7, "state"] = None
    machine = KernelRidge(alpha=0.01).fit(frame, Y)
    rows = pd.DataFrame({"state": [None, "state 3", "elsewhere"], "x": [0.0, 0.0, 0.0]})
    with pytest.warns(UserWarning, match="'elsewhere' in 'state'"):
        read = machine.columns_.read(rows)
    assert read.mask[:, 0].tolist() == [True, False, True]
    with pytest.warns(UserWarning, match="elsewhere"):
        assert np.isfinite(machine.predict(rows)).all()


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b", "c"]])
def test_classes_are_encoded_by_an_indicator_each(labels, tmp_path):
    y = np.array(labels)[np.clip(np.digitize(EFFECT[STATE], [0, 0.5]), 0, len(labels) - 1)]
    machine = SVC().fit(table(), y)
    assert len(machine.columns_.labels) == (2 if len(labels) == 2 else 4)
    assert machine.score(table(), y) > 0.9
    save(machine, tmp_path / "m.absentia")
    np.testing.assert_array_equal(
        load(tmp_path / "m.absentia").predict(table()), machine.predict(table())
    )


def test_the_automatic_machine_uses_them():
    machine = AutoRegressor(members=["linear"], n_repeats=1, random_state=0).fit(
        table()[:200], Y[:200]
    )
    assert machine.score(table()[360:], Y[360:]) > 0.7


def test_free_text_and_columns_without_a_target_are_left_out_with_the_way_back():
    frame = table().assign(text=[f"comment {k} of {k % 7}" for k in range(N)])
    notes = "\n".join(TableEncoder().fit(frame).notes_)
    assert "state: left out, text with 50 different values and no target to encode them by" in notes
    assert "kinds={'state': 'category'} uses it" in notes
    assert "text: left out, it has a different word in each row: kinds={'text'" in notes
    some = pd.Series([f"w{k // 2 * (k % 3 > 0) + k * (k % 3 == 0)}" for k in range(N)])
    plan = ColumnPlan.of(table().assign(some=some), Y)
    assert (
        "some    left out  text with 267 different values that say nothing about the target"
        in repr(plan)
    )


@pytest.mark.parametrize("y", [Y, np.where(Y > 0, "high", "low")])
def test_text_that_says_something_about_the_target_is_used(y):
    # Six in ten rows have a word of their own, the others the name of their state.
    own = np.random.default_rng(2).random(N) < 0.6
    text = np.where(own, [f"comment {k}" for k in range(N)], table()["state"])
    plan = ColumnPlan.of(pd.DataFrame({"text": text, "x": table()["x"]}), y)
    assert "categories, encoded by what they say about the target" in repr(plan)
    shuffled = np.random.default_rng(3).permutation(y)
    plan = ColumnPlan.of(pd.DataFrame({"text": text, "x": table()["x"]}), shuffled)
    assert "different values that say nothing about the target: kinds={'text': 'category'}" in repr(
        plan
    )


@pytest.mark.parametrize("kind", FRAMES)
def test_categories_that_say_nothing_about_the_target_are_left_out_with_the_way_back(kind):
    frame, noise = FRAMES[kind](table()), np.random.default_rng(1).normal(size=N)
    left_out = "text with 50 different values that say nothing about the target: kinds={'state'"
    for y in (noise, np.where(noise > 0, "high", "low")):
        assert left_out in repr(ColumnPlan.of(frame, y))
        assert ColumnPlan.of(frame, y, kinds=KINDS).by_name["state"].encoding


def test_encodings_grow_with_the_targets_however_large():
    small = ColumnPlan.of(table(), Y).by_name["state"].encoding
    large = ColumnPlan.of(table(), 2.0**600 * Y).by_name["state"].encoding
    np.testing.assert_array_equal(np.array(large), 2.0**600 * np.array(small))


def test_a_density_of_categories_takes_many():
    frame = table()
    frame.loc[::5, "state"] = None
    density = MixedDensity(1, random_state=0).fit(frame)
    assert set(density.impute(frame)["state"]) <= {f"state {k}" for k in range(K)}


def ids(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "patient_id": rng.permutation(5000)[:n],
            "word": rng.choice(["a", "b"], n),
            "x": rng.normal(size=n),
        }
    )


def test_ids_are_left_out_only_when_they_say_nothing():
    frame = ids()
    encoder = TableEncoder().fit(frame)
    assert encoder.ids_ == ["row", "patient_id"]
    assert encoder.notes_[0] == (
        "row: left out, it only numbers the rows: kinds={'row': 'number'} uses it"
    )
    informed = TableEncoder().fit(frame, np.sin(frame["row"] / 10))
    assert informed.ids_ == ["patient_id"]
    assert "kinds={'row': 'left out'} leaves it out" in informed.notes_[0]
    drifting = frame.assign(x=frame["patient_id"] / 100 + frame["x"])
    assert TableEncoder().fit(drifting).ids_ == ["row"]
    assert TableEncoder(keep_ids=True).fit(frame).ids_ == []


@pytest.mark.parametrize("share", [0.25, 0.6])
@pytest.mark.parametrize("kind", FRAMES)
def test_few_repeated_words_among_numbers_leave_them_numbers(share, kind):
    rng = np.random.default_rng(0)
    values = np.where(rng.random(80) < share, "n.b.", rng.normal(size=80).round(2).astype(str))
    frame = FRAMES[kind](pd.DataFrame({"lead": values, "w": ["a", "b"] * 40}))
    plan = ColumnPlan.of(frame)
    assert plan.by_name["lead"].kind == "number"
    assert "unreadable values ('n.b.') count as missing: kinds={'lead': 'category'}" in repr(plan)
