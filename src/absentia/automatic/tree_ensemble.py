"""Forests and boosted trees as plain arrays.

An average over draws predicts many rows; arrays are walked on threads without the interpreter's
lock. A file holds them without what only training needs, and checks when it is read
that every walk ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from absentia.engine.sums import add_leaves
from absentia.engine.threads import bounded_slices, map_on_threads, n_threads
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import Stored, require_array

Link = Literal["identity", "sigmoid", "softmax"]


@dataclass(frozen=True, eq=False)
class TreeEnsemble(Stored):
    """A sum of decision trees that take NaN, added to ``baseline`` (n_outputs,).

    A node looks at column ``feature``. Rows with at most its ``threshold`` go to node ``left``,
    others to ``right`` (both -1 at a leaf), and rows that miss the column where ``missing_left``
    says; all (n_nodes,). ``values`` (n_nodes, n_outputs) are those of the leaves, ``roots``
    (n_trees,) the first nodes. Trees that were grown on float32 are ``single``: values are rounded
    before they are compared. ``link`` leads from the sum to the answer.
    """

    feature: IntArray
    left: IntArray
    right: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    values: FloatArray
    roots: IntArray
    baseline: FloatArray
    link: str
    single: bool
    n_features: int

    def validate(self) -> None:
        """Raise ValueError unless every walk ends at a leaf and stays inside the arrays."""
        n = len(self.feature)
        for name in ("feature", "left", "right"):
            self._require_array(name, np.int64, (n,))
        self._require_array("threshold", np.float64, (n,))
        self._require_array("missing_left", np.bool_, (n,))
        self._require_array("roots", np.int64, (None,))
        self._require_array("baseline", np.float64, (None,))
        self._require_array("values", np.float64, (n, len(self.baseline)))
        self._require_finite("values")
        self._require_type("n_features", int)
        self._require_indices("feature", self.n_features)
        self._require_indices("roots", n)
        inner = self.left >= 0
        # Every step leads to a higher index, so that no walk can go round in a circle.
        places = np.flatnonzero(inner)
        below = np.stack([self.left[inner], self.right[inner]])
        if below.size and not (below > places).all():
            raise ValueError("TreeEnsemble: nodes must come before the nodes below them.")
        if below.size and below.max() >= n:
            raise ValueError(f"TreeEnsemble: a node leads to {below.max()}, there are {n} nodes.")
        if self.link not in ("identity", "sigmoid", "softmax"):
            raise ValueError(f"TreeEnsemble.link must be a link function, found {self.link!r}.")

    @classmethod
    def of(
        cls, model: BaseEstimator, n_classes: int | None = None, stage: int | None = None
    ) -> TreeEnsemble:
        """Copy the trees of a fitted forest or of histogram gradient boosting of scikit-learn.

        Classes must be the integers from 0; a classifier may have seen fewer than ``n_classes``.
        Of boosting, only the first ``stage`` steps may be taken.
        """
        if hasattr(model, "estimators_"):
            return cls._of_forest(model, n_classes)
        return cls._of_boosting(model, n_classes, stage)

    @classmethod
    def _of_forest(cls, model: BaseEstimator, n_classes: int | None) -> TreeEnsemble:
        trees = [tree.tree_ for tree in model.estimators_]
        values = np.concatenate([tree.value[:, 0, :] for tree in trees]) / len(trees)
        if n_classes is not None:
            spread = np.zeros((len(values), n_classes))
            spread[:, model.classes_] = values
            values = spread
        left, right, roots = _joined([(t.children_left, t.children_right) for t in trees])
        return cls(
            feature=np.maximum(np.concatenate([tree.feature for tree in trees]), 0),
            left=left,
            right=right,
            threshold=np.concatenate([tree.threshold for tree in trees]),
            missing_left=np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
            values=values,
            roots=roots,
            baseline=np.zeros(values.shape[1]),
            link="identity",
            single=True,
            n_features=int(model.n_features_in_),
        )

    @classmethod
    def _of_boosting(
        cls, model: BaseEstimator, n_classes: int | None, stage: int | None
    ) -> TreeEnsemble:
        steps = model._predictors[:stage]
        grown = [tree.nodes for step in steps for tree in step]
        nodes = np.concatenate(grown)
        leaf, sides = nodes["is_leaf"].astype(bool), ("left", "right")
        left, right, roots = _joined(
            [[own[side].astype(np.int64) for side in sides] for own in grown]
        )
        left, right = np.where(leaf, -1, left), np.where(leaf, -1, right)
        base = np.ravel(model._baseline_prediction).astype(np.float64)
        # One sum per class, or one for a number and for the second of two classes.
        outputs = np.arange(len(base))
        n_outputs = len(base)
        if n_classes is not None and n_classes > 2:
            seen = np.asarray(model.classes_)
            outputs, n_outputs = (seen if len(base) > 1 else seen[1:]), n_classes
        baseline = np.full(n_outputs, 0.0 if n_outputs == len(base) else -np.inf)
        if n_outputs > len(base) == 1:
            baseline[model.classes_[0]] = 0.0  # the odds of two classes of more
        baseline[outputs] = base
        # The trees of a step are those of the sums, one after the other.
        output = np.tile(outputs, len(steps)).repeat([len(own) for own in grown])
        values = np.zeros((len(nodes), n_outputs))
        values[np.arange(len(nodes)), output] = nodes["value"]
        link: Link = "identity" if n_classes is None else "sigmoid" if n_outputs == 1 else "softmax"
        return cls(
            feature=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
            left=left,
            right=right,
            threshold=nodes["num_threshold"].astype(np.float64),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            values=values,
            roots=roots,
            baseline=baseline,
            link=link,
            single=False,
            n_features=int(model.n_features_in_),
        )

    def answer(self, table: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return probabilities, or numbers in one column, for rows with NaN."""
        self.ensure_valid()
        require_array("The rows for the trees", table, np.float64, (None, self.n_features))
        rows = table.astype(np.float32).astype(np.float64) if self.single else table
        rows = np.ascontiguousarray(rows)
        sums = np.tile(self.baseline, (len(rows), 1))

        def walk(part: slice) -> None:
            add_leaves(
                rows[part], self.feature, self.threshold, self.left, self.right,
                self.missing_left, self.values, self.roots, sums[part],
            )  # fmt: skip

        threads = n_threads(n_jobs)
        step = max(1, -(-len(rows) // threads))
        list(map_on_threads(walk, bounded_slices(len(rows), 1, step), threads))
        if self.link == "sigmoid":
            second = expit(sums[:, :1])
            return np.hstack([1.0 - second, second])
        return softmax(sums, axis=1) if self.link == "softmax" else sums


def _joined(children: Sequence[Sequence[IntArray]]) -> tuple[IntArray, IntArray, IntArray]:
    """Return left and right children in joined arrays, and the first node of each tree.

    Leaves keep their -1.
    """
    starts = np.cumsum([0, *(len(left) for left, _ in children)])[:-1].astype(np.int64)
    moved = [
        np.where(np.asarray(both) >= 0, np.asarray(both) + start, -1)
        for both, start in zip(children, starts, strict=True)
    ]
    left, right = np.concatenate(moved, axis=1).astype(np.int64)
    return left, right, starts
