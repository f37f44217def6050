"""Averages over a missing value against a fine grid, where few nodes are not enough."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeRegressor

from absentia import (
    GaussianProcessRegressor,
    KernelRidge,
    LogisticRegression,
    MarginalRegressor,
    MixtureDensity,
    bounded,
    measure_next,
)
from absentia.beliefs.column_trials import trapezoidal
from absentia.machines import averaging
from oracles import acquisition as oracle

NOTHING = np.full((1, 3), np.nan)


def variance_explained(model, row, j, prior):
    """Return ``var(E[f | o, x_j])`` of a regressor over a fine grid."""

    def answers(rows):
        mean = model.predict(rows)
        return np.column_stack([mean, mean**2])

    def variance(found):
        return found[:, 1] - found[:, 0] ** 2

    parts = prior.weights, prior.means, prior.covariances
    return oracle.gain(answers, variance, *parts, row, j)[0]


@pytest.mark.parametrize("density", ["gaussian", MixtureDensity(2, random_state=0)])
def test_a_wave_is_resolved(density):
    """Five nodes gave a third of the first part, and another column came first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    y = 100 * (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]) + 1000
    process = GaussianProcessRegressor(density=density).fit(X, y)
    rows = np.vstack([NOTHING, [[np.nan, 0.7, np.nan]]])
    doubt, found = process.predict_uncertainty(rows), measure_next(process, rows)
    for i, row in enumerate(rows):
        missing, prior = np.flatnonzero(np.isnan(row)), process.density_.prior_
        exact = np.array([variance_explained(process, row, j, prior) for j in missing])
        np.testing.assert_allclose(doubt.by_column[i][missing], exact, atol=2e-3 * exact.max())
        np.testing.assert_allclose(found.gain[i][missing], exact, atol=2e-3 * exact.max())
    assert doubt.by_column[0].argmax() == 0


def test_gains_of_a_target_that_is_not_monotone():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    machine = LogisticRegression(C=100.0, kernel="expected_rbf", gamma=0.5)
    machine.fit(X, X[:, 0] + X[:, 1] ** 2 > 1)
    rows = np.vstack([NOTHING, [[0.5, np.nan, np.nan]]])
    found = measure_next(machine, rows)
    prior = machine.density_.prior_
    parts = prior.weights, prior.means, prior.covariances
    for i, row in enumerate(rows):
        for j in np.flatnonzero(np.isnan(row)):
            exact = oracle.gain(machine.predict_proba, oracle.entropy, *parts, row, j)[0]
            assert found.gain[i, j] == pytest.approx(exact, abs=2e-3 * np.nanmax(found.gain[i]))


def test_a_value_between_limits():
    """The rule for a normal number, moved to the quantiles of a truncated one."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 2))
    process = GaussianProcessRegressor(gamma=1.0).fit(X, np.sin(3 * X[:, 0]) + 0.5 * X[:, 1])
    rows = bounded(np.full((1, 2), np.nan), [[0.2, -np.inf]], [[2.5, np.inf]])
    prior = process.density_.prior_
    mean, deviation = prior.means[0, 0], np.sqrt(prior.covariances[0, 0, 0])
    ends = ndtr((np.array([0.2, 2.5]) - mean) / deviation)
    grid = mean + deviation * ndtri(np.linspace(*ends, 4002)[1:-1])
    answers = process.predict(np.column_stack([grid, np.full(4000, np.nan)]))
    assert measure_next(process, rows).gain[0, 0] == pytest.approx(answers.var(), rel=5e-3)
    # A deviation of the draws behind the whole may cut the part of the column off.
    part = process.predict_uncertainty(rows).by_column[0, 0]
    assert part == pytest.approx(answers.var(), rel=0.05)


def test_a_jump_is_resolved_to_a_tenth():
    """A tree has steps: the error falls with the distance of the nodes only."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    tree = DecisionTreeRegressor(max_leaf_nodes=2).fit(X, X[:, 0] > 0.4)
    model = MarginalRegressor(FrozenEstimator(tree), density="gaussian", random_state=0).fit(X)
    prior = model.density_.prior_
    share = ndtr((prior.means[0, 0] - tree.tree_.threshold[0]) / prior.covariances[0, 0, 0] ** 0.5)
    low, high = np.sort(tree.tree_.value[1:, 0, 0])
    exact = share * (1 - share) * (high - low) ** 2
    row = np.full((1, 2), np.nan)
    assert measure_next(model, row).gain[0, 0] == pytest.approx(exact, rel=0.1)


