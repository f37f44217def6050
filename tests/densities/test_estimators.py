"""Both densities as scikit-learn estimators, and what they say to bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import GaussianDensity, MixtureDensity

MAKERS = {
    "gaussian": lambda: GaussianDensity(),
    "mixture": lambda: MixtureDensity(n_init=2, random_state=0),
}


EXPECTED_FAILURES = {
    "MixtureDensity": {
        "check_sample_weight_equivalence_on_dense_data": (
            "the starts are rows drawn at random, and rows that are repeated and shuffled are "
            "drawn in another order than rows with weights"
        )
    }
}


@parametrize_with_checks(
    [make() for make in MAKERS.values()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=MAKERS)
def density(request):
    return MAKERS[request.param]()


def table(n=40, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def test_clone_and_pickle(density):
    density.fit(table())
    again = pickle.loads(pickle.dumps(density))
    assert np.array_equal(again.impute(table()), density.impute(table()))
    fresh = clone(density)
    assert not hasattr(fresh, "prior_")
    assert np.array_equal(fresh.fit(table()).prior_.means, density.prior_.means)


def test_frames_and_lists_say_the_same(density):
    X = table()
    names = ["a", "b", "c"]
    density.fit(X)
    frame = pd.DataFrame(X, columns=names)
    nullable = frame.convert_dtypes()
    lists = [[None if np.isnan(value) else value for value in row] for row in X]
    for other in (frame, nullable, pl.DataFrame(X, schema=names, nan_to_null=True), lists):
        same = clone(density).fit(other)
        assert np.array_equal(same.prior_.means, density.prior_.means)
        assert np.array_equal(same.impute(other), density.impute(X))
    named = clone(density).fit(frame)
    assert list(named.get_feature_names_out()) == names
    with pytest.raises(ValueError, match="feature names"):
        named.condition(frame[["b", "a", "c"]])
    assert list(density.get_feature_names_out()) == ["x0", "x1", "x2"]


def test_a_column_that_is_never_observed_is_named_and_left_out(density):
    X = table()
    padded = pd.DataFrame({"a": X[:, 0], "gone": np.nan, "b": X[:, 1], "c": X[:, 2]})
    without = clone(density).fit(padded.drop(columns="gone"))
    with pytest.warns(UserWarning, match="every row of training: gone"):
        density.fit(padded)
    assert list(density.columns_) == [0, 2, 3]
    assert list(density.get_feature_names_out()) == ["a", "b", "c"]
    assert np.array_equal(density.prior_.means, without.prior_.means)
    new = padded.assign(gone=7.0)
    assert density.n_features_in_ == 4
    assert density.condition(new).shape == (40, 3)
    assert np.array_equal(density.impute(new), without.impute(padded.drop(columns="gone")))
    assert np.isfinite(density.score_samples(new)).all()


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ([[1.0, np.inf], [2.0, 1.0]], ValueError, "Infinity"),
        ([["a", "b"], ["c", "d"]], ValueError, "convert string"),
        (np.array([[1j, 2.0]]), ValueError, "[Cc]omplex"),
        (np.empty((0, 3)), ValueError, "0 sample"),
        ([1.0, 2.0], ValueError, "two dimensions"),
        ([[np.nan, np.nan]], ValueError, "[Nn]othing to learn"),
    ],
)
def test_bad_tables_leave_a_density_as_it_was(density, X, error, words):
    density.fit(table())
    before = dict(vars(density))
    with pytest.raises(error, match=words):
        density.fit(X)
    assert vars(density) == before
    with pytest.raises(error):
        clone(density).fit(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"shrinkage": -0.1},
        {"shrinkage": 1.1},
        {"shrinkage": "much"},
        {"reg_covar": -1.0},
        {"reg_covar": "small"},
        {"max_iter": 0},
        {"max_iter": 1.5},
        {"tol": -1e-3},
        {"tol": np.nan},
    ],
)
def test_bad_parameters(density, parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        density.set_params(**parameters).fit(table())
    assert not hasattr(density, "prior_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"n_components": "aic"},
        {"max_components": 0},
        {"n_init": 0},
        {"init": "corners"},
        {"pooling": -1},
        {"pooling": "some"},
    ],
)
def test_bad_parameters_of_mixtures(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        MixtureDensity(**parameters).fit(table())


@pytest.mark.parametrize(
    "values", [[1e300, -1e300, 1e307], [1e-300, 2e-300, 3e-300], [1.7e308, -1e308]]
)
def test_units_in_which_no_variance_can_be_computed_are_refused_by_name(density, values):
    frame = pd.DataFrame({"mass": np.arange(1.0, len(values) + 1), "charge": values})
    with pytest.raises(ValueError, match=r"Column 'charge' .*another unit"):
        density.fit(frame)
    assert not hasattr(density, "prior_")


def test_a_constant_column_may_be_as_small_as_it_likes(density):
    X = np.column_stack([np.arange(5.0), np.full(5, 1e-300)])
    assert np.isfinite(density.fit(X).prior_.precisions).all()


def test_weights_must_be_of_use(density):
    with pytest.raises(ValueError, match="non-zero"):
        density.fit(table(), sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="Negative"):
        density.fit(table(), sample_weight=-np.ones(40))


def test_a_pattern_never_seen(density):
    X = table()
    X[:, 1] = np.where(np.isnan(X[:, 1]), 0.0, X[:, 1])
    density.fit(X)
    beliefs = density.condition([[0.5, np.nan, 1.0], [np.nan] * 3])
    assert np.isfinite(beliefs.mean()).all()
    np.testing.assert_allclose(beliefs.mean()[1], density.prior_.mean(), rtol=1e-10)
    with pytest.raises(ValueError, match="n_samples"):
        density.sample(0)
