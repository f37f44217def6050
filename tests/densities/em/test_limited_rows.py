"""EM on rows with limits against direct maximisation, integration and enumeration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.base import clone

from absentia import GaussianDensity, MixedDensity, MixtureDensity, bounded
from absentia.densities.em.scaling import Scaling
from oracles.truncated import row_log_likelihood


def limited_table(n=120, seed=0, most=1):
    """Return rows with holes, and limits of at most ``most`` of the missing values of a row."""
    rng = np.random.default_rng(seed)
    full = rng.multivariate_normal([1.0, -2.0], [[1.0, 0.7], [0.7, 2.0]], size=n)
    X = np.where(rng.random(full.shape) < 0.3, np.nan, full)
    lower, upper = np.full(X.shape, -np.inf), np.full(X.shape, np.inf)
    for i in range(n):
        for j in np.flatnonzero(np.isnan(X[i]))[:most]:
            kind = rng.integers(4)
            if kind in (1, 3):
                lower[i, j] = np.floor(full[i, j])
            if kind in (2, 3):
                upper[i, j] = np.floor(full[i, j]) + 1
    return X, lower, upper


@pytest.mark.parametrize("n_components", [1, 2])
def test_scores_are_those_of_the_distribution_function(n_components):
    X, lower, upper = limited_table()
    density = MixtureDensity(n_components, random_state=0).fit(bounded(X, lower, upper))
    prior = density.prior_
    expected = [
        row_log_likelihood(*row, prior.weights, prior.means, prior.covariances)
        for row in zip(X, lower, upper, strict=True)
    ]
    scores = density.score_samples(bounded(X, lower, upper))
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)
    assert density.bic(bounded(X, lower, upper)) == pytest.approx(density.bics_[0], rel=1e-10)


def test_the_fit_is_the_maximum_of_the_likelihood_and_never_falls():
    X, lower, upper = limited_table()
    density = GaussianDensity(shrinkage=0, reg_covar=0, tol=1e-8, max_iter=2000)
    density.fit(bounded(X, lower, upper))
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    plain = GaussianDensity(shrinkage=0, reg_covar=0, tol=1e-8, accelerate=False, max_iter=2000)
    plain.fit(bounded(X, lower, upper))
    assert (np.diff(plain.log_likelihoods_) >= 0).all()

    def log_likelihood(parameters):
        root = np.array([[parameters[2], 0.0], [parameters[3], parameters[4]]])
        one = np.ones(1), parameters[None, :2], (root @ root.T)[None]
        return sum(row_log_likelihood(*row, *one) for row in zip(X, lower, upper, strict=True))

    root = np.linalg.cholesky(density.covariance_)
    found = np.array([*density.mean_, root[0, 0], root[1, 0], root[1, 1]])
    assert density.log_likelihoods_[-1] == pytest.approx(log_likelihood(found), rel=1e-8)
    steps = 1e-4 * np.eye(5)
    slopes = [log_likelihood(found + s) - log_likelihood(found - s) for s in steps]
    curvatures = [
        log_likelihood(found + s) + log_likelihood(found - s) - 2 * log_likelihood(found)
        for s in steps
    ]
    # Stationary to the tolerance of EM (1e-8 of a step, differences are good to 1e-11 / 2e-4).
    np.testing.assert_allclose(np.array(slopes) / 2e-4, 0.0, atol=1e-5)
    assert (np.array(curvatures) < 0).all()


def test_a_limit_of_detection_does_not_bias_the_moments():
    rng = np.random.default_rng(0)
    full = rng.multivariate_normal([0, 0, 0], [[1, 0.6, 0.3], [0.6, 1, 0.5], [0.3, 0.5, 1]], 4000)
    X = np.where(full > -0.5, full, np.nan)
    learned = GaussianDensity().fit(bounded(X, upper=-0.5))
    error = 5 / np.sqrt(len(X))
    assert (np.abs(learned.mean_) < error).all()
    # Several limits per row are approximate: the spread is within Monte Carlo error all the same.
    np.testing.assert_allclose(learned.covariance_, np.cov(full.T), atol=2 * error)
    assert (GaussianDensity().fit(X).mean_ > 0.3).all()


def test_several_limits_per_row_still_climb():
    X, lower, upper = limited_table(most=2)
    for density in (GaussianDensity(), MixtureDensity(2, random_state=0)):
        density.fit(bounded(X, lower, upper))
        assert (np.diff(density.log_likelihoods_) >= 0).all()
        assert density.converged_
        imputed = density.impute(bounded(X, lower, upper))
        limited = np.isfinite(lower) | np.isfinite(upper)
        assert ((imputed >= lower) & (imputed <= upper))[limited].all()


def test_weights_count_as_rows():
    X, lower, upper = limited_table(60)
    weights = np.random.default_rng(1).integers(0, 3, size=60)
    weighted = GaussianDensity().fit(bounded(X, lower, upper), sample_weight=weights)
    again = [np.repeat(part, weights, axis=0) for part in (X, lower, upper)]
    repeated = GaussianDensity().fit(bounded(*again))
    # Shrinkage is chosen from rows: the same for both, up to the tolerance of EM.
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-10)


def test_mixed_tables_have_limits_too():
    X, lower, upper = limited_table(200)
    kind = (np.random.default_rng(2).random(200) < 0.4).astype(float)
    table = np.column_stack([kind, X])
    free = np.full((200, 1), np.inf)
    limits = np.hstack([-free, lower]), np.hstack([free, upper])
    density = MixedDensity(2, categories=[0], random_state=0).fit(bounded(table, *limits))
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    prior = density.prior_
    scores = density.score_samples(bounded(table, *limits))
    for i in (0, 1, 2, 3):
        by_component = prior.weights * prior.probabilities[0][:, int(kind[i])]
        expected = row_log_likelihood(
            X[i], lower[i], upper[i], by_component, prior.means, prior.covariances
        )
        assert scores[i] == pytest.approx(expected, rel=1e-9)


def rounded_table(n=400, share_of_values=0.0, seed=0):
    """Return correlated values, and the same with most of them rounded to whole numbers."""
    rng = np.random.default_rng(seed)
    full = rng.multivariate_normal([3.0, 0.0], [[1.0, 0.7], [0.7, 1.0]], size=n)
    X = np.where(rng.random(full.shape) < share_of_values, full, np.nan)
    return full, bounded(X, np.round(full) - 0.5, np.round(full) + 0.5)


@pytest.mark.parametrize("share_of_values", [0.0, 0.02])
def test_rounded_values_are_intervals(share_of_values):
    full, table = rounded_table(share_of_values=share_of_values)
    density = GaussianDensity().fit(table)
    assert density.columns_.tolist() == [0, 1]
    # The error of rounding is known, so what is left is close to the moments of the values.
    np.testing.assert_allclose(density.mean_, full.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(density.covariance_, np.cov(full.T), atol=0.06)
    imputed = density.impute(table)
    middles = table.interval_middles()
    unseen = np.isnan(table.array)
    error = np.sqrt(np.mean((imputed - full)[unseen] ** 2))
    assert error < np.sqrt(np.mean((middles - full)[unseen] ** 2))


def test_corners_of_limits():
    X, lower, _ = limited_table()
    holes = np.argwhere(np.isnan(X))
    far = lower.copy()
    far[tuple(holes[0])] = 1e9  # as gross an outlier as the value itself
    density = GaussianDensity().fit(bounded(X, far))
    imputed = density.impute(bounded(X, far))
    assert np.isfinite(imputed).all()
    assert imputed[tuple(holes[0])] >= 1e9
    harmless = np.full(X.shape, np.inf)
    harmless[tuple(holes[0])] = 1e9
    plain = GaussianDensity().fit(X)
    np.testing.assert_allclose(
        GaussianDensity().fit(bounded(X, None, harmless)).covariance_, plain.covariance_, rtol=1e-10
    )
    ends = np.where(np.isnan(X), np.nanmax(X, axis=0), -np.inf)  # above the largest value
    above = GaussianDensity().fit(bounded(X, ends))
    assert (above.impute(bounded(X, ends)) >= ends).all()
    with pytest.warns(UserWarning, match="x1"):  # limits on one side do not say where values are
        one_sided = GaussianDensity().fit(bounded(np.column_stack([X[:, 0], X[:, 0] * np.nan]), 0))
    assert one_sided.columns_.tolist() == [0]
    with pytest.raises(ValueError, match="Nothing to learn from"):
        GaussianDensity().fit(bounded(np.full((5, 2), np.nan), 0.0))
    same = GaussianDensity().fit(bounded(np.full((50, 2), np.nan), -1, 1))
    np.testing.assert_allclose(same.mean_, 0.0, atol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.0, "auto"])
def test_limits_of_collinear_columns(shrinkage):
    rng = np.random.default_rng(0)
    full = rng.normal(size=(200, 2))
    full = np.column_stack([full[:, 0], 2 * full[:, 0] + 1, full[:, 1]])
    limit = np.array([-0.5, 0.0, np.inf])
    X = np.where(full > limit, full, np.where(np.isfinite(limit), np.nan, full))
    table = bounded(X, upper=limit)
    density = GaussianDensity(shrinkage=shrinkage).fit(table)
    assert (np.diff(density.log_likelihoods_) >= -1e-9 * abs(density.log_likelihoods_[-1])).all()
    imputed = density.impute(table)
    hidden = np.isnan(X)
    assert (imputed[hidden] <= np.broadcast_to(limit, X.shape)[hidden]).all()
    # What is known to be a line is imputed as one.
    np.testing.assert_allclose(imputed[:, 1], 2 * imputed[:, 0] + 1, atol=1e-3)


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize(
    "density",
    [GaussianDensity(), MixtureDensity(1), MixedDensity(1)],
    ids=lambda d: type(d).__name__,
)
def test_limits_of_detection_do_not_shrink_a_column_to_the_values_above(density, n):
    """Columns without correlation are shrunk most, towards variances that limits belong to."""
    Z = np.random.default_rng(1).normal(size=(n, 3))
    below = (Z < 0.0) & (np.arange(3) == 0)
    X, upper = np.where(below, np.nan, Z), np.where(below, 0.0, np.inf)
    prior = clone(density).fit(bounded(X, None, upper)).prior_
    plain = GaussianDensity(shrinkage=0.0).fit(bounded(X, None, upper)).prior_
    deviation, wanted = (p.covariance()[0, 0] ** 0.5 for p in (prior, plain))
    assert abs(deviation - wanted) < 0.02 * wanted
    assert abs(prior.mean()[0] - plain.mean()[0]) < 0.02 * wanted


def test_the_scale_of_a_column_with_limits_maximises_the_likelihood_of_both():
    rng = np.random.default_rng(0)
    z = 3.0 + 2.0 * rng.normal(size=400)
    weights = rng.integers(1, 4, 400).astype(float)
    lower, upper = np.full(400, -np.inf), np.full(400, np.inf)
    upper[z < 2.0] = 2.0
    lower[z > 5.0] = 5.0
    lower[:20], upper[:20] = np.floor(z[:20]), np.floor(z[:20]) + 1.0
    values = np.where(np.isfinite(lower) | np.isfinite(upper), np.nan, z)
    found = Scaling.of(values[:, None], weights, (lower[:, None], upper[:, None]))

    def lost(theta):
        mean, deviation = theta[0], np.exp(theta[1])
        seen = norm.logpdf(values, mean, deviation)
        mass = norm.cdf(upper, mean, deviation) - norm.cdf(lower, mean, deviation)
        return -np.sum(weights * np.where(np.isnan(values), np.log(mass), seen))

    best = minimize(lost, [3.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-6}).x
    # EM stops where a step changes less than a hundred thousandth.
    np.testing.assert_allclose(found.centres, best[0], rtol=1e-3)
    np.testing.assert_allclose(found.scales, np.exp(best[1]), rtol=1e-3)


@pytest.mark.parametrize(
    "density", [GaussianDensity(), MixtureDensity(2, n_init=1, random_state=0)]
)
def test_limits_that_other_units_bring_together_are_a_value(density):
    Z = np.random.default_rng(0).normal([5.0, 0.0], 1.0, size=(40, 2))
    lower, upper = np.full(Z.shape, -np.inf), np.full(Z.shape, np.inf)
    Z[0, 0], lower[0, 0], upper[0, 0] = np.nan, 0.0, 1e-17
    found = clone(density).fit(bounded(Z, lower, upper)).prior_
    expected = clone(density).fit(np.nan_to_num(Z)).prior_
    # Expectation propagation against integration.
    np.testing.assert_allclose(found.mean(), expected.mean(), atol=2e-3)


@pytest.mark.parametrize("limits", [(1e200, np.inf), (-np.inf, -1e200), (1e200, 2e200)])
def test_limits_too_far_for_double_precision_are_refused_by_name(limits):
    Z = np.random.default_rng(0).normal(size=(40, 2))
    X = pd.DataFrame(Z, columns=["age", "dose"])
    X.loc[3, "dose"] = np.nan
    lower, upper = np.full(Z.shape, -np.inf), np.full(Z.shape, np.inf)
    lower[3, 1], upper[3, 1] = limits
    rows, density = bounded(X, lower, upper), GaussianDensity().fit(X)
    sentence = r"Row 3 has a limit of -?1e\+200 in column dose, more than 1e\+130 standard dev"
    for method in (density.score_samples, density.condition, density.impute):
        with pytest.raises(ValueError, match=sentence):
            method(rows)
    for other in (GaussianDensity(), MixtureDensity(2, n_init=1, random_state=0)):
        with pytest.raises(ValueError, match=rf"{sentence}|'dose' has a standard deviation of"):
            other.fit(rows)


def test_limits_that_say_nothing_change_nothing():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[0, 0] = np.nan
    upper = np.full(X.shape, np.inf)
    upper[0, 0] = 1e200
    density = GaussianDensity().fit(X)
    found, expected = density.score_samples(bounded(X, None, upper)), density.score_samples(X)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(("n_values", "n_limits"), [(2, 1), (5, 5), (8, 30), (30, 8), (1, 37)])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_equal_values_within_one_sided_limits_are_a_constant_column(value, n_values, n_limits):
    X = np.concatenate([np.full(n_values, value), np.full(n_limits, np.nan)])[:, None]
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    lower = np.full(X.shape, -np.inf)
    lower[:, 0] = value
    density = GaussianDensity().fit(bounded(X, lower))
    np.testing.assert_allclose(density.prior_.means[0, 0], value, atol=1e-6)
    constant = GaussianDensity().fit(np.nan_to_num(X, nan=value))
    found = density.prior_.covariances[0, 0, 0] ** 0.5
    expected = constant.prior_.covariances[0, 0, 0] ** 0.5
    assert expected / 100 < found < 100 * expected
