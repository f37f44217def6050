"""Checks of the parts of models that compiled code of scikit-learn and SciPy follows unchecked.

Trees: the loops of scikit-learn take the children and the feature of a node as they are. An index
out of range reads foreign memory, a cycle never ends.

Encoders: ``OneHotEncoder`` writes the number of a column for every cell of a sparse matrix, and
SciPy's loops follow these numbers. They come from attributes, so no cell may get a number beyond
the columns. ``OneVsRestClassifier`` writes numbers of rows, which come from the predictions of
other models, except for several classes. ``TargetEncoder`` allocates all columns and fills those
that it has encodings for: the others would hold foreign memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.persistence.kinds import tree_records
from absentia.tables.stored import require_array

#: Attributes of ``TreePredictor`` with 256 bits for the categories that go left.
_BITSETS = ("binned_left_cat_bitsets", "raw_left_cat_bitsets")
_BITSET_WORDS = 8


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
    owner._loss = owner._get_loss(sample_weight=None)


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


def _check_one_vs_rest(owner: BaseEstimator) -> None:
    kind = getattr(owner.label_binarizer_, "y_type_", None)
    if kind != "multiclass":
        raise ValueError(
            f"OneVsRestClassifier of {kind!r} targets, which trusts the answers of its models"
        )


def _check_target_encoder(encoder: BaseEstimator) -> None:
    state = vars(encoder)
    per_column = len(state["classes_"]) if state["target_type_"] == "multiclass" else 1
    found, n_features = len(state["encodings_"]), state["n_features_in_"]
    if found != n_features * per_column or len(state["categories_"]) != n_features:
        raise ValueError(f"TargetEncoder of {n_features} columns with {found} encodings")


def _check_one_hot(encoder: BaseEstimator) -> None:
    state = vars(encoder)
    categories, n_features = state["categories_"], state.get("n_features_in_")
    if type(categories) is not list or type(n_features) is not int:
        raise ValueError("OneHotEncoder without lists of categories or a number of columns")
    if len(categories) != n_features:
        raise ValueError(f"OneHotEncoder of {n_features} columns with {len(categories)} of them")
    enabled, dropped = state.get("_infrequent_enabled"), state.get("_drop_idx_after_grouping", 0)
    nothing = [None] * n_features
    mappings = state.get("_default_to_infrequent_mappings") if enabled else nothing
    rare = state.get("_infrequent_indices") if enabled else nothing
    for grouped in (mappings, rare):
        if type(enabled) is not bool or type(grouped) is not list or len(grouped) != n_features:
            raise ValueError("OneHotEncoder with groups of categories that are not one per column")
    # A word that is not known becomes the first rare one, whose group the mapping has.
    if [mapping is None for mapping in mappings] != [some is None for some in rare]:
        raise ValueError("OneHotEncoder with rare categories that are in no group")
    if dropped is None:
        dropped = [None] * n_features
    elif not (isinstance(dropped, np.ndarray) and dropped.shape == (n_features,)):
        raise ValueError("OneHotEncoder with dropped categories that are not one per column")
    widths = [
        _groups(own, mapping) - _is_dropped(drop, _groups(own, mapping))
        for own, mapping, drop in zip(categories, mappings, dropped, strict=True)
    ]
    found = state.get("_n_features_outs")
    if type(found) is not list or [type(n) for n in found] != [int] * n_features or found != widths:
        raise ValueError(f"OneHotEncoder of {widths} columns that says {found!r}")


def _groups(categories: Any, mapping: Any) -> int:
    """Return how many groups the categories of one column are in."""
    if not isinstance(categories, np.ndarray) or categories.ndim != 1 or not categories.size:
        raise ValueError("OneHotEncoder with categories that are no array")
    if categories.dtype.kind not in "OUS":
        # Numbers are found by bisection, which ends beyond the last one where they are not sorted.
        known = categories[categories == categories]
        if not (known[:-1] <= known[1:]).all() or not (categories[: len(known)] == known).all():
            raise ValueError("OneHotEncoder with categories that are not sorted")
    if mapping is None:
        return len(categories)
    if not isinstance(mapping, np.ndarray) or mapping.shape != categories.shape:
        raise ValueError("OneHotEncoder with groups that are not one per category")
    if mapping.dtype.kind not in "iu" or mapping.min() < 0 or mapping.max() >= len(categories):
        raise ValueError("OneHotEncoder with groups that are not numbered")
    return int(mapping.max()) + 1


def _is_dropped(drop: Any, n_groups: int) -> bool:
    """Return whether a column leaves one of its groups out, having checked which."""
    if drop is None:
        return False
    if not isinstance(drop, int | np.integer) or not 0 <= drop < n_groups:
        raise ValueError(f"OneHotEncoder that drops category {drop!r} of {n_groups}")
    return True


def _make_curve(owner: BaseEstimator) -> None:
    owner._build_f(owner.X_thresholds_, owner.y_thresholds_)


#: By the name of a class: an attribute that no file has, because a check makes it from others.
MADE_AGAIN = {
    "IsotonicRegression": "f_",
    "HistGradientBoostingClassifier": "_loss",
    "HistGradientBoostingRegressor": "_loss",
}
_TREE, _FOREST = ("tree_", _check_tree), ("estimators_", _check_forest)
_BOOSTING = ("_predictors", _check_boosting)
#: By the name of a class: an attribute that it has once it is fitted, and the check of its parts.
COMPILED_CHECKS: dict[str, tuple[str, Callable[[BaseEstimator], None]]] = {
    "DecisionTreeClassifier": _TREE,
    "DecisionTreeRegressor": _TREE,
    "ExtraTreeClassifier": _TREE,
    "ExtraTreeRegressor": _TREE,
    "ExtraTreesClassifier": _FOREST,
    "ExtraTreesRegressor": _FOREST,
    "RandomForestClassifier": _FOREST,
    "RandomForestRegressor": _FOREST,
    "HistGradientBoostingClassifier": _BOOSTING,
    "HistGradientBoostingRegressor": _BOOSTING,
    "IsotonicRegression": ("X_thresholds_", _make_curve),
    "OneHotEncoder": ("categories_", _check_one_hot),
    "OneVsRestClassifier": ("label_binarizer_", _check_one_vs_rest),
    "TargetEncoder": ("encodings_", _check_target_encoder),
}
