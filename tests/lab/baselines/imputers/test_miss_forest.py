"""missForest: it stops by its rule, and new rows go through the same forests."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from lab.baselines import MissForestImputer
from lab.baselines.imputers.miss_forest import difference_of_rounds, grew


@pytest.fixture(scope="module")
def fitted(two_classes):
    X, _ = two_classes(0.3)
    return X, MissForestImputer(n_estimators=8, max_iter=10, random_state=0).fit(X)


def test_stops_when_the_difference_grows(fitted):
    _, imputer = fitted
    differences = imputer.differences_[:, 0]
    assert len(differences) == imputer.n_iter_ + 1 < 10
    assert (np.diff(differences)[:-1] <= 0).all()
    assert differences[-1] > differences[-2]


def test_the_round_before_is_the_result(fitted):
    """Stopping at the same round by max_iter fills the same values: the last round is dropped."""
    X, imputer = fitted
    stopped = MissForestImputer(n_estimators=8, max_iter=imputer.n_iter_, random_state=0).fit(X)
    assert stopped.n_iter_ == imputer.n_iter_
    np.testing.assert_array_equal(stopped.transform(X), imputer.transform(X))


def test_difference_by_hand():
    old = np.array([[1.0, 0.0, 5.0], [2.0, 1.0, 5.0]])
    new = np.array([[1.0, 1.0, 4.0], [3.0, 1.0, 5.0]])
    missing = np.array([[False, True, True], [True, True, False]])
    is_category = np.array([False, True, False])
    of_numbers, of_categories = difference_of_rounds(new, old, missing, is_category)
    assert of_numbers == pytest.approx((1 + 1) / (16 + 9))
    assert of_categories == pytest.approx(1 / 2)
    assert np.isnan(difference_of_rounds(new, old, missing, ~is_category & False)[1])


def test_both_kinds_must_grow():
    assert grew((0.2, np.nan), (0.1, np.nan))
    assert grew((0.2, 0.3), (0.1, 0.2))
    assert not grew((0.2, 0.1), (0.1, 0.2))
    assert not grew((0.1, np.nan), (0.1, np.nan))


def test_columns_are_visited_from_the_fewest_holes(fitted):
    X, imputer = fitted
    counts = np.isnan(X).sum(axis=0)[imputer.order_]
    assert (np.diff(counts) >= 0).all()


def test_a_column_complete_in_training_has_a_forest_for_new_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 150)
    X = np.column_stack([x, np.abs(x), -x])
    imputer = MissForestImputer(n_estimators=20, random_state=0).fit(X)
    assert imputer.n_iter_ == 0
    filled = imputer.transform([[-1.0, 1.0, np.nan]])
    # Averages of steps between 150 points on a length of four.
    assert filled[0, 2] == pytest.approx(1.0, abs=0.2)
    forest = imputer.closing_forests_[2]
    assert isinstance(forest, RandomForestRegressor)
    assert filled[0, 2] == forest.predict([[-1.0, 1.0]])[0]


def test_categories_are_predicted_as_categories():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    X[:, 2] = np.where(X[:, 0] > 0, 4.0, 7.0)
    truth = X[:15, 2].copy()
    X[:15, 2] = np.nan
    imputer = MissForestImputer(
        n_estimators=20, categorical_features=[2], max_iter=3, random_state=0
    ).fit(X)
    filled = imputer.transform(X)[:15, 2]
    assert np.isin(filled, [4.0, 7.0]).all()
    assert (filled == truth).mean() > 0.8
    assert np.isnan(imputer.differences_[:, 0]).all()
