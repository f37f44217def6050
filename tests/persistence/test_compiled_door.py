"""What is inconsistent is refused where compiled code would take it, not by the loader alone."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import FunctionTransformer, LabelBinarizer, OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from absentia import (
    SVC,
    Beliefs,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessRegressor,
    GenRBF,
    MarginalClassifier,
    Patterns,
    load,
    save,
)
from absentia.automatic.tree_ensemble import TreeEnsemble
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition
from absentia.persistence.nodes import Reader
from machines.contract import table, targets_of
from persistence.hostile_files import check_contents
from persistence.test_model_files import save_unchecked


@pytest.fixture(scope="module")
def beliefs():
    return GaussianDensity().fit(table()).condition(table())


def inconsistent(beliefs):
    """Beliefs made by hand, each with one thing wrong that loops would follow."""
    patterns, groups = beliefs.patterns, beliefs.group_of_row
    far = Patterns(patterns.masks, patterns.pattern_of_row + 10**7, patterns.counts)
    return {
        "more means than groups": replace(beliefs, means=np.repeat(beliefs.means, 200, axis=0)),
        "groups beyond the table": replace(beliefs, group_of_row=groups + 10**7),
        "negative groups": replace(beliefs, group_of_row=groups - 10**7),
        "single precision": replace(beliefs, means=beliefs.means.astype(np.float32)),
        "patterns beyond their masks": replace(beliefs, patterns=far),
        "fewer weights": replace(beliefs, log_weights=beliefs.log_weights[:1]),
        "masked": replace(beliefs, means=np.ma.MaskedArray(beliefs.means, mask=True)),
    }


@pytest.mark.parametrize("wrong", range(7))
def test_beliefs_made_by_hand_are_refused_by_kernels_and_machines(beliefs, wrong):
    made = list(inconsistent(beliefs).values())[wrong]
    X, y = table(), targets_of("classes")
    machine = SVC().fit(X, y)
    features = FourierFeatures(n_components=8, random_state=0).fit(X)
    process = GaussianProcessRegressor().fit(X, np.arange(float(len(X))))
    uses = [
        machine.decision_function,
        machine.kernel_,
        machine.kernel_.diag,
        lambda some: machine.kernel_(beliefs, some),
        features.transform,
        lambda some: process.predict(some, return_std=True),
        lambda some: SVC().fit(some, np.resize(y, len(some))),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=r"must be|must lie"):
            use(made)


def test_beliefs_of_a_density_of_the_users_own_are_asked_too(beliefs):
    class Careless(GaussianDensity):
        def condition(self, X):
            return replace(super().condition(X), group_of_row=np.full(len(X), 10**7))

    with pytest.raises(ValueError, match="group_of_row must lie"):
        SVC(density=Careless()).fit(table(), targets_of("classes"))


def test_a_prior_or_patterns_that_do_not_fit_are_refused_before_conditioning():
    X = table()
    prior = GaussianDensity().fit(X).prior_
    wide = Prior(prior.weights, prior.means, np.eye(7)[None])
    with pytest.raises(ValueError, match=r"Prior\.covariances must be"):
        condition(wide, X)
    found = Patterns.of(X)
    for patterns in (
        Patterns.of(X[:5]),
        Patterns(found.masks, found.pattern_of_row + 10**7, found.counts),
    ):
        with pytest.raises(ValueError, match="Patterns"):
            condition(prior, X, patterns=patterns)


def test_a_walk_down_trees_is_refused_when_it_would_leave_the_arrays():
    trees = TreeEnsemble(
        feature=np.array([0, 0, 0]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        threshold=np.zeros(3),
        missing_left=np.ones(3, dtype=bool),
        values=np.arange(3.0)[:, None],
        roots=np.array([0]),
        baseline=np.zeros(1),
        link="identity",
        single=False,
        n_features=1,
    )
    assert trees.answer(np.array([[-1.0], [1.0]])).ravel().tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"columns|shape"):
        trees.answer(np.zeros((2, 0)))
    for wrong in (
        {"right": np.array([10**7, -1, -1])},
        {"roots": np.array([10**7])},
        {"feature": np.array([10**7, 0, 0])},
        {"left": np.array([0, -1, -1])},
    ):
        with pytest.raises(ValueError, match="TreeEnsemble"):
            replace(trees, **wrong).answer(np.zeros((2, 1)))


def test_that_a_value_is_valid_is_remembered_and_passed_on(beliefs, monkeypatch):
    made = replace(beliefs)
    asked = []
    original = Beliefs.validate
    monkeypatch.setattr(Beliefs, "validate", lambda self: asked.append(original(self)))
    made.ensure_valid()
    assert len(asked) == 1
    unit = np.full(made.n_features, 2.0)
    for derived in (
        made,
        made[:3],
        made.tile(slice(0, 2)),
        made.in_units(unit),
        made.transform(np.eye(made.n_features)),
        made.within(-9.0, 9.0),
        Beliefs.concatenate([made, made[:2]]),
        GaussianDensity().fit(table()).condition(table()),
        Beliefs.from_moments(np.zeros((2, 3)), variances=1.0),
    ):
        derived.ensure_valid()
        original(derived)
    assert len(asked) == 1
    # What a value was told once is no part of a file.
    assert "_is_valid" not in made.__getstate__()


@pytest.mark.parametrize(
    "model",
    [
        FunctionTransformer(Beliefs),
        FunctionTransformer(np.float64),
        FunctionTransformer(str),
        FunctionTransformer(np.exp),
        FunctionTransformer(expit),
        FunctionTransformer(len),
        FunctionTransformer("x".join),
        FunctionTransformer(kw_args={"a": [(np.ndarray,)]}),
        SelectKBest(np.ndarray),
        SelectKBest(LinearSVC),
        OneHotEncoder(dtype=Beliefs),
    ],
    ids=lambda model: repr(model)[:60],
)
def test_what_a_model_has_no_need_to_call_is_refused(model):
    # Either no file can name it, or not as a parameter.
    with pytest.raises(
        ValueError, match=r"as the parameter|^[\w.]*(Bel|\.exp|len|join|ndarr|LinearS)"
    ):
        check_contents(model)


def test_what_may_pass_for_something_else_is_refused_where_nothing_needs_it():
    for model in (
        FunctionTransformer(GenRBF()),
        FunctionTransformer(make_scorer(f1_score)),
        FunctionTransformer(kw_args={"a": [KFold()]}),
        GenRBF(gamma=LabelBinarizer()),
        FunctionTransformer(kw_args={"a": [Bunch(t=np.zeros(10))]}),
    ):
        with pytest.raises(ValueError, match=r"as the parameter"):
            check_contents(model)


def test_a_loss_is_in_no_file(tmp_path):
    """A loss that is called follows arrays without comparing their lengths."""
    short = {"raw_prediction": np.ones(1)}
    boosted = HistGradientBoostingRegressor(max_iter=1).fit(np.arange(50.0)[:, None], np.ones(50))
    boosted = check_contents(boosted)[-1]
    for model in (
        FunctionTransformer(boosted._loss, kw_args=short),
        FunctionTransformer(kw_args={"a": [boosted._loss]}),
        GenRBF(gamma=boosted._loss),
    ):
        with pytest.raises(TypeError, match=r"holds sklearn\._loss\.loss\.HalfSquaredError"):
            save(model, tmp_path / "model")
    name = "sklearn._loss.loss.HalfSquaredError"
    node = {"sklearn.preprocessing._function_transformer.FunctionTransformer": {"func": {name: {}}}}
    with pytest.raises(ValueError, match=name):
        Reader([], 100).model(node)


def test_what_models_need_may_be_called():
    scored = SelectKBest(f_classif)
    types = GridSearchCV(OneHotEncoder(), {"dtype": [np.float32]})
    search = GridSearchCV(SVC(), {"kernel": [GenRBF()]}, scoring=make_scorer(f1_score))
    two = GridSearchCV(SVC(), {}, scoring={"a": make_scorer(f1_score)})
    others = [SelectKBest(f1_score), OneHotEncoder(dtype=np.float32), SVC(kernel=2.0 * GenRBF())]
    for model in (scored, types, search, two, *others):
        check_contents(model)


def test_truth_values_are_zero_or_one():
    model = MarginalClassifier(SVC())
    model.patterns_ = np.array([[0, 1]], dtype=np.uint8).view(bool)
    check_contents(model)
    for other in (2, 255):
        model.patterns_ = np.array([[0, other]], dtype=np.uint8).view(bool)
        with pytest.raises(ValueError, match="truth values"):
            check_contents(model)


def test_classes_that_are_not_those_of_the_coefficients_take_no_memory():
    machine = SVC().fit(table(), targets_of("classes"))
    machine.classes_ = np.arange(3000)
    tracemalloc.start()
    with pytest.raises(ValueError, match="of 3000 classes must have 2999"):
        machine.predict(table())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_a_type_of_text_that_takes_megabytes_per_entry_is_refused(tmp_path):
    model = SVC()
    model.classes_ = np.empty(0, dtype="U100000")
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="a type of 400,000 bytes per entry"):
        load(tmp_path / "model")
