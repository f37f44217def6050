"""A mixture of Gaussians from incomplete rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from absentia import GaussianDensity, MixtureDensity
from absentia.beliefs import Prior
from densities.examples import gaussian_table, tables, with_holes
from oracles import densities as oracles

PLAIN = {"shrinkage": 0.0, "pooling": 0.0, "reg_covar": 0.0}


def clusters(seed=0, n=120, rate=0.0, d=3):
    """Three clusters, each with its own covariance."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), n)
    mixing = rng.normal(size=(3, d, d))
    centres = 5.0 * np.eye(3, d)
    X = centres[labels] + np.einsum("nij,nj->ni", mixing[labels], rng.normal(size=(3 * n, d)))
    return with_holes(rng, X, rate), labels


def test_same_optimum_as_scikit_learn_from_the_same_start():
    X, _ = clusters()
    start = GaussianMixture(3, random_state=0, reg_covar=0.0, max_iter=2, tol=1e9).fit(X)
    theirs = GaussianMixture(
        3,
        weights_init=start.weights_,
        means_init=start.means_,
        precisions_init=start.precisions_,
        reg_covar=0.0,
        tol=1e-11,
        max_iter=5000,
    ).fit(X)
    init = Prior(start.weights_, start.means_, start.covariances_)
    ours = MixtureDensity(3, init=init, **PLAIN, tol=1e-9).fit(X)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-6)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-6)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, atol=1e-6)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-9)
    assert ours.bic(X) == pytest.approx(theirs.bic(X), rel=1e-9)
    assert ours.aic(X) == pytest.approx(theirs.aic(X), rel=1e-9)
    assert ours.bics_[0] == pytest.approx(ours.bic(X), rel=1e-9)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)


def test_stationary_on_incomplete_rows():
    """At the optimum another step of EM, taken row by row, changes nothing."""
    X, _ = clusters(rate=0.3, n=40)
    density = MixtureDensity(3, **PLAIN, tol=1e-9, max_iter=5000, random_state=0).fit(X)
    parameters = density.weights_, density.means_, density.covariances_
    totals, firsts, seconds = oracles.expected_moments(X, *parameters)
    np.testing.assert_allclose(totals / len(X), density.weights_, atol=1e-6)
    np.testing.assert_allclose(firsts / totals[:, None], 0, atol=1e-6)
    np.testing.assert_allclose(seconds / totals[:, None, None], density.covariances_, atol=1e-6)
    assert density.log_likelihoods_[-1] == pytest.approx(
        oracles.log_likelihood(X, *parameters), rel=1e-9
    )


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_finds_the_clusters_and_their_number(rate):
    X, labels = clusters(rate=rate)
    density = MixtureDensity("bic", max_components=5, n_init=3, random_state=0).fit(X)
    assert density.n_components_ == 3
    assert np.argmin(density.bics_) == 2
    known = ~np.isnan(X).all(axis=1)
    score = adjusted_rand_score(labels[known], density.predict(X)[known])
    assert score > (0.9 if rate == 0 else 0.6)
    assert np.array_equal(density.predict(X), density.predict_proba(X).argmax(axis=1))


@pytest.mark.parametrize("n", [8, 200])
def test_a_mixture_of_one_is_the_gaussian(n):
    X = gaussian_table(np.random.default_rng(0), n, 3, 0.3)
    one = MixtureDensity(1, tol=1e-9).fit(X)
    gaussian = GaussianDensity(tol=1e-9).fit(X)
    np.testing.assert_allclose(one.means_[0], gaussian.mean_, rtol=1e-6, atol=1e-6)
    scale = np.abs(gaussian.covariance_).max()
    assert np.abs(one.covariances_[0] - gaussian.covariance_).max() < 1e-6 * scale
    assert one.shrinkage_ == gaussian.shrinkage_


