"""Models averaged over what is missing."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from absentia import GaussianDensity, MarginalClassifier, MarginalRegressor
from predictions.contract import Contract, example


def labels(X):
    return np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 1], [-1.0, 2.0])]


class TestClassifier(Contract):
    def wrapped(self, **params):
        X, _ = example()
        model = LogisticRegression(max_iter=2000).fit(X, labels(X))
        params = {"n_draws": 1024, "random_state": 0} | params
        return MarginalClassifier(FrozenEstimator(model), **params).fit(X)

    def answer(self, wrapper, X):
        return wrapper.predict_proba(X)

    def own(self, wrapper, X):
        return wrapper.estimator_.predict_proba(X)

    def test_probabilities_are_probabilities(self):
        _, holes = example()
        wrapper = self.wrapped(n_draws=8)
        p = wrapper.predict_proba(holes)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert list(wrapper.classes_) == ["high", "low", "middle"]
        assert set(wrapper.predict(holes)) <= set(wrapper.classes_)
        np.testing.assert_allclose(np.exp(wrapper.predict_log_proba(holes)), p, rtol=1e-12)


class TestRegressor(Contract):
    def wrapped(self, **params):
        X, _ = example()
        targets = np.stack([X[:, 0] ** 2, np.sin(X[:, 1])], axis=1)
        model = make_pipeline(StandardScaler(), Ridge()).fit(X, targets)
        params = {"n_draws": 1024, "random_state": 0} | params
        return MarginalRegressor(FrozenEstimator(model), **params).fit(X)

    def answer(self, wrapper, X):
        return wrapper.predict(X)

    def own(self, wrapper, X):
        return wrapper.estimator_.predict(X)

    def test_a_linear_model_gets_nearly_the_conditional_mean(self):
        _, holes = example()
        wrapper = self.wrapped(n_draws=4096)
        wanted = wrapper.estimator_.predict(wrapper.density_.impute(holes))
        # Quasi-random draws of a Gaussian have its mean up to an error of about 1/4096.
        np.testing.assert_allclose(wrapper.predict(holes), wanted, atol=2e-2)


def test_one_output_stays_one_dimensional_and_one_column_stays_a_column():
    X, holes = example()
    flat = MarginalRegressor(FrozenEstimator(LinearRegression().fit(X, X[:, 0]))).fit(X)
    column = MarginalRegressor(FrozenEstimator(LinearRegression().fit(X, X[:, :1]))).fit(X)
    assert flat.predict(holes).shape == (len(X),)
    assert column.predict(holes).shape == (len(X), 1)


class Recorder:
    """A model that is no estimator of scikit-learn and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        self.asked.append(X)
        first = np.asarray(X if isinstance(X, np.ndarray) else X.to_numpy(), dtype=float)[:, 0]
        p = 1 / (1 + np.exp(-first))
        return np.stack([1 - p, p], axis=1)


def test_a_foreign_model_gets_frames_as_at_fit_and_its_classes_are_counted():
    X = pd.DataFrame(
        {"a": [0.5, 1.5, -1.0, 2.0], "b": [1, 2, 3, 5], "c": [True, False, True, True]}
    )
    X["d"] = np.array([1, 2, 3, 4], dtype=np.float32)
    X["e"] = pd.array([1, 2, 3, 5], dtype="Int8")
    model = Recorder()
    wrapper = MarginalClassifier(FrozenEstimator(model), n_draws=8).fit(X)
    rows = X.astype({"b": float, "c": float})
    rows.loc[0, ["a", "b", "c"]] = np.nan
    rows["e"] = pd.array([None, 2, 3, 5], dtype="Int8")
    wrapper.predict_proba(rows)
    for asked in model.asked:
        assert list(asked.columns) == list(X.columns)
    drawn = model.asked[-1]
    assert len(drawn) == 8
    assert dict(drawn.dtypes) == dict(X.dtypes)
    assert list(wrapper.classes_) == [0, 1]
    assert set(wrapper.predict(rows)) <= {0, 1}


def test_polars_frames_reach_the_model_as_polars_frames():
    X = pl.DataFrame(
        {"a": [0.5, 1.5, -1.0, 2.0], "b": [1, 2, 3, 5], "c": [True, False, True, True]}
    )
    model = Recorder()
    wrapper = MarginalClassifier(FrozenEstimator(model), n_draws=8).fit(X)
    rows = pl.DataFrame({"a": [None, 1.0], "b": [None, 2], "c": [None, True]}, schema=X.schema)
    wrapper.predict_proba(rows)
    complete, drawn = model.asked[-2:]
    assert complete.schema == drawn.schema == X.schema
    assert (len(complete), len(drawn)) == (1, 8)