def test_rules_of_all_levels_together_halve_the_step():
    whole = trapezoidal(0)[0]
    for level in (1, 2, 3):
        whole = np.sort(np.concatenate([whole, trapezoidal(level)[0]]))
        np.testing.assert_allclose(np.diff(whole), 0.5**level, rtol=1e-12)
    for level in range(4):
        nodes, weights = trapezoidal(level)
        # What lies beyond five deviations.
        np.testing.assert_allclose(
            [weights @ nodes**k for k in range(5)], [1, 0, 1, 0, 3], atol=2e-3
        )


class _Wave(RegressorMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = 2
        return self

    def predict(self, X):
        return np.sin(6 * X[:, 0])


def test_a_fast_wave_is_refined_until_rules_agree():
    """One cycle per deviation: rules of step 1 and 1/2 disagree, and 1/8 is exact."""
    X = np.random.default_rng(4).normal(size=(300, 2))
    model = MarginalRegressor(
        FrozenEstimator(_Wave().fit(X)), density="gaussian", n_draws=4, random_state=0
    ).fit(X)
    mean, variance = model.density_.mean_[0], model.density_.covariance_[0, 0]
    first = np.exp(-18 * variance) * np.sin(6 * mean)
    exact = (1 - np.exp(-72 * variance) * np.cos(12 * mean)) / 2 - first**2
    found = measure_next(model, np.full((1, 2), np.nan)).gain[0, 0]
    assert found == pytest.approx(exact, rel=1e-3)


def test_what_is_left_of_a_process_after_a_measurement():
    """Its own variance, averaged over what the value could be, and the variance of its means."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    process = GaussianProcessRegressor(gamma=0.5).fit(X, np.sin(2 * X[:, 0]) + X[:, 1])
    rows = np.array([[np.nan, 0.3], [np.nan, np.nan]])
    found = measure_next(process, rows)
    prior = process.density_.prior_
    mean, deviation = prior.means[0, 0], np.sqrt(prior.covariances[0, 0, 0])
    grid = mean + deviation * ndtri(np.linspace(0, 1, 4002)[1:-1])

    after = process.predict(np.column_stack([grid, 0 * grid + np.nan]), return_std=True)[1] ** 2
    assert found.spread_after[1, 0] ** 2 == pytest.approx(after.mean(), rel=2e-3)
    whole = process.predict_uncertainty(rows[:1], by_column=False)
    left = found.spread_after[0, 0] ** 2
    assert found.gain[0, 0] + left == pytest.approx(whole.model[0] + whole.missing[0], rel=2e-3)
    assert left == pytest.approx(whole.model[0] + whole.noise[0], rel=2e-2)
    np.testing.assert_array_equal(found.loss_before, process.predict(rows, return_std=True)[1] ** 2)


def test_gains_of_a_process_are_shares_of_its_uncertainty():
    """The square of ``return_std``, the loss before, may be smaller than a gain."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=40)
    X[rng.random(X.shape) < 0.2] = np.nan
    process = GaussianProcessRegressor().fit(X, y)
    rows = X[np.isnan(X).any(axis=1)]
    found, doubt = measure_next(process, rows), process.predict_uncertainty(rows)
    assert (np.nanmax(found.gain, axis=1) <= 1.001 * doubt.total).all()
    spread = process.predict(rows, return_std=True)[1]
    np.testing.assert_allclose(found.loss_before, spread**2, rtol=1e-10)


def test_what_is_left_after_a_measurement_is_the_loss_less_its_gain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    machine = KernelRidge().fit(X, 0.01 * X[:, 0])
    found = measure_next(machine, np.array([[np.nan, np.nan], [0.3, np.nan]]))
    left = found.loss_before[:, None] - found.gain
    np.testing.assert_allclose(found.spread_after**2, np.maximum(left, 0.0), atol=1e-18)


def test_rows_in_several_slices_are_those_of_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    machine = GaussianProcessRegressor(gamma="scale").fit(X, np.sin(2 * X[:, 0]) + X[:, 1])
    rows = np.where(rng.random((7, 3)) < 0.5, np.nan, rng.normal(size=(7, 3)))
    expected = measure_next(machine, rows).gain
    apart = lambda n, size: [slice(i, i + 1) for i in range(n)]  # noqa: E731
    monkeypatch.setattr(averaging, "bounded_slices", apart)
    np.testing.assert_allclose(measure_next(machine, rows).gain, expected, rtol=1e-9, atol=1e-12)
