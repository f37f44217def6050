"""No row is answered with parameters that its own target helped to choose."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV

from absentia import AutoClassifier, AutoRegressor, GaussianDensity
from absentia.automatic.assembly import try_member
from absentia.automatic.blending import losses as loss_of_rows
from absentia.automatic.folds import Folds, make_splits
from absentia.automatic.member_specs import Settings, plan_members
from absentia.automatic.member_tuning import EstimatorPlan, LearningRows, SearchPlan, StagedPlan
from absentia.automatic.nested_selection import Candidates, left_out_together
from absentia.progress import Bar

SETTINGS = Settings(hidden=(), n_splits=3, n_jobs=1)


class Guess(RegressorMixin, BaseEstimator):
    """Standard normal numbers that have nothing to do with the rows, others for every seed."""

    def __init__(self, seed=0, max_iter=1):
        self.seed, self.max_iter = seed, max_iter

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        numbers = np.random.default_rng([self.seed, self.max_iter]).normal(size=1000)
        return numbers[np.asarray(X)[:, 0].astype(int)]

    def staged_predict(self, X):
        for step in range(1, self.max_iter + 1):
            yield Guess(self.seed, step).predict(X)


class GuessSearch(GridSearchCV):
    """With a density, as a search on Gram matrices has."""

    def __init__(self, estimator, param_grid, scoring=None, refit=True, cv=None, density=None):
        super().__init__(estimator, param_grid, scoring=scoring, refit=refit, cv=cv)
        self.density = density

    def fit(self, X, y):
        self.density_ = GaussianDensity()
        return super().fit(X, y)


GRID = {"seed": tuple(range(8))}
GUESSES = {
    "one fold": EstimatorPlan(Guess(), GRID),
    "stages": StagedPlan(Guess(), GRID, stages=(1, 2, 3)),
    "search": SearchPlan((), GuessSearch(Guess(), GRID)),
}


@pytest.mark.parametrize("n_repeats", [1, 2])
@pytest.mark.parametrize("kind", GUESSES)
def test_the_best_of_many_guesses_looks_like_a_guess(kind, n_repeats):
    n, found = 30, []
    for seed in range(25):
        y = np.random.default_rng(seed).normal(size=n)
        rows = LearningRows(np.arange(float(n))[:, None], y, None, None)
        folds = Folds(rows, replace(SETTINGS, n_repeats=n_repeats, seed=seed))
        tried = try_member(GUESSES[kind], folds, Bar(), None)
        answers = tried.nested
        if n_repeats == 2:  # the answers of the second repeat alone
            answers = 2 * tried.found[0] - tried.nested
        found.append(np.mean((answers[0, :, 0] - y) ** 2))
    # The target and the guess have variance one, the mean of the 20 rows learned from 1/20.
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - 2.05) < 3 * error


def test_a_fold_is_answered_from_the_mean_of_the_others():
    y = np.random.default_rng(0).normal(5.0, 1.0, size=20)
    zero = DummyRegressor(strategy="constant", constant=0.0)  # as a ridge without an intercept
    model = AutoRegressor(members=[("zero", zero)], hidden=(), n_repeats=1, random_state=0)
    model.fit(np.arange(20.0)[:, None], y)
    folds = {round(value, 9): model.out_of_fold_ == value for value in set(model.out_of_fold_)}
    assert len(folds) == 5
    for value, test in folds.items():
        assert value == pytest.approx(y[~test].mean())
    assert model.score_ < 0
    assert model.predict([[3.0]]) == pytest.approx(y.mean())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [None, 3])
def test_losses_of_rows_are_those_behind_the_scores_of_a_search(n_classes, weighted):
    rng = np.random.default_rng(1)
    X, n = rng.normal(size=(60, 2)), 60
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.normal(size=n) if n_classes is None else rng.integers(0, 3, n)
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    rows = LearningRows(X, y, weights, n_classes)
    (plan,) = plan_members(rows, Settings(["linear"]))
    splits = make_splits(rows, 3, None, 0)
    choices, fitted = plan.tuned(rows, splits)
    (losses,) = choices.found
    assert losses.shape == (4, n)
    assert np.isfinite(losses).all()
    by_fold = [
        np.average(losses[:, test], axis=1, weights=None if weights is None else weights[test])
        for _, test in splits
    ]
    best = int(np.mean(by_fold, axis=0).argmin())
    name = "alpha" if n_classes is None else "C"
    chosen = choices.plan_of(best).estimator[-1].get_params()[name]
    assert chosen == fitted.model[-1].get_params()[name]
    for candidate, (train, test) in product((0, 3), splits):
        member = choices.plan_of(candidate).fitted(rows[train])
        own = loss_of_rows(member.answer(rows.table[test]), y[test], rows.task)
        # The search solves on columns standardised by all rows, a fit by rows of its own.
        assert np.corrcoef(losses[candidate, test], own)[0, 1] > 0.95
    # The first fold is judged on the second and the third, each time without the first.
    test, others = splits[0][1], splits[0][0]
    assert np.isnan(choices.nested[0][:, test]).all()
    assert np.isfinite(choices.nested[0][:, others]).all()
    member = choices.plan_of(0).fitted(rows[splits[2][1]])
    own = loss_of_rows(member.answer(rows.table[splits[1][1]]), y[splits[1][1]], rows.task)
    assert np.corrcoef(choices.nested[0][0, splits[1][1]], own)[0, 1] > 0.9


def test_folds_that_hold_a_whole_class_are_not_left_out_together():
    X, y = np.random.default_rng(3).normal(size=(40, 2)), np.repeat([0, 1], [38, 2])
    rows = LearningRows(X, y, None, 2)
    assert rows.has_all_classes(np.arange(39))
    assert not rows.has_all_classes(np.arange(38))
    assert not replace(rows, weights=(y == 0).astype(float)).has_all_classes(np.arange(40))
    (plan,) = plan_members(rows, Settings(["beliefs"]))
    splits = make_splits(rows, 2, None, 0) * 2
    assert len(plan.tuned(rows, splits[:2])[0].nested) == 0


@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
def test_targets_of_a_fold_change_no_choice_for_it(kind):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40).astype(float)
    rows = LearningRows(X, y.astype(int), None, 2) if kind is AutoClassifier else None
    rows = rows or LearningRows(X, y, None, None)
    (plan,) = plan_members(rows, Settings(["beliefs"]))
    splits = make_splits(rows, 5, None, 0)
    expected = plan.tuned(rows, splits)[0]
    for fold, (_, test) in enumerate(splits):
        swapped = rows.y.copy()
        swapped[test] = swapped[test][::-1]
        found = plan.tuned(replace(rows, y=swapped), splits)[0]
        np.testing.assert_array_equal(found.nested[fold], expected.nested[fold])
        assert found.for_fold(fold, test) == expected.for_fold(fold, test)


def test_folds_are_left_out_by_twos_or_threes():
    assert left_out_together(5, thorough=True) == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
    assert left_out_together(5, thorough=False) == [[0, 1, 2], [3, 4, 0]]
    assert left_out_together(2, thorough=True) == []


def test_rows_that_judged_choose_for_other_rows_only():
    first = np.array([[1.0, 1.0, 4.0, np.nan], [2.0, 2.0, 0.0, np.nan]])
    second = np.array([[np.nan, np.nan, np.nan, 0.0], [np.nan, np.nan, np.nan, 1.0]])
    choices = Candidates(GUESSES.__getitem__, (first, second))
    assert choices.without(np.array([0, 3])) == 1
    assert choices.without(np.array([2])) == 0
    assert choices.without(np.array([0, 1, 2])) == 0  # by the second fold
    assert choices.without(np.arange(4)) == 0
    heavy = Candidates(GUESSES.__getitem__, (first,), np.array([9.0, 1.0, 1.0, 1.0]))
    assert heavy.without(np.array([3])) == 0
