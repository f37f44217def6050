"""Checks of the parts of models that compiled code of scikit-learn and SciPy follows unchecked.

Trees: the loops of scikit-learn take the children and the feature of a node as they are. An index
out of range reads foreign memory, a cycle never ends.

Encoders: ``OneHotEncoder`` writes the number of a column for every cell of a sparse matrix, and
SciPy's loops follow these numbers. They come from attributes, so no cell may get a number beyond
the columns. ``OneVsRestClassifier`` writes numbers of rows, which come from the predictions of
other models, except for several classes. ``TargetEncoder`` allocates all columns and fills those
that it has encodings for: the others would hold foreign memory.

The kinds of the attributes are known here (:mod:`.kinds`); one that is not there is an
AttributeError, for which the file is refused, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.persistence.kinds import record_types
from absentia.tables.stored import require_array

#: Numbers that hold one bit for each of 256 categories.
_BITSET_WORDS = 8


def _check_tree(owner: BaseEstimator) -> None:
    tree, n_features = owner.tree_, vars(owner).get("n_features_in_")
    if n_features != tree.n_features:
        raise ValueError(
            f"{type(owner).__name__} of {n_features!r} columns with a tree of {tree.n_features}"
        )
    n_classes = np.atleast_1d(vars(owner).get("n_classes_", np.ones(tree.n_outputs, dtype=int)))
    if not np.array_equal(n_classes, tree.n_classes):
        raise ValueError(f"{type(owner).__name__} with a tree of other classes")
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
    n_features, categorical = owner.n_features_in_, owner._bin_mapper.is_categorical_
    require_array("is_categorical_", categorical, np.uint8, (n_features,))
    if categorical.any():
        raise ValueError(f"{type(owner).__name__} with categorical columns")
    n_trees = owner.n_trees_per_iteration_
    for stage in owner._predictors:
        if len(stage) != n_trees:
            raise ValueError(f"{type(owner).__name__} of {n_trees} trees per stage with others")
        for predictor in stage:
            _check_predictor(predictor, n_features)
    owner._loss = owner._get_loss(sample_weight=None)


def _check_predictor(predictor: Any, n_features: int) -> None:
    nodes = predictor.nodes
    require_array("nodes", nodes, record_types()["boosted tree"], (None,))
    for name in ("binned_left_cat_bitsets", "raw_left_cat_bitsets"):
        require_array(name, getattr(predictor, name), np.uint32, (None, _BITSET_WORDS))
    inner = nodes["is_leaf"] == 0
    _checked_depth(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), inner)
    _check_features(nodes["feature_idx"][inner], n_features)
    if nodes["is_categorical"][inner].any():
        raise ValueError("a tree that splits categories of a column of numbers")


def _checked_depth(left: np.ndarray, right: np.ndarray, inner: np.ndarray) -> int:
    """Return the depth of a tree whose nodes have one parent each, which stands before them."""
    if not len(inner):
        raise ValueError("a tree without nodes")
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
    kind = owner.label_binarizer_.y_type_
    if kind != "multiclass":
        raise ValueError(
            f"OneVsRestClassifier of {kind!r} targets, which trusts the answers of its models"
        )


def _check_target_encoder(encoder: BaseEstimator) -> None:
    per_column = len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1
    found, n_features = len(encoder.encodings_), encoder.n_features_in_
    if found != n_features * per_column or len(encoder.categories_) != n_features:
        raise ValueError(f"TargetEncoder of {n_features} columns with {found} encodings")


def _check_one_hot(encoder: BaseEstimator) -> None:
    n_features, nothing = encoder.n_features_in_, [None] * encoder.n_features_in_
    grouped, dropped = encoder._infrequent_enabled, encoder._drop_idx_after_grouping
    columns = (
        encoder.categories_,
        encoder._default_to_infrequent_mappings if grouped else nothing,
        encoder._infrequent_indices if grouped else nothing,
        nothing if dropped is None else dropped,
    )
    if {*map(len, columns)} != {n_features}:
        raise ValueError(f"OneHotEncoder of {n_features} columns with parts of more or fewer")
    widths = [_width(*column) for column in zip(*columns, strict=True)]
    if encoder._n_features_outs != widths:
        raise ValueError(f"OneHotEncoder of {widths} columns that says {encoder._n_features_outs}")


def _width(categories: np.ndarray, groups: Any, rare: Any, drop: Any) -> int:
    """Return how many columns an encoder makes of one."""
    n_groups = len(categories)
    if not n_groups:
        raise ValueError("OneHotEncoder with a column without categories")
    if categories.dtype.kind not in "OU":
        # Numbers are found by bisection, which ends beyond the last one where they are not sorted.
        known = categories[categories == categories]
        if not (known[:-1] <= known[1:]).all() or not (categories[: len(known)] == known).all():
            raise ValueError("OneHotEncoder with categories that are not sorted")
    # A word that is not known becomes the first rare one, whose group the groups have.
    if (groups is None) != (rare is None):
        raise ValueError("OneHotEncoder with rare categories that are in no group")
    if groups is not None:
        if groups.shape != categories.shape or not 0 <= groups.min() <= groups.max() < n_groups:
            raise ValueError("OneHotEncoder with groups that are not one per category")
        n_groups = int(groups.max()) + 1
    if drop is not None and not (isinstance(drop, int | np.integer) and 0 <= drop < n_groups):
        raise ValueError(f"OneHotEncoder that drops category {drop!r} of {n_groups}")
    return n_groups - (drop is not None)


def _make_curve(owner: BaseEstimator) -> None:
    ends = owner.X_thresholds_[[0, -1]].tolist()
    if [owner.X_min_, owner.X_max_] != ends or not np.isfinite(owner.y_thresholds_).all():
        raise ValueError("IsotonicRegression with other limits than its thresholds")
    owner._build_f(owner.X_thresholds_, owner.y_thresholds_)


#: By the name of a class: an attribute that no file has, because a check makes it from others.
MADE_AGAIN = {
    "IsotonicRegression": "f_",
    "HistGradientBoostingClassifier": "_loss",
    "HistGradientBoostingRegressor": "_loss",
}
_TREE, _FOREST = ("tree_", _check_tree), ("estimators_", _check_forest)
#: By the name of a class, without Classifier or Regressor: an attribute that it has once it is
#: fitted, and the check of its parts.
COMPILED_CHECKS: dict[str, tuple[str, Callable[[BaseEstimator], None]]] = {
    "DecisionTree": _TREE,
    "ExtraTree": _TREE,
    "ExtraTrees": _FOREST,
    "RandomForest": _FOREST,
    "HistGradientBoosting": ("_predictors", _check_boosting),
    "IsotonicRegression": ("X_thresholds_", _make_curve),
    "OneHotEncoder": ("categories_", _check_one_hot),
    "OneVsRest": ("label_binarizer_", _check_one_vs_rest),
    "TargetEncoder": ("encodings_", _check_target_encoder),
}
