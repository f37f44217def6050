"""Kernel logistic regression against scikit-learn's linear one on features of the same kernel."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from absentia import ExpectedLinear, GaussianDensity, LogisticRegression
from absentia.machines.newton import fit_gram
from machines.contract import MachineContract, table, targets_of
from oracles.logistic import linear_scores


class TestLogisticRegression(MachineContract):
    def make(self, **params):
        return LogisticRegression(**{"C": 2.0, "tol": 1e-12, **params})

    def oracle(self, K, y, K_new):
        return linear_scores(K, y, K_new, C=2.0)


# The tolerance of the oracle is at the end of what its line search can see.
@pytest.mark.filterwarnings("ignore:Rounding errors prevent the line search")
@pytest.mark.filterwarnings("ignore:Line Search failed")
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_the_linear_machine_in_the_space_of_the_kernel(
    C, fit_intercept, n_classes
):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes][::2], y[y < n_classes][::2]
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y)).round(1)
    K = rbf_kernel(X, gamma=0.3)
    ours = fit_gram(K, y, n_classes, C * weights, fit_intercept=fit_intercept, tol=1e-9)
    assert ours.status.converged
    scores = (K @ ours.coefficients.T + ours.intercept).squeeze()
    theirs = linear_scores(K, y, K, C=C, weights=weights, fit_intercept=fit_intercept)
    if n_classes > 2:  # a constant added to all classes changes nothing
        scores = scores - scores.mean(axis=1, keepdims=True)
        theirs = theirs - theirs.mean(axis=1, keepdims=True)
    # Two iterative solvers: theirs stops at its own tolerance.
    np.testing.assert_allclose(scores, theirs, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_are_stationary_and_a_warm_start_saves_steps(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    K, weights = rbf_kernel(X, gamma=0.3), np.full(len(y), 30.0)
    cold = fit_gram(K, y, n_classes, weights, tol=1e-8)
    warm = fit_gram(K, y, n_classes, 1.1 * weights, tol=1e-8, start=cold)
    again = fit_gram(K, y, n_classes, 1.1 * weights, tol=1e-8)
    assert warm.n_iter < again.n_iter
    np.testing.assert_allclose(warm.coefficients, again.coefficients, atol=1e-6)
    scores = K @ cold.coefficients.T + cold.intercept
    if n_classes == 2:
        residuals = 1 / (1 + np.exp(-scores[:, 0])) - y
        np.testing.assert_allclose(cold.coefficients[0], -30.0 * residuals, atol=1e-8)
    else:
        odds = np.exp(scores)
        residuals = odds / odds.sum(axis=1, keepdims=True) - np.eye(3)[y]
        np.testing.assert_allclose(cold.coefficients.T, -30.0 * residuals, atol=1e-8)
    np.testing.assert_allclose(residuals.sum(axis=0), 0, atol=1e-7)


def test_repeated_rows_and_huge_weights_are_no_trouble():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 3, axis=0)
    y = (X[:, 0] > 0).astype(int)
    ours = fit_gram(rbf_kernel(X), y, 2, np.full(60, 1e8))
    assert ours.status.converged
    assert np.isfinite(ours.coefficients).all()


def test_probabilities_of_many_classes():
    X, y = load_iris(return_X_y=True)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LogisticRegression(C=10.0).fit(X, names)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    assert model.score(X, names) > 0.9
    assert model.dual_coef_.shape == (3, 150)


def test_log_probabilities_of_two_classes_do_not_underflow():
    X = np.linspace(-50, 50, 40)[:, None]
    model = LogisticRegression(C=1e4, kernel=ExpectedLinear()).fit(X, X[:, 0] > 0)
    logarithms = model.predict_log_proba([[-2000.0], [1.0]])
    assert logarithms[0, 1] < -1000
    np.testing.assert_allclose(np.exp(logarithms), model.predict_proba([[-2000.0], [1.0]]))


def test_class_weights_multiply_sample_weights():
    X, y = table(), targets_of("classes")
    weights = np.where(y == 1, 3.0, 1.0)
    by_class = LogisticRegression(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    density = GaussianDensity().fit(X)
    P = density.condition(X)
    by_row = LogisticRegression().fit(P, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.dual_coef_, by_row.dual_coef_, rtol=1e-8)


def test_what_cannot_be_done_is_told():
    X, y = table(), targets_of("classes")
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        LogisticRegression(C=100.0, max_iter=1).fit(X, y)
    for params in ({"C": 0}, {"C": "big"}, {"tol": -1}, {"max_iter": 0}, {"max_iter": 2.5}):
        with pytest.raises(ValueError, match=f"{next(iter(params))} must be"):
            LogisticRegression(**params).fit(X, y)
    P = GaussianDensity().fit(X).condition(X)
    with pytest.raises(ValueError, match="must not be negative"):
        LogisticRegression().fit(P, y, sample_weight=np.where(np.arange(30) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        fit_gram(np.array([[0.0, 3.0], [3.0, 0.0]]), np.array([0, 1]), 2, np.full(2, 10.0))


def test_a_warm_started_machine_begins_where_it_ended():
    X, y = table(), targets_of("classes")
    model = LogisticRegression(C=50.0, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_[0] < LogisticRegression(C=50.0).fit(X, y).n_iter_[0]
    cold = LogisticRegression(C=50.0).fit(X[1:], y[1:])
    np.testing.assert_array_equal(model.fit(X[1:], y[1:]).dual_coef_, cold.dual_coef_)
    names = np.array(["no", "yes"])[y[1:]]
    np.testing.assert_array_equal(model.fit(X[1:], names).dual_coef_, cold.dual_coef_)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e-4, 1e8, 1e100])
def test_a_linear_machine_in_other_units_is_the_same_machine(classes, fit_intercept, scale):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    y = np.digitize(X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=80), [-1.0, 1.0][: classes - 1])
    machine = LogisticRegression(kernel="linear", fit_intercept=fit_intercept)
    expected = clone(machine).fit(X, y).predict_proba(new)
    found = machine.set_params(C=scale**-2.0).fit(scale * X, y).predict_proba(scale * new)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shift", [1e3, 1e5])
def test_columns_far_from_zero_give_the_machine_of_centred_ones(classes, shift):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    y = np.digitize(X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=80), [-1.0, 1.0][: classes - 1])
    machine = LogisticRegression(kernel="linear", warm_start=True)
    expected = clone(machine).fit(X, y).predict_proba(new)
    for _ in range(2):  # the second time from its own solution
        found = machine.fit(X + shift, y).predict_proba(new + shift)
        # The kernel of columns 1e5 away from zero has lost ten digits of the differences.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_a_penalty_beyond_the_digits_of_a_number_gets_a_sentence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    z = X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=80)
    with pytest.raises(ValueError, match=r"too large for double precision.*a smaller C"):
        LogisticRegression(kernel="linear", C=1e30).fit(X, z > 0)
    with pytest.raises(ValueError, match=r"beyond 1e\+150.*smaller C"):
        LogisticRegression(kernel="linear", C=1e300).fit(X, z > 0)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        LogisticRegression(kernel="linear", C=1e30).fit(X, np.digitize(z, [-1, 1]))
