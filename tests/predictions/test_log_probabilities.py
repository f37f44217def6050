"""Every public classifier with probabilities has their logarithms, without a warning for zeros."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import absentia
from absentia import Chunks, LargeScaleLogisticRegression
from lab import baselines

# Those in which an estimator gives probabilities of exactly zero.
WRAPPERS = {
    "AutoClassifier": {
        "members": [("tree", DecisionTreeClassifier(random_state=0))],
        "hidden": (),
        "n_repeats": 1,
        "random_state": 0,
    },
    "ConformalClassifier": {"estimator": DecisionTreeClassifier(random_state=0), "random_state": 0},
    "EncodedLabelsClassifier": {"estimator": DecisionTreeClassifier(random_state=0)},
    "MarginalClassifier": {"estimator": KNeighborsClassifier(), "n_draws": 4, "random_state": 0},
    "MultipleImputationClassifier": {"estimator": KNeighborsClassifier(), "random_state": 0},
}
OWN = {"LargeScaleLogisticRegression": {"n_components": 16, "random_state": 0}}


def public_classifiers():
    for home in (absentia, baselines):
        for kind in (getattr(home, name) for name in home.__all__):
            if isinstance(kind, type) and issubclass(kind, ClassifierMixin):
                yield kind.__name__, kind(**(WRAPPERS | OWN).get(kind.__name__, {}))


CLASSIFIERS = dict(public_classifiers())
WITH = [name for name, machine in CLASSIFIERS.items() if hasattr(machine, "predict_proba")]


def rows_and_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    X[:, 1:][rng.random((90, 2)) < 0.2] = np.nan
    return X, y


def test_the_list_is_that_of_the_library():
    assert set(WRAPPERS) | set(OWN) <= set(WITH)
    assert {"GaussianProcessClassifier", "LabelSpreading", "LogisticRegressionCV"} <= set(WITH)
    assert "SVC" in CLASSIFIERS
    assert "SVC" not in WITH


@pytest.mark.parametrize("name", WITH)
def test_logarithms_are_those_of_the_probabilities(name):
    X, y = rows_and_labels()
    machine = CLASSIFIERS[name].fit(X, y)
    probabilities = machine.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logarithms = machine.predict_log_proba(X)
    assert logarithms.shape == (len(X), 3)
    np.testing.assert_allclose(np.exp(logarithms), probabilities, rtol=1e-10, atol=1e-300)
    if name in WRAPPERS and name != "AutoClassifier":  # which mixes towards equal chances
        assert (probabilities == 0).any()
        assert np.isneginf(logarithms[probabilities == 0]).all()


@pytest.mark.parametrize("name", [n for n in CLASSIFIERS if n not in WITH])
def test_classifiers_without_probabilities_have_no_logarithms(name):
    assert not hasattr(CLASSIFIERS[name], "predict_log_proba")


@pytest.mark.parametrize("kind", ["ConformalClassifier", "MultipleImputationClassifier"])
def test_a_wrapper_of_a_classifier_without_probabilities_has_no_logarithms(kind):
    home = absentia if kind in absentia.__all__ else baselines
    assert hasattr(getattr(home, kind)(HistGradientBoostingClassifier()), "predict_log_proba")
    assert not hasattr(getattr(home, kind)(SVC()), "predict_log_proba")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logarithms_of_chunks_are_chunks_and_exact_where_a_probability_underflows(n_classes):
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    y = np.digitize(X[:, 0], [-0.3, 0.3][: n_classes - 1])
    machine = LargeScaleLogisticRegression(features="passthrough", C=10.0).fit(X, y)
    far = np.array([[-1e4], [0.0], [1e4]])
    expected = machine.predict_log_proba(far)
    assert (machine.predict_proba(far) == 0).any()
    assert np.isfinite(expected).all()
    chunks = machine.predict_log_proba(Chunks([far[:2], far[2:]]))
    np.testing.assert_allclose(chunks.concatenate(), expected, rtol=1e-12)
