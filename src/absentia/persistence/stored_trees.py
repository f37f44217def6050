"""Decision trees that came out of a model file, checked before compiled code follows them.

scikit-learn's loops take the children and the feature of a node as they are: an index out of range
reads foreign memory, a cycle never ends. What is checked here is all that these loops rely on.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.tables.stored import require_array

__all__ = ["check_trees", "tree_records"]

#: Of ``TreePredictor``: bits of the categories that go left, 256 of them.
_BITSETS = ("binned_left_cat_bitsets", "raw_left_cat_bitsets")
_BITSET_WORDS = 8


@cache
def _kinds() -> tuple[Any, Any, Any]:
    """Return scikit-learn's classes that own trees, imported when a file is read."""
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.tree import BaseDecisionTree

    return BaseDecisionTree, BaseForest, BaseHistGradientBoosting


@cache
def tree_records() -> tuple[np.dtype[Any], ...]:
    """Return the types of the records that a file may hold: nodes of trees, and no others."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.tree._tree import NODE_DTYPE

    return NODE_DTYPE, PREDICTOR_RECORD_DTYPE


def check_trees(value: BaseEstimator) -> None:
    """Raise ValueError where the trees that an estimator of scikit-learn owns are none.

    That its attributes are of the kinds that are known for them has been checked before.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from absentia.persistence.stored_trees import check_trees
    >>> stump = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> check_trees(stump)
    >>> stump.n_features_in_ = 3
    >>> check_trees(stump)
    Traceback (most recent call last):
        ...
    ValueError: DecisionTreeRegressor of 3 columns with a tree of 1
    """
    decision_tree, forest, boosting = _kinds()
    if isinstance(value, decision_tree) and "tree_" in vars(value):
        _check_tree(value)
    if isinstance(value, forest) and "estimators_" in vars(value):
        _check_forest(value)
    if isinstance(value, boosting) and "_predictors" in vars(value):
        _check_boosting(value)


def _check_tree(owner: BaseEstimator) -> None:
    tree, n_features = owner.tree_, vars(owner).get("n_features_in_")
    if type(n_features) is not int or n_features != tree.n_features:
        raise ValueError(
            f"{type(owner).__name__} of {n_features!r} columns with a tree of {tree.n_features}"
        )
    n_classes = np.atleast_1d(vars(owner).get("n_classes_", np.ones(tree.n_outputs, dtype=int)))
    if not np.array_equal(n_classes, tree.n_classes):
        raise ValueError(f"{type(owner).__name__} with a tree of other classes")
    if tree.node_count < 1:
        raise ValueError("a tree without nodes")
    left, right = tree.children_left, tree.children_right
    is_leaf = left == -1
    if not np.array_equal(is_leaf, right == -1):
        raise ValueError("a tree with a node of one child")
    depth = _checked_depth(left, right, ~is_leaf)
    # Paths are written to an array with room for max_depth nodes per row.
    if not depth <= tree.max_depth <= tree.node_count:
        raise ValueError(f"a tree of depth {depth} that says {tree.max_depth}")
    _check_features(tree.feature[~is_leaf], n_features)


def _check_forest(owner: BaseEstimator) -> None:
    """Refuse trees of other columns, outputs or classes than the forest makes room for."""
    shared = ("n_features_in_", "n_outputs_", "n_classes_")
    sizes = [
        [np.atleast_1d(vars(some).get(name)).tolist() for name in shared]
        for some in (owner, *owner.estimators_)
    ]
    if any(found != sizes[0] for found in sizes):
        raise ValueError(f"{type(owner).__name__} with trees of other columns or classes")


def _check_boosting(owner: BaseEstimator) -> None:
    """Refuse boosted models that do not treat every column as a number, and broken trees."""
    n_features = vars(owner).get("n_features_in_")
    if type(n_features) is not int:
        raise ValueError(f"{type(owner).__name__} of {n_features!r} columns")
    # It changes what the trees are given: rows that nobody checked.
    if "_in_fit" in vars(owner):
        raise ValueError(f"{type(owner).__name__} in the midst of fit")
    mapper = vars(owner).get("_bin_mapper")
    categorical = None if mapper is None else vars(mapper).get("is_categorical_")
    require_array("is_categorical_", categorical, np.uint8, (n_features,))
    if np.any(categorical):
        raise ValueError(f"{type(owner).__name__} with categorical columns")
    stages = owner._predictors
    n_trees = vars(owner).get("n_trees_per_iteration_")
    if any(len(stage) != n_trees for stage in stages):
        raise ValueError(f"{type(owner).__name__} of {n_trees!r} trees per stage with others")
    for stage in stages:
        for predictor in stage:
            _check_predictor(predictor, n_features)


def _check_predictor(predictor: Any, n_features: int) -> None:
    nodes = vars(predictor).get("nodes")
    require_array("nodes", nodes, tree_records()[1], (None,))
    for name in _BITSETS:
        require_array(name, vars(predictor).get(name), np.uint32, (None, _BITSET_WORDS))
    if not len(nodes):
        raise ValueError("a tree without nodes")
    inner = nodes["is_leaf"] == 0
    _checked_depth(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), inner)
    _check_features(nodes["feature_idx"][inner], n_features)
    if nodes["is_categorical"][inner].any():
        raise ValueError("a tree that splits categories of a column of numbers")


def _checked_depth(left: np.ndarray, right: np.ndarray, inner: np.ndarray) -> int:
    """Return the depth of a tree whose nodes have one parent each, which stands before them."""
    parents = np.flatnonzero(inner)
    first, second = left[inner], right[inner]
    children = np.sort(np.concatenate([first, second]))
    if not (
        np.array_equal(children, np.arange(1, len(inner)))
        and (first > parents).all()
        and (second > parents).all()
    ):
        raise ValueError("a tree whose nodes do not have one parent each")
    depth, level = 0, np.zeros(1, dtype=np.int64)
    while (level := level[inner[level]]).size:
        level = np.concatenate([left[level], right[level]])
        depth += 1
    return depth


def _check_features(features: np.ndarray, n_features: int) -> None:
    if features.size and not 0 <= features.min() <= features.max() < n_features:
        raise ValueError(
            f"a tree of {n_features} columns that asks for columns {features.min()} to "
            f"{features.max()}"
        )
