"""The variance of a Gaussian process at rows with holes, taken apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, xlogy
from scipy.stats import norm

from absentia import (
    Beliefs,
    ExpectedRBF,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    GenRBF,
    MixedDensity,
    MixtureDensity,
    measure_next,
)
from absentia.machines.gaussian_process.expectation_propagation import expected_entropy
from oracles import uncertain_inputs as oracle

DENSITIES = [GaussianDensity(), MixtureDensity(n_components=2, n_init=1, random_state=0)]
GIVEN = {"gamma": 0.4, "scale": 1.3, "noise": 0.05, "normalize_y": False}


def example(n=24, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4) + rng.integers(0, 2, size=(n, 1))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    holes = np.where(rng.random((n, d)) < 0.35, np.nan, X)
    holes[0], holes[1] = X[0], np.nan
    return X, holes, y


def as_lists(beliefs):
    """Return rows as lists of (weight, mean, covariance)."""
    covariances = beliefs.covariances.dense()[beliefs.group_of_row]
    return [
        list(zip(weights, means, matrices, strict=True))
        for weights, means, matrices in zip(
            beliefs.weights(), beliefs.means, covariances, strict=True
        )
    ]


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_closed_form_equals_the_formula_written_out(density):
    _, holes, y = example()
    machine = GaussianProcessRegressor(density=density, **GIVEN).fit(holes, y)
    doubt = machine.predict_uncertainty(holes[:6])
    K = machine.kernel_(machine.beliefs_)
    rows = as_lists(machine.beliefs_)
    for i in range(6):
        mean, missing, model = oracle.parts(rows[i], rows, np.eye(3) / 0.8, y, K, 1.3, 0.05)
        # Sums of terms of both signs, some hundred times larger than what is left of them.
        found = doubt.prediction[i], doubt.missing[i], doubt.model[i]
        np.testing.assert_allclose(found, (mean, missing, model), rtol=1e-8, atol=1e-10)


def test_complete_training_rows_give_the_textbook_formula():
    X, _, y = example()
    beliefs = Beliefs.from_moments(X, variances=0.0)
    machine = GaussianProcessRegressor(
        kernel=ExpectedRBF(0.4, diagonal="same"), **GIVEN | {"gamma": "scale"}
    )
    machine.fit(beliefs, y)
    rng = np.random.default_rng(1)
    for _ in range(3):
        root = rng.normal(size=(3, 3))
        u, Sigma = rng.normal(size=3), root @ root.T
        uncertain = Beliefs.from_moments(u[None], Sigma[None], prior=beliefs.prior)
        doubt = machine.predict_uncertainty(uncertain)
        mean, variance = oracle.girard(u, Sigma, X, y, 0.4, 1.3, 0.05)
        found = doubt.prediction[0], doubt.missing[0] + doubt.model[0]
        np.testing.assert_allclose(found, (mean, variance), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mask_weight", [None, 0.3])
@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_closed_form_agrees_with_random_draws(density, mask_weight):
    X, holes, y = example()
    targets = np.stack([y, X[:, 2] ** 2], axis=1)
    machine = GaussianProcessRegressor(density=density, mask_weight=mask_weight, gamma=0.4)
    machine.fit(holes, targets)
    rows = holes[1:7]
    doubt = machine.predict_uncertainty(rows, by_column=False)
    beliefs, n_draws = machine.density_.condition(rows), 3000
    draws = beliefs.sample(n_draws, random_state=0)
    K = machine.kernel_ if mask_weight is None else machine.kernel_.left
    for i in range(len(rows)):
        values = K(machine.density_.condition(draws[:, i]), machine.beliefs_)
        if mask_weight is not None:
            # A draw stands for the row, which misses what it misses.
            values = values * machine.kernel_.right(beliefs[i : i + 1], machine.beliefs_)
        means = machine._mean(values)
        solved = np.linalg.solve(machine.L_, machine.scale_ * values.T)
        variances = (machine.scale_ - (solved**2).sum(axis=0))[:, None] * machine._spread**2
        spread = means.std(axis=0)
        fourth = ((means - means.mean(axis=0)) ** 4).mean(axis=0)
        z = [
            (doubt.prediction[i] - means.mean(axis=0)) / (spread / np.sqrt(n_draws) + 1e-9),
            (doubt.missing[i] - spread**2) / (np.sqrt((fourth - spread**4) / n_draws) + 1e-9),
            (doubt.model[i] - variances.mean(axis=0))
            / (variances.std(axis=0) / np.sqrt(n_draws) + 1e-9),
        ]
        assert np.abs(z).max() < 5


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_sums_that_cancel_are_not_computed(density, noise):
    """A square has a wide kernel of large scale: rounding was larger than what is left."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = X[:, 0] ** 2 + 0.5 * X[:, 2] + noise * rng.normal(size=90)
    machine = GaussianProcessRegressor(density=density).fit(X, y)
    rows = np.array([[np.nan, 0.3, 0.2], [np.nan] * 3])
    doubt, gain = machine.predict_uncertainty(rows), measure_next(machine, rows).gain
    assert (doubt.model < 1e-3).all()
    assert doubt.missing[0] == pytest.approx(gain[0, 0], rel=0.4)
    np.testing.assert_allclose(doubt.by_column[1], gain[1], atol=0.05 * gain[1].max())
    np.testing.assert_allclose(doubt.prediction, machine.predict(rows), atol=0.1)


