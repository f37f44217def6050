"""Trees as arrays answer as scikit-learn's do, and a file cannot make them walk astray."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from absentia.automatic.tree_ensemble import TreeEnsemble
from oracles.averaging import reached_leaf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
CODES = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
X[RNG.random(X.shape) < 0.2] = np.nan
X[4:, 3] = np.nan  # hardly ever observed


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(7, random_state=0),
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
    ],
    ids=["forest", "boosting"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_scikit_learn(model, n_classes):
    y = np.minimum(CODES, n_classes - 1)
    trees = TreeEnsemble.of(model.fit(X, y), n_classes)
    trees.validate()
    rows = np.vstack([X, np.full((1, 4), np.nan), RNG.normal(size=(5, 4))])
    np.testing.assert_allclose(trees.answer(rows), model.predict_proba(rows), atol=1e-12)
    np.testing.assert_array_equal(trees.answer(rows, n_jobs=3), trees.answer(rows, n_jobs=1))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(7, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, random_state=0),
    ],
    ids=["forest", "boosting"],
)
def test_numbers_are_those_of_scikit_learn(model):
    trees = TreeEnsemble.of(model.fit(X, CODES))
    np.testing.assert_allclose(trees.answer(X)[:, 0], model.predict(X), atol=1e-12)


@pytest.mark.parametrize("stage", [1, 3])
def test_the_first_stages_are_those_of_scikit_learn(stage):
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, CODES)
    expected = list(model.staged_predict_proba(X))[stage - 1]
    np.testing.assert_allclose(TreeEnsemble.of(model, 3, stage).answer(X), expected, atol=1e-12)


@pytest.mark.parametrize("seen", [(0, 2), (1, 2), (0, 1)])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
    ],
    ids=["forest", "boosting"],
)
def test_a_class_that_a_fold_lacks_has_no_probability(model, seen):
    rows = np.isin(CODES, seen)
    trees = TreeEnsemble.of(model.fit(X[rows], CODES[rows]), 3)
    answers = trees.answer(X)
    np.testing.assert_allclose(answers[:, list(seen)], model.predict_proba(X), atol=1e-12)
    assert answers.sum(axis=1) == pytest.approx(1.0)


def test_walks_are_those_written_out():
    tree = TreeEnsemble.of(RandomForestRegressor(1, random_state=1).fit(X, CODES))
    rounded = X.astype(np.float32).astype(float)
    leaves = [
        reached_leaf(row, tree.feature, tree.threshold, tree.left, tree.right, tree.missing_left)
        for row in rounded
    ]
    np.testing.assert_array_equal(tree.answer(X), tree.values[leaves])


@pytest.mark.parametrize("fault", ["circle", "outside", "column", "root", "link", "nan"])
def test_hostile_trees_are_refused(fault):
    tree = TreeEnsemble.of(RandomForestRegressor(2, random_state=0).fit(X, CODES))
    left, feature, roots, values = (
        a.copy() for a in (tree.left, tree.feature, tree.roots, tree.values)
    )
    inner = int(np.flatnonzero(left >= 0)[-1])
    if fault == "circle":
        left[inner] = 0
    elif fault == "outside":
        left[inner] = len(left)
    elif fault == "column":
        feature[0] = 4
    elif fault == "root":
        roots[1] = -1
    else:
        values[0, 0] = np.nan if fault == "nan" else values[0, 0]
    link = "exec" if fault == "link" else tree.link
    broken = replace(tree, left=left, feature=feature, roots=roots, values=values, link=link)
    with pytest.raises(ValueError, match="TreeEnsemble"):
        broken.validate()
