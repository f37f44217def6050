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
#: scikit-learn's class of the thresholds between the bins of histogram gradient boosting.
_BIN_MAPPER = "_BinMapper"


@cache
def _kinds() -> tuple[Any, Any, Any, Any]:
    """Return scikit-learn's classes that hold trees, imported when a file is read."""
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    return BaseDecisionTree, Tree, BaseHistGradientBoosting, TreePredictor


@cache
def tree_records() -> tuple[np.dtype[Any], ...]:
    """Return the types of the records that a file may hold: nodes of trees, and no others."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.tree._tree import NODE_DTYPE

    return NODE_DTYPE, PREDICTOR_RECORD_DTYPE


def check_trees(value: object) -> frozenset[str]:
    """Check the trees that an estimator of scikit-learn owns; return the attributes they are in.

    A tree trusts its owner to compare the number of columns, so a tree anywhere else is refused.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from absentia.persistence.stored_trees import check_trees
    >>> stump = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> sorted(check_trees(stump))
    ['tree_']
    >>> stump.n_features_in_ = 3
    >>> check_trees(stump)
    Traceback (most recent call last):
        ...
    ValueError: DecisionTreeRegressor of 3 columns with a tree of 1
    """
    decision_tree, tree, boosting, predictor = _kinds()
    if isinstance(value, tree | predictor):
        raise ValueError("a tree outside of the estimators that use it")
    if isinstance(value, BaseEstimator) and type(value).__name__ == _BIN_MAPPER:
        raise ValueError("thresholds of boosted trees outside of the estimators that use them")
    if isinstance(value, decision_tree) and "tree_" in vars(value):
        _check_tree(value)
        return frozenset({"tree_"})
    if isinstance(value, boosting) and "_predictors" in vars(value):
        _check_boosting(value)
        return frozenset({"_predictors", "_bin_mapper"})
    return frozenset()


def _check_tree(owner: BaseEstimator) -> None:
    tree, n_features = owner.tree_, vars(owner).get("n_features_in_")
    if type(tree) is not _kinds()[1]:
        raise ValueError(f"{type(owner).__name__} with a {type(tree).__name__} as its tree")
    if type(n_features) is not int or n_features != tree.n_features:
        raise ValueError(
            f"{type(owner).__name__} of {n_features!r} columns with a tree of {tree.n_features}"
        )
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


def _check_boosting(owner: BaseEstimator) -> None:
    """Refuse boosted models that do not treat every column as a number, and broken trees."""
    n_features = vars(owner).get("n_features_in_")
    if type(n_features) is not int:
        raise ValueError(f"{type(owner).__name__} of {n_features!r} columns")
    # Both change what the trees are given: codes of categories, and rows that nobody checked.
    if vars(owner).get("_preprocessor", 0) is not None or "_in_fit" in vars(owner):
        raise ValueError(f"{type(owner).__name__} with categorical columns or in the midst of fit")
    mapper: Any = vars(owner).get("_bin_mapper")
    # As a step of a pipeline it would look up columns in a list without asking how long that is;
    # boosted trees only ask it which columns are categorical.
    if type(mapper).__name__ != _BIN_MAPPER:
        raise ValueError(f"{type(owner).__name__} without thresholds")
    thresholds = vars(mapper).get("bin_thresholds_")
    if type(thresholds) is not list or any(type(some) is not np.ndarray for some in thresholds):
        raise ValueError(f"{type(owner).__name__} without lists of thresholds")
    categorical = vars(mapper).get("is_categorical_")
    require_array("is_categorical_", categorical, np.uint8, (n_features,))
    if np.any(categorical):
        raise ValueError(f"{type(owner).__name__} with categorical columns")
    stages = owner._predictors
    if type(stages) is not list or any(type(stage) is not list for stage in stages):
        raise ValueError(f"{type(owner).__name__} without lists of trees")
    for stage in stages:
        for predictor in stage:
            _check_predictor(predictor, n_features)


def _check_predictor(predictor: Any, n_features: int) -> None:
    if type(predictor) is not _kinds()[3] or set(vars(predictor)) != {"nodes", *_BITSETS}:
        raise ValueError(f"a {type(predictor).__name__} in place of a tree")
    nodes = predictor.nodes
    require_array("nodes", nodes, tree_records()[1], (None,))
    for name in _BITSETS:
        require_array(name, getattr(predictor, name), np.uint32, (None, _BITSET_WORDS))
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
