"""What columns are worth, on rows that the model did not see."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from absentia import (
    AcquisitionPolicy,
    GaussianDensity,
    KernelRidge,
    LogisticRegression,
    LogisticRegressionCV,
    MarginalClassifier,
    column_worth,
    held_out_worth,
    measure_next,
)
from oracles import forward_selection as oracle

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


def example(n=120, seed=0, rate=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = X[:, 0] + 0.2 * rng.normal(size=n)
    y = X[:, 0] + 0.7 * X[:, 2] > 0
    return np.where(rng.random(X.shape) < rate, np.nan, X), y


def product(n=300, seed=3):
    """Return rows of signs whose class is the product of two of four columns, and some noise."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, 4))
    return X, X[:, 1] * X[:, 3] > 0


class Enumerated(ClassifierMixin, BaseEstimator):
    """The exact class probabilities of rows of signs with holes, by counting completions."""

    classes_ = np.array([False, True])

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return oracle.counted_probabilities(np.asarray(X))

    def predict(self, X):
        return self.predict_proba(X)[:, 1] > 0.5


@pytest.mark.parametrize("costs", [None, [1.0, 5.0, 2.0, 1.0]])
def test_the_columns_are_those_of_plain_forward_selection(costs):
    X, y = example(n=240)
    machine = LogisticRegression(C=1.0)  # every drop is more than two standard errors
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    models = [(clone(machine).fit(X[a], y[a]), b) for a, b in folds.split(X, y)]

    def losses(table):
        found = np.empty(len(y))
        for model, rows in models:
            chances = model.predict_proba(table[rows])[np.arange(len(rows)), y[rows].astype(int)]
            found[rows] = -np.log(chances)
        return found

    turns = oracle.forward_selection(losses, X, np.ones(4) if costs is None else costs, 3)
    assert (turns > 0).sum() >= 2
    shuffled = np.mean([column_worth(model, X[rows], y[rows]) for model, rows in models], axis=0)
    found = held_out_worth(machine, X, y, costs=costs, max_columns=3)
    wanted = (turns / turns.max() + shuffled / shuffled.max()) / 2
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_a_product_of_two_columns_is_found_as_a_pair():
    X, y = product()
    found = held_out_worth(Enumerated(), X, y, cv=None)
    # Alone neither says anything, together they say all.
    np.testing.assert_array_equal(found[[0, 2]], 0.0)
    assert found[[1, 3]].min() > 0.9
    density = GaussianDensity().fit(X)
    choice = measure_next(Enumerated(), np.full((1, 4), np.nan), density=density).gain[0]
    assert choice.max() < 0.01  # one step ahead there is nothing to see
    learned = MarginalClassifier(FrozenEstimator(_signs(X, y)), random_state=0).fit(X)
    policy = AcquisitionPolicy(learned, worth=found, max_steps=2, n_draws=128, lookahead="auto")
    trace = policy.run(np.full((20, 4), np.nan), X[:20])
    np.testing.assert_array_equal(np.sort(trace.measured, axis=0), [[1] * 20, [3] * 20])


def _signs(X, y):
    return LogisticRegression(C=10.0, kernel="expected_rbf", gamma=0.5).fit(X, y)


def test_searches_and_frozen_models_are_fitted_anew():
    X, y = example()
    search = LogisticRegressionCV(Cs=(10.0,), cv=3).fit(X, y)
    plain = held_out_worth(search.best_estimator_, X, y, max_columns=2)
    np.testing.assert_array_equal(held_out_worth(search, X, y, max_columns=2), plain)
    frozen = MarginalClassifier(FrozenEstimator(search), n_draws=4, random_state=0).fit(X)
    other = MarginalClassifier(
        FrozenEstimator(search.best_estimator_), n_draws=4, random_state=0
    ).fit(X)
    found = held_out_worth(frozen, X, y, max_columns=2)
    np.testing.assert_array_equal(found, held_out_worth(other, X, y, max_columns=2))
    # Rows of the fold were not seen: the model as it is finds more in them.
    assert not np.array_equal(found, held_out_worth(frozen, X, y, max_columns=2, cv=None))


def test_frames_words_and_numbers():
    X, y = example()
    machine = LogisticRegression(C=10.0)
    plain = held_out_worth(machine, X, y, max_columns=2)
    frame = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_allclose(held_out_worth(machine, frame, y, max_columns=2), plain, rtol=1e-6)
    with_polars = polars.from_pandas(frame)
    found = held_out_worth(machine, with_polars, y, max_columns=2)
    np.testing.assert_allclose(found, plain, rtol=1e-6)
    words = frame.assign(a=np.where(X[:, 0] > 0, "high", "low")).drop(columns="b")
    words.loc[:9, "a"] = None
    mixed = LogisticRegression(C=10.0, density="mixed")
    assert held_out_worth(mixed, words, y, max_columns=2)[0] > 0.1
    target = np.nan_to_num(X) @ [2.0, 0.0, 1.0, 0.0]
    assert held_out_worth(KernelRidge(gamma=0.1), X, target).argmax() in (0, 1)


def test_bad_input():
    X, y = example()
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        held_out_worth(SVC(), np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        held_out_worth(LogisticRegression(), X, y[:-1])
    with pytest.raises(ValueError, match="costs name the column 'z'"):
        held_out_worth(LogisticRegression(), X, y, costs={"z": 1.0})


def test_a_class_of_one_row_and_a_model_that_was_not_fitted_are_named():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.arange(30) % 2
    y[0] = 2
    with pytest.raises(ValueError, match="The class 2 has only one row"):
        held_out_worth(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="not fitted yet"):
        held_out_worth(LogisticRegression(), X, y, cv=None)
