"""Machines on data frames as they come: words, dates, orders, nullable types, absent columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import absentia
from absentia import (
    SVC,
    SVCCV,
    SVR,
    GaussianDensity,
    KernelRidge,
    LargeScaleRidge,
    MixedDensity,
    Nystroem,
)
from absentia import (
    LogisticRegression as KernelLogisticRegression,
)
from absentia.beliefs.conditioning import condition

pd = pytest.importorskip("pandas")


def people(n=80, seed=0):
    rng = np.random.default_rng(seed)
    sick = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 20 * sick, 5),
            "colour": np.where(rng.random(n) < 0.8, np.where(sick, "red", "blue"), "green"),
            "pain": pd.Categorical(
                np.array(["none", "some", "much"])[np.minimum(sick + rng.integers(2, size=n), 2)],
                categories=["none", "some", "much"],
                ordered=True,
            ),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(90, size=n), "D"),
            "smokes": pd.array(rng.random(n) < 0.3 + 0.4 * sick, dtype="boolean"),
            "name": [f"patient {i}" for i in range(n)],
        }
    )
    for column in ("age", "colour", "smokes"):
        frame.loc[rng.random(n) < 0.2, column] = None
    return frame, sick


@pytest.mark.parametrize("density", ["gaussian", "mixed"])
def test_a_frame_is_learned_from_as_it_comes(density):
    frame, y = people()
    machine = SVC(density=density).fit(frame[:60], y[:60])
    assert machine.score(frame[60:], y[60:]) > 0.8
    used = dict(zip(machine.columns_.names, machine.columns_.to_frame()["used as"], strict=True))
    assert used == {
        "age": "number",
        "colour": "category",
        "pain": "ordered",
        "seen": "date",
        "smokes": "number",
        "name": "left out",
    }
    assert machine.n_features_in_ == 6
    assert list(machine.feature_names_in_) == list(frame.columns)
    assert "a different word in each row" in repr(machine.columns_)
    assert "<td>colour</td>" in machine.columns_._repr_html_()


@pytest.mark.parametrize("density", ["gaussian", "mixed"])
def test_in_a_pipeline_cloned_saved_and_loaded(density, tmp_path):
    frame, y = people()
    machine = SVC(density=density).fit(frame, y)
    expected = machine.decision_function(frame)
    pipeline = make_pipeline(clone(machine)).fit(frame, y)
    np.testing.assert_array_equal(pipeline.decision_function(frame), expected)
    absentia.save(machine, tmp_path / "model.absentia")
    loaded = absentia.load(tmp_path / "model.absentia")
    np.testing.assert_array_equal(loaded.decision_function(frame), expected)
    assert repr(loaded.columns_) == repr(machine.columns_)


@pytest.mark.parametrize("density", ["gaussian", "mixed"])
def test_new_words_and_absent_columns_are_missing_with_a_warning(density):
    frame, y = people()
    machine = SVC(density=density).fit(frame, y)
    new, missing = frame.copy(), frame.copy()
    new["colour"] = "violet"
    missing["colour"] = None
    expected = machine.decision_function(missing)
    with pytest.warns(UserWarning, match="'violet' in 'colour'"):
        np.testing.assert_array_equal(machine.decision_function(new), expected)
    with pytest.warns(UserWarning, match="lacks 'colour'"):
        np.testing.assert_array_equal(
            machine.decision_function(frame.drop(columns="colour")), expected
        )
    with pytest.raises(ValueError, match="none of the columns"):
        machine.predict(pd.DataFrame({"weight": [1.0]}))


def test_columns_in_another_order_and_rows_as_an_array_are_the_same_table():
    frame, y = people()
    machine = SVC(density="mixed").fit(frame, y)
    expected = machine.decision_function(frame)
    np.testing.assert_array_equal(machine.decision_function(frame[frame.columns[::-1]]), expected)
    with pytest.raises(ValueError, match="6 features"):
        machine.predict(frame.to_numpy(dtype=object)[:, :4])


@pytest.mark.parametrize("machine", [SVR(), KernelRidge(), LargeScaleRidge(n_components=64)])
def test_regression_on_frames(machine):
    frame, y = people()
    assert machine.fit(frame, y.astype(float)).score(frame, y) > 0.3


def test_searches_and_features_on_frames():
    frame, y = people()
    search = SVCCV(density="mixed", gammas=2, Cs=[1.0, 10.0], cv=2).fit(frame, y)
    assert search.score(frame, y) > 0.8
    features = Nystroem(20, density="mixed", random_state=0).fit(frame)
    assert features.transform(frame[:5]).shape == (5, 20)


def test_the_mixed_density_gives_back_what_the_table_holds():
    frame, _ = people()
    density = MixedDensity(random_state=0).fit(frame)
    filled = density.impute(frame)
    assert list(filled.columns) == list(frame.columns)
    assert not filled.isna().any().any()
    known = frame["colour"].notna()
    assert (filled.loc[known, "colour"] == frame.loc[known, "colour"]).all()
    np.testing.assert_allclose(
        filled["age"][frame["age"].notna()], frame["age"].dropna().astype(float), rtol=1e-12
    )
    assert (filled["seen"].dt.round("s") == frame["seen"]).all()
    assert set(density.sample(30, random_state=0)["colour"]) <= {"red", "blue", "green"}
    assert np.isfinite(GaussianDensity().fit(frame).score_samples(frame)).all()


def test_polars_is_pandas():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame, y = people()
    frame = frame.drop(columns=["pain", "smokes"])
    machine = SVC(density="mixed").fit(frame, y)
    same = SVC(density="mixed").fit(polars.from_pandas(frame), y)
    np.testing.assert_allclose(
        same.decision_function(polars.from_pandas(frame)),
        machine.decision_function(frame),
        atol=1e-12,
    )


def test_frames_of_numbers_are_used_as_they_are():
    frame, y = people()
    numbers = frame[["age"]].astype(float).assign(b=1.0 * np.arange(80))
    machine = SVC().fit(numbers, y)
    assert machine.columns_.to_frame()["used as"].tolist() == ["number", "number"]
    plain = SVC().fit(numbers.to_numpy(), y)
    assert not hasattr(plain, "columns_")
    np.testing.assert_array_equal(
        machine.decision_function(numbers), plain.decision_function(numbers.to_numpy())
    )
    missing = numbers.assign(b=np.nan)
    with pytest.warns(UserWarning, match="lacks 'b'"):
        np.testing.assert_array_equal(
            machine.decision_function(numbers[["age"]]), machine.decision_function(missing)
        )
    np.testing.assert_array_equal(
        machine.decision_function(numbers),
        SVC().fit(numbers.to_numpy(), y).decision_function(numbers.to_numpy()),
    )
    with pytest.warns(UserWarning, match="b: 80 values .* 'word' in row 1"):
        np.testing.assert_array_equal(
            machine.decision_function(numbers.assign(b="word")), machine.decision_function(missing)
        )


def test_a_failed_fit_leaves_the_machine_as_it_was():
    frame, y = people()
    machine = SVC().fit(frame, y)
    plan = machine.columns_
    with pytest.raises(ValueError, match="No column has anything"):
        machine.fit(pd.DataFrame({"name": [f"n{i}" for i in range(80)]}), y)
    assert machine.columns_ is plan


@pytest.mark.parametrize("density", ["gaussian", "mixed"])
def test_uncertainty_of_frames_names_the_columns_of_the_frame(density):
    frame, y = people()
    machine = KernelLogisticRegression(density=density).fit(frame, y)
    doubt = absentia.predict_uncertainty(machine, frame[:4])
    assert doubt.columns == ("age", "colour", "pain", "seen", "smokes")


def test_rows_of_numbers_know_no_category():
    frame, _ = people()
    prior = MixedDensity(random_state=0).fit(frame).prior_
    beliefs, _ = condition(prior, np.zeros((2, prior.n_features)))
    assert (beliefs.codes == -1).all()


def test_more_rows_of_a_frame_for_a_large_scale_machine():
    frame, y = people()
    machine = LargeScaleRidge(n_components=32, random_state=0)
    machine.partial_fit(frame[:50], y[:50]).partial_fit(frame[50:], y[50:])
    assert machine.predict(frame).shape == (80,)
