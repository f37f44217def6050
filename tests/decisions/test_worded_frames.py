"""Measure next on frames with words: answers are about the user's own columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from absentia import (
    AcquisitionPolicy,
    AutoClassifier,
    GaussianDensity,
    GaussianProcessRegressor,
    LogisticRegression,
    MarginalClassifier,
    MixedDensity,
    bounded,
    measure_next,
    predict_uncertainty,
)
from predictions.patients import KINDS, patients, pipeline
from tests.oracles import acquisition as oracle

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


def patients_with_holes():
    """Patients without and with holes, and whether they are ill."""
    frame, ill = patients(150)
    holes = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.15)
    holes["ship"] = "Titanic"
    return frame, holes, np.where(ill, "ill", "well")


def models(kind):
    frame, holes, y = patients_with_holes()
    frame, holes = KINDS[kind](frame), KINDS[kind](holes)
    ordinal = OrdinalEncoder(categories=[["f", "m"], ["red", "blue", "green"]])
    frozen = FrozenEstimator(pipeline(ordinal).fit(frame, y))
    found = {
        "frozen pipeline": MarginalClassifier(frozen, random_state=0).fit(holes),
        "codes": LogisticRegression(density="mixed").fit(holes, y),
        "automatic": AutoClassifier(
            members=["beliefs"], random_state=0, n_repeats=1, n_splits=2, hidden=(0.5,)
        ).fit(holes, y),
    }
    if kind == "pandas":  # read by the same doors as those above
        found["pipeline"] = MarginalClassifier(pipeline(OneHotEncoder()), random_state=0)
        found["indicators"] = LogisticRegression()
        for name in ("pipeline", "indicators"):
            found[name].fit(holes, y)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_of_frames_names_the_users_columns(kind):
    rows = patients_with_holes()[0][:4].copy()
    rows.loc[0, ["sex", "age"]] = None
    rows.loc[1, "ward"] = None
    rows.loc[2, ["age", "ward", "sex"]] = None
    rows["ship"] = "Titanic"
    for name, model in models(kind).items():
        # Frames of either kind are read once; two steps ahead are the same from there on.
        for lookahead in (1, 2, "auto") if kind == "pandas" else (1,):
            found = measure_next(
                model, KINDS[kind](rows), lookahead=lookahead, costs={"sex": 2.0, "ward": 1.0}
            )
            assert found.columns == ("age", "sex", "ward", "ship"), name
            assert found.best[1] == "ward", name
            assert found.best[3] == "stop", name
            assert set(found.ranking(2)) == {"age", "sex", "ward"}, name
            known = rows.notna().to_numpy()
            assert np.isnan(found.gain[known]).all(), name
            assert (found.gain[~known] >= 0).all(), name
        doubt = predict_uncertainty(model, KINDS[kind](rows))
        assert doubt.columns == ("age", "sex", "ward"), name
        assert doubt.by_column[2, 2] > doubt.by_column[2, 1], name


def test_gains_of_categories_are_sums_over_their_probabilities():
    """The gain of a word by hand: every category filled in, weighted by its probability."""
    _, holes, y = patients_with_holes()
    model = LogisticRegression(density="mixed").fit(holes, y)
    rows = holes[:30].copy()
    rows["ward"] = None
    found = measure_next(model, rows)
    probabilities = model.density_.condition(rows).probabilities(1)
    words = model.columns_.readings[2].categories
    answers = np.stack([model.predict_proba(rows.assign(ward=word)) for word in words], axis=1)
    mean = np.einsum("nw,nwc->nc", probabilities, answers)
    after = np.einsum(
        "nw,nw->n", probabilities, oracle.entropy(answers.reshape(-1, 2)).reshape(30, -1)
    )
    np.testing.assert_allclose(found.gain[:, 2], oracle.entropy(mean) - after, atol=1e-10)
    np.testing.assert_allclose(found.spread_after[:, 2], after, rtol=1e-10)


def test_probabilities_of_indicators_are_their_means():
    _, holes, y = patients_with_holes()
    model = LogisticRegression().fit(holes, y)
    rows = holes[:30].copy()
    rows["sex"] = None
    found = measure_next(model, rows)
    plan = model.columns_
    at = plan.labels.index("sex=" + plan.readings[1].categories[1])
    share = model.density_.condition(rows).mean()[:, at] * plan.scales[at] + plan.centres[at]
    share = np.clip(share, 0, 1)[:, None]
    first, second = (
        model.predict_proba(rows.assign(sex=word)) for word in plan.readings[1].categories
    )
    after = (1 - share[:, 0]) * oracle.entropy(first) + share[:, 0] * oracle.entropy(second)
    mean = (1 - share) * first + share * second
    np.testing.assert_allclose(found.gain[:, 1], oracle.entropy(mean) - after, atol=1e-10)


def test_codes_in_arrays_are_categories_where_the_density_says_so():
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=300)
    X = np.column_stack([rng.normal(size=300), kind]).astype(float)
    model = LogisticRegression(density=MixedDensity(categories=[1], random_state=0))
    model.fit(X, kind == 1)
    found = measure_next(model, [[np.nan, np.nan]])
    assert found.best == ["x1"]
    share = np.bincount(kind) / 300
    # Three categories, not nodes of a Gaussian: the entropy of the class is nearly all explained.
    assert found.gain[0, 1] > 0.6 * oracle.entropy(np.array([[share[1], 1 - share[1]]]))[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_measures_words(kind):
    frame, holes, y = patients_with_holes()
    model = LogisticRegression(density="mixed").fit(KINDS[kind](holes), y)
    start = frame[:5].copy()
    start[["age", "sex", "ward"]] = None
    trace = AcquisitionPolicy(model).run(KINDS[kind](start), KINDS[kind](frame[:5]))
    assert trace.columns == tuple(frame.columns)
    steps = trace.to_frame()
    wards = steps[steps["column"] == "ward"]
    assert list(wards.sort_values("row")["value"]) == list(frame["ward"][:5])
    last = trace.answers[-1]
    known = frame[:5].copy()
    for row in range(5):  # what was not worth measuring stays missing
        for column in set(frame.columns) - set(steps[steps["row"] == row]["column"]) - {"ship"}:
            known.loc[row, column] = None
    np.testing.assert_allclose(last, model.predict_proba(KINDS[kind](known)), rtol=1e-10)
    asked = AcquisitionPolicy(model).run(
        KINDS[kind](start), lambda row, column: frame.iloc[row, column]
    )
    np.testing.assert_allclose(asked.answers, trace.answers, rtol=1e-10)


def test_limits_narrow_what_a_measurement_is_worth():
    """Of a value that is known to lie in a narrow interval there is little left to learn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = GaussianProcessRegressor(gamma=0.2).fit(X, 2 * X[:, 0] + X[:, 1])
    row = np.array([[np.nan, np.nan]])
    free = measure_next(model, row)
    limited = measure_next(model, bounded(row, [[0.0, -np.inf]], [[0.1, np.inf]]))
    assert free.best == ["x0"]
    assert limited.best == ["x1"]
    assert limited.gain[0, 0] < 0.02 * free.gain[0, 0]
    doubt = model.predict_uncertainty(bounded(row, [[0.0, -np.inf]], [[0.1, np.inf]]))
    assert doubt.by_column[0, 0] < 0.02 * free.gain[0, 0]


