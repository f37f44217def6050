"""Models without sets of rows in closed form, against exact refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from absentia import GaussianDensity, GenRBF, LogisticRegression, LogisticRegressionCV
from absentia.machines.newton import fit_gram
from absentia.machines.search import left_out
from absentia.machines.search.left_out import logistic_left_out, ridge_left_out
from machines.contract import table
from oracles.logistic import linear_scores

N = 90
FOLDS = [np.arange(N)[k::5] for k in range(5)]
#: Nested selection leaves out two folds at a time; groups may be of any size.
SETS = [*FOLDS, np.union1d(FOLDS[0], FOLDS[3]), np.array([4]), np.arange(50)]


def problem(n_classes=2, gamma=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = table(N, seed=seed)
    beliefs = GaussianDensity().fit(X).condition(X)
    values = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + 0.3 * rng.normal(size=N)
    codes = np.digitize(values, np.quantile(values, np.arange(1, n_classes) / n_classes))
    return GenRBF(gamma=gamma)(beliefs), codes, rng.uniform(0.5, 2.0, N)


def values(model, K_rows, s):
    """Return the decision values of rows by the model without set ``s``."""
    return K_rows @ model.coefficients[s].T + model.intercepts[s]


def rest_of(rows):
    return np.setdiff1d(np.arange(N), rows)


@pytest.mark.parametrize(
    ("n_classes", "fit_intercept", "weighted"),
    [(2, True, False), (2, False, True), (3, True, True), (3, False, False)],
)
def test_log_odds_are_those_of_exact_refits(n_classes, fit_intercept, weighted):
    K, codes, weights = problem(n_classes)
    weights = weights if weighted else np.ones(N)
    Cs = (30.0, 0.5, 3.0)
    models = logistic_left_out(
        K, codes, n_classes, weights, Cs, SETS, fit_intercept=fit_intercept, tol=1e-3
    )
    for C, model in zip(Cs, models, strict=True):
        for s in (0, 3, *range(5, len(SETS))):  # the other folds are alike
            R = rest_of(rows := SETS[s])
            exact = linear_scores(
                K[np.ix_(R, R)], codes[R], K[:, R], C=C, weights=weights[R],
                fit_intercept=fit_intercept,
            )  # fmt: skip
            found = values(model, K, s)
            assert not model.coefficients[s][:, rows].any()
            if n_classes > 2:  # only differences between classes matter
                exact = exact - exact.mean(axis=1, keepdims=True)
                found = found - found.mean(axis=1, keepdims=True)
            # The last Newton step begins within the tolerance, and leaves about its square.
            np.testing.assert_allclose(found.squeeze(), exact, atol=1e-3)


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_newton_begins_near_the_refits(C):
    """The closed form is nearer to exact refits than the fit to all rows is, by far."""
    K, codes, weights = problem()
    full = fit_gram(K, codes, 2, C * weights)
    (exact,) = logistic_left_out(K, codes, 2, weights, (C,), FOLDS, tol=1e-6)
    starts = left_out._first_order(K, C * weights, FOLDS, full, True)
    for s, start in enumerate(starts):
        assert not start.coefficients[0, FOLDS[s]].round(4).any()
        wanted, before = values(exact, K, s)[:, 0], K @ full.coefficients[0] + full.intercept
        found = K @ start.coefficients[0] + start.intercept
        assert np.abs(found - wanted).mean() < 0.3 * np.abs(before - wanted).mean()


def test_sets_without_a_closed_form_begin_at_the_fit_to_all_rows(monkeypatch):
    K, codes, weights = problem()
    (exact,) = logistic_left_out(K, codes, 2, weights, (100.0,), SETS, tol=1e-6)

    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(left_out, "cho_factor", fail)
    (model,) = logistic_left_out(K, codes, 2, weights, (100.0,), SETS, tol=1e-6)
    for s in range(len(SETS)):  # steps are in single precision
        np.testing.assert_allclose(values(model, K, s), values(exact, K, s), atol=1e-3)


def test_rows_of_no_weight_are_absent_and_sets_may_have_weights_of_their_own():
    K, codes, weights = problem()
    weights[::4] = 0.0
    own = np.tile(weights, (len(FOLDS), 1)) * np.where(codes == 1, 3.0, 1.0)
    options = {"set_weights": own, "tol": 1e-4}
    (model,) = logistic_left_out(K, codes, 2, weights, (2.0,), FOLDS, **options)
    for s, rows in enumerate(FOLDS):
        R = rest_of(np.union1d(rows, np.arange(N)[::4]))
        exact = linear_scores(K[np.ix_(R, R)], codes[R], K[:, R], C=2.0, weights=own[s, R])
        np.testing.assert_allclose(values(model, K, s)[:, 0], exact, atol=1e-4)
        assert not model.coefficients[s, 0, ::4].any()


def test_a_class_that_a_set_takes_away_has_no_probability():
    K, codes, weights = problem(3)
    taken = np.flatnonzero(codes == 1)
    (model,) = logistic_left_out(K, codes, 3, weights, (2.0,), [taken], tol=1e-4)
    scores = values(model, K, 0)
    assert (scores[:, 1] == -np.inf).all()
    R = rest_of(taken)
    exact = linear_scores(K[np.ix_(R, R)], codes[R], K[:, R], C=2.0, weights=weights[R])
    np.testing.assert_allclose(scores[:, 2] - scores[:, 0], exact, atol=1e-5)
    (alone,) = logistic_left_out(
        K, np.minimum(codes, 1), 2, weights, (2.0,), [rest_of(taken)[:0], R]
    )
    (one,) = logistic_left_out(K, np.minimum(codes, 1), 2, weights, (2.0,), [np.flatnonzero(codes)])
    assert np.isfinite(alone.intercepts[0]).all()
    assert (expit(values(one, K, 0)) == 0).all()


def test_columns_far_from_zero_are_centred():
    """The matrix of a linear kernel whose rows share nearly everything."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    codes = (X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(int)
    far = X + 1e4
    (near,) = logistic_left_out(X @ X.T, codes, 2, np.ones(N), (1.0,), FOLDS, tol=1e-5)
    (model,) = logistic_left_out(far @ far.T, codes, 2, np.ones(N), (1.0,), FOLDS, tol=1e-5)
    for s in range(5):
        found = values(model, far @ far.T, s)
        np.testing.assert_allclose(found, values(near, X @ X.T, s), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_ridge_is_exact(weighted):
    K, _, weights = problem()
    weights[3::7] = 0.0
    weights = weights if weighted else np.ones(N)
    targets = np.random.default_rng(1).normal(size=(N, 2))
    sets = [*SETS, np.array([17, 3, 60])]
    model = ridge_left_out(K, targets, weights, 0.2, sets)
    for s, rows in enumerate(sets):
        R = rest_of(np.union1d(rows, np.flatnonzero(weights == 0)))
        A = K[np.ix_(R, R)] + 0.2 * np.diag(1 / weights[R])
        exact = np.zeros((N, 2))
        exact[R] = np.linalg.solve(A, targets[R])
        np.testing.assert_allclose(model.coefficients[s].T, exact, atol=1e-10)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0}])
def test_the_search_scores_refits(class_weight):
    """Log loss of folds by plain machines on the beliefs of one density."""
    X = table(N, seed=3)
    y = (np.nan_to_num(X[:, 0]) > 0.4).astype(int)
    P = GaussianDensity().fit(X).condition(X)
    splits = [(rest_of(rows), rows) for rows in FOLDS]
    search = LogisticRegressionCV(
        Cs=(0.3, 30.0), gammas=(0.2, 1.0), cv=splits, class_weight=class_weight
    ).fit(P, y)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        losses = []
        for train, test in splits:
            plain = LogisticRegression(class_weight=class_weight, **params).fit(P[train], y[train])
            losses.append(plain.predict_log_proba(P[test])[np.arange(len(test)), y[test]].mean())
        assert score == pytest.approx(np.mean(losses), abs=1e-4)
