"""Weights of members: against brute force, in the corners, and with weighted rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from absentia.automatic.blending import (
    fit_temperature,
    shrunk_weights,
    stacking_weights,
    tempered,
)
from lab.studies.automatic.methods import equal_weights, greedy_weights
from oracles.averaging import (
    best_weights_on_a_grid,
    mixture_log_loss,
    shrunk_log_loss,
    shrunk_squared_error,
    squared_error,
    tempered_log_loss,
)

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, size=60)
CHANCES = np.stack(
    [softmax(RNG.normal(size=(60, 3)) + s * np.eye(3)[Y], axis=1) for s in (1.0, 1.2, 0.0)]
)
NUMBERS = np.stack([(Y + s * RNG.normal(size=60))[:, None] for s in (0.5, 0.7, 2.0)])
ONES = np.ones(60)


@pytest.mark.parametrize(
    ("answers", "task", "loss"),
    [(CHANCES, "classification", mixture_log_loss), (NUMBERS, "regression", squared_error)],
    ids=["classes", "numbers"],
)
def test_no_weights_on_a_grid_are_better_than_stacking(answers, task, loss):
    found = stacking_weights(answers, Y, ONES, task)
    grid = best_weights_on_a_grid(lambda w: loss(w, answers, Y), 3, 20)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0
    # EM comes close to the optimum, not to the last bit; the grid is far coarser.
    assert loss(found, answers, Y) <= loss(grid, answers, Y) + 1e-6
    greedy = greedy_weights(answers, Y, ONES, task)
    # Forty choices, one after the other, end within a few thousandths of the optimum.
    assert loss(greedy, answers, Y) <= loss(found, answers, Y) + 5e-3


@pytest.mark.parametrize(
    ("answers", "task", "loss"),
    [(CHANCES, "classification", shrunk_log_loss), (NUMBERS, "regression", shrunk_squared_error)],
    ids=["classes", "numbers"],
)
@pytest.mark.parametrize("n", [4, 60])
def test_no_weights_on_a_grid_are_better_than_shrunk_ones(answers, task, loss, n):
    found = stacking_weights(answers[:, :n], Y[:n], ONES[:n], task, 1.0)
    assert found.sum() == pytest.approx(1.0)
    best = loss(found, answers[:, :n], Y[:n])
    grid = best_weights_on_a_grid(lambda w: loss(w, answers[:, :n], Y[:n]), 3, 20)
    # EM comes close to the optimum, not to the last bit; the grid is far coarser.
    assert best <= loss(grid, answers[:, :n], Y[:n]) + 1e-6
    for step in 1e-3 * np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]]):
        for sign in (1, -1):
            near = np.maximum(found + sign * step, 0)
            assert best <= loss(near / near.sum(), answers[:, :n], Y[:n]) + 1e-6


def test_shrunk_weights_of_few_rows_are_nearer_to_equal_ones():
    for answers, task in ((CHANCES, "classification"), (NUMBERS, "regression")):
        few = stacking_weights(answers[:, :5], Y[:5], ONES[:5], task, 1.0)
        free = stacking_weights(answers[:, :5], Y[:5], ONES[:5], task)
        assert np.abs(few - 1 / 3).max() < np.abs(free - 1 / 3).max()


@pytest.mark.parametrize("method", [shrunk_weights, greedy_weights, stacking_weights])
def test_a_row_of_weight_two_counts_as_two(method):
    twice = np.r_[np.arange(60), np.arange(30)]
    weights = np.where(np.arange(60) < 30, 2.0, 1.0)
    for answers, task in ((CHANCES, "classification"), (NUMBERS, "regression")):
        np.testing.assert_allclose(
            method(answers, Y, weights, task),
            method(answers[:, twice], Y[twice], np.ones(90), task),
            atol=1e-8,  # nonnegative least squares solves a differently scaled system
        )


def test_one_perfect_member_gets_everything():
    perfect = np.concatenate([np.eye(3)[Y][None], CHANCES])
    np.testing.assert_array_equal(greedy_weights(perfect, Y, ONES, "classification"), [1, 0, 0, 0])
    np.testing.assert_array_equal(equal_weights(CHANCES), np.full(3, 1 / 3))


def test_a_temperature_undoes_what_was_done_to_the_probabilities():
    rng = np.random.default_rng(1)
    honest = softmax(2 * rng.normal(size=(4000, 3)), axis=1)
    y = np.array([rng.choice(3, p=row) for row in honest])
    for too_sure in (0.5, 2.0):
        wrong = tempered(honest, np.full(len(y), 1.0 / too_sure))
        # A Monte Carlo estimate from 4000 rows: its standard error is about 0.02.
        assert fit_temperature(wrong, y, np.ones(len(y))) == pytest.approx(too_sure, rel=0.1)


def test_a_temperature_is_the_best_of_many_and_stays_near_one_on_few_rows():
    y = Y[:8]
    certain = 0.9 * np.eye(3)[y] + 0.1 / 3
    found = fit_temperature(certain, y, np.ones(8))
    grid = np.exp(np.linspace(np.log(0.2), np.log(5), 400))
    best = min(grid, key=lambda t: tempered_log_loss(t, certain, y))
    assert found == pytest.approx(best, rel=0.02)  # the grid has steps of 0.8 %
    assert 0.5 < found < 1
