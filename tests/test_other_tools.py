"""absentia's estimators inside the tools of others; what is not installed is skipped."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import Ridge

from absentia import (
    ConformalRegressor,
    GaussianDensity,
    KernelRidge,
    LogisticRegression,
    MarginalRegressor,
    TableEncoder,
    describe_missingness,
    explain,
    measure_next,
    sensitivity,
)

RNG = np.random.default_rng(0)
FULL = RNG.normal(size=(80, 3))
Y = FULL[:, 0] + 0.1 * RNG.normal(size=80)
X = np.where(RNG.random(FULL.shape) < 0.2, np.nan, FULL)
MODEL = KernelRidge(density=GaussianDensity(max_iter=5, tol=1e3)).fit(X, Y)


def test_permutation_importance_takes_missing_values():
    found = permutation_importance(MODEL, X, Y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 0


def test_partial_dependence_takes_missing_values_in_the_other_columns():
    rows = np.column_stack([FULL[:, 0], X[:, 1:]])
    curve = partial_dependence(MODEL, rows, [0], grid_resolution=5)["average"][0]
    assert (np.diff(curve) > 0).all()


def test_an_explanation_is_one_of_shap():
    shap = pytest.importorskip("shap", exc_type=ImportError)
    found = explain(MODEL, FULL[:4])
    values = found.to_shap()
    assert isinstance(values, shap.Explanation)
    total = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(total, MODEL.predict(FULL[:4]), atol=1e-8)


def test_in_the_pipeline_of_skrub():
    skrub = pytest.importorskip("skrub")
    frame = pd.DataFrame(X, columns=list("abc")).assign(ward=np.where(Y > 0, "A", "B"))
    pipeline = skrub.tabular_pipeline(LogisticRegression()).fit(frame, Y > 0)
    assert pipeline.score(frame, Y > 0) > 0.9


def test_in_the_intervals_of_mapie():
    regression = pytest.importorskip("mapie.regression")
    intervals = regression.SplitConformalRegressor(clone(MODEL), prefit=False)
    intervals.fit(FULL[:40], Y[:40]).conformalize(FULL[40:], Y[40:])
    _, bounds = intervals.predict_interval(FULL)
    assert (bounds[:, 0] < bounds[:, 1]).all()


def test_in_a_file_of_mlflow(tmp_path):
    with warnings.catch_warnings(action="ignore"):  # those of its import
        flavour = pytest.importorskip("mlflow.sklearn")
        flavour.save_model(MODEL, str(tmp_path / "model"), serialization_format="cloudpickle")
        again = flavour.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), MODEL.predict(X))


def test_a_masker_of_shap_draws_from_beliefs():
    shap = pytest.importorskip("shap", exc_type=ImportError)
    rows = RNG.multivariate_normal([0, 0, 0], [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], size=200)
    density = GaussianDensity().fit(rows)

    def from_beliefs(shown, row):
        return density.draw([np.where(shown, row, np.nan)], size=2000, random_state=0)[:, 0]

    model = Ridge(alpha=0.0).fit(rows, rows @ [1, 0, 2])
    some = np.array([[1.0, -1.0, 0.5], [0.5, np.nan, -1.0]])
    found = shap.Explainer(model.predict, from_beliefs, algorithm="exact")(some).values
    np.testing.assert_allclose(found, explain(model, some, density=density).values, atol=0.15)


@pytest.mark.filterwarnings("ignore:A LazyFrame was collected")
@pytest.mark.parametrize("kind", ["polars", "pyarrow", "narwhals", "lazy"])
def test_frames_of_every_kind(kind):
    polars = pytest.importorskip("polars")
    words = polars.Series("d", ["u", None, "v", "w"] * 20)
    frame = polars.DataFrame(X, schema=["a", "b", "c"]).fill_nan(None).with_columns(words)
    given: Any = frame
    if kind == "narwhals":
        given = pytest.importorskip("narwhals").from_native(frame)
    elif kind == "pyarrow":
        given = frame.to_arrow()
    elif kind == "lazy":
        given = frame.lazy()
    model, expected = clone(MODEL).fit(given, Y), clone(MODEL).fit(frame, Y)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(model.predict(given), expected.predict(frame))
    for question in (explain, lambda model, X: sensitivity(model, X, deltas=[1.0])):
        found = question(model, given).to_frame()
        pd.testing.assert_frame_equal(found, question(expected, frame).to_frame())
    assert measure_next(model, given).best == measure_next(expected, frame).best
    report = describe_missingness(given)
    assert report.columns == ("a", "b", "c", "d")


def test_wrappers_and_encoders_in_pipelines_of_others():
    frame = pd.DataFrame(X, columns=list("abc"))
    encoded = TableEncoder().fit_transform(frame)
    model = ConformalRegressor(MarginalRegressor(Ridge(), n_draws=4), random_state=0)
    found = model.fit(encoded, Y).predict_interval(encoded)
    assert (found.lower < found.upper).all()