@settings(max_examples=20)
@given(tables(max_rows=25, max_columns=4), st.integers(2, 4))
def test_never_falls_and_is_finite_whatever_the_table(X, k):
    k = min(k, int((~np.isnan(X)).any(axis=1).sum()))
    density = MixtureDensity(k, n_init=1, max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # thirty steps are not always enough
        density.fit(X)
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    assert np.isfinite(density.covariances_).all()
    np.linalg.cholesky(density.covariances_)
    assert density.weights_.sum() == pytest.approx(1)
    assert np.isfinite(density.score_samples(X)).all()
    np.testing.assert_allclose(density.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


def test_components_do_not_collapse_onto_a_few_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), np.full((3, 2), 9.0)])  # three equal rows
    guarded = MixtureDensity(4, random_state=0, shrinkage=0.0).fit(X)
    free = MixtureDensity(4, random_state=0, shrinkage=0.0, pooling=0.0).fit(X)
    assert np.linalg.eigvalsh(guarded.covariances_).min() > 0.05
    assert np.linalg.eigvalsh(free.covariances_).min() < 1e-3  # the guard has something to do


def test_more_starts_are_no_worse():
    X, _ = clusters(rate=0.3)
    one = MixtureDensity(3, n_init=1, random_state=3).fit(X)
    many = MixtureDensity(3, n_init=8, random_state=3).fit(X)
    assert many.log_likelihoods_[-1] >= one.log_likelihoods_[-1] - 1e-3


def test_random_state_makes_it_repeatable():
    X, _ = clusters(rate=0.3)
    fits = [MixtureDensity(2, n_init=2, random_state=7).fit(X) for _ in range(2)]
    assert np.array_equal(fits[0].means_, fits[1].means_)
    draws = [fits[0].sample(5, random_state=1) for _ in range(2)]
    assert np.array_equal(draws[0], draws[1])


def test_samples_have_the_moments_of_the_density():
    X, _ = clusters(rate=0.2)
    density = MixtureDensity(3, random_state=0).fit(X)
    draws = density.sample(20_000, random_state=0)
    overall = np.sqrt(np.diagonal(density.prior_.covariance()))
    z = (draws.mean(axis=0) - density.prior_.mean()) / overall * np.sqrt(len(draws))
    assert np.abs(z).max() < 5
    shares = np.bincount(density.predict(draws), minlength=3) / len(draws)
    np.testing.assert_allclose(shares, density.weights_, atol=0.05)  # clusters overlap a little


def test_a_start_of_ones_own_is_checked():
    X, _ = clusters()
    init = Prior(np.ones(2) / 2, np.zeros((2, 3)), np.stack([np.eye(3)] * 2))
    with pytest.raises(ValueError, match="2 components"):
        MixtureDensity(3, init=init).fit(X)
    with pytest.raises(ValueError, match="columns"):
        MixtureDensity(2, init=init).fit(X[:, :2])


def test_fit_predict_is_fit_then_predict():
    X, _ = clusters(rate=0.3)
    density = MixtureDensity(3, random_state=0, n_init=1)
    assert np.array_equal(density.fit_predict(X), density.predict(X))


def test_weights_of_zero_remove_rows():
    X, labels = clusters(rate=0.2)
    density = MixtureDensity(2, random_state=0).fit(X, sample_weight=labels > 0)
    assert np.nanmax(np.abs(density.means_[:, 0])) < 2.5  # the cluster at 5 is not there


def test_more_components_than_rows_get_a_sentence():
    X = np.random.default_rng(0).normal(size=(12, 2))
    X[0] = np.nan
    with pytest.raises(ValueError, match=r"n_components = 300 and n_samples = 11 \(rows"):
        MixtureDensity(300).fit(X)
    with pytest.raises(ValueError, match="n_samples = 3 "):
        MixtureDensity(4).fit(X, sample_weight=np.repeat([0.0, 1.0], [9, 3]))
    assert MixtureDensity("bic", max_components=300, random_state=0).fit(X).n_components_ <= 11
