"""Nested selection: each fold is predicted by a candidate chosen without it.

A member tries a few candidates (widths, penalties, sizes of leaves) on held-out rows, and the one
with the smallest loss predicts new rows. Its loss on the rows that chose it is optimistic, the more
so the fewer rows and the more candidates there are. Rows ``T`` of a fold are therefore predicted by

    argmin_c  sum_{i in J without T} w_i loss_c(i) / sum_{i in J without T} w_i,

where ``J`` are the rows on which candidates were scored, which takes no further fit. That is not
enough for kernels: a width at which the rows of ``T`` predict others well is one at which others
predict them well. For kernels the losses in this sum are those of models that were trained without
``T``, from folds that are left out together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.automatic.blending import losses
from absentia.machines.targets import Task
from absentia.predictions.wrapped_model import class_probabilities
from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    from absentia.automatic.member_tuning import EstimatorPlan, FittedMember

#: Training and held-out rows, fold by fold.
Splits = Sequence[tuple[IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of a member, and the loss of each on held-out rows.

    ``plan_of`` leads from the number of a candidate to the plan with its hyperparameters. The
    losses ``found`` are arrays (n_candidates, n_samples), NaN for rows that were not scored; the
    first chooses, later ones choose for a fold that has all rows of those before. ``nested`` are
    such losses for each fold of the first repeat, of candidates that were trained without its
    rows; they choose for the fold, where there are any. ``fits`` are members that were fitted to
    score candidates, by candidate and fold of the first repeat.
    """

    plan_of: Callable[[int], EstimatorPlan]
    found: tuple[FloatArray, ...] = ()
    weights: FloatArray | None = None
    nested: Sequence[FloatArray] = ()
    fits: Mapping[tuple[int, int], FittedMember] = field(default_factory=dict)

    def for_fold(self, fold: int, rows: IntArray) -> int:
        """Return the candidate that predicts a fold of these rows, counted over all repeats."""
        if fold < len(self.nested):
            return self._best(self.nested[fold], np.zeros(0, dtype=int)) or 0
        return self.without(rows)

    def without(self, rows: IntArray) -> int:
        """Return the candidate with the smallest loss on all other rows, by default the first."""
        for found in self.found:
            best = self._best(found, rows)
            if best is not None:
                return best
        return 0

    def _best(self, found: FloatArray, left_out: IntArray) -> int | None:
        others = np.asarray(~np.isnan(found).all(axis=0))
        others[left_out] = False
        if not others.any():
            return None
        weights = None if self.weights is None else self.weights[others]
        means = np.average(found[:, others], axis=1, weights=weights)
        return int(np.nan_to_num(means, nan=np.inf).argmin())


class RowScorer:
    """Scorer of a search, minus the mean loss, that caches the losses of single rows.

    A search has its scores by candidate and fold only. Losses are cached by the targets of the
    fold and by the score: equal scores in one fold are interchangeable.
    """

    def __init__(self, n_classes: int | None) -> None:
        self.n_classes = n_classes
        self._cached: dict[tuple[bytes, float], FloatArray] = {}

    def __call__(
        self,
        model: BaseEstimator,
        X: Any,
        y: np.ndarray,
        sample_weight: FloatArray | None = None,
    ) -> float:
        """Return minus the mean loss of a model on held-out rows."""
        task: Task = "regression" if self.n_classes is None else "classification"
        own = losses(predictions(model, X, self.n_classes), y, task)
        score = -float(np.average(own, weights=sample_weight))
        self._cached[_key(y, score)] = own
        return score

    def of_rows(self, y: np.ndarray, scores: FloatArray) -> FloatArray:
        """Return the losses (n_candidates, n_rows) behind the scores of a fold with targets ``y``.

        They are infinite where a score is not finite.
        """
        none = np.full(len(y), np.inf)
        return np.stack([self._cached.get(_key(y, float(score)), none) for score in scores])


def predictions(model: BaseEstimator, X: Any, n_classes: int | None) -> FloatArray:
    """Return probabilities of all classes, coded from 0, or numbers in one column."""
    if n_classes is None:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1, 1)
    return class_probabilities(model, X, np.arange(n_classes))


def left_out_together(n_folds: int, *, thorough: bool) -> list[list[int]]:
    """Return groups of folds, such that each fold is in one with others that can be scored.

    If ``thorough``, each fold is left out with both of its neighbours, one after the other;
    otherwise folds are left out by threes, each once, so that fewer and smaller problems are
    solved.
    """
    if n_folds < 3:  # nothing would be left to train on
        return []
    size = 2 if thorough or n_folds < 5 else 3
    starts = range(0, n_folds, 1 if thorough else size)
    return [[(start + step) % n_folds for step in range(size)] for start in starts]


def nested_losses(
    splits: Splits, groups: Sequence[Sequence[int]], found: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return losses (n_candidates, n_samples) for each fold, on folds left out together with it.

    ``found`` are the losses (n_candidates, n_rows) of each of the ``groups`` on the rows of its
    folds, one fold after the other. Rows that were not scored for a fold are NaN.
    """
    n_samples = 1 + max(int(max(train.max(), test.max())) for train, test in splits)
    nested = [np.full((len(found[0]), n_samples), np.nan) for _ in splits]
    for group, of_group in zip(groups, found, strict=True):
        places = np.cumsum([len(splits[fold][1]) for fold in group])[:-1]
        parts = np.split(of_group, places, axis=1)
        for fold in group:
            for other, part in zip(group, parts, strict=True):
                if other != fold:
                    nested[fold][:, splits[other][1]] = part
    return nested


def _key(y: np.ndarray, score: float) -> tuple[bytes, float]:
    return np.asarray(y, dtype=np.float64).tobytes(), score
