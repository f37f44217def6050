"""Every estimator of rows takes a data frame as it comes, from pandas and from polars."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import absentia
from estimators import estimators, small

pd = pytest.importorskip("pandas")
QUICK = absentia.GaussianDensity(max_iter=5, tol=1e-2)


def people(n=60, seed=0):
    """Return a frame with a column of each type, some cells missing in each, and targets."""
    rng = np.random.default_rng(seed)
    sick = rng.integers(2, size=n)
    level = np.minimum(sick + rng.integers(2, size=n), 2)
    start = pd.Timestamp("2024-01-01")
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 20 * sick, 5),
            "colour": np.where(rng.random(n) < 0.8, np.where(sick, "red", "blue"), "green"),
            "kind": pd.Categorical(np.array(["a", "b", "c"])[level]),
            "pain": pd.Categorical(
                np.array(["none", "some", "much"])[level], ["none", "some", "much"], ordered=True
            ),
            "smokes": rng.random(n) < 0.3 + 0.4 * sick,
            "drinks": pd.array(rng.random(n) < 0.3 + 0.4 * sick, dtype="boolean"),
            "children": pd.array(rng.integers(5, size=n), dtype="Int64"),
            "town": pd.array(np.array(["Rome", "Oslo", "Bern"])[level], dtype="string"),
            "seen": start + pd.to_timedelta(rng.integers(90, size=n), "D"),
            "stay": pd.to_timedelta(rng.gamma(2.0 + sick), "D"),
            "dose": [f"{v:.1f}" if v > 0.5 else "<0.5" for v in rng.gamma(1.0 + sick)],
            "mixed": [k if k % 3 else str(k) if k % 2 else float(k) for k in range(n)],
            "name": [f"patient {k}" for k in range(n)],
        }
    )
    frame["mixed"] = frame["mixed"].astype(object)
    frame.loc[:3, "mixed"] = [datetime.date(2024, 1, 1), True, "unknown", None]
    for column in ("age", "colour", "kind", "pain", "drinks", "children", "town", "seen", "dose"):
        frame.loc[rng.random(n) < 0.15, column] = None
    return frame, sick


def models():
    """Return every estimator of rows, and one of mixed columns."""
    for kind in estimators():
        model = small(kind, density=QUICK, gamma=0.1, nu=0.3, scale=1.0, n_components=8)
        if hasattr(model, "predict") and "estimator" in model.get_params(deep=False):
            continue  # wrappers, which have tests of their own
        if kind.__name__ in NOT_OF_ROWS:
            continue
        yield model
    yield absentia.SVC(density="mixed")


#: Tested elsewhere: automatic machines, readers, imputers, and clusters without a prediction.
NOT_OF_ROWS = {
    *("AutoClassifier", "AutoRegressor", "TableEncoder", "SpectralClustering"),
    *("LowRankDensity", "NormalScores", "DensityImputer"),
}
MODELS = list(models())


def name_of(model):
    density = getattr(model, "density", None)
    return type(model).__name__ + ("-mixed" if isinstance(density, str) else "")


def answers(model, frame):
    """Return what a fitted estimator says about rows, as numbers."""
    for method in ("decision_function", "predict_proba", "score_samples", "transform", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(frame), dtype=np.float64)
    raise AssertionError(f"{model} answers nothing.")


def fitted(model, frame, y):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, message=".*(converge|stop).*")
        return clone(model).fit(frame, y)


# A few rows of training hold a larger share of what cannot be read than all of them.
@pytest.mark.filterwarnings("ignore:Cells that cannot be read")
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_a_frame_of_every_type(model):
    frame, y = people()
    machine = fitted(model, frame, y)
    expected = answers(machine, frame)
    assert np.isfinite(expected).all()
    # How the columns are used is kept, and shown.
    plan = getattr(machine, "plan_", machine.columns_)
    used = dict(plan.to_frame()[["column", "used as"]].itertuples(index=False))
    assert used == {
        "age": "number",
        "colour": "category",
        "kind": "category",
        "pain": "ordered",
        "smokes": "number",
        "drinks": "number",
        "children": "number",
        "town": "category",
        "seen": "date",
        "stay": "duration",
        "dose": "number",
        "mixed": "number",
        "name": "left out",
    }
    page = machine._repr_html_()
    assert "<td>colour</td>" in page
    assert "are limits" in repr(plan)
    assert list(machine.feature_names_in_)[:2] in (["age", "colour"], list(plan.labels)[:2])
    # A word that training never saw is missing, and so is a column that is not there.
    missing = frame.assign(colour=None)
    with pytest.warns(UserWarning, match="'violet' in 'colour'"):
        new = answers(machine, frame.assign(colour="violet"))
    np.testing.assert_array_equal(new, answers(machine, missing))
    with pytest.warns(UserWarning, match="lacks 'colour'") as caught:
        new = answers(machine, frame.drop(columns="colour"))
    assert sum("lacks" in str(warning.message) for warning in caught) == 1
    np.testing.assert_array_equal(new, answers(machine, missing))
    # Columns are found by name, and one row is answered as among others.
    np.testing.assert_array_equal(answers(machine, frame[frame.columns[::-1]]), expected)
    np.testing.assert_allclose(answers(machine, frame[:1]), expected[:1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_polars_says_the_same(model):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame, y = people(30)
    frame = frame.drop(columns=["mixed", "pain"])  # which polars has no types for
    same = polars.from_pandas(frame)
    expected = answers(fitted(model, frame, y), frame)
    found = answers(fitted(model, same, y), same)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_frames_of_numbers_show_their_columns_too(model):
    frame, y = people()
    numbers = frame[["age", "smokes"]].astype(float).assign(weight=np.linspace(0, 1, 60) ** 2)
    machine = fitted(model, numbers, y)
    plan = machine.__dict__.get("plan_", machine.columns_)
    assert plan.to_frame()["used as"].tolist() == ["number"] * 3
    assert "<td>weight</td>" in machine._repr_html_()
    expected = answers(fitted(model, numbers.to_numpy(), y), numbers.to_numpy())
    np.testing.assert_array_equal(answers(machine, numbers), expected)
    with pytest.warns(UserWarning, match="lacks 'smokes'"):
        new = answers(machine, numbers[["age", "weight"]])
    np.testing.assert_array_equal(new, answers(machine, numbers.assign(smokes=np.nan)))


def test_clusters_of_a_frame():
    frame, _ = people()
    found = absentia.SpectralClustering(n_clusters=2, density=QUICK, random_state=0).fit(frame)
    assert set(found.labels_) == {0, 1}
    assert found.columns_.names == tuple(frame.columns)


def test_codes_for_missing_values_in_a_frame_of_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(50), "b": rng.random(50)})
    y = (frame["a"] > 0.5).to_numpy()
    coded, missing = frame.copy(), frame.copy()
    coded.loc[:4, "b"], missing.loc[:4, "b"] = -999.0, np.nan
    with pytest.warns(UserWarning, match="'b' has 5 values of -999"):
        machine = absentia.SVC().fit(coded, y)
    expected = absentia.SVC().fit(missing, y).decision_function(missing)
    np.testing.assert_array_equal(machine.decision_function(coded), expected)
    plan = absentia.ColumnPlan.of(coded, kinds={"b": "number"})
    kept = absentia.SVC().fit(plan.read(coded), y)
    assert kept.columns_ is plan
    assert not np.allclose(kept.decision_function(coded), expected)
