from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    FourierFeatures,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
    MaskFeatures,
)
from absentia.machines.losses import CURVATURE_BOUNDS, logistic
from machines.large_scale.contract import SMALL, LargeScaleContract, classes, table


class TestRidge(LargeScaleContract):
    targets = "numbers"
    stream_tolerance = 1e-8  # squares of the features: half of the digits of their condition number

    def make(self, **params):
        return LargeScaleRidge(**{"alpha": 0.3, **SMALL, **params})

    def oracle(self, Z, y, Z_new, weights):
        return Ridge(alpha=0.3).fit(Z, y, sample_weight=weights).predict(Z_new)


class TestLeastSquaresSVC(LargeScaleContract):
    stream_tolerance = TestRidge.stream_tolerance

    def make(self, **params):
        return LargeScaleSVC(**{"C": 2.0, "loss": "least_squares", **SMALL, **params})

    def oracle(self, Z, y, Z_new, weights):
        signs = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
        scores = Ridge(alpha=0.5).fit(Z, signs, sample_weight=weights).predict(Z_new)
        return scores if scores.shape[1] > 2 else scores[:, 1]


class TestSquaredHingeSVC(LargeScaleContract):
    def make(self, **params):
        # Liblinear penalises the intercept, hence none; where hinges bend slopes jump.
        return LargeScaleSVC(**{"C": 2.0, "fit_intercept": False, "tol": 1e-10, **SMALL, **params})

    def oracle(self, Z, y, Z_new, weights):
        theirs = LinearSVC(C=2.0, dual=False, fit_intercept=False, tol=1e-12, max_iter=10_000)
        return theirs.fit(Z, y, sample_weight=weights).decision_function(Z_new)


class TestLogisticRegression(LargeScaleContract):
    def make(self, **params):
        return LargeScaleLogisticRegression(**{"C": 3.0, "tol": 1e-10, **SMALL, **params})

    def oracle(self, Z, y, Z_new, weights):
        theirs = LogisticRegression(C=3.0, solver="newton-cholesky", tol=1e-12)
        return centred(theirs.fit(Z, y, sample_weight=weights).decision_function(Z_new))

    def output(self, model, X):
        return centred(model.decision_function(X))


def centred(scores):
    """Return scores of more than two classes about their mean, which changes no probability."""
    if isinstance(scores, np.ndarray) and scores.ndim == 2:
        return scores - scores.mean(axis=1, keepdims=True)
    return scores


@parametrize_with_checks(
    [
        # With fewer features the check of its score fails by chance.
        LargeScaleRidge(n_components=40, random_state=0),
        LargeScaleSVC(**SMALL),
        LargeScaleSVC(features="nystroem", loss="least_squares", **SMALL),
        # A tolerance below that of the check of sample weights.
        LargeScaleLogisticRegression(C=10.0, tol=1e-11, **SMALL),
    ],
)
def test_scikit_learn_accepts_the_machines(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", CURVATURE_BOUNDS)
def test_slopes_and_curvatures_are_derivatives(loss):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((1, 3))
    codes = np.array([[-1.0, 1.0, -1.0]])
    if loss is logistic:
        scores, codes = scores[:, :1], codes[:, :1]

    def value(flat):
        return loss(flat.reshape(scores.shape), codes)[0].sum()

    def slope(flat):
        return loss(flat.reshape(scores.shape), codes)[1].ravel()

    assert check_grad(value, slope, scores.ravel()) < 1e-6
    curvature = loss(scores, codes)[2].ravel()
    step = 1e-6
    for j, expected in enumerate(curvature):
        shift = step * (np.arange(scores.size) == j)
        found = (slope(scores.ravel() + shift) - slope(scores.ravel() - shift))[j] / (2 * step)
        assert found == pytest.approx(expected, abs=1e-6)
        assert expected <= CURVATURE_BOUNDS[loss]


@pytest.mark.parametrize("cache_size", [1000, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_several_targets_are_those_of_scikit_learn_on_the_same_features(cache_size, weighted):
    X, y = table()
    Y = np.column_stack([y, y**2])
    weights = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    machine = LargeScaleRidge(alpha=0.3, cache_size=cache_size, **SMALL)
    machine.fit(X, Y, sample_weight=weights)
    Z = FourierFeatures(**SMALL).fit(X, sample_weight=weights).transform(X)
    twin = Ridge(alpha=0.3).fit(Z, Y, sample_weight=weights)
    # 1e-8: normal equations here, a singular value decomposition there.
    assert_allclose(machine.coef_, twin.coef_, atol=1e-8)
    assert_allclose(machine.intercept_, twin.intercept_, atol=1e-8)
    assert_allclose(machine.predict(X), twin.predict(Z), atol=1e-8)
    flat = clone(machine).fit(X, y, sample_weight=weights).predict(X)
    assert_allclose(flat, machine.predict(X)[:, 0], atol=1e-10)


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_follow_from_the_decision_function(k):
    X, y = table()
    machine = LargeScaleLogisticRegression(C=3.0, **SMALL).fit(X, classes(y, k))
    scores = machine.decision_function(X)
    both = scores if k > 2 else np.column_stack([np.zeros(len(X)), scores])
    expected = softmax(both, axis=1)
    assert_allclose(machine.predict_proba(X), expected, rtol=1e-10)
    assert_allclose(machine.predict_log_proba(X), np.log(expected), rtol=1e-10, atol=1e-12)
    assert (machine.predict(X) == machine.classes_[expected.argmax(axis=1)]).all()


def test_least_squares_need_one_pass():
    X, y = table()
    assert LargeScaleSVC(loss="least_squares", **SMALL).fit(X, classes(y)).n_iter_ == 1


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


def test_bad_parameters_are_refused_and_nothing_is_fitted():
    X, y = table()
    for machine, match in [
        (LargeScaleRidge(alpha=0.0), "alpha must be a number from 1e-200"),
        (LargeScaleSVC(C=-1), "C must be a number from 1e-200"),
        (LargeScaleSVC(loss="hinge"), "loss must be"),
        (LargeScaleLogisticRegression(max_iter=0), "max_iter must be"),
    ]:
        with pytest.raises(ValueError, match=match):
            machine.fit(X, classes(y) if hasattr(machine, "C") else y)
        assert not hasattr(machine, "coef_")


def test_stopping_early_is_said():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LargeScaleLogisticRegression(C=1e6, max_iter=1, **SMALL).fit(X, classes(y))
