from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from absentia.machines.losses import minimise


def test_a_badly_scaled_parabola_is_solved_to_the_last_digits():
    curvatures = np.logspace(0, 2, 30)

    def objective(x):
        # A large constant drowns the last digits of the value, not those of the gradient.
        return 1e3 + 0.5 * (x - 1) ** 2 @ curvatures, curvatures * (x - 1)

    outcome = minimise(objective, np.zeros((1, 30)), tol=1e-10, max_iter=500)
    assert outcome.status.converged
    np.testing.assert_allclose(outcome.points, 1.0, atol=1e-10)


def rosenbrock(points):
    return np.array([rosen(x) for x in points]), np.array([rosen_der(x) for x in points])


def test_steps_that_are_too_long_are_shortened():
    """Functions that rest do not hold up the others, nor are they moved."""
    starts = np.array([[-1.2, 1.0], [1.0, 1.0], [3.0, -2.0]])
    outcome = minimise(rosenbrock, starts, tol=1e-8, max_iter=500)
    assert outcome.status.converged
    np.testing.assert_allclose(outcome.points, 1.0, atol=1e-6)
    np.testing.assert_array_equal(outcome.points[1], 1.0)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_stopping_early_is_not_called_convergence(max_iter):
    outcome = minimise(rosenbrock, np.array([[-1.2, 1.0]]), tol=1e-8, max_iter=max_iter)
    assert not outcome.status.converged
    assert outcome.slopes[0] > 1e-8


def test_a_minimum_is_left_alone():
    outcome = minimise(
        lambda x: ((x**2).sum(axis=1), 2 * x), np.zeros((1, 3)), tol=1e-8, max_iter=5
    )
    assert outcome.status.converged
    assert outcome.n_evaluations == 1
