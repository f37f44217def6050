"""Metadata routing: weights and groups reach the models that request them, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tests.test_metaestimators_metadata_routing import (
    test_default_request as check_default_request,
)
from sklearn.utils.metadata_routing import get_routing_for_object

import absentia
from estimators import estimators, small, takes_weights, task_of

WRAPPERS = [absentia.MarginalClassifier, absentia.ConformalClassifier]
WEIGHTED = [kind for kind in estimators() if takes_weights(kind) and task_of(kind)]


@pytest.fixture(autouse=True)
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def rows(n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    y = (X[:, 0] + 0.3 * random.normal(size=n) > 0).astype(int)
    X[random.random(X.shape) < 0.2] = np.nan
    return X, y, random.uniform(0.5, 2, n)


class Recorder(ClassifierMixin, BaseEstimator):
    """Logistic regression that keeps the weights that its ``fit`` was given."""

    seen: list = []  # noqa: RUF012 - clones share it

    def fit(self, X, y, sample_weight=None):
        self.seen.append(sample_weight)
        self.model_ = LogisticRegression().fit(np.nan_to_num(X), y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(np.nan_to_num(X))

    def predict(self, X):
        return self.model_.predict(np.nan_to_num(X))


@pytest.fixture
def recorder() -> Recorder:
    Recorder.seen.clear()
    return Recorder()


@pytest.mark.parametrize("kind", estimators(), ids=lambda kind: kind.__name__)
def test_every_estimator_describes_its_requests(kind: type[BaseEstimator]) -> None:
    model = small(kind)
    routing = get_routing_for_object(model)
    assert not routing.consumes("fit", ["sample_weight"])
    if takes_weights(kind):
        model.set_fit_request(sample_weight=True)
        assert get_routing_for_object(model).consumes("fit", ["sample_weight"])


@pytest.mark.parametrize("kind", WEIGHTED, ids=lambda kind: kind.__name__)
def test_a_pipeline_routes_weights_to_the_machine(kind: type[BaseEstimator]) -> None:
    X, y, weights = rows()
    if not is_classifier(small(kind)):
        y = np.nan_to_num(X[:, 0])
    model = small(kind)
    if "estimator" in model.get_params(deep=False):
        model.estimator.set_fit_request(sample_weight=True)
    piped = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        clone(piped).fit(X, y, sample_weight=weights)
    model.set_fit_request(sample_weight=True)
    piped.fit(X, y, sample_weight=weights)
    alone = clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    np.testing.assert_array_equal(piped[-1].predict(X), alone.predict(X))


@pytest.mark.parametrize("kind", WRAPPERS)
def test_the_wrapped_model_must_say_whether_it_takes_weights(
    kind: type[BaseEstimator], recorder: Recorder
) -> None:
    X, y, weights = rows()
    with pytest.raises(UnsetMetadataPassedError, match=r"requested or not .* Recorder\.fit"):
        small(kind).set_params(estimator=recorder).fit(X, y, sample_weight=weights)
    assert not recorder.seen


@pytest.mark.parametrize("wrapped", ["model", "pipeline"])
@pytest.mark.parametrize("known", ["average", "model"])
def test_marginal_models_pass_weights_on(wrapped: str, known: str, recorder: Recorder) -> None:
    X, y, weights = rows()
    recorder.set_fit_request(sample_weight=True)
    estimator = (
        make_pipeline(StandardScaler().set_fit_request(sample_weight=False), recorder)
        if wrapped == "pipeline"
        else recorder
    )
    model = small(absentia.MarginalClassifier).set_params(estimator=estimator, known=known)
    model.fit(X, y, sample_weight=weights)
    # Draws share the weight of their row.
    assert recorder.seen[0].sum() == pytest.approx(weights.sum())


def test_only_the_weights_of_draws_reach_a_model_that_wants_none(recorder: Recorder) -> None:
    X, y, weights = rows()
    recorder.set_fit_request(sample_weight=False)
    model = small(absentia.MarginalClassifier).set_params(estimator=recorder)
    model.fit(X, y, sample_weight=weights)
    assert recorder.seen[0].sum() == pytest.approx(len(X))
    model.set_params(known="model").fit(X, y, sample_weight=weights)
    assert recorder.seen[1] is None


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("cv", [None, 2])
def test_conformal_models_pass_weights_on(wanted: bool, cv: int | None, recorder: Recorder) -> None:
    X, y, weights = rows()
    recorder.set_fit_request(sample_weight=wanted)
    model = absentia.ConformalClassifier(recorder, cv=cv, random_state=0)
    model.fit(X, y, sample_weight=weights)
    assert all((seen is not None) == wanted for seen in recorder.seen)
    np.testing.assert_array_equal(
        np.sort(model.calibration_.weights),
        np.sort(weights[np.isin(weights, model.calibration_.weights)]),
    )


def test_a_pipeline_inside_a_marginal_model_needs_no_request() -> None:
    X, y, _ = rows()
    model = small(absentia.MarginalClassifier)
    model.set_params(estimator=make_pipeline(StandardScaler(), LogisticRegression()))
    with sklearn.config_context(enable_metadata_routing=False):
        expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)


def test_searches_route_weights_and_groups() -> None:
    X, y, weights = rows()
    groups = np.arange(len(y)) % 5
    machine = absentia.LogisticRegression(density=small(absentia.SVC).density)
    machine.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    search = GridSearchCV(machine, {"C": [0.1, 1]}, cv=GroupKFold(2))
    search.fit(X, y, sample_weight=weights, groups=groups)
    assert search.best_estimator_.C in (0.1, 1)
    own = small(absentia.LogisticRegressionCV, cv=GroupKFold(2))
    own.set_fit_request(groups=True, sample_weight=True)
    own.set_score_request(sample_weight=False)
    given = {"sample_weight": weights, "groups": groups}
    found = cross_validate(own, X, y, cv=KFold(2), params=given, error_score="raise")
    assert len(found["test_score"]) == 2


def test_the_automatic_machine_takes_weights_and_groups_in_a_search() -> None:
    X, y, weights = rows()
    auto = small(absentia.AutoClassifier, members=("boosting", "linear"))
    auto.set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=False)
    given = {"sample_weight": weights, "groups": np.arange(len(y)) % 5}
    found = cross_validate(auto, X, y, cv=KFold(2), params=given, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.parametrize("kind", WRAPPERS)
def test_scikit_learns_check_of_default_requests(kind: type[BaseEstimator]) -> None:
    check_default_request(
        {
            "metaestimator": kind,
            "init_args": {},
            "X": None,
            "y": None,
            "estimator_name": "estimator",
            "estimator": "classifier",
            "estimator_routing_methods": [],
        }
    )
