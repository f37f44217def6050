"""Trees, forests and boosted trees in model files: they come back, and broken ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import MarginalClassifier, MarginalRegressor, load, save
from absentia.persistence.contents import check_object
from absentia.persistence.nodes import Writer
from machines.contract import table, targets_of
from persistence.hostile_files import check_contents, nodes, rewrite

BOOSTED = ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
BOOSTED_NAME = f"{type(BOOSTED).__module__}.HistGradientBoostingClassifier"


def models():
    return {
        "tree": tree.DecisionTreeClassifier(),
        "stump of one leaf": tree.DecisionTreeClassifier(max_depth=1, min_samples_leaf=40),
        "pruned": tree.DecisionTreeRegressor(ccp_alpha=0.01),
        "best first": tree.ExtraTreeRegressor(max_leaf_nodes=5),
        "forest": ensemble.RandomForestClassifier(5, random_state=np.random.RandomState(0)),
        "extra trees": ensemble.ExtraTreesRegressor(5),
        "several outputs": ensemble.RandomForestRegressor(3),
        "adaboost": ensemble.AdaBoostClassifier(n_estimators=3),
        "boosted classes": ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
        "early stopping": ensemble.HistGradientBoostingRegressor(
            max_iter=5, early_stopping=True, min_samples_leaf=2
        ),
        **{
            loss: ensemble.HistGradientBoostingRegressor(
                loss=loss, quantile=0.3, max_iter=3, min_samples_leaf=2
            )
            for loss in ("quantile", "absolute_error", "poisson", "gamma")
        },
    }


@pytest.mark.parametrize("name", models())
def test_trees_come_back(name, tmp_path):
    X, y = np.nan_to_num(table()), targets_of("classes")
    model = models()[name]
    if name == "several outputs":
        y = np.c_[y, -y]
    model.fit(X, y + 1.0 if name == "gamma" else y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", [MarginalClassifier, MarginalRegressor])
def test_wrappers_around_fitted_forests_and_boosted_trees_come_back(kind, tmp_path):
    X, y = table(), targets_of("classes")
    task = "Classifier" if kind is MarginalClassifier else "Regressor"
    for family, few in (
        ("RandomForest", {"n_estimators": 3}),
        ("HistGradientBoosting", {"max_iter": 3, "min_samples_leaf": 2}),
    ):
        inner = make_pipeline(StandardScaler(), getattr(ensemble, family + task)(**few))
        inner.fit(np.nan_to_num(X), y)
        model = kind(FrozenEstimator(inner), n_draws=4, random_state=0).fit(X)
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def changed_tree(**fields):
    """Return a tree of three columns whose nodes were changed past scikit-learn's constructor."""
    X, y = np.nan_to_num(table()), targets_of("classes")
    model = tree.DecisionTreeClassifier().fit(X, y)
    state = model.tree_.__getstate__()
    nodes = state["nodes"].copy()
    inner = np.flatnonzero(nodes["left_child"] != -1)
    for name, value in fields.items():
        if name in nodes.dtype.names:
            nodes[name][inner[-1]] = value
        else:
            state[name] = value
    state["nodes"] = nodes
    kind, arguments, _ = model.tree_.__reduce__()
    model.tree_ = kind(*arguments)
    model.tree_.__setstate__(state)
    return model


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"left_child": 10**6}, "one parent each"),
        ({"left_child": -2}, "one parent each"),
        ({"left_child": 0}, "one parent each"),
        ({"left_child": -1}, "a node of one child"),
        ({"right_child": 1}, "one parent each"),
        ({"feature": 3}, "columns"),
        ({"feature": -1}, "columns"),
        ({"max_depth": 0}, "depth"),
        ({"max_depth": 2**40}, "depth"),
        ({"node_count": 0}, "without nodes"),
        ({"node_count": -5}, "negative dimensions"),
        ({"node_count": 2}, "one parent each|one child"),
    ],
)
def test_broken_trees_are_refused(fields, message):
    check_contents(changed_tree())
    with pytest.raises(ValueError, match=message):
        check_object(model := changed_tree(**fields), vars(model))


def test_trees_are_kept_with_the_estimator_that_counts_columns(tmp_path):
    model = changed_tree()
    for n_features in (2, 4, 3.0, None):
        model.n_features_in_ = n_features
        with pytest.raises(
            ValueError, match=r"columns with a tree of 3|n_features_in_, expected int"
        ):
            check_contents(model)
    del model.n_features_in_
    with pytest.raises(TypeError, match=r"refuse this model: .*columns with a tree of 3"):
        save(model, tmp_path / "model")
    model.n_features_in_ = 3
    stray = StandardScaler()
    stray.mean_ = model.tree_
    for where in (stray, make_pipeline(stray, model)):
        with pytest.raises(ValueError, match="StandardScaler with a Tree as mean_"):
            check_contents(where)
    model.tree_ = StandardScaler()
    with pytest.raises(ValueError, match="with a StandardScaler as tree_, expected Tree"):
        check_contents(model)
    check_contents(tree.DecisionTreeClassifier())  # nothing fitted, nothing to check


