"""Tuning is what a plain grid search over the registry's estimators would do, only faster."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from absentia.missingness.amputation import mcar
from lab.data.sources import source_of
from lab.experiments.inner_search import (
    Grid,
    _decision,
    _metric,
    inner_splits,
    kernel_logistic_regression,
    search_kernel,
)
from lab.experiments.methods import METHODS, methods_for

GRID = Grid((0.5, 8.0), (0.02, 0.2), folds=3, widen=False)


def rows(task="classification", n=70, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 2, 3, 4]
    signal = X[:, 0] + X[:, 1] * X[:, 2] / 4
    y = np.where(signal > 0, "yes", "no") if task == "classification" else signal
    return mcar(X, 0.2, random_state=seed), y


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", ["genrbf", "expected-rbf", "mean-indicator", "conditional-mean"])
def test_the_choice_is_that_of_a_plain_grid_search(name, task):
    X, y = rows(task)
    grid = Grid(GRID.penalties, GRID.gammas, 3, "accuracy" if task != "regression" else "r2", False)
    trained = METHODS[name].train(X[:50], y[:50], X[50:], task, grid, seed=1)
    machine = "svc" if task == "classification" else "svr"
    search = GridSearchCV(
        METHODS[name].estimator(task, 1),
        {f"{machine}__C": grid.penalties, f"{machine}__gamma": grid.gammas},
        cv=inner_splits(y[:50], task, 3, 1),
    ).fit(X[:50], y[:50])
    scores = {
        (p[f"{machine}__C"], p[f"{machine}__gamma"]): s
        for p, s in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
    }
    # The solver stops at 1e-3, wherever the last bits of the matrix have led it by then.
    assert trained.facts["inner_score"] == pytest.approx(search.best_score_, abs=1e-4)
    chosen = trained.facts["C"], trained.facts["gamma"]
    # Of candidates with equal scores either may be taken.
    assert scores[chosen] == pytest.approx(search.best_score_, abs=1e-4)
    plain = METHODS[name].estimator(task, 1, C=chosen[0], gamma=chosen[1]).fit(X[:50], y[:50])
    if task == "classification":
        assert (plain.predict(X[50:]) == trained.prediction).all()
    else:
        np.testing.assert_allclose(plain.predict(X[50:]), trained.prediction, atol=2e-3)


def test_draws_are_pooled_as_the_registry_pools_them():
    X, y = rows()
    trained = METHODS["mice"].train(X[:50], y[:50], X[50:], "classification", GRID, seed=3)
    plain = METHODS["mice"].estimator(
        "classification", 3, C=trained.facts["C"], gamma=trained.facts["gamma"]
    )
    agreement = (plain.fit(X[:50], y[:50]).predict(X[50:]) == trained.prediction).mean()
    # The draws come from other places of the random stream, so only nearly all rows agree.
    assert agreement >= 0.9


@pytest.mark.slow
def test_test_rows_change_nothing_but_their_own_prediction():
    X, y = rows()
    for name in ("genrbf-mask", "knn", "karma", "hist-gradient-boosting"):
        grid = replace(GRID, folds=2, candidates=1)
        one = METHODS[name].train(X[:50], y[:50], X[50:], "classification", grid, seed=0)
        more = np.vstack([X[50:], 100 * np.ones((5, 4))])
        other = METHODS[name].train(X[:50], y[:50], more, "classification", grid, seed=0)
        assert one.facts == other.facts
        assert (one.prediction == other.prediction[:20]).all()


def test_the_grid_is_widened_where_the_best_lies_on_its_edge():
    X, y = rows()
    tiny = Grid((8.0,), (50.0, 200.0), folds=3)
    found = METHODS["mean"].train(X[:50], y[:50], X[50:], "classification", tiny, seed=0)
    assert found.facts["gamma_edge"] == "low"
    assert found.facts["gammas_added"] >= 1
    kept = Grid((8.0,), (50.0, 200.0), folds=3, widen=False)
    stays = METHODS["mean"].train(X[:50], y[:50], X[50:], "classification", kept, seed=0)
    assert stays.facts["gamma"] >= 50
    assert found.facts["inner_score"] >= stays.facts["inner_score"]


def test_empty_columns_and_rare_classes_do_no_harm():
    X, y = rows()
    X = np.column_stack([X, np.full(len(X), np.nan)])
    y = y.copy()
    y[:3] = "odd"
    for name in ("genrbf", "mean", "mice"):
        trained = METHODS[name].train(X[:50], y[:50], X[50:], "classification", GRID, seed=0)
        assert len(trained.prediction) == 20


#: Slow to start, and trained by the same code as others that are tried.
_SLOW = ("missforest", "random-forest", "lightgbm", "xgboost", "catboost", "svr-imputation")


@pytest.mark.parametrize("name", [m for m in methods_for("classification") if m not in _SLOW])
def test_every_method_learns_something(name):
    X, y = rows(n=150)
    grid = Grid((8.0,), (0.1,), folds=2, widen=False, candidates=1)
    trained = METHODS[name].train(X[:90], y[:90], X[90:], "classification", grid, seed=0)
    assert accuracy_score(y[90:], trained.prediction) > 0.55


@pytest.mark.parametrize("name", ["karma", "mice", "hist-gradient-boosting", "genrbf-mixture"])
def test_quantities_too(name):
    X, y = rows("regression", n=120)
    grid = Grid((8.0,), (0.1,), folds=2, metric="r2", widen=False, candidates=1)
    trained = METHODS[name].train(X[:90], y[:90], X[90:], "regression", grid, seed=0)
    assert r2_score(y[90:], trained.prediction) > 0.1


def test_names_are_checked():
    with pytest.raises(ValueError, match="There is no method 'magic'"):
        methods_for("classification", ["magic"])
    assert "geom" not in methods_for("regression")
    assert methods_for("regression", ["mean", "geom"]) == ["mean"]
    assert source_of(METHODS["geom"].estimator("classification", 0)) is None


def test_several_draws_of_one_seed_are_one_result():
    X, y = rows()
    source = METHODS["mice"].source("classification", 5)
    one, two = (
        search_kernel(source, X[:50], y[:50], X[50:], "classification", GRID, 0).decision
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_decision_values_are_those_of_the_machine(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    K, K_new = rbf_kernel(X[:40]), rbf_kernel(X[40:], X[:40])
    if n_classes:
        y = np.array(["no", "yes", "perhaps"])[np.arange(40) % n_classes]
        model = SVC(kernel="precomputed").fit(K, y)
        expected = model.decision_function(K_new)
    else:
        model = SVR(kernel="precomputed").fit(K, X[:40, 0])
        expected = model.predict(K_new)
    np.testing.assert_allclose(_decision(model, K_new), expected, rtol=0, atol=1e-12)


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.3, "yes", "no")
    values = rng.integers(0, 8, 60).astype(float)  # with ties
    assert _metric("roc_auc", y, y, values) == pytest.approx(roc_auc_score(y, values), abs=1e-12)
    assert np.isnan(_metric("roc_auc", y[:0], y[:0], values[:0]))


def test_logistic_regression_on_a_matrix_is_solved_to_the_end():
    X, y = rows()
    X = np.nan_to_num(X)
    K, K_new = rbf_kernel(X[:50], gamma=0.1), rbf_kernel(X[50:], X[:50], gamma=0.1)
    grid = Grid((8.0,), (0.1,), folds=3, metric="roc_auc")
    ours = kernel_logistic_regression("classification", 8.0, grid).fit(K, y[:50])
    exact = LogisticRegression(C=8.0, solver="newton-cg", tol=1e-10, max_iter=10_000).fit(K, y[:50])
    # Ours stops at scikit-learn's default tolerance, 1e-4 of the gradient.
    np.testing.assert_allclose(_decision(ours, K_new), exact.decision_function(K_new), atol=1e-4)
    source = source_of(METHODS["mean"].estimator("classification", 0))
    trained = search_kernel(
        source, X[:50], y[:50], X[50:], "classification", grid, 0, kernel_logistic_regression
    )
    assert trained.probabilities.shape == (20, 2)
    assert (trained.probabilities.argmax(axis=1) == (trained.decision > 0)).all()
