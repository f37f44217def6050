"""Automatic machines on a frame with numbers, words and dates: everything that a user may ask."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from absentia import AutoClassifier, AutoRegressor, load, measure_next, predict_uncertainty, save

RNG = np.random.default_rng(1)
N = 120
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(60, 10, N),
        "pressure": RNG.normal(120, 15, N),
        "site": RNG.choice(["north", "south", "west"], N),
        "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 400, N), unit="D"),
    }
)
EFFECT = FRAME["site"].map({"north": -1.0, "south": 0.0, "west": 1.0}).to_numpy()
TARGET = 0.1 * (FRAME["age"].to_numpy() - 60) + EFFECT + 0.2 * RNG.normal(size=N)
CLASSES = np.where(TARGET > 0, "ill", "well")
for _column, _share in (("age", 0.15), ("pressure", 0.2), ("site", 0.15)):
    FRAME.loc[RNG.random(N) < _share, _column] = None
SETTINGS = {"members": ("boosting", "linear", "beliefs"), "n_repeats": 1, "random_state": 0}


@pytest.fixture(scope="module")
def classifier():
    return AutoClassifier(**SETTINGS).fit(FRAME, CLASSES)


@pytest.fixture(scope="module")
def regressor():
    return AutoRegressor(**SETTINGS).fit(FRAME, TARGET)


def test_words_and_dates_are_learned_from(classifier, regressor):
    assert classifier.score_ > classifier.baseline_ + 0.15
    assert regressor.score_ > 0.5
    assert list(classifier.feature_names_in_) == ["age", "pressure", "site", "visit"]
    swapped = FRAME[["visit", "site", "pressure", "age"]]
    np.testing.assert_array_equal(classifier.predict(swapped), classifier.predict(FRAME))
    with pytest.warns(UserWarning, match="lacks 'age'"):
        unknown = classifier.predict_proba(swapped.drop(columns="age"))
    assert np.isfinite(unknown).all()


def test_uncertainty_names_the_columns_and_knows_what_matters(classifier, regressor):
    known = pd.DataFrame(
        {"age": [60.0], "pressure": [120.0], "site": ["south"], "visit": FRAME["visit"][:1]}
    )
    unknown = known.assign(age=np.nan)
    for model in (classifier, regressor):
        sure, unsure = (predict_uncertainty(model, rows) for rows in (known, unknown))
        assert sure.missing[0] == pytest.approx(0.0, abs=1e-9)
        assert unsure.missing[0] > 0.02
    assert regressor.predict_interval(unknown).shape == (1, 2)


def test_the_column_that_matters_is_measured_first(regressor):
    row = pd.DataFrame(
        {"age": [np.nan], "pressure": [np.nan], "site": ["south"], "visit": FRAME["visit"][:1]}
    )
    found = measure_next(regressor, row)
    assert str(np.ravel(found.best)[0]) == "age"


@pytest.mark.parametrize("fixture", ["classifier", "regressor"])
def test_a_file_answers_frames_as_the_model_did(fixture, request, tmp_path):
    model = request.getfixturevalue(fixture)
    save(model, tmp_path / "model.absentia")
    np.testing.assert_array_equal(
        load(tmp_path / "model.absentia").predict(FRAME), model.predict(FRAME)
    )


def test_rows_of_no_weight_and_of_one_group(regressor):
    weights = np.ones(N)
    weights[:40] = 0.0
    quick = clone(regressor).set_params(members=("linear", "beliefs"), hidden=(0.5,))
    without = clone(quick).fit(FRAME[40:], TARGET[40:])
    weighted = clone(quick).fit(FRAME, TARGET, sample_weight=weights)
    # Words and dates are read from all rows, numbers from those with a weight.
    np.testing.assert_allclose(weighted.predict(FRAME), without.predict(FRAME), atol=0.05)
    assert np.isnan(weighted.out_of_fold_[:40]).all()
    groups = np.arange(N) // 3
    grouped = clone(quick).fit(FRAME, TARGET, groups=groups)
    assert np.isfinite(grouped.out_of_fold_).all()
    with pytest.raises(ValueError, match="one group only"):
        clone(quick).fit(FRAME, TARGET, groups=np.zeros(N))


def test_a_budget_with_progress_says_what_was_left_out(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    model = AutoClassifier(**SETTINGS, time_budget=1e-6, progress=True).fit(FRAME, CLASSES)
    assert "automatic" in stream.getvalue()
    late = "left out, the time was up"
    assert model.members_.remarks == (late, "", late)  # the linear one is tried first
    assert np.isfinite(model.predict_proba(FRAME)).all()


@pytest.mark.slow
def test_all_default_members_can_be_saved(tmp_path, monkeypatch):
    monkeypatch.setattr("absentia.automatic.blending.PSEUDO_COUNTS", 1e6)  # equal weights
    model = AutoClassifier(n_repeats=1, n_splits=2, random_state=0)
    model.fit(FRAME, CLASSES)
    assert not any(model.members_.remarks)
    save(model, tmp_path / "model.absentia")
    again = load(tmp_path / "model.absentia")
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))


@pytest.mark.parametrize("machine", [AutoClassifier, AutoRegressor])
def test_codes_for_missing_values_are_warned_of(machine):
    frame = FRAME.copy()
    frame.loc[:9, "age"] = -999.0
    model = machine(**SETTINGS | {"members": ("linear",), "n_splits": 2})
    with pytest.warns(UserWarning, match="Codes for missing values: 'age' has 10 values of -999"):
        model.fit(frame, CLASSES if machine is AutoClassifier else TARGET)