def test_limits_written_as_text_are_limits_of_a_trial():
    rng = np.random.default_rng(0)
    lead = rng.normal(30, 8, 300)
    sex = rng.choice(["m", "f"], 300)
    frame = pd.DataFrame({"lead": [f"{value:.2f}" for value in lead], "sex": sex})
    frame.loc[lead < 20, "lead"] = "<20"
    model = LogisticRegression(density="mixed").fit(frame, lead + 2 * (sex == "m") > 30)
    rows = pd.DataFrame({"lead": [None, "<20", "<20"], "sex": ["m", "m", None]}, dtype=object)
    gain = measure_next(model, rows).gain
    assert gain[1, 0] < 0.2 * gain[0, 0]
    assert gain[2, 1] < 0.2 * gain[0, 0]


def test_a_density_of_a_frame_serves_a_model_without_one():
    frame, holes, y = patients_with_holes()
    inner = pipeline(OneHotEncoder(handle_unknown="ignore"))
    inner.steps.insert(1, ("fill", SimpleImputerOfZeros()))
    inner.fit(frame, y)
    found = measure_next(inner, holes[:5].assign(ward=None), density=MixedDensity(2).fit(holes))
    assert found.columns == tuple(frame.columns)
    with pytest.raises(ValueError, match="has no density of the missing values"):
        measure_next(inner, holes[:5])


class SimpleImputerOfZeros(StandardScaler):
    """Zeros for NaN; a scaler in name, so that a pipeline takes it for a transformer."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.nan_to_num(X)

    def __sklearn_is_fitted__(self):
        return True


def test_a_gaussian_density_of_numbers_is_as_before():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    model = LogisticRegression(density=GaussianDensity()).fit(X, X["a"] > 0)
    row = pd.DataFrame({"a": [np.nan], "b": [1.0]})
    assert measure_next(model, row).best == ["a"]