def test_parts_add_up_and_complete_rows_miss_nothing():
    X, holes, y = example()
    machine = GaussianProcessRegressor().fit(holes, y)
    doubt = machine.predict_uncertainty(X)
    mean, std = machine.predict(X, return_std=True)
    np.testing.assert_allclose(doubt.prediction, mean, rtol=1e-12)
    np.testing.assert_array_equal(doubt.missing, 0.0)
    # A posterior variance is what is left of the scale: digits are lost where little is left.
    np.testing.assert_allclose(doubt.total, std**2, rtol=1e-6)
    doubt = machine.predict_uncertainty(holes)
    np.testing.assert_array_equal(doubt.total, doubt.model + doubt.noise + doubt.missing)
    assert (doubt.by_column[np.isnan(holes)] > 0).any()
    assert (doubt.by_column[~np.isnan(holes)] == 0).all()
    assert (doubt.by_column <= doubt.missing[:, None]).all()


def test_a_single_missing_column_has_all_of_the_missing_part():
    X, holes, y = example()
    machine = GaussianProcessRegressor().fit(holes, y)
    rows = X.copy()
    rows[:, 1] = np.nan
    doubt = machine.predict_uncertainty(rows)
    np.testing.assert_array_equal(doubt.by_column[:, 1], doubt.missing)


def test_other_kernels_are_averaged_over_draws():
    _, holes, y = example()
    machine = GaussianProcessRegressor(kernel=GenRBF(0.4), gamma="scale").fit(holes, y)
    doubt = machine.predict_uncertainty(holes[:5])
    assert (doubt.missing[1:] >= 0).all()
    assert doubt.missing[0] == 0
    assert (doubt.noise > 0).all()


def test_without_columns_they_are_not_a_number():
    _, holes, y = example()
    machine = GaussianProcessRegressor(gamma=0.4).fit(holes, y)
    doubt = machine.predict_uncertainty(holes, by_column=False)
    np.testing.assert_array_equal(np.isnan(doubt.by_column), np.isnan(holes))


def test_a_column_that_no_training_row_has_is_left_out():
    _, holes, y = example()
    holes[:, 1] = np.nan
    machine = GaussianProcessRegressor(gamma=0.4)
    with pytest.warns(UserWarning, match="missing in every training row"):
        machine.fit(holes, y)
    doubt = machine.predict_uncertainty(holes)
    assert doubt.columns == ("x0", "x2")
    assert doubt.by_column.shape == (len(y), 2)


@pytest.mark.parametrize("cuts", [[0.3], [-0.3, 0.7]], ids=["two classes", "three classes"])
def test_classifier_entropies_add_up(cuts):
    X, holes, y = example(n=40)
    machine = GaussianProcessClassifier(gamma=0.4).fit(holes, np.digitize(y, cuts))
    doubt = machine.predict_uncertainty(np.concatenate([X[:6], holes[1:6]]))
    p = doubt.prediction
    np.testing.assert_allclose(doubt.total, -(p * np.log(p)).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(p[:6], machine.predict_proba(X[:6]), rtol=1e-10)
    np.testing.assert_allclose(doubt.missing[:6], 0.0, atol=1e-12)
    assert doubt.missing[6] > 0
    assert (doubt.model > 0).all()
    assert (doubt.noise > 0).all()


@pytest.mark.parametrize("deviation", [0.01, 0.5, 0.99, 1.0, 3.0, 60.0])
@pytest.mark.parametrize("mean", [0.0, -2.0, 8.0, 130.0])
def test_noise_of_a_classifier_is_the_entropy_given_its_log_odds(mean, deviation):
    def integrand(f):
        p = expit(f)
        return -(xlogy(p, p) + xlogy(1 - p, 1 - p)) * norm.pdf(f, mean, deviation)

    low, high = max(-40.0, mean - 9 * deviation), min(40.0, mean + 9 * deviation)
    wanted = quad(integrand, low, high, points=[0.0], limit=200)[0] if low < high else 0.0
    found = expected_entropy(np.array([[mean]]), np.array([[deviation**2]]))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("exponent", [0.0, 0.4, 1.0])
def test_noise_of_several_classes_is_the_average_over_their_log_odds(exponent):
    rng = np.random.default_rng(0)
    means, variances = rng.normal(size=(5, 3)), rng.uniform(0.1, 4, size=(5, 3))
    f = means[:, None] + np.sqrt(variances)[:, None] * rng.normal(size=(5, 100_000, 3))
    odds = expit(f) / expit(-f) ** exponent
    p = odds / odds.sum(axis=2, keepdims=True)
    wanted = -xlogy(p, p).sum(axis=2).mean(axis=1)
    # 64 quasi-random draws.
    found = expected_entropy(means, variances, exponent)
    np.testing.assert_allclose(found[:, 0], wanted, atol=0.03)


def test_a_missing_category_is_doubt_about_what_it_could_be():
    rng = np.random.default_rng(0)
    words, x = rng.integers(3, size=60), rng.normal(size=60)
    X = np.column_stack([x, words])
    y = x + 2.0 * (words == 0) + 0.1 * rng.normal(size=60)
    density = MixedDensity(n_components=1, categories=[1])
    machine = GaussianProcessRegressor(density=density).fit(X, y)
    doubt = machine.predict_uncertainty([[0.3, np.nan], [0.3, 1.0]])
    answers = machine.predict([[0.3, word] for word in range(3)])
    shares = machine.density_.probabilities_[0][0]
    variance = shares @ answers**2 - (shares @ answers) ** 2
    # Of 64 draws: three categories whose shares are met to 1 / 64.
    assert doubt.missing[0] == pytest.approx(variance, rel=0.05)
    assert doubt.missing[1] == 0
