"""Models that were fitted to frames with words, dates and limits come back from a file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from absentia import (
    SVC,
    ConformalClassifier,
    ConformalRegressor,
    KernelRidge,
    LogisticRegression,
    MarginalClassifier,
    MarginalRegressor,
    TableEncoder,
    load,
    save,
)

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

N = 60


def words():
    """Return a frame with every kind of column, and a target."""
    rng = np.random.default_rng(0)
    age = rng.normal(50.0, 10.0, N)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D")
    lab = rng.normal(2.0, 1.0, N).round(2).astype(str).astype(object)
    lab[:8], lab[8] = "<0.5", None
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.2, np.nan, age),
            "visits": pd.array(rng.integers(0, 40, N), dtype="Int64"),
            "town": rng.choice(np.array(["Rome", "Oslo", "Bern", None], dtype=object), N),
            "grade": pd.Categorical(rng.choice(["lo", "hi"], N), ["lo", "hi"], ordered=True),
            "seen": day,
            "zoned": day.tz_localize("Europe/Rome"),
            "since": pd.to_timedelta(rng.integers(0, 900, N), unit="h"),
            "well": pd.array(rng.random(N) < 0.5, dtype="boolean"),
            "lab": lab,
            "opened": pd.Timestamp("2019-01-01"),
        }
    )
    frame.loc[3, "visits"] = pd.NA
    return frame, age / 10 + rng.normal(size=N)


def numbers():
    frame, y = words()
    return frame[["age", "visits", "well"]].assign(dose=np.float32(y)), y


FRAMES = {
    "words": words,
    "numbers": numbers,
    "polars": lambda: (polars.DataFrame(numbers()[0]), numbers()[1]),
}
FOREST = make_pipeline(
    make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town", "grade"])),
    RandomForestClassifier(5, random_state=0),
)
MODELS = {
    "intervals": ConformalRegressor(KernelRidge(), random_state=0),
    "folds": ConformalRegressor(KernelRidge(), method="cross", cv=2, random_state=0),
    "sets": ConformalClassifier(LogisticRegression(), random_state=0),
    "averages": MarginalRegressor(KernelRidge(), random_state=0, n_draws=8),
    "forest": MarginalClassifier(FOREST, random_state=0, n_draws=8),
    "encoder": TableEncoder(),
    "pipeline": make_pipeline(TableEncoder(), SVC()),
}


def answers(model, rows):
    if hasattr(model, "predict_interval"):
        return np.column_stack([*model.predict_interval(rows), model.predict(rows)])
    if hasattr(model, "predict_set"):
        return model.predict_set(rows).members
    return (
        getattr(model, "predict_proba", None)
        or getattr(model, "predict", None)
        or getattr(model, "transform", None)
    )(rows)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_frames_comes_back(name, kind, tmp_path):
    frame, y = FRAMES[kind]()
    if name == "forest" and kind != "words":
        pytest.skip("has no columns for its encoder")
    model = clone(MODELS[name])
    numeric = name in ("intervals", "folds", "averages")
    model.fit(frame, y if numeric else np.where(y > 5.0, "high", "low"))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    rows = frame[:12]
    expected = answers(model, rows)
    np.testing.assert_array_equal(answers(again, rows), expected)
    # A model that came from a file can be written to one.
    save(again, tmp_path / "again")
    np.testing.assert_array_equal(answers(load(tmp_path / "again"), rows), expected)


def test_calibration_rows_do_not_change_with_the_frame_that_was_given():
    frame, y = words()
    model = ConformalRegressor(KernelRidge(), random_state=0).fit(frame, y)
    expected = answers(model, frame[:5])
    frame.loc[5:, "age"] = 0.0
    frame.loc[5:, "town"] = "Rome"
    np.testing.assert_array_equal(answers(model, frame[:5]), expected)


def test_a_model_of_polars_frames_is_loaded_where_polars_was_not_imported(tmp_path):
    frame, y = FRAMES["polars"]()
    for name in ("intervals", "averages"):
        model = clone(MODELS[name]).fit(frame, y)
        save(model, tmp_path / "model")
        code = (
            f"import numpy as np, absentia; m = absentia.load({str(tmp_path / 'model')!r}); "
            "import polars; print(float(m.predict(polars.DataFrame("
            "{'age': [50.0], 'visits': [3], 'well': [True], 'dose': [5.0]}))[0]))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows = {"age": [50.0], "visits": [3], "well": [True], "dose": [5.0]}
        assert float(done.stdout) == float(model.predict(polars.DataFrame(rows))[0])


def test_cells_of_other_kinds_are_refused_by_name(tmp_path):
    frame, y = words()
    frame["lists"] = pd.Series([[1], {2}] * (N // 2), dtype=object)
    frame["own"] = pd.Series([object] * N, dtype=object)
    model = ConformalRegressor(make_column_model(), random_state=0).fit(frame, y)
    with pytest.raises(TypeError, match=r"holds .*, which load would refuse"):
        save(model, tmp_path / "model")


def make_column_model():
    return make_pipeline(make_column_transformer(("passthrough", ["age"])), KernelRidge())
