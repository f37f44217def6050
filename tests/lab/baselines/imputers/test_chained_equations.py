"""MICE: draws that vary as the posterior does, on new rows as on old ones."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lab.baselines import (
    ChainedEquationsImputer,
    MultipleImputationClassifier,
    MultipleImputationRegressor,
    SampledImputer,
)

NAN = np.nan


def bivariate(n, n_missing, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = 1 + 0.8 * x + 0.6 * rng.standard_normal(n)
    X = np.column_stack([x, y])
    X[:n_missing, 1] = NAN
    return X


def test_draws_vary_as_the_posterior_predictive_does():
    """One column with holes: the draw is exact after one visit, a Student t around the fit.

    With few rows the uncertainty of the regression itself counts; imputation that left it out
    would be too narrow by the factor 1 + x'Vx, which the last line tells apart.
    """
    X = bivariate(18, 4)
    n_draws = 1500
    imputer = ChainedEquationsImputer(n_draws, max_iter=1, ridge=0.0, random_state=0).fit(X)
    new = np.array([[3.0, NAN]])
    draws = imputer.draws(new)[:, 0, 1]

    Z = np.column_stack([np.ones(14), X[4:, 0]])
    V = np.linalg.inv(Z.T @ Z)
    estimate = V @ Z.T @ X[4:, 1]
    residual = ((X[4:, 1] - Z @ estimate) ** 2).sum()
    z = np.array([1.0, 3.0])
    noise_only = residual / (14 - 2 - 2)  # the mean of residual / chi2(12)
    variance = noise_only * (1 + z @ V @ z)
    assert abs(draws.mean() - z @ estimate) / np.sqrt(variance / n_draws) < 5
    # A t with 12 degrees of freedom has excess kurtosis 6 / (12 - 4).
    spread = np.sqrt((2 + 6 / 8) / n_draws)
    assert abs(draws.var() / variance - 1) / spread < 5
    assert abs(draws.var() / noise_only - 1) / spread > 5


def test_chains_settle_where_the_joint_distribution_is():
    """Holes in both columns: the pooled draws keep mean and correlation of the data."""
    rng = np.random.default_rng(1)
    X = bivariate(400, 0)
    X[rng.uniform(size=X.shape) < 0.3] = NAN
    X = X[~np.isnan(X).all(axis=1)]
    draws = ChainedEquationsImputer(20, random_state=0).fit(X).draws(X)
    correlations = [np.corrcoef(table.T)[0, 1] for table in draws]
    assert abs(np.mean(correlations) - 0.8) < 5 * 0.36 / np.sqrt(len(X) * 0.5)
    assert np.std(correlations) > 0


def test_more_draws_than_chains():
    imputer = ChainedEquationsImputer(2, max_iter=1, random_state=0).fit(bivariate(20, 3))
    with pytest.raises(ValueError, match="only 2 chains"):
        imputer.draws(bivariate(20, 3), 3)


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), LinearSVC()])
def test_predictions_are_pooled_over_the_draws(two_classes, estimator):
    X, y = two_classes(0.3)
    pooled = MultipleImputationClassifier(estimator, n_draws=3, random_state=0).fit(X, y)
    tables = pooled.imputer_.draws(X, 3)
    method = "predict_proba" if hasattr(pooled, "predict_proba") else "decision_function"
    by_hand = np.mean(
        [getattr(e, method)(t) for e, t in zip(pooled.estimators_, tables, strict=True)], axis=0
    )
    np.testing.assert_allclose(getattr(pooled, method)(X), by_hand, rtol=1e-12)
    index = by_hand.argmax(axis=1) if by_hand.ndim == 2 else (by_hand > 0).astype(int)
    np.testing.assert_array_equal(pooled.predict(X), pooled.classes_[index])


def test_votes_are_counted_where_nothing_else_is_there(two_classes):
    from sklearn.neighbors import NearestCentroid

    class Bare(NearestCentroid):
        predict_proba = property()
        decision_function = property()

    X, y = two_classes(0.3)
    pooled = MultipleImputationClassifier(Bare(), n_draws=3, random_state=0).fit(X, y)
    tables = pooled.imputer_.draws(X, 3)
    votes = np.sum([e.predict(t) for e, t in zip(pooled.estimators_, tables, strict=True)], axis=0)
    np.testing.assert_array_equal(pooled.predict(X), (votes >= 2).astype(int))


def test_regression_is_averaged_and_any_drawing_imputer_serves(two_classes):
    X, y = two_classes(0.3)
    pooled = MultipleImputationRegressor(
        imputer=SampledImputer("gaussian"), n_draws=4, random_state=0
    ).fit(X, y)
    tables = pooled.imputer_.draws(X, 4)
    by_hand = np.mean(
        [e.predict(t) for e, t in zip(pooled.estimators_, tables, strict=True)], axis=0
    )
    np.testing.assert_allclose(pooled.predict(X), by_hand, rtol=1e-12)


def test_an_imputer_that_cannot_draw(two_classes):
    with pytest.raises(TypeError, match="draws"):
        MultipleImputationClassifier(imputer=StandardScaler()).fit(*two_classes(0.3))


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("mean", [0.0, 1e3, 1e6])
def test_slopes_do_not_depend_on_where_zero_is(mean, unit):
    """Temperatures in kelvin: the ridge may not shrink a slope by the mean of its column."""
    X = bivariate(300, 100)
    shifted = unit * (X + mean)
    imputer = ChainedEquationsImputer(4, max_iter=2, random_state=0)
    filled = imputer.fit(shifted).draws(shifted)[:, :100] / unit - mean
    slopes = [np.polyfit(x, y, 1)[0] for x, y in (draw.T for draw in filled)]
    # Five deviations of a slope from 100 rows, and of the posterior that it is drawn from.
    assert abs(np.mean(slopes) - 0.8) < 5 * 0.6 * np.sqrt(1 / 100 + 1 / 200) / 2


@pytest.mark.parametrize("value", [0.5, 0.1, 0.3, 100_000.1])
def test_a_predictor_that_is_constant_where_the_target_is_known_has_no_slope(value):
    """Another dose in the rows without the target: the mean of n times 0.1 is not 0.1."""
    X = np.column_stack([bivariate(100, 20), np.full(100, value)])
    X[:20, 2] += 1000.0
    imputer = ChainedEquationsImputer(4, max_iter=2, random_state=0).fit(X)
    slopes = [visit[1].coefficients[2] for chain in imputer.chains_ for visit in chain]
    assert slopes == [0.0] * 8
    filled = imputer.draws(X)[:, :20, 1]
    # Deviations of the noise beyond what was observed.
    assert np.nanmin(X[:, 1]) - 5 * 0.6 < filled.min()
    assert filled.max() < np.nanmax(X[:, 1]) + 5 * 0.6
