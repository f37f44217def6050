"""Extrapolated ascent on problems whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia import GaussianDensity
from absentia.densities.em.ascent import MixtureCoordinates, ascend, correction_of
from densities.examples import random_prior, with_holes


def quadratic(rates, peak):
    """A concave quadratic whose plain steps converge linearly, each axis at its own rate."""
    calls = []

    def step(x):
        calls.append(x)
        return -float(((x - peak) ** 2).sum()), peak + rates * (x - peak)

    return step, calls


def test_a_slow_linear_map_is_solved_in_about_as_many_steps_as_it_has_rates():
    rates = np.array([0.99, 0.9, 0.5, 0.1])
    peak = np.array([1.0, -2.0, 3.0, 0.5])
    step, calls = quadratic(rates, peak)
    found = ascend(step, np.zeros(4), max_iter=100, tol=1e-9)
    assert found.converged
    assert len(calls) == len(found.objectives) < 15
    np.testing.assert_allclose(found.parameters, peak, atol=1e-6)
    plain = ascend(step, np.zeros(4), max_iter=3000, tol=1e-9, accelerate=False)
    assert len(plain.objectives) > 1000


def test_extrapolations_that_lead_nowhere_or_downhill_are_refused():
    """Outside the unit ball there is no objective, and the peak is on its surface."""

    def step(x):
        if np.linalg.norm(x) > 1:
            return None
        return float(x[0]), x + np.array([0.3 * (1 - np.linalg.norm(x)) ** 1.5, 0.0])

    found = ascend(step, np.array([0.0, 0.1]), max_iter=60, tol=1e-6)
    assert np.linalg.norm(found.parameters) <= 1
    assert (np.diff(found.objectives) >= 0).all()
    assert found.objectives[-1] == found.parameters[0] > 0.8
    assert len(found.objectives) <= 60


def test_no_objective_at_the_start():
    assert ascend(lambda x: None, np.zeros(2), max_iter=5, tol=1e-3) is None


def test_nowhere_to_go_from_a_plain_step():
    assert ascend(lambda x: (0.0, x + 1) if x < 2 else None, np.zeros(1), max_iter=9, tol=0) is None


def test_stops_where_a_plain_step_falls_by_rounding():
    found = ascend(lambda x: (-float(x[0]), x + 1.0), np.zeros(1), max_iter=50, tol=1e-9)
    assert found.parameters[0] == 0
    assert len(found.objectives) == 2


@pytest.mark.parametrize(("rate", "saving"), [(0.3, 1.5), (0.6, 4)])
def test_saves_most_steps_of_em_and_finds_the_same_optimum(rate, saving):
    rng = np.random.default_rng(0)
    one_factor = rng.standard_normal((400, 1)) * np.linspace(0.5, 1.5, 6)
    X = with_holes(rng, one_factor + 0.3 * rng.standard_normal((400, 6)), rate)
    settings = {"shrinkage": 0.0, "tol": 1e-9}
    quick = GaussianDensity(**settings).fit(X)
    plain = GaussianDensity(**settings, accelerate=False, max_iter=20_000).fit(X)
    assert saving * quick.n_iter_ < plain.n_iter_
    assert quick.log_likelihoods_[-1] == pytest.approx(plain.log_likelihoods_[-1], rel=1e-10)
    np.testing.assert_allclose(quick.covariance_, plain.covariance_, rtol=1e-6, atol=1e-6)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_parameters_survive_packing(k, d, seed):
    prior = random_prior(np.random.default_rng(seed), k, d)
    coordinates = MixtureCoordinates(d)
    again = coordinates.unpack(coordinates.pack(prior))
    np.testing.assert_allclose(again.weights, prior.weights, rtol=1e-12)
    assert np.array_equal(again.means, prior.means)
    np.testing.assert_allclose(again.covariances, prior.covariances, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", [1, 4, 10])
def test_correction_is_the_damped_least_squares_solution(order):
    rng = np.random.default_rng(order)
    moves, changes = rng.normal(size=(2, order, 60)) * 10.0 ** rng.uniform(-3, 3, (2, order, 1))
    changes[-1] = changes[0] * (1 + 1e-9 * rng.normal(size=60))  # nearly dependent
    residual = rng.normal(size=60)
    left, singular, right = np.linalg.svd(changes, full_matrices=False)
    damped = singular / (singular**2 + 1e-8 * singular[0] ** 2)
    expected = left @ (damped * (right @ residual)) @ (moves + changes)
    found = correction_of(list(moves), list(changes), residual)
    # The ridge leaves a condition of 1e8, so that eight of sixteen digits are common to both ways.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_no_change_needs_no_correction():
    zeros = np.zeros(5)
    np.testing.assert_array_equal(correction_of([zeros], [zeros], np.ones(5)), zeros)
