"""A class all of whose rows have weight zero is not known to any classifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from absentia import (
    SVC,
    SVCCV,
    AutoClassifier,
    GaussianDensity,
    LargeScaleLogisticRegression,
    LargeScaleSVC,
    LogisticRegression,
    LogisticRegressionCV,
    LowRankDensity,
    MarginalClassifier,
    MixedDensity,
    MixtureDensity,
    NuSVC,
    RobustSVC,
)

MACHINES = [
    SVC(),
    NuSVC(nu=0.3),
    LogisticRegression(),
    RobustSVC(),
    RobustSVC(tau="cv", taus=(0.0, 1.0), cv=2),
    SVCCV(gammas=2, cv=2),
    LogisticRegressionCV(gammas=2, cv=2),
    LargeScaleSVC(n_components=32, random_state=0),
    LargeScaleLogisticRegression(n_components=32, random_state=0),
    MarginalClassifier(LogisticRegression()),
]


def weighted_table(n_classes):
    """Return rows of one class more than count, their targets, and weights."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes + 1), 16)
    X = rng.normal(size=(len(y), 3)) + 2.0 * y[:, None] * [1.0, -1.0, 0.5]
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, np.array(["a", "b", "c", "d"])[y], np.where(y == 1, 0.0, 1.0)


@pytest.mark.filterwarnings("ignore:.*number of classes:UserWarning")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_without_weight_is_as_if_absent(machine, n_classes):
    X, y, weights = weighted_table(n_classes)
    counting = weights > 0
    fitted = clone(machine).fit(X, y, sample_weight=weights)
    assert fitted.classes_.tolist() == np.unique(y[counting]).tolist()
    assert set(fitted.predict(X)) <= set(y[counting])
    assert np.mean(fitted.predict(X[counting]) == y[counting]) > 0.8
    if hasattr(fitted, "predict_proba"):
        assert fitted.predict_proba(X).shape == (len(X), n_classes)
    if type(machine) in (SVC, LogisticRegression):
        without = clone(machine).fit(X[counting], y[counting])
        np.testing.assert_allclose(
            fitted.decision_function(X), without.decision_function(X), rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("machine", MACHINES[2:], ids=lambda machine: type(machine).__name__)
def test_one_class_with_weight_is_not_enough(machine):
    X, y, _ = weighted_table(2)
    with pytest.raises(ValueError, match="class"):
        clone(machine).fit(X, y, sample_weight=(y == "a").astype(float))


@pytest.mark.parametrize("machine", [SVC(), LogisticRegression(), SVCCV(gammas=2, cv=2)], ids=repr)
def test_a_class_weight_of_zero_is_the_same(machine):
    X, y, weights = weighted_table(2)
    by_rows = clone(machine).fit(X, y, sample_weight=weights)
    by_class = clone(machine).set_params(class_weight={"b": 0}).fit(X, y)
    np.testing.assert_array_equal(by_class.classes_, by_rows.classes_)
    np.testing.assert_array_equal(by_class.decision_function(X), by_rows.decision_function(X))
    # Weights of a class whose rows are left out are of no interest.
    other = clone(machine).set_params(class_weight={"b": 2.0}).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(other.decision_function(X), by_rows.decision_function(X))
    with pytest.raises(ValueError, match="are not in class_weight"):
        clone(machine).set_params(class_weight={"z": 2.0}).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="nothing to learn from"):
        clone(machine).set_params(class_weight=dict.fromkeys("abc", 0.0)).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        *MACHINES,
        GaussianDensity(),
        MixtureDensity(2, random_state=0),
        MixedDensity(),
        LowRankDensity(1),
        AutoClassifier(members=("beliefs",)),
    ],
    ids=repr,
)
def test_weights_whose_sums_are_no_numbers_are_refused(model):
    X, y, weights = weighted_table(2)
    weights = np.where(np.arange(len(y)) == 3, 1e308, weights)
    with pytest.raises(ValueError, match=r"at most 1e\+100, found 1e\+308 in row 3"):
        clone(model).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("by_class", [True, False])
def test_absent_classes_do_not_choose_widths(by_class):
    X, y, _ = weighted_table(2)
    machine = LogisticRegression(gamma="loo-ard", width_prior="cv", max_iter=20)
    absent = np.where(y == "c", 0.0, 1.0)
    if by_class:
        fitted = machine.set_params(class_weight={"c": 0}).fit(X, y)
    else:
        fitted = machine.fit(X, y, sample_weight=absent)
    assert fitted.classes_.tolist() == ["a", "b"]
