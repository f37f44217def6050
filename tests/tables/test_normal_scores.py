"""Normal scores against ranks, their inverse, and their corners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.utils.estimator_checks import check_estimator

from absentia import NormalScores


def skewed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.exp(2 * rng.normal(size=n)), rng.integers(3, size=n)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def test_scores_are_normal_quantiles_of_mid_ranks():
    X = skewed()
    Z = NormalScores().fit_transform(X)
    seen = ~np.isnan(X[:, 0])
    expected = norm.ppf((rankdata(X[seen, 0]) - 0.5) / seen.sum())
    np.testing.assert_allclose(Z[seen, 0], expected, rtol=1e-10)
    assert np.isnan(Z[~seen, 0]).all()
    np.testing.assert_array_equal(Z[:, 1], X[:, 1])  # three values only


@pytest.mark.parametrize("n_knots", [2, 7, 1000])
def test_the_inverse_is_exact_inside_and_beyond(n_knots):
    X = skewed()
    scores = NormalScores(n_knots=n_knots).fit(X)
    low, high = np.nanmin(X[:, 0]), np.nanmax(X[:, 0])
    new = np.column_stack([np.linspace(low - 5, high + 50, 301), np.ones(301)])
    Z = scores.transform(new)
    assert (np.diff(Z[:, 0]) > 0).all()
    np.testing.assert_allclose(scores.inverse_transform(Z), new, rtol=1e-10, atol=1e-10)


def test_equal_values_share_a_score_and_knots_come_back_to_the_bit():
    X = np.repeat(np.arange(20.0) ** 3, 3)[:, None]
    scores = NormalScores().fit(X)
    assert len(np.unique(scores.transform(X))) == 20
    np.testing.assert_array_equal(scores.inverse_transform(scores.transform(X)), X)


def test_it_is_an_estimator_of_scikit_learn():
    check_estimator(NormalScores(), on_skip=None)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="n_knots"):
        NormalScores(n_knots=1).fit(skewed())
