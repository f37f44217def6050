"""geom: the ordinary machine where nothing is missing, and its own scales where something is."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from absentia.progress import SolverStatus
from lab.baselines import GeometricMarginSVC
from lab.baselines.smo import solve_dual


def test_equals_the_ordinary_machine_when_nothing_is_missing(two_classes):
    X, y = two_classes(0.0)
    ours = GeometricMarginSVC(C=2.0, tol=1e-6).fit(X, y)
    theirs = SVC(C=2.0, tol=1e-8).fit(X, y)
    # Two iterative solvers, of which ours stops at violations of 1e-6 of the optimality conditions.
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-5
    )
    assert ours.n_iter_ == 1
    assert (ours.scales_ == 1).all()


def test_scales_are_the_shares_of_the_weight_vector(two_classes):
    X, y = two_classes(0.3)
    machine = GeometricMarginSVC().fit(X, y)
    weights, rows = machine.dual_coef_[0], machine.support_rows_

    def squared_norm(columns):
        return weights @ rbf_kernel(rows * columns, gamma=machine.gamma_) @ weights

    whole = squared_norm(np.ones(X.shape[1]))
    by_hand = np.sqrt([squared_norm(~np.isnan(x)) / whole for x in X])
    has_some = ~np.isnan(X).all(axis=1)
    np.testing.assert_allclose(
        machine.scales_[0][has_some], np.maximum(by_hand, 0.01)[has_some], rtol=1e-10
    )
    # A row that has less sees less of w.
    assert machine.scales_[0][has_some].min() < 1


def test_dual_satisfies_the_optimality_conditions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    signs = np.where(X[:, 0] + 0.5 * rng.standard_normal(50) > 0, 1.0, -1.0)
    K = X @ X.T
    margins = rng.uniform(0.2, 1.0, 50)
    upper = 2 / margins
    solution = solve_dual(K, signs, margins, upper, tol=1e-8)
    assert solution.ending.converged
    assert signs @ solution.dual == pytest.approx(0, abs=1e-9)
    excess = signs * (K @ (solution.dual * signs) + solution.bias) - margins
    at_zero, at_upper = solution.dual < 1e-10, solution.dual > upper - 1e-10
    assert (excess[at_zero] > -1e-6).all()
    assert (excess[at_upper] < 1e-6).all()
    assert np.abs(excess[~at_zero & ~at_upper]).max() < 1e-6
    assert (~at_zero & ~at_upper).any()
    assert at_upper.any()


def test_a_solver_that_stops_early_says_so():
    K = np.eye(6)
    signs = np.array([1.0, -1.0] * 3)
    stopped = solve_dual(K, signs, np.ones(6), np.ones(6), max_iter=1)
    assert stopped.ending is SolverStatus.EXHAUSTED


def test_bias_is_between_its_bounds_when_no_row_is_free():
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    solution = solve_dual(K, np.array([1.0, -1.0]), np.ones(2), np.full(2, 0.1))
    np.testing.assert_allclose(solution.dual, 0.1)
    assert solution.bias == pytest.approx(0.0)


def test_three_classes_and_rows_with_nothing():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 3], [3, -2], [-3, -2]])
    label = np.repeat([0, 1, 2], 30)
    X = centres[label] + rng.standard_normal((90, 2))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X[0] = np.nan
    names = np.array(["a", "b", "c"])[label]
    machine = GeometricMarginSVC().fit(X, names)
    assert machine.decision_function(X).shape == (90, 3)
    assert machine.score(X, names) > 0.85
    assert np.isfinite(machine.decision_function([[np.nan, np.nan]])).all()


@pytest.mark.parametrize(("name", "value"), [("C", 0), ("gamma", "auto"), ("max_iter", 0)])
def test_bad_parameters(two_classes, name, value):
    with pytest.raises(ValueError, match=name):
        GeometricMarginSVC(**{name: value}).fit(*two_classes(0.1))


def test_gamma_of_a_table_of_one_value():
    """The variance of n times 0.1 is rounding: gamma was 1e32, and no two rows were alike."""
    y = np.arange(37) % 2
    assert GeometricMarginSVC().fit(np.full((37, 3), 0.1), y).gamma_ == 1.0
