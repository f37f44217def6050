"""Frames with words: wrapped models see the user's own columns, types and spellings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from absentia import (
    KernelRidge,
    MarginalClassifier,
    MarginalRegressor,
    MixedDensity,
    TableEncoder,
    load,
    measure_next,
    save,
)
from absentia.predictions.wrapped_model import RowFormat
from absentia.tables.column_plan import ColumnPlan
from predictions.patients import KINDS, patients, pipeline

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()], ids=["one-hot", "ordinal"])
def test_a_frozen_pipeline_with_encoders_is_averaged_over_categories(kind, encoder):
    frame, y = patients()
    model = pipeline(encoder).fit(KINDS[kind](frame), y)
    wrapper = MarginalClassifier(FrozenEstimator(model), random_state=0, n_draws=1024)
    wrapper.fit(KINDS[kind](frame))
    rows = frame[:20].copy()
    complete = wrapper.predict_proba(KINDS[kind](rows))
    np.testing.assert_array_equal(complete, model.predict_proba(KINDS[kind](rows)))
    rows["ward"] = None
    found = wrapper.predict_proba(KINDS[kind](rows))
    # By hand: every ward with its probability given age and sex.
    probabilities = wrapper.density_.condition(KINDS[kind](rows)).probabilities(1)
    wards = wrapper.columns_.readings[2].categories
    by_ward = [model.predict_proba(KINDS[kind](rows.assign(ward=ward))) for ward in wards]
    wanted = np.einsum("nw,wnc->nc", probabilities, np.array(by_ward))
    # 1024 quasi-random draws of one category: an error of a few 1/1024 per category.
    np.testing.assert_allclose(found, wanted, atol=5e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfitted_pipeline_learns_from_words_with_holes(kind):
    frame, y = patients()
    holes = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    holes["ship"] = "Titanic"
    wrapper = MarginalClassifier(pipeline(OneHotEncoder()), random_state=0)
    wrapper.fit(KINDS[kind](holes), y)
    assert isinstance(wrapper.density_, MixedDensity)
    assert wrapper.score(KINDS[kind](frame), y) > 0.9
    assert list(wrapper.feature_names_in_) == list(frame.columns)
    doubt = wrapper.predict_uncertainty(KINDS[kind](holes[:20]))
    assert doubt.columns == ("age", "sex", "ward")
    np.testing.assert_allclose(doubt.prediction, wrapper.predict_proba(KINDS[kind](holes[:20])))
    gone = holes[:20].isna().to_numpy()[:, :3]
    assert (doubt.by_column[~gone] == 0).all()
    assert (doubt.by_column <= doubt.missing[:, None] + 1e-12).all()


def test_words_that_are_no_text_come_back_as_they_were():
    """Categorical types keep their categories, whole numbers stay whole, booleans booleans."""
    rng = np.random.default_rng(0)
    n = 120
    seen = []

    class Looks(HistGradientBoostingRegressor):
        def predict(self, X):
            seen.append(X)
            return np.zeros(len(X))

    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(rng.choice([3, 1, 2], n), categories=[3, 2, 1, 9]),
            "rooms": rng.integers(1, 6, n),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "flat": rng.random(n) < 0.5,
            "text": [f"house {i}" for i in range(n)],
        }
    )
    wrapper = MarginalRegressor(FrozenEstimator(Looks().fit(np.zeros((9, 5)), np.zeros(9))))
    wrapper.fit(frame)
    rows = frame[:3].astype({"rooms": "Int64", "flat": "boolean"})
    rows.loc[0, "grade"] = None
    rows.loc[1, "rooms"] = None
    rows.loc[2, "day"] = None
    seen.clear()
    wrapper.predict(rows)
    (drawn,) = seen
    assert list(drawn.columns) == list(frame.columns)
    assert len(drawn) == 3 * 64
    assert (drawn.dtypes == frame.dtypes).all()
    assert set(drawn["grade"]) <= {1, 2, 3, 9}
    # A column that only names the rows comes from the row itself.
    assert set(drawn["text"]) == {"house 0", "house 1", "house 2"}


def test_a_format_writes_back_what_a_plan_read():
    frame, _ = patients(40)
    frame.loc[3, "age"] = np.nan
    frame.loc[5, "ward"] = None
    for codes in (True, False):
        plan = ColumnPlan.of(frame, codes=codes)
        given = plan.read_frame(frame)
        written = RowFormat.of(frame, plan=plan).rows(given.table.array, given, np.arange(40))
        pd.testing.assert_frame_equal(written, frame)


def test_limits_are_kept_by_draws():
    """A value written as ``<20`` is averaged below 20, in training and in prediction."""
    rng = np.random.default_rng(0)
    lead = np.exp(rng.normal(3.0, 0.5, 400))
    sex = rng.choice(["m", "f"], 400)
    texts = np.where(lead < 12, "<12", [f"{value:.3f}" for value in lead])
    seen = []

    class Looks(LogisticRegression):
        def predict_proba(self, X):
            seen.append(X["lead"].astype(float).to_numpy())
            return np.full((len(X), 2), 0.5)

    frame = pd.DataFrame({"lead": texts, "sex": sex})
    model = Looks().fit(np.zeros((2, 2)), [0, 1])
    model.feature_names_in_ = np.array(["lead", "sex"])
    wrapper = MarginalClassifier(FrozenEstimator(model), random_state=0).fit(frame)
    seen.clear()
    wrapper.predict_proba(pd.DataFrame({"lead": ["<12", "30"], "sex": ["m", None]}))
    (drawn,) = seen
    assert len(drawn) == 128
    below = np.sort(drawn)[:64]
    assert below.max() <= 12.0 + 1e-9  # limits are kept in standard units, and come back rounded
    assert below.std() > 0.1


def test_a_wrapper_of_frames_can_be_saved(tmp_path):
    frame, y = patients(100)
    holes = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    holes["ship"] = "Titanic"
    wrapper = MarginalClassifier(pipeline(OneHotEncoder()), random_state=0).fit(holes, y)
    save(wrapper, tmp_path / "model.absentia")
    again = load(tmp_path / "model.absentia")
    np.testing.assert_array_equal(again.predict_proba(holes), wrapper.predict_proba(holes))


def test_a_new_word_counts_as_missing_with_a_warning():
    frame, y = patients()
    wrapper = MarginalClassifier(pipeline(OneHotEncoder()), random_state=0).fit(frame, y)
    rows = frame[:2].copy()
    rows.loc[0, "ward"] = "purple"
    with pytest.warns(UserWarning, match="'purple' in 'ward'"):
        found = wrapper.predict_proba(rows)
    rows.loc[0, "ward"] = None
    np.testing.assert_array_equal(found, wrapper.predict_proba(rows))


def test_a_second_fit_on_numbers_forgets_the_plan():
    frame, y = patients()
    wrapper = MarginalClassifier(LogisticRegression(), random_state=0)
    with pytest.raises(ValueError, match="takes numbers only"):
        wrapper.fit(frame, y)
    assert not hasattr(wrapper, "density_")
    wrapper = MarginalClassifier(pipeline(OneHotEncoder()), random_state=0).fit(frame, y)
    wrapper.set_params(estimator=LogisticRegression()).fit(frame[["age"]], y)
    assert not hasattr(wrapper, "columns_")
    assert wrapper.predict(frame[["age"]]).shape == (300,)


@pytest.mark.parametrize("kind", ["date", "duration"])
def test_dates_that_are_missing_are_null_in_polars(kind):
    rng = np.random.default_rng(0)
    dates = pd.Series(pd.date_range("2022-01-01", periods=100))
    frame = pd.DataFrame(
        {"a": rng.normal(size=100), "d": dates if kind == "date" else dates - dates[0]}
    )
    y = frame["a"] + np.arange(100) / 50
    rows = frame[:3].copy()
    rows.loc[1, "d"], rows.loc[1:, "a"] = pd.NaT, np.nan
    gains = [
        measure_next(KernelRidge().fit(make(frame), y), make(rows)).gain
        for make in (polars.from_pandas, pd.DataFrame)
    ]
    np.testing.assert_allclose(*gains, rtol=1e-10)


@pytest.mark.parametrize("unit", ["", " kg"])
def test_numbers_written_as_text_keep_their_sign_and_unit(unit):
    rng = np.random.default_rng(0)
    a, b = rng.normal(12, 3, size=200).round(3), rng.normal(size=200).round(3)
    frame = pd.DataFrame(
        {
            name: [f"{value:.3f}".replace(".", ",") + unit for value in values]
            for name, values in {"a": a, "b": b}.items()
        }
    )
    frame.loc[::7, "b"] = None
    model = make_pipeline(TableEncoder(), SimpleImputer(), LinearRegression())
    model = MarginalRegressor(model, random_state=0).fit(frame.assign(w=["x", "y"] * 100), a)
    rows = pd.DataFrame({"a": [f"12,125{unit}", f"9,375{unit}"], "b": f"0,500{unit}", "w": "x"})
    np.testing.assert_allclose(model.predict(rows), [12.125, 9.375], atol=1e-6)
    rows["b"] = None
    np.testing.assert_allclose(model.predict(rows), [12.125, 9.375], atol=1e-6)
