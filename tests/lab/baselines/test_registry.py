"""The registry: every entry can be made, tuned, trained on holes, and does what its tags say."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor

from lab.baselines import registry

ALL = registry()
CASES = [(name, task) for name, entry in ALL.items() for task in entry.grids]


def made(name, task):
    entry = ALL[name]
    if not entry.is_available():
        pytest.skip(f"{name} needs {entry.requires} (extra {entry.extra}), which is not installed")
    estimator = entry.make(task, random_state=0)
    # Small forests and few rounds: what is tested here does not depend on their size.
    smaller = {
        "missforestimputer__n_estimators": 4,
        "missforestimputer__max_iter": 2,
        "n_estimators": 10,
        "estimator__n_estimators": 10,
        "max_iter": 10,
        "members": ("boosting", "beliefs"),
        "n_repeats": 1,
        "n_splits": 2,
        "hidden": (0.5,),
    }
    known = estimator.get_params()
    return estimator.set_params(**{k: v for k, v in smaller.items() if k in known})


@pytest.mark.parametrize(("name", "task"), CASES)
def test_entries_learn_from_rows_with_holes(name, task, two_classes):
    entry, estimator = ALL[name], made(name, task)
    X, y = two_classes(0.25, n=50)
    X_new, _ = two_classes(0.4, n=15, seed=5)
    if task == "classification":
        assert is_classifier(estimator)
        labels = np.array(["no", "yes"])[y]
        predicted = estimator.fit(X, labels).predict(X_new)
        assert set(predicted) <= {"no", "yes"}
        assert hasattr(estimator, "predict_proba") == entry.probabilistic
        assert estimator.score(X, labels) > 0.6
    else:
        assert is_regressor(estimator)
        predicted = estimator.fit(X, X_target(X, y)).predict(X_new)
        assert np.isfinite(predicted).all()
    again = clone(estimator).fit(X, labels if task == "classification" else X_target(X, y))
    np.testing.assert_array_equal(again.predict(X_new), predicted)


def X_target(X, y):
    return y + np.nan_to_num(X[:, 0])


@pytest.mark.parametrize(("name", "task"), CASES)
def test_grids_name_parameters_that_there_are(name, task):
    if not ALL[name].is_available():
        pytest.skip(f"{name} needs {ALL[name].requires}, which is not installed")
    estimator, grid = ALL[name].make(task), ALL[name].grid(task)
    assert grid
    for parameter, values in grid.items():
        clone(estimator).set_params(**{parameter: values[-1]})  # raises for an unknown name


@pytest.mark.parametrize("name", list(registry("classification", multiclass=True)))
def test_multiclass_entries_tell_three_apart(name):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = np.array([[0, 3], [3, -2], [-3, -2]])[y] + rng.standard_normal((45, 2))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    assert made(name, "classification").fit(X, y).score(X, y) > 0.7


def test_filters_and_tags():
    assert set(registry("regression")) < set(registry("classification"))
    rivals = registry(own=False)
    assert "genrbf" not in rivals
    assert {"karma", "geom", "mice", "missforest", "conditional-mean"} <= set(rivals)
    assert registry("classification", probabilistic=True, stochastic=True).keys() >= {"xgboost"}
    assert set(registry(available=True)) <= set(ALL)
    assert "handles_nan" in ALL["genrbf"].tags
    assert "handles_nan" not in ALL["mean"].tags
    assert all(entry.reference and entry.description for entry in ALL.values())


def test_wrong_questions_get_a_sentence():
    with pytest.raises(ValueError, match="tags are"):
        registry(fast=True)
    with pytest.raises(ValueError, match="'classification' or 'regression'"):
        registry("clustering")
    with pytest.raises(ValueError, match="geom does classification"):
        ALL["geom"].make("regression")


def test_zero_and_mean_differ():
    """Zero is filled in before standardising: afterwards it would be the mean."""
    X = np.array([[10.0, 1.0], [12.0, np.nan], [np.nan, 3.0], [11.0, 2.0]])
    filled = {name: ALL[name].make()[:-1].fit_transform(X) for name in ("zero", "mean")}
    assert filled["mean"][2, 0] == pytest.approx(0)
    assert filled["zero"][2, 0] < -1