def boosted():
    return BOOSTED.fit(np.nan_to_num(table()), targets_of("classes"))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left", 10**6, "one parent each"),
        ("right", 0, "one parent each"),
        ("feature_idx", 3, "columns"),
        ("feature_idx", -1, "columns"),
        ("is_categorical", 1, "categories"),
        ("is_leaf", 1, "one parent each"),
    ],
)
def test_broken_boosted_trees_are_refused(field, value, message):
    model = boosted()
    check_contents(model)
    model._predictors[0][0].nodes[field][0] = value
    with pytest.raises(ValueError, match=message):
        check_contents(model)


def test_boosted_models_with_other_parts_are_refused():
    changes = {
        "n_features_in_": [2, None],
        "_in_fit": [True],
        "_preprocessor": [StandardScaler()],
        "_bin_mapper": [None, StandardScaler()],
        "_predictors": [((),), [boosted()._predictors[0], (1,)], [[StandardScaler()]]],
    }
    for name, values in changes.items():
        for value in values:
            model = boosted()
            setattr(model, name, value)
            with pytest.raises(
                ValueError, match=r"columns|_in_fit|as _|as n_|is_categorical_|trees"
            ):
                check_contents(model)
    for name, value in {
        "nodes": np.zeros(3),
        "raw_left_cat_bitsets": np.zeros((0, 7), dtype=np.uint32),
        "predict": 3,
    }.items():
        model = boosted()
        setattr(model._predictors[0][0], name, value)
        with pytest.raises(ValueError, match=r"as nodes|bitsets must|TreePredictor\.predict"):
            check_contents(model)
    model = boosted()
    model._bin_mapper.is_categorical_ = np.ones(3, dtype=np.uint8)
    with pytest.raises(ValueError, match="categorical"):
        check_contents(model)
    model = boosted()
    model._feature_subsample_rng = np.random.Generator(np.random.MT19937(0))
    with pytest.raises(ValueError, match="MT19937"):
        Writer().node(model)


def test_a_loss_that_the_parameters_do_not_name_is_not_saved(tmp_path):
    """Losses are made from the parameters, and another one would answer otherwise."""
    model = ensemble.HistGradientBoostingRegressor(max_iter=1).fit(np.eye(40), np.ones(40))
    model.loss = "poisson"
    with pytest.raises(TypeError, match="a loss other than 'poisson'"):
        save(model, tmp_path / "model")


def test_categorical_boosting_is_not_saved(tmp_path):
    X = np.nan_to_num(table()).round()
    model = ensemble.HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    with pytest.raises(TypeError, match=r"partial.*load would refuse"):
        save(model.fit(X, targets_of("classes")), tmp_path / "model")


def test_descriptions_that_would_reach_compiled_code_are_refused(tmp_path):
    def change(kind, *where, value):
        def changed(header, parts):
            *path, last = where
            found = nodes(header["model"], kind)[0][kind]
            for step in path:
                found = found[step]
            found[last] = value

        return changed

    tree_of = changed_tree()
    for model, edit, message in (
        # An estimator whose attributes look like those of an array.
        (tree_of, change("Tree", 4, value=[0.0]), "nodes must be a .* array"),
        (tree_of, change("Tree", 5, value={"array": 0}), "values must be a float64 array"),
        (tree_of, change("Tree", 0, value="3"), "a str in place of a int"),
        (tree_of, change("Tree", 1, value=2), r"n_classes must be a int64 array of shape \(2,\)"),
        (boosted(), change(BOOSTED_NAME, "_loss", value=None), r"not trusted: .*Classifier\._loss"),
        (boosted(), change("Generator", 0, value=-1), "damaged"),
        (boosted(), change("Generator", 1, value=1.0), "a float in place of a int"),
    ):
        save(model, tmp_path / "model")
        rewrite(tmp_path / "model", edit)
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "model")


def test_thresholds_of_boosted_trees_are_no_model_of_their_own(tmp_path):
    """Their transform looks columns up in a list without asking how long it is."""
    rng = np.random.default_rng(0)
    boosted = ensemble.HistGradientBoostingRegressor(max_iter=1)
    boosted.fit(rng.normal(size=(60, 2)), np.arange(60.0))
    mapper = boosted._bin_mapper
    mapper.n_bins_non_missing_ = np.full(50, 3, dtype=np.uint32)
    step = make_pipeline(mapper, boosted)
    for model in (mapper, step):
        with pytest.raises(
            TypeError, match=r"not a model by itself|as the parameter steps|_BinMapper\.n_"
        ):
            save(model, tmp_path / "model")
    mapper.bin_thresholds_ = [[]]
    with pytest.raises(TypeError, match=r"_BinMapper\.n_features_in_|as bin_thresholds_"):
        save(boosted, tmp_path / "model")
