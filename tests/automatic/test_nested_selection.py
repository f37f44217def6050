"""No row is answered with parameters that its own target helped to choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import make_pipeline

from absentia import AutoClassifier, AutoRegressor
from absentia.automatic import kernel_members
from absentia.automatic.assembly import try_member
from absentia.automatic.blending import Candidates
from absentia.automatic.folds import Folds, Settings, make_splits
from absentia.automatic.member_specs import plan_members
from absentia.automatic.member_tuning import EstimatorPlan, FittedMember, LearningRows

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


GRID = {"seed": tuple(range(8))}
GUESSES = {
    "one fold": EstimatorPlan(Guess(), GRID),
    "sizes": EstimatorPlan(Guess(), GRID | {"max_iter": (1, 2)}),
}


@pytest.mark.parametrize(("kind", "n_repeats"), [("one fold", 1), ("sizes", 2)])
def test_the_best_of_many_guesses_looks_like_a_guess(kind, n_repeats):
    n, found = 30, []
    for seed in range(25):
        y = np.random.default_rng(seed).normal(size=n)
        rows = LearningRows(np.arange(float(n))[:, None], y, None, None)
        folds = Folds(rows, replace(SETTINGS, n_repeats=n_repeats, seed=seed))
        tried = try_member(GUESSES[kind], folds)
        answers = tried.nested
        if n_repeats == 2:  # the answers of the second repeat alone
            answers = 2 * tried.answers - answers
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


@pytest.fixture
def chosen(monkeypatch):
    """Return how to run a kernel member, and what it chose for each fold and for new rows."""
    found = []
    choose = kernel_members._Trial.choose

    def remembered(self, *args):
        found.append(choose(self, *args))
        return found[-1]

    monkeypatch.setattr(kernel_members._Trial, "choose", remembered)

    def run(rows, y=None, **settings):
        settings = Settings(["beliefs"], hidden=(), **settings)
        folds = Folds(rows, settings)
        if y is not None:  # other targets in the same folds
            folds.rows = replace(rows, y=y)
        tried = try_member(plan_members(rows, settings)[0], folds)
        assert tried.remark == ""
        return found[-1], tried

    return run


def test_folds_that_hold_a_whole_class_are_not_left_out_together(chosen):
    X, y = np.random.default_rng(3).normal(size=(40, 2)), np.repeat([0, 1], [38, 2])
    rows = LearningRows(X, y, None, 2)
    assert rows.can_train(np.arange(39))
    assert not rows.can_train(np.arange(38))
    assert not replace(rows, weights=(y == 0).astype(float)).can_train(np.arange(40))
    _, tried = chosen(rows, n_splits=2)
    assert np.isfinite(tried.nested).all()


@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
def test_targets_of_a_fold_change_no_choice_for_it(kind, chosen):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40).astype(float)
    rows = LearningRows(X, y.astype(int), None, 2) if kind is AutoClassifier else None
    rows = rows or LearningRows(X, y, None, None)
    expected, _ = chosen(rows)
    splits = make_splits(rows, 5, None, 0)
    for fold, (_, test) in enumerate(splits):
        swapped = rows.y.copy()
        swapped[test] = swapped[test][::-1]
        assert chosen(rows, swapped)[0][fold] == expected[fold]


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_predictions_of_a_fold_are_those_of_a_model_without_it(n_classes, chosen):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.3 * rng.normal(size=60)
    y = y if n_classes is None else np.digitize(y, [-0.3, 0.3][: n_classes - 1])
    rows = LearningRows(X, y, rng.uniform(0.5, 2.0, 60), n_classes)
    picked, tried = chosen(rows, n_splits=3)
    nested, fitted = tried.nested, tried.fitted
    for (key, penalty), (train, test) in zip(picked, make_splits(rows, 3, None, 0), strict=False):
        learned, centre = rows[train].centred()
        before = fitted.model[:-1]
        machine = clone(fitted.model[-1]).set_params(gamma=key.gamma)
        machine.set_params(**{"alpha" if n_classes is None else "C": penalty})
        machine.fit(before.transform(learned.table), learned.y, sample_weight=learned.weights)
        model = FittedMember("", make_pipeline(*before, machine), False, n_classes)
        own = centre + model.answer(rows.table[test])
        # Losses, not single probabilities, have four digits where the solver stops.
        np.testing.assert_allclose(nested[0, test], own, atol=0.03)


def test_rows_that_judged_choose_for_other_rows_only():
    found = np.array([[1.0, 1.0, 4.0, np.nan], [2.0, 2.0, 0.0, np.nan]])
    choices = Candidates(found)
    assert choices.without(np.array([0, 3])) == 1
    assert choices.without(np.array([2])) == 0
    assert choices.without(np.array([0, 1, 2])) == 0  # nothing is left to choose by
    heavy = Candidates(found, np.array([9.0, 1.0, 1.0, 1.0]))
    assert heavy.without(np.array([3])) == 0
