"""Which candidate of a member answers which rows: one that these rows did not help to choose.

A member tries a few candidates (widths, penalties, sizes of leaves) on rows left out. The one with
the smallest loss answers new rows. Its loss on the rows that chose it is too small, though, the
more so the fewer rows and the more candidates there are. Rows ``T`` of a fold are therefore
answered by

    argmin_c  sum_{i in J without T} w_i loss_c(i) / sum_{i in J without T} w_i,

where ``J`` are the rows on which candidates were judged, which takes no fit more. It is not enough
for kernels: a width at which the rows of ``T`` predict others well is one at which others predict
them well. For kernels the losses in this sum are those of models that learned without ``T``, from
folds that are left out together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.automatic.blending import losses
from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    from absentia.automatic.member_plans import EstimatorPlan, FittedMember

__all__ = ["Choices", "RowScorer", "Splits", "left_out_together", "nested_losses"]

#: Rows to learn from and rows left out, fold by fold.
Splits = Sequence[tuple[IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class Choices:
    """The candidates of a member, and the loss of each on rows left out.

    Attributes
    ----------
    plan_of : callable
        ``plan_of(candidate)`` returns the plan with these hyperparameters.
    found : tuple of ndarray of shape (n_candidates, n_samples)
        Losses, NaN for rows that judged nothing. The first array chooses; later ones choose for a
        fold that has all rows of those before.
    weights : ndarray of shape (n_samples,) or None
    nested : sequence of ndarray of shape (n_candidates, n_samples)
        Losses for each fold of the first repeat, of candidates that had not learned from its rows
        either. They choose for the fold, where there are any.
    fits : dict
        Members that were fitted to try candidates, by candidate and fold of the first repeat.

    Examples
    --------
    The second candidate is better on all rows together, because of the last of them; that one is
    answered by the first:

    >>> import numpy as np
    >>> from absentia.automatic.choices import Choices
    >>> choices = Choices(str, (np.array([[1.0, 1.0, 4.0], [2.0, 2.0, 0.0]]),))
    >>> choices.without([0]), choices.without([2])
    (1, 0)
    """

    plan_of: Callable[[int], EstimatorPlan]
    found: tuple[FloatArray, ...] = ()
    weights: FloatArray | None = None
    nested: Sequence[FloatArray] = ()
    fits: Mapping[tuple[int, int], FittedMember] = field(default_factory=dict)

    @classmethod
    def one(cls, plan: EstimatorPlan) -> Choices:
        """Return the only candidate of a member that has nothing to choose."""
        return cls(lambda _: plan)

    def for_fold(self, fold: int, rows: IntArray) -> int:
        """Return the candidate that answers a fold of these rows, counted over all repeats."""
        if fold < len(self.nested):
            return self._best(self.nested[fold], np.zeros(0, dtype=int)) or 0
        return self.without(rows)

    def without(self, rows: IntArray) -> int:
        """Return the candidate with the smallest loss on all rows but these.

        The first candidate where no other row judged.
        """
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
    """Minus the mean loss, as a scorer of a search that keeps the losses of single rows.

    A search knows its scores by candidate and fold alone; rows of other folds than its own need the
    losses row by row. They are kept by the targets of the fold and by the score, and found again by
    both: equal scores in one fold are as good as each other.

    Parameters
    ----------
    n_classes : int or None
        Of classes coded from 0; None for numbers.
    """

    def __init__(self, n_classes: int | None) -> None:
        self.n_classes = n_classes
        self._kept: dict[tuple[bytes, float], FloatArray] = {}

    def __call__(
        self,
        model: BaseEstimator,
        X: Any,
        y: np.ndarray,
        sample_weight: FloatArray | None = None,
    ) -> float:
        """Return minus the mean loss of a model on rows left out."""
        if self.n_classes is None:
            own = losses(np.reshape(model.predict(X), (-1, 1)), y, "regression")
        else:
            answers = np.zeros((len(y), self.n_classes))
            answers[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(X)
            own = losses(answers, y, "classification")
        score = -float(np.average(own, weights=sample_weight))
        self._kept[_key(y, score)] = own
        return score

    def of_rows(self, y: np.ndarray, scores: FloatArray) -> FloatArray:
        """Return the losses behind the scores of a fold.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            The targets of the rows left out.
        scores : ndarray of shape (n_candidates,)

        Returns
        -------
        ndarray of shape (n_candidates, n_rows)
            Infinite where a score is no number.
        """
        none = np.full(len(y), np.inf)
        return np.stack([self._kept.get(_key(y, float(score)), none) for score in scores])


def left_out_together(n_folds: int, *, thorough: bool) -> list[list[int]]:
    """Return groups of folds, so that each fold is in one with others that can judge without it.

    Parameters
    ----------
    n_folds : int
    thorough : bool
        Whether each fold is left out with both of its neighbours, one after the other; otherwise
        folds are left out by threes, each once, so that fewer and smaller problems are solved.

    Examples
    --------
    >>> from absentia.automatic.choices import left_out_together
    >>> left_out_together(5, thorough=True)
    [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
    >>> left_out_together(5, thorough=False)
    [[0, 1, 2], [3, 4, 0]]
    >>> left_out_together(2, thorough=True)
    []
    """
    if n_folds < 3:  # nothing would be left to learn from
        return []
    size = 2 if thorough or n_folds < 5 else 3
    starts = range(0, n_folds, 1 if thorough else size)
    return [[(start + step) % n_folds for step in range(size)] for start in starts]


def nested_losses(
    splits: Splits, groups: Sequence[Sequence[int]], found: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return losses for each fold, on rows of the folds that were left out together with it.

    Parameters
    ----------
    splits : sequence of (train, test)
    groups : list of list of int
        As of :func:`left_out_together`.
    found : list of ndarray of shape (n_candidates, n_rows)
        Losses of each group on the rows of its folds, one fold after the other.

    Returns
    -------
    list of ndarray of shape (n_candidates, n_samples)
        NaN for rows that say nothing about the fold.
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
