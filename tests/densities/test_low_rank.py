"""Factors and noise, learned from incomplete rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning

from absentia import SVC, Chunks, GaussianDensity, LowRankDensity, bounded, load, save
from absentia.beliefs import LowRankPrior
from absentia.beliefs.conditioning import condition
from densities.examples import tables, with_holes
from oracles import densities as oracle


def factor_table(rng, n, d, q, rate=0.3, noise=0.7):
    """Rows of ``q`` factors with holes, columns of different scales and centres."""
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d))
    X += noise * rng.uniform(0.5, 1.5, d) * rng.standard_normal((n, d))
    return with_holes(rng, 3.0 + X * np.geomspace(0.1, 10, d), rate)


def random_low_rank(rng, k, d, q):
    return LowRankPrior.of(
        rng.dirichlet(np.full(k, 5.0)),
        rng.standard_normal((k, d)),
        rng.standard_normal((k, d, q)),
        rng.uniform(0.1, 1.0, (k, d)),
    )


# Conditioning --------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d", "q"), [(1, 1, 1), (1, 6, 2), (3, 5, 2), (2, 4, 6)])
def test_conditioning_in_the_factors_is_that_of_the_dense_mixture(k, d, q):
    rng = np.random.default_rng(d)
    prior = random_low_rank(rng, k, d, q)
    X = with_holes(rng, rng.standard_normal((30, d)), 0.4)
    X[0] = np.nan
    beliefs, totals = condition(prior, X)
    spreads = beliefs.covariances.dense(beliefs.group_of_row)
    for i, x in enumerate(X):
        total, weights, means, covariances = oracle.mixture_given(
            x, prior.weights, prior.means, prior.covariances
        )
        close = {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(totals[i], total, **close)
        np.testing.assert_allclose(beliefs.weights()[i], weights, **close)
        np.testing.assert_allclose(beliefs.means[i], means, **close)
        np.testing.assert_allclose(spreads[i], covariances, **close)
    variances = np.diagonal(beliefs.covariances.dense(), axis1=2, axis2=3)
    np.testing.assert_allclose(beliefs.covariances.diagonals(), variances, rtol=1e-10, atol=1e-12)


def test_log_densities_keep_their_digits_where_noise_is_small():
    rng = np.random.default_rng(0)
    prior = random_low_rank(rng, 1, 12, 3)
    prior = LowRankPrior.of(prior.weights, prior.means, prior.loadings, 1e-6 * prior.noises)
    X = with_holes(rng, rng.standard_normal((20, 3)) @ prior.loadings[0].T + prior.means[0], 0.3)
    _, totals = condition(prior, X)
    expected = [oracle.log_density(x, prior.means[0], prior.covariances[0]) for x in X]
    # The oracle inverts matrices of condition 1e7.
    np.testing.assert_allclose(totals, expected, rtol=1e-8)


def test_other_units_and_rescaled_columns_stay_low_rank_and_other_maps_do_not():
    rng = np.random.default_rng(1)
    prior = random_low_rank(rng, 2, 4, 2)
    units = np.array([1.0, 2.0, 0.5, 8.0])
    for moved in (prior.in_units(units), prior.transform(np.diag(1 / units), np.zeros(4))):
        assert isinstance(moved, LowRankPrior)
        moved.validate()
        np.testing.assert_allclose(moved.covariances, prior.covariances / np.outer(units, units))
    turned = prior.transform(rng.standard_normal((3, 4)), np.zeros(3))
    assert turned.low_rank is None
    turned.validate()


def test_a_prior_whose_parts_disagree_is_refused():
    prior = random_low_rank(np.random.default_rng(0), 1, 3, 1)
    parts = prior.weights, prior.means, prior.covariances
    for loadings, noises in (
        (2 * prior.loadings, prior.noises),
        (prior.loadings, -prior.noises),
        (prior.loadings[:, :2], prior.noises),
    ):
        with pytest.raises(ValueError, match=r"LowRankPrior\."):
            LowRankPrior(*parts, loadings=loadings, noises=noises).validate()


# The fit -------------------------------------------------------------------------------------


def test_the_likelihood_has_no_slope_at_the_fit():
    rng = np.random.default_rng(0)
    X = factor_table(rng, 300, 10, 2, rate=0.2)
    X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    density = LowRankDensity(2, shrinkage=0, reg_covar=0, tol=1e-8, max_iter=3000).fit(X)
    prior = density.prior_
    by_mean, by_covariance = oracle.gaussian_gradient(X, prior.means[0], prior.covariances[0])
    # Of 300 rows: a slope of 1e-3 is worth 1e-9 in the objective.
    assert np.abs(by_mean).max() < 1e-3
    assert np.abs(2 * by_covariance @ prior.loadings[0]).max() < 1e-3
    assert (prior.noises > 0.01).all()  # at zero the slope would point below it
    assert np.abs(np.diagonal(by_covariance)).max() < 1e-2
    expected = sum(oracle.log_density(x, prior.means[0], prior.covariances[0]) for x in X)
    assert density.log_likelihoods_[-1] == pytest.approx(expected, rel=1e-10)


@given(tables())
@settings(max_examples=40, deadline=None)
def test_the_objective_never_falls(X):
    keep = (~np.isnan(X)).any(axis=0)
    X = X[:, keep]
    if not X.size or np.isnan(X).all():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for density in (LowRankDensity(2, max_iter=30), LowRankDensity(1, accelerate=False)):
            fitted = density.fit(X)
            assert (np.diff(fitted.log_likelihoods_) >= 0).all()
            assert np.isfinite(fitted.impute(X)).all()


@pytest.mark.parametrize("shrinkage", [0.0, 0.2])
def test_with_as_many_factors_as_columns_it_is_the_gaussian(shrinkage):
    X = factor_table(np.random.default_rng(3), 200, 4, 3, rate=0.2)
    one = GaussianDensity(shrinkage=shrinkage, tol=1e-9, max_iter=3000).fit(X)
    other = LowRankDensity(3, shrinkage=shrinkage, tol=1e-9, max_iter=5000).fit(X)
    assert other.log_likelihoods_[-1] == pytest.approx(one.log_likelihoods_[-1], abs=1e-5)
    scales = np.sqrt(np.diagonal(one.covariance_))
    difference = (other.prior_.covariances[0] - one.covariance_) / np.outer(scales, scales)
    assert np.abs(difference).max() < 1e-4  # of flat directions, which EM takes slowly


def test_full_shrinkage_leaves_independent_columns():
    X = factor_table(np.random.default_rng(4), 50, 4, 1)
    density = LowRankDensity(1, shrinkage=1).fit(X)
    assert not density.loadings_.any()
    np.testing.assert_allclose(density.means_[0], np.nanmean(X, axis=0), rtol=1e-8)
    np.testing.assert_allclose(density.noises_[0], np.nanvar(X, axis=0), rtol=1e-8)


def test_a_row_of_weight_two_is_two_rows():
    X = factor_table(np.random.default_rng(5), 40, 5, 2)
    weights = np.arange(40) % 3
    twice = LowRankDensity(2).fit(np.repeat(X, weights, axis=0))
    weighted = LowRankDensity(2).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weighted.prior_.covariances, twice.prior_.covariances, rtol=1e-8)


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(6)
    X = factor_table(rng, 1040, 80, 3)
    few, new = X[:40], X[40:]
    density = LowRankDensity(random_state=0).fit(few)
    assert density.n_factors_ == 3
    assert density.tried_factors_.tolist() == [1, 2, 3, 4, 6]
    assert density.held_out_.argmax() == 2
    assert density.score(new) > GaussianDensity().fit(few).score(new)
    again = LowRankDensity(random_state=0).fit(few)
    np.testing.assert_array_equal(again.loadings_, density.loadings_)


def test_chunks_teach_the_same():
    X = factor_table(np.random.default_rng(7), 90, 6, 2)
    whole = LowRankDensity(2, tol=1e-6).fit(X)
    parts = LowRankDensity(2, tol=1e-6).fit(Chunks([X[:30], X[30:31], X[31:]]))
    np.testing.assert_allclose(parts.prior_.covariances, whole.prior_.covariances, rtol=1e-6)


def test_a_mixture_finds_groups_and_its_objective_never_falls():
    rng = np.random.default_rng(8)
    X = np.concatenate([factor_table(rng, 80, 20, 2), 60 + factor_table(rng, 40, 20, 2)])
    density = LowRankDensity(2, n_components=2, random_state=0).fit(X)
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    # Two groups that are far apart, but not infinitely far.
    np.testing.assert_allclose(density.weights_, [2 / 3, 1 / 3], atol=1e-3)
    assert density.score(X) > LowRankDensity(2).fit(X).score(X)
    with pytest.raises(ValueError, match="one row per component"):
        LowRankDensity(1, n_components=5).fit(X[:3])


def test_bic_is_lowest_at_the_true_number_of_factors():
    X = factor_table(np.random.default_rng(9), 400, 10, 2, noise=1.0)
    bics = [LowRankDensity(q, shrinkage=0).fit(X).bic(X) for q in (1, 2, 3)]
    assert np.argmin(bics) == 1


def test_collinear_constant_and_outlying_columns():
    rng = np.random.default_rng(10)
    X = factor_table(rng, 60, 8, 2)
    X[:, 3] = 2 * X[:, 2]
    X[:, 4] = np.where(np.isnan(X[:, 4]), np.nan, 7.0)
    X[5, 0] = 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        density = LowRankDensity(random_state=0).fit(X)
    assert np.isfinite(density.score_samples(X)).all()
    assert (np.diff(density.log_likelihoods_) >= 0).all()


def detection_frame(seed=11):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    X = factor_table(rng, 80, 4, 1)
    low = X[:, 1] < np.nanquantile(X[:, 1], 0.3)
    words = [f"{value:.3f}" if value == value else "" for value in X[:, 1]]
    frame = pd.DataFrame({"a": X[:, 0], "b": words, "c": X[:, 2], "d": X[:, 3]})
    plain = frame.assign(b=frame["b"].mask(low, ""))
    limit = float(np.nanquantile(X[:, 1], 0.3))
    return frame.assign(b=frame["b"].mask(low, f"<{limit:.3f}")), plain, X[:, 0] > np.nanmean(X)


@pytest.mark.parametrize("margins", [None, "normal-scores"])
def test_limits_on_one_side_count_as_missing(margins):
    X = factor_table(np.random.default_rng(11), 60, 3, 1)
    limited = bounded(X, upper=np.where(np.isnan(X), 100.0, np.inf))
    with pytest.warns(UserWarning, match="count as missing") as caught:
        density = LowRankDensity(1, margins=margins).fit(limited)
    assert len(caught) == 1
    plain = LowRankDensity(1, margins=margins).fit(X)
    np.testing.assert_array_equal(density.loadings_, plain.loadings_)
    np.testing.assert_array_equal(density.impute(limited), plain.impute(X))
    np.testing.assert_array_equal(density.score_samples(limited), plain.score_samples(X))
    np.testing.assert_array_equal(density.condition(limited).means, plain.condition(X).means)
    assert density.bic(limited) == plain.bic(X)


def test_intervals_count_as_their_middle():
    X = factor_table(np.random.default_rng(11), 60, 3, 1)
    values = np.where(np.isnan(X[:, 1]), 0.0, X[:, 1])
    hidden, middle = X.copy(), X.copy()
    hidden[:, 1], middle[:, 1] = np.nan, np.floor(values) + 0.5
    ends = np.full(X.shape, np.nan)
    ends[:, 1] = np.floor(values)
    limited = bounded(hidden, ends, ends + 1)
    with pytest.warns(UserWarning, match="as their midpoints"):
        density = LowRankDensity(1).fit(limited)
    plain = LowRankDensity(1).fit(middle)
    np.testing.assert_array_equal(density.loadings_, plain.loadings_)
    np.testing.assert_array_equal(density.impute(limited), plain.impute(middle))


def test_machines_take_frames_with_limits(tmp_path):
    frame, plain, y = detection_frame()
    with pytest.warns(UserWarning, match="count as missing") as caught:
        machine = SVC(density="low-rank", random_state=0).fit(frame, y)
    assert sum("count as missing" in str(w.message) for w in caught) == 1
    without = SVC(density="low-rank", random_state=0).fit(plain, y)
    found = machine.decision_function(frame)
    np.testing.assert_allclose(found, without.decision_function(plain), rtol=1e-10)
    save(machine, tmp_path / "machine.absentia")
    np.testing.assert_array_equal(
        load(tmp_path / "machine.absentia").decision_function(frame), found
    )
    assert machine.predict(frame.iloc[:1]) == machine.predict(frame)[:1]


def test_it_can_be_saved(tmp_path):
    X = factor_table(np.random.default_rng(12), 30, 5, 1)
    density = LowRankDensity(1).fit(X)
    save(density, tmp_path / "density.absentia")
    again = load(tmp_path / "density.absentia")
    np.testing.assert_array_equal(again.impute(X), density.impute(X))


def test_normal_scores_of_the_columns():
    X = np.exp(factor_table(np.random.default_rng(13), 200, 6, 2) / 10)
    density = LowRankDensity(2, margins="normal-scores").fit(X)
    plain = LowRankDensity(2).fit(X)
    assert density.score(X) > plain.score(X)
    imputed = density.impute(X)
    np.testing.assert_array_equal(imputed[~np.isnan(X)], X[~np.isnan(X)])
    assert (imputed > 0).all()


def test_columns_that_few_rows_have_do_not_hinder_the_choice():
    X = factor_table(np.random.default_rng(14), 60, 10, 2)
    X[1:, 0] = np.nan
    X[0, 0] = 1.0
    for shrinkage in (0, "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            density = LowRankDensity(shrinkage=shrinkage, random_state=0).fit(X)
        # Shrunk correlations have no few factors, and more of them do no harm.
        assert density.n_factors_ == 2 or shrinkage == "auto"
        assert np.isfinite(density.held_out_).all()


def test_there_are_no_more_factors_than_columns():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[0, 0] = np.nan
    most = LowRankDensity(2**31 - 1).fit(X)
    assert most.n_factors_ == 3
    np.testing.assert_array_equal(most.score_samples(X), LowRankDensity(3).fit(X).score_samples(X))
