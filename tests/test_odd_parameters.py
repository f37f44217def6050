"""Parameters that make no sense: one sentence of ours that names the parameter."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import absentia
from estimators import estimators
from lab.baselines import (
    ChainedEquationsImputer,
    KarmaSVC,
    MissForestImputer,
    SampledImputer,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
X[rng.random(X.shape) < 0.2] = np.nan
X[0] = 0.0
y = np.arange(24) % 2


def made(name):
    """Make an estimator with defaults, or around a tree."""
    cls = getattr(absentia, name)
    try:
        return cls()
    except TypeError:
        tree = DecisionTreeRegressor if "Regress" in name else DecisionTreeClassifier
        return cls(tree(max_depth=2))


# TableEncoder is a transformer of frames, with rules of its own.
NAMES = [kind.__name__ for kind in estimators() if kind is not absentia.TableEncoder]
FLAGS = [
    (name, parameter.name)
    for name in NAMES
    for parameter in inspect.signature(getattr(absentia, name)).parameters.values()
    if isinstance(parameter.default, bool)
]


def fit(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = type(estimator).__name__
        return estimator.fit(X, 1.0 * y if "Regress" in name and "Logistic" not in name else y)


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_a_flag_is_true_or_false(name, flag):
    for value in ("two", None, np.array([1.0, 2.0]), float("nan")):
        with pytest.raises(ValueError, match=rf"'?{flag}'? "):
            fit(made(name).set_params(**{flag: value}))


WRAPPERS = ("ConformalClassifier", "ConformalRegressor", "MarginalClassifier", "MarginalRegressor")


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize(
    "value",
    [None, [], {}, "two", 10**400, DecisionTreeClassifier],
    ids=lambda value: str(value)[:20],
)
def test_what_is_wrapped_is_an_estimator(name, value):
    with pytest.raises((TypeError, ValueError), match="estimator must be an estimator"):
        fit(getattr(absentia, name)(value))


@pytest.mark.parametrize(
    "value",
    [10**400, b"x", object(), [], {"a": 1}],
    ids=["huge", "bytes", "object", "list", "dict"],
)
def test_a_metric_is_a_word_or_a_matrix(value):
    with pytest.raises(ValueError, match="metric"):
        fit(absentia.FourierFeatures(metric=value))


@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), None, 3], ids=["array", "None", "3"])
def test_landmarks_are_chosen_by_a_rule(value):
    with pytest.raises(ValueError, match="landmarks must be"):
        fit(absentia.Nystroem(landmarks=value))


@pytest.mark.parametrize("count", [2**24 + 1, 2**31 - 1])
def test_no_more_features_or_draws_than_a_loop_ends_with(count):
    for model in (
        absentia.FourierFeatures(n_components=count),
        absentia.Nystroem(n_components=count),
        absentia.LargeScaleRidge(n_components=count),
    ):
        with pytest.raises(ValueError, match=r"n_components .*16777216"):
            fit(model)
    with pytest.raises(ValueError, match=r"n_draws .*16777216"):
        fit(absentia.MarginalClassifier(absentia.LogisticRegression(), n_draws=count))


def test_features_are_named_or_a_transformer():
    with pytest.raises(ValueError, match="features must be"):
        fit(absentia.LargeScaleRidge(features=np.array([1.0, 2.0])))


def test_folds_that_are_none_are_refused():
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        fit(absentia.KernelRidgeCV(cv=[]))


@pytest.mark.parametrize("name", ["SVC", "SVCCV", "LogisticRegression", "LogisticRegressionCV"])
@pytest.mark.parametrize("weights", [{0: 10**400}, {0: -1.0}, {0: np.nan}, {0: "two"}, "even", 2])
def test_class_weights_are_numbers_that_are_not_negative(name, weights):
    # 10**400 is no float, and libsvm takes -1 and returns coefficients that are not finite.
    with pytest.raises(ValueError, match=r"^class_weight must be None, 'balanced' or a dict"):
        fit(getattr(absentia, name)(class_weight=weights))


LONG = [10**400, -(10**400), 10**5000, [10**5000], "x" * 500, [1e9] * 99]


@pytest.mark.parametrize("value", LONG, ids=range(len(LONG)))
def test_a_message_stays_short_however_long_the_value_is(value):
    for name, parameter in (
        ("SVC", "C"),
        ("SVC", "kernel"),
        ("SVC", "density"),
        ("SVC", "mask_weight"),
        ("SVCCV", "scoring"),
        ("LargeScaleSVC", "features"),
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            fit(made(name).set_params(**{parameter: value}))
        if type(caught.value).__module__ == "builtins":  # otherwise scikit-learn's own sentence
            assert len(str(caught.value)) < 500
            assert "0" * 250 not in str(caught.value)


@pytest.mark.parametrize("spread", [1e-140, 1e140])
def test_the_ends_of_the_range_of_spreads_belong_to_it(spread):
    rows = spread * np.array([[1.0], [-1.0], [1.0], [-1.0]])
    density = absentia.GaussianDensity().fit(rows)
    assert np.isfinite(density.score_samples(rows)).all()
    K = absentia.KernelMatrix().fit_transform(rows)
    np.testing.assert_allclose(K, absentia.KernelMatrix().fit_transform(rows / spread), rtol=1e-9)
    with pytest.raises(ValueError, match=r"standard deviation of .*from 1e-140 to 1e\+140"):
        absentia.GaussianDensity().fit(rows * spread ** (1 / 140))


@pytest.mark.parametrize("ridge", [float("nan"), float("inf"), 1e308, 10**400, "two", -1.0])
def test_ridges_of_chained_equations(ridge):
    with pytest.raises(ValueError, match="ridge must be a number from 0"):
        ChainedEquationsImputer(2, ridge=ridge, random_state=0).fit(X)


@pytest.mark.parametrize("n_draws", [1.5, 0, "two", 10**400])
@pytest.mark.parametrize("imputer", [ChainedEquationsImputer(2), SampledImputer("gaussian")])
def test_numbers_of_completed_tables(imputer, n_draws):
    with pytest.raises(ValueError, match="n_draws must be an integer from 1"):
        imputer.set_params(random_state=0).fit(X).draws(X, n_draws)


HUGE = 10**400


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: absentia.bounded(X, HUGE, None), "lower and upper must be numbers"),
        (lambda: KarmaSVC(HUGE).fit(X, y), "C must be a positive number"),
        (lambda: absentia.repair_psd(HUGE), "K must be a square matrix of numbers"),
        (lambda: absentia.repair_psd("two"), "K must be a square matrix of numbers"),
        (lambda: absentia.GaussianDensity().fit(X).quantiles(X, [HUGE]), "levels must be numbers"),
        (lambda: process().log_marginal_likelihood(HUGE), "theta must be an array"),
        (lambda: absentia.TableEncoder(kinds="two").fit(X), "kinds must be a dictionary"),
        (lambda: absentia.Chunks(5), "Chunks are read many times"),
        (lambda: absentia.MixedDensity(categories=1).fit(X), "categories must be 'auto' or a list"),
        (lambda: absentia.MixedDensity(categories=None).fit(X), "categories must be 'auto' or"),
        (lambda: absentia.SVCCV(cv=[1e308]).fit(X, y), "cv must be a number of folds"),
        (lambda: absentia.SVCCV(cv=b"x").fit(X, y), "cv must be a number of folds"),
        (lambda: absentia.RobustSVC(tau="cv", cv=[1.0]).fit(X, y), "cv must be a number of folds"),
        (lambda: forest(categorical_features="two"), "categorical_features must name columns"),
        (lambda: forest(categorical_features=1e300), "categorical_features must name columns"),
        (lambda: forest(categorical_features=[2**63]), "categorical_features must name columns"),
        (lambda: forest(categorical_features=[0]), "must hold whole numbers"),
        (lambda: forest(max_features=2**63), "max_features must be"),
        (lambda: forest(n_estimators=2**31), "n_estimators must be an integer from 1 to"),
    ],
)
def test_numbers_beyond_all_floats_and_things_of_another_kind(call, found):
    with pytest.raises((TypeError, ValueError), match=found):
        call()


def forest(**params):
    return MissForestImputer(random_state=0, **params).fit(X)


@pytest.mark.parametrize("ridge", [np.int8(100), np.uint8(200), np.int16(1000)])
def test_small_integers_are_numbers_like_others(ridge):
    drawn, expected = (
        ChainedEquationsImputer(2, ridge=one, random_state=0).fit(X).draws(X)
        for one in (ridge, float(ridge))
    )
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("C", [1e-320, 1e-310])
def test_no_weight_of_the_data_leaves_the_intercept(C):
    classes = np.arange(len(X)) < 9
    answers = absentia.LogisticRegression(C=C).fit(X, classes).predict_proba(X)[:, 1]
    np.testing.assert_allclose(answers, 9 / len(X), rtol=1e-6)


@pytest.mark.parametrize(
    "machine",
    [absentia.SVC(C=np.float32(1e38)), absentia.SVC(mask_weight=1e308), absentia.RobustSVC(C=1e70)],
)
def test_large_numbers_overflow_nowhere(machine):
    assert np.isfinite(machine.fit(X, y).decision_function(X)).all()  # warnings are errors here


@pytest.mark.parametrize(
    "machine",
    [
        absentia.SVC(C=2**64),
        absentia.SVC(C=10**300),
        absentia.KernelRidge(alpha=2**64),
        absentia.LargeScaleRidge(alpha=1e200),
        absentia.LargeScaleLogisticRegression(C=1e-200),
        absentia.ConjugateGradientRidge(cache_size=np.float16(200)),
    ],
    ids=repr,
)
def test_integers_of_any_size_are_numbers(machine):
    assert np.isfinite(machine.fit(X, y).predict(X)).all()


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (absentia.GaussianDensity(reg_covar=1e308), "reg_covar"),
        (absentia.LowRankDensity(reg_covar=1e308), "reg_covar"),
        (absentia.MixtureDensity(2, pooling=1e308), "pooling"),
        (absentia.ConjugateGradientRidge(alpha=5e-324), "alpha"),
        (absentia.KernelRidge(alpha=10**400), "alpha"),
        (absentia.LargeScaleSVC(C=1e-308), "C"),
        (absentia.LargeScaleRidge(alpha=1e308), "alpha"),
    ],
    ids=repr,
)
def test_numbers_beyond_what_can_be_computed_with_are_named(estimator, name):
    with pytest.raises(ValueError, match=rf"{name} must be"):
        estimator.fit(X, y)


@pytest.mark.parametrize("kind", [absentia.GaussianDensity, absentia.MixtureDensity])
def test_densities_take_numbers_of_any_kind(kind):
    given, plain = (kind(reg_covar=value).fit(X) for value in (np.float32(1e38), 1e38))
    np.testing.assert_allclose(given.score_samples(X), plain.score_samples(X), rtol=1e-6)


@pytest.mark.parametrize("machine", [absentia.SVR(), absentia.NuSVR()], ids=repr)
def test_targets_whose_squares_are_no_numbers_are_named(machine):
    with pytest.raises(ValueError, match=r"y has 1e\+300 in row 1"):
        machine.fit(X, 1e300 * y)
    with pytest.raises(ValueError, match=r"y has 1e-200 in row 1"):
        machine.fit(X, 1e-200 * y)
    assert (machine.fit(X, 0.0 * y).predict(X) == 0).all()


def process():
    return absentia.GaussianProcessRegressor(gamma=0.1, noise=0.1).fit(X, 1.0 * y)
