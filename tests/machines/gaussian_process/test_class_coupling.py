"""Probabilities of several classes: leave-one-out answers, their exponent, and their log loss."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from absentia import GaussianProcessClassifier, load, save
from absentia.machines.gaussian_process.expectation_propagation import (
    Propagation,
    average_sigmoid,
    coupled_probabilities,
    coupled_when_known,
    fitted_rest_exponent,
)
from oracles import gaussian_process as oracle


def noisy_signs(n, scale, seed=0):
    """Return a covariance of latent values, and labels that a line explains but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return scale * rbf_kernel(X, gamma=0.5) + 1e-3 * np.eye(n), signs


def classes(shares, separation=0.0, n=200, seed=0):
    """Return columns of unit variance around one place per class, and classes of such shares."""
    rng = np.random.default_rng(seed)
    k = len(shares)
    y = np.concatenate([np.arange(k), rng.choice(k, n - k, p=shares)])
    return rng.normal(size=(n, 2)) + 1.5 * separation * np.eye(k, 2, -1)[y], y


# Leave-one-out answers -------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [4.0, 300.0])
def test_cavities_are_what_the_sites_of_the_other_rows_say(scale):
    K, signs = noisy_signs(30, scale)
    ours = Propagation.of(K, signs > 0)
    sites = ours.sites
    means, variances = oracle.left_out_by_regression(K, sites.precisions, sites.shifts)
    np.testing.assert_allclose(ours.cavity_means, means, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.cavity_variances, variances, rtol=1e-6)


@pytest.mark.parametrize(("scale", "tolerance"), [(1.0, 0.002), (10.0, 0.03), (100.0, 0.1)])
def test_cavities_are_close_to_fits_without_the_row(scale, tolerance):
    K, signs = noisy_signs(9, scale)
    ours = Propagation.of(K, signs > 0)
    refitted = average_sigmoid(*oracle.left_out_by_refitting(K, signs))
    got = average_sigmoid(ours.cavity_means, ours.cavity_variances)
    # How good the approximation is, not the code: the sites of the other rows were found with the
    # row in place, and eight rows hold one another in place less the larger the scale.
    np.testing.assert_allclose(got, refitted, atol=tolerance)


# The exponent ----------------------------------------------------------------------------------


@pytest.mark.parametrize("centre", [-2.0, -1.0, 0.0])
def test_the_exponent_has_the_lowest_log_loss(centre):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=15)
    means = centre + 2.0 * np.eye(3)[labels] + rng.normal(size=(15, 3))
    variances = rng.uniform(0.1, 3.0, size=(15, 3))
    P = np.vectorize(oracle.average_sigmoid)(means, variances)
    got = fitted_rest_exponent(means, variances, labels)
    # The oracle tries every thousandth.
    assert got == pytest.approx(oracle.best_exponent(P, labels), abs=6e-4)
    np.testing.assert_allclose(
        coupled_probabilities(means, variances, got), oracle.coupled(P, got), rtol=1e-9
    )


def test_the_exponent_of_right_answers_is_zero_and_of_timid_ones_is_one():
    labels = np.repeat([0, 1, 2], [80, 10, 10])
    shares = np.tile(np.log([4.0, 1 / 9, 1 / 9]), (100, 1))
    assert fitted_rest_exponent(shares, np.zeros((100, 3)), labels) == pytest.approx(0.0, abs=1e-9)
    timid = np.where(np.eye(3)[labels] > 0, 0.5, -0.5)
    assert fitted_rest_exponent(timid, np.full((100, 3), 9.0), labels) == 1.0


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0])
def test_log_odds_without_doubt_are_combined_in_the_same_way(exponent):
    f = np.random.default_rng(0).normal(scale=4.0, size=(20, 4))
    got = coupled_when_known(f, exponent)
    np.testing.assert_allclose(got, coupled_probabilities(f, np.zeros_like(f), exponent), rtol=1e-9)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_combinations_of_certain_answers_are_finite(exponent):
    means = np.array([[1e4, -1e4, -1e4], [-1e4, -1e4, -1e4], [1e4, 1e4, 0.0], [1e9, 0.0, -1e9]])
    for variance in (0.0, 1.0, 1e8):
        got = coupled_probabilities(means, np.full(means.shape, variance), exponent)
        np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-12)


# What they are worth ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shares", [(0.8, 0.1, 0.1), (0.6, 0.3, 0.1), (0.85, 0.05, 0.05, 0.05)], ids=str
)
def test_columns_that_say_nothing_leave_the_class_frequencies(shares):
    X, y = classes(shares)
    new, truth = classes(shares, n=1000, seed=100)
    model = GaussianProcessClassifier().fit(X, y)
    frequencies = np.tile(np.bincount(y) / len(y), (len(new), 1))
    excess = log_loss(truth, model.predict_proba(new)) - log_loss(truth, frequencies)
    assert abs(excess) < 0.02
    assert model.rest_exponent_ < 0.1


def test_classes_that_overlap_are_not_promised():
    X, y = classes((0.8, 0.1, 0.1), separation=0.7, seed=2)
    new, truth = classes((0.8, 0.1, 0.1), separation=0.7, n=2000, seed=3)
    model = GaussianProcessClassifier().fit(X, y)
    P = model.predict_proba(new)
    # By their odds: a log loss of 0.626, and a mean confidence of 0.902 at an accuracy of 0.811.
    assert log_loss(truth, P) < 0.58
    assert P.max(axis=1).mean() == pytest.approx((P.argmax(axis=1) == truth).mean(), abs=0.05)


@pytest.mark.parametrize("table", [load_wine, load_iris])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_neither_the_sum_nor_the_odds_are_much_better(table, rate):
    X, y = table(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))
    X, y = StandardScaler().fit_transform(X)[rows], y[rows]
    X[rng.random(X.shape) < rate] = np.nan
    train, test = slice(0, 110), slice(110, None)
    model = GaussianProcessClassifier().fit(X[train], y[train])
    loss = log_loss(y[test], model.predict_proba(X[test]))
    latents = model.latent_mean_and_variance(X[test])
    by_sum, by_odds = (log_loss(y[test], coupled_probabilities(*latents, s)) for s in (0.0, 1.0))
    assert loss < min(by_sum, by_odds) + 0.02
    if table is load_wine and rate == 0.0:
        assert model.rest_exponent_ > 0.9
        assert loss < 0.7 * by_sum


def test_two_classes_need_no_combination():
    X, y = classes((0.5, 0.5), separation=1.0, n=60)
    model = GaussianProcessClassifier(gamma=0.3, scale=2.0).fit(X, y)
    mean, variance = model.latent_mean_and_variance(X)
    wanted = [average_sigmoid(-mean, variance), average_sigmoid(mean, variance)]
    np.testing.assert_allclose(
        model.predict_proba(X), np.transpose(wanted), rtol=3e-12
    )  # of the rule
    np.testing.assert_array_equal(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.rest_exponent_ == 0.0


def test_the_exponent_is_saved(tmp_path):
    X, y = classes((0.5, 0.3, 0.2), separation=1.5, n=60)
    model = GaussianProcessClassifier(gamma=0.3, scale=20.0).fit(X, y)
    assert 0.0 < model.rest_exponent_ < 1.0
    save(model, tmp_path / "model.absentia")
    again = load(tmp_path / "model.absentia")
    assert again.rest_exponent_ == model.rest_exponent_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