def test_a_model_trained_on_arrays_gets_arrays_from_frames():
    X, holes = example()
    model = LogisticRegression(max_iter=2000).fit(X, labels(X))
    names = [f"c{j}" for j in range(X.shape[1])]
    by_frame = MarginalClassifier(FrozenEstimator(model), random_state=0)
    by_frame.fit(pd.DataFrame(X, columns=names))
    by_array = MarginalClassifier(FrozenEstimator(model), random_state=0).fit(X)
    np.testing.assert_array_equal(
        by_frame.predict_proba(pd.DataFrame(holes, columns=names)), by_array.predict_proba(holes)
    )


def test_predictions_of_complete_rows_are_the_models_even_where_probabilities_disagree():
    class Contrary(LogisticRegression):
        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmin(axis=1)]

    X, holes = example()
    model = Contrary(max_iter=2000).fit(X, labels(X))
    wrapper = MarginalClassifier(FrozenEstimator(model)).fit(X)
    np.testing.assert_array_equal(wrapper.predict(holes)[:10], model.predict(X[:10]))


def test_a_classifier_without_probabilities_is_told_of_a_calibrator():
    X, _ = example()
    model = LinearSVC().fit(X, labels(X))
    for estimator in (FrozenEstimator(model), LinearSVC()):
        with pytest.raises(ValueError, match=r"LinearSVC has no predict_proba.*CalibratedClass"):
            MarginalClassifier(estimator).fit(X, labels(X))


def test_what_is_no_estimator_is_refused():
    X, _ = example()
    with pytest.raises(ValueError, match="estimator must be an estimator"):
        MarginalClassifier("forest").fit(X, labels(X))
    with pytest.raises(ValueError, match="estimator must be an estimator"):
        MarginalClassifier(LogisticRegression).fit(X, labels(X))


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(max_iter=2000),
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(),
        DecisionTreeClassifier(random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("known", ["average", "model"])
def test_estimators_are_trained_on_rows_with_holes(estimator, known):
    X, holes = example(n=200)
    y = labels(X)
    takes_nan = isinstance(estimator, DecisionTreeClassifier)
    if known == "model" and not takes_nan:
        with pytest.raises(ValueError, match="NaN"):
            MarginalClassifier(estimator, known=known).fit(holes, y)
        return
    wrapper = MarginalClassifier(estimator, known=known, random_state=0).fit(holes, y)
    assert wrapper.score(X, y) > 0.6 > max(np.mean(y == c) for c in wrapper.classes_)


def test_known_patterns_go_to_the_model_as_they_are():
    X, holes = example()
    holes[:, 0] = X[:, 0]
    model = DecisionTreeRegressor(random_state=0).fit(holes[:60], X[:60, 0])
    wrapper = MarginalRegressor(FrozenEstimator(model), known="model").fit(holes[:60])
    np.testing.assert_array_equal(wrapper.predict(holes[:60]), model.predict(holes[:60]))
    new = X[60:70].copy()
    new[:, 0] = np.nan
    assert not np.allclose(wrapper.predict(new), model.predict(new))


def test_a_weight_of_two_is_two_rows():
    X, holes = example()
    y = X[:, 0] + X[:, 1]
    twice = np.concatenate([holes, holes[:50]])
    weights = np.where(np.arange(len(X)) < 50, 2.0, 1.0)
    density = GaussianDensity(tol=1e-9)
    one = MarginalRegressor(Ridge(), density=density, random_state=0)
    two = MarginalRegressor(Ridge(), density=density, random_state=0)
    one.fit(holes, y, sample_weight=weights)
    two.fit(twice, np.concatenate([y, y[:50]]))
    # EM stops at a tolerance, and the rows are in another order.
    np.testing.assert_allclose(one.predict(holes), two.predict(holes), rtol=1e-5, atol=1e-5)


def test_weights_for_an_estimator_that_takes_none_are_refused():
    X, holes = example()
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit takes none"):
        MarginalClassifier(KNeighborsClassifier()).fit(holes, labels(X), np.ones(len(X)))


def test_a_column_that_no_row_has_is_left_out_of_training():
    X, holes = example()
    holes[:, 2] = np.nan
    wrapper = MarginalRegressor(Ridge(), random_state=0)
    with pytest.warns(UserWarning, match="missing in every training row"):
        wrapper.fit(pd.DataFrame(holes).add_prefix("c"), X[:, 0])
    assert wrapper.estimator_.n_features_in_ == 4
    assert np.isfinite(wrapper.predict(pd.DataFrame(X).add_prefix("c"))).all()


@pytest.mark.parametrize("kind", [MarginalClassifier, MarginalRegressor])
def test_fit_without_targets_names_the_way_for_fitted_models(kind):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    model = LinearRegression() if kind is MarginalRegressor else LogisticRegression()
    message = re.escape(f"write {kind.__name__}(FrozenEstimator(model)).fit(X)")
    with pytest.raises(ValueError, match="fit needs y to train the model.*" + message):
        kind(model.fit(X, y)).fit(X)
