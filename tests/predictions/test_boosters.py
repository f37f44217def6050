"""Boosted trees of other libraries inside Marginal models; skipped where they are not installed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.frozen import FrozenEstimator

from absentia import MarginalClassifier, MarginalRegressor, measure_next, predict_uncertainty

pd = pytest.importorskip("pandas")

QUIET = {
    "xgboost": {"n_estimators": 10},
    "lightgbm": {"n_estimators": 10, "verbose": -1},
    "catboost": {"iterations": 10, "verbose": 0, "allow_writing_files": False},
}
NAMES = {"xgboost": "XGB{}", "lightgbm": "LGBM{}", "catboost": "CatBoost{}"}


def booster(library, kind, **parameters):
    module = pytest.importorskip(library)
    return getattr(module, NAMES[library].format(kind))(**QUIET[library], **parameters)


def holes(X, seed=0):
    gone = np.random.default_rng(seed).random(X.shape) < 0.3
    return X.mask(gone) if hasattr(X, "mask") else np.where(gone, np.nan, X)


@pytest.mark.parametrize("library", NAMES)
@pytest.mark.parametrize("as_frame", [True, False], ids=["frame", "array"])
def test_fitted_classifiers_are_averaged(library, as_frame):
    model = booster(library, "Classifier")
    X, y = load_wine(return_X_y=True, as_frame=as_frame)
    if as_frame:
        X = X.rename(columns={"od280/od315_of_diluted_wines": "od"})
    model.fit(X, y)
    wrapper = MarginalClassifier(FrozenEstimator(model), random_state=0).fit(X)
    np.testing.assert_array_equal(wrapper.predict_proba(X), model.predict_proba(X))
    # CatBoost returns classes as a column.
    np.testing.assert_array_equal(wrapper.predict(X), np.ravel(model.predict(X)))
    rows = holes(X)
    assert wrapper.predict(rows).shape == (len(X),)
    assert (wrapper.predict(rows) == y).mean() > 0.9
    assert predict_uncertainty(wrapper, rows[:5]).missing.max() > 0
    columns = list(X.columns) if as_frame else [f"x{j}" for j in range(X.shape[1])]
    assert set(measure_next(wrapper, rows[:5]).best) <= {*columns, "stop"}


@pytest.mark.parametrize("library", NAMES)
def test_fitted_regressors_are_averaged(library):
    model = booster(library, "Regressor")
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    wrapper = MarginalRegressor(FrozenEstimator(model.fit(X, y)), random_state=0).fit(X)
    np.testing.assert_array_equal(wrapper.predict(X), model.predict(X))
    assert wrapper.predict(holes(X)).shape == (len(X),)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_unfitted_boosters_are_trained_on_draws(library):
    model = booster(library, "Classifier")
    X, y = load_wine(return_X_y=True)
    wrapper = MarginalClassifier(model, random_state=0).fit(holes(X), y)
    assert wrapper.score(X, y) > 0.9


@pytest.mark.parametrize("library", NAMES)
def test_categories_reach_the_model_in_its_own_type(library):
    rng = np.random.default_rng(0)
    ward = rng.choice(["red", "green", "blue"], 300)
    age = rng.normal(40, 10, 300)
    X = pd.DataFrame({"age": age, "ward": ward})
    y = (age + 12 * (ward == "green") > 45).astype(int)
    special = {"xgboost": {"enable_categorical": True}, "catboost": {"cat_features": ["ward"]}}
    model = booster(library, "Classifier", **special.get(library, {}))
    if library != "catboost":
        X = X.astype({"ward": "category"})
    wrapper = MarginalClassifier(FrozenEstimator(model.fit(X, y)), random_state=0).fit(X)
    np.testing.assert_array_equal(wrapper.predict_proba(X), model.predict_proba(X))
    rows = X[:20].copy()
    rows["ward"] = None if library == "catboost" else pd.Categorical([None] * 20)
    found = wrapper.predict_proba(rows)[:, 1]
    words = wrapper.columns_.readings[1].categories
    each = []
    for word in words:
        filled = X[:20].copy()
        filled["ward"] = (
            pd.Series([word] * 20).astype(X["ward"].dtype).to_numpy()
            if (library == "catboost")
            else pd.Categorical([word] * 20, categories=X["ward"].cat.categories)
        )
        each.append(model.predict_proba(filled)[:, 1])
    probabilities = wrapper.density_.condition(rows).probabilities(0)
    # 64 quasi-random draws of one category: an error of a few 1/64 per category.
    np.testing.assert_allclose(found, (probabilities * np.array(each).T).sum(axis=1), atol=0.05)
