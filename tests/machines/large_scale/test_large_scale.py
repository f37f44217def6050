from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    FourierFeatures,
    GaussianDensity,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
    MaskFeatures,
    load,
    save,
)
from absentia.machines.large_scale.losses import Logistic, Multinomial, SquaredError, SquaredHinge


def table(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def classes(y, k=2):
    edges = np.quantile(y, np.arange(1, k) / k)
    return np.array(list("abcdef"))[np.searchsorted(edges, y)]


SMALL = {"n_components": 40, "random_state": 0}


@parametrize_with_checks(
    [
        LargeScaleRidge(**SMALL),
        LargeScaleSVC(**SMALL),
        LargeScaleSVC(features="nystroem", loss="least_squares", **SMALL),
        # A tolerance below that of the check of sample weights.
        LargeScaleLogisticRegression(C=10.0, tol=1e-11, **SMALL),
    ],
)
def test_scikit_learn_accepts_the_machines(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", [SquaredError(), SquaredHinge(), Logistic(), Multinomial()])
def test_slopes_and_curvatures_are_derivatives(loss):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((1, 3))
    codes = np.array([[-1.0, 1.0, -1.0]])
    if isinstance(loss, Logistic):
        scores, codes = scores[:, :1], codes[:, :1]

    def value(flat):
        return loss.value_and_gradient(flat.reshape(scores.shape), codes)[0].sum()

    def slope(flat):
        return loss.value_and_gradient(flat.reshape(scores.shape), codes)[1].ravel()

    assert check_grad(value, slope, scores.ravel()) < 1e-6
    curvature = loss.curvature(scores, codes).ravel()
    step = 1e-6
    for j, expected in enumerate(curvature):
        shift = step * (np.arange(scores.size) == j)
        found = (slope(scores.ravel() + shift) - slope(scores.ravel() - shift))[j] / (2 * step)
        assert found == pytest.approx(expected, abs=1e-6)
        assert expected <= loss.curvature_bound


@pytest.mark.parametrize("cache_size", [1000, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_that_of_scikit_learn_on_the_same_features(cache_size, weighted):
    X, y = table()
    Y = np.column_stack([y, y**2])
    weights = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    machine = LargeScaleRidge(alpha=0.3, cache_size=cache_size, **SMALL)
    machine.fit(X, Y, sample_weight=weights)
    Z = machine.features_.transform(X)
    twin = Ridge(alpha=0.3).fit(Z, Y, sample_weight=weights)
    assert_allclose(machine.coef_, twin.coef_, atol=1e-8)
    assert_allclose(machine.intercept_, twin.intercept_, atol=1e-8)
    assert_allclose(machine.predict(X), twin.predict(Z), atol=1e-8)
    flat = clone(machine).fit(X, y, sample_weight=weights).predict(X)
    assert_allclose(flat, machine.predict(X)[:, 0], atol=1e-10)


@pytest.mark.parametrize("k", [2, 3])
def test_logistic_regression_is_that_of_scikit_learn_on_the_same_features(k):
    X, y = table()
    labels = classes(y, k)
    machine = LargeScaleLogisticRegression(C=3.0, tol=1e-9, **SMALL).fit(X, labels)
    Z = machine.features_.transform(X)
    twin = LogisticRegression(C=3.0, tol=1e-10, max_iter=5000).fit(Z, labels)
    # 1e-5: scikit-learn's solver stops at its own tolerance; ours is checked by its gradient.
    assert_allclose(machine.predict_proba(X), twin.predict_proba(Z), atol=1e-5)
    assert (machine.predict(X) == twin.predict(Z)).all()
    assert_allclose(machine.predict_log_proba(X), np.log(machine.predict_proba(X)))
    gradient = (
        machine.coef_[0]
        - 3.0 * ((labels == machine.classes_[1]) - machine.predict_proba(X)[:, 1]) @ Z
    )
    if k == 2:
        assert np.abs(gradient).max() < 1e-5


@pytest.mark.parametrize("k", [2, 3])
def test_the_svm_is_that_of_scikit_learn_on_the_same_features(k):
    X, y = table()
    labels = classes(y, k)
    machine = LargeScaleSVC(C=2.0, tol=1e-9, fit_intercept=False, **SMALL).fit(X, labels)
    Z = machine.features_.transform(X)
    twin = LinearSVC(C=2.0, dual=False, fit_intercept=False, tol=1e-10, max_iter=10000)
    assert_allclose(
        machine.decision_function(X), twin.fit(Z, labels).decision_function(Z), atol=1e-5
    )
    assert (machine.predict(X) == twin.predict(Z)).all()


def test_the_least_squares_svm_is_ridge_on_signs():
    X, y = table()
    labels = classes(y)
    machine = LargeScaleSVC(C=2.0, loss="least_squares", **SMALL).fit(X, labels)
    ridge = LargeScaleRidge(alpha=0.5, **SMALL).fit(X, np.where(labels == "b", 1.0, -1.0))
    assert_allclose(machine.decision_function(X), ridge.predict(X), atol=1e-8)
    assert machine.n_iter_ == 1


@pytest.mark.parametrize(
    "machine",
    [LargeScaleRidge(**SMALL), LargeScaleSVC(loss="least_squares", **SMALL)],
    ids=["ridge", "svm"],
)
def test_a_stream_of_squares_is_one_fit_to_all_rows(machine):
    X, y = table()
    if isinstance(machine, LargeScaleSVC):
        y = classes(y, 3)
    density = GaussianDensity().fit(X)
    machine = clone(machine).set_params(density=FrozenEstimator(density))
    whole = clone(machine).fit(X, y)
    kwargs = {"classes": np.unique(y)} if isinstance(machine, LargeScaleSVC) else {}
    for rows in (slice(0, 10), slice(10, 200), slice(200, 400)):
        machine.partial_fit(X[rows], y[rows], **kwargs)
    assert_allclose(machine.coef_, whole.coef_, atol=1e-8)
    assert_allclose(machine.intercept_, whole.intercept_, atol=1e-8)


@pytest.mark.parametrize(
    "machine",
    [LargeScaleLogisticRegression(C=10.0, **SMALL), LargeScaleSVC(**SMALL)],
    ids=["logistic", "svm"],
)
@pytest.mark.parametrize("k", [2, 3])
def test_a_stream_of_classes_comes_close_to_one_fit(machine, k):
    X, y = table(3000)
    y = classes(y, k)
    machine = clone(machine)
    for start in range(0, 2000, 250):
        rows = slice(start, start + 250)
        machine.partial_fit(X[rows], y[rows], classes=np.unique(y))
    whole = clone(machine).fit(X[:2000], y[:2000])
    assert machine.score(X[2000:], y[2000:]) > whole.score(X[2000:], y[2000:]) - 0.03


def test_a_chunk_of_a_stream_may_lack_a_class_but_not_bring_a_new_one():
    X, y = table()
    y = classes(y, 3)
    machine = LargeScaleSVC(**SMALL).partial_fit(X[:50], y[:50], classes=["a", "b", "c"])
    machine.partial_fit(X[y == "a"], y[y == "a"])
    before = machine.coef_
    with pytest.raises(ValueError, match="not among"):
        machine.partial_fit(X[:3], ["a", "b", "z"])
    assert machine.coef_ is before
    with pytest.raises(ValueError, match="greater than one"):
        LargeScaleSVC(**SMALL).fit(X[:3], ["a", "a", "a"])


def test_a_stream_goes_on_from_a_file(tmp_path):
    pytest.importorskip("skops", reason="files need the extra absentia[persistence]")
    X, y = table()
    machine = LargeScaleSVC(**SMALL).partial_fit(X[:200], classes(y)[:200])
    save(machine, tmp_path / "machine")
    again = load(tmp_path / "machine")
    for stream in (machine, again):
        stream.partial_fit(X[200:], classes(y)[200:])
    assert_allclose(again.coef_, machine.coef_)


def test_a_stream_begins_with_its_first_call():
    X, y = table()
    fresh = LargeScaleRidge(**SMALL).partial_fit(X[:100], y[:100])
    after_fit = LargeScaleRidge(**SMALL).fit(X, y).partial_fit(X[:100], y[:100])
    assert_allclose(after_fit.coef_, fresh.coef_)


def test_any_transformer_may_make_the_features():
    X, y = table()
    union = FeatureUnion(
        [("x", FourierFeatures(30, random_state=0)), ("mask", MaskFeatures(8, random_state=0))]
    )
    machine = LargeScaleRidge(features=union).fit(X, y)
    assert machine.coef_.shape == (1, 38)
    plain = LargeScaleRidge(features="passthrough").fit(np.nan_to_num(X), y)
    assert_allclose(plain.coef_[0], Ridge().fit(np.nan_to_num(X), y).coef_, atol=1e-10)
    with pytest.raises(ValueError, match="passthrough"):
        LargeScaleRidge(features="passthrough").fit(X, y)


def test_beliefs_stand_in_place_of_rows():
    X, y = table()
    beliefs = GaussianDensity().fit(X).condition(X)
    machine = LargeScaleRidge(**SMALL).fit(beliefs, y)
    assert_allclose(machine.predict(beliefs), LargeScaleRidge(**SMALL).fit(X, y).predict(X))


def test_frames_are_checked_by_name():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    machine = LargeScaleRidge(**SMALL).fit(frame, y)
    assert list(machine.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(frame[list("badc")])


def test_bad_parameters_are_refused_and_nothing_is_fitted():
    X, y = table()
    for machine, match in [
        (LargeScaleRidge(features="wavelets"), "features must be"),
        (LargeScaleRidge(alpha=0.0), "alpha must be a positive"),
        (LargeScaleRidge(cache_size=-1), "cache_size must be"),
        (LargeScaleRidge(features=FourierFeatures(), gamma=0.1), "parameters of its own"),
        (LargeScaleSVC(C=-1), "C must be a positive"),
        (LargeScaleSVC(loss="hinge"), "loss must be"),
        (LargeScaleLogisticRegression(max_iter=0), "max_iter must be"),
    ]:
        with pytest.raises(ValueError, match=match):
            machine.fit(X, classes(y) if hasattr(machine, "C") else y)
        assert not hasattr(machine, "coef_")
    with pytest.raises(ValueError, match="y to be passed"):
        LargeScaleRidge().fit(X)


def test_stopping_early_is_said():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LargeScaleLogisticRegression(C=1e6, max_iter=1, **SMALL).fit(X, classes(y))
