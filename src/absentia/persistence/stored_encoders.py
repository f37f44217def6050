"""Encoders that came out of a model file, checked before sparse matrices are made from them.

``OneHotEncoder`` writes the number of a column for every cell of a sparse matrix, and SciPy's loops
follow these numbers without looking. They come from attributes, so what is checked here is that no
cell can get a number beyond the columns. ``OneVsRestClassifier`` writes numbers of rows, which come
from the answers of other models, except for several classes. ``TargetEncoder`` makes room for all
columns and fills those that it has encodings for: the others would hold foreign memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

__all__ = ["check_encoder"]


def check_encoder(value: BaseEstimator) -> None:
    """Raise ValueError where a fitted encoder would write beyond its columns.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from absentia.persistence.stored_encoders import check_encoder
    >>> encoder = OneHotEncoder().fit([["a"], ["b"]])
    >>> check_encoder(encoder)
    >>> encoder._n_features_outs = [10**9]
    >>> check_encoder(encoder)
    Traceback (most recent call last):
        ...
    ValueError: OneHotEncoder of [2] columns that says [1000000000]
    """
    if isinstance(value, OneHotEncoder) and "categories_" in vars(value):
        _check_one_hot(value)
    if isinstance(value, TargetEncoder) and "encodings_" in vars(value):
        _check_target_encoder(vars(value))
    if isinstance(value, OneVsRestClassifier) and "label_binarizer_" in vars(value):
        kind = getattr(value.label_binarizer_, "y_type_", None)
        if kind != "multiclass":
            raise ValueError(
                f"OneVsRestClassifier of {kind!r} targets, which trusts the answers of its models"
            )


def _check_target_encoder(state: dict[str, Any]) -> None:
    per_column = len(state["classes_"]) if state["target_type_"] == "multiclass" else 1
    found, n_features = len(state["encodings_"]), state["n_features_in_"]
    if found != n_features * per_column or len(state["categories_"]) != n_features:
        raise ValueError(f"TargetEncoder of {n_features} columns with {found} encodings")


def _check_one_hot(encoder: OneHotEncoder) -> None:
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
