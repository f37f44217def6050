"""Which candidate of a member answers which rows: one that these rows did not help to choose.

A member tries a few candidates (widths, penalties, sizes of leaves) on rows left out. The one with
the smallest loss answers new rows. Its loss on the rows that chose it is too small, though, the
more so the fewer rows and the more candidates there are. Rows ``T`` of a fold are therefore
answered by

    argmin_c  sum_{i in J without T} w_i loss_c(i) / sum_{i in J without T} w_i,

where ``J`` are the rows on which candidates were judged, of the first repeat of the folds. It takes
the losses that the search computes anyway. Rows of ``T`` are still among those that candidates
learned from when the others judged them; to leave them out there too, every fold would need a
search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.automatic.blending import losses
from absentia.tables import FloatArray, IntArray

if TYPE_CHECKING:
    from absentia.automatic.member_plans import EstimatorPlan, FittedMember, LearningRows

__all__ = ["Choices", "RowScorer"]


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
    fits: Mapping[tuple[int, int], FittedMember] = field(default_factory=dict)

    @classmethod
    def one(cls, plan: EstimatorPlan) -> Choices:
        """Return the only candidate of a member that has nothing to choose."""
        return cls(lambda _: plan)

    def without(self, rows: IntArray) -> int:
        """Return the candidate with the smallest loss on all rows but these.

        The first candidate where no other row judged.
        """
        for found in self.found:
            others = np.asarray(~np.isnan(found).all(axis=0))
            others[rows] = False
            if others.any():
                weights = None if self.weights is None else self.weights[others]
                means = np.average(found[:, others], axis=1, weights=weights)
                return int(np.nan_to_num(means, nan=np.inf).argmin())
        return 0


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

    def by_row(
        self, rows: LearningRows, tests: list[IntArray], scores: list[FloatArray]
    ) -> FloatArray:
        """Return losses of shape (n_candidates, n_samples), NaN for rows in none of the folds.

        Parameters
        ----------
        rows : LearningRows
        tests : list of ndarray of int
            The rows left out in each fold.
        scores : list of ndarray of shape (n_candidates,)
            What the search says of each fold.
        """
        found = np.full((len(scores[0]), len(rows.y)), np.nan)
        for test, of_fold in zip(tests, scores, strict=True):
            for candidate, score in enumerate(of_fold):
                # A score that is no number has no losses to find, and is the worst.
                found[candidate, test] = self._kept.get(_key(rows.y[test], float(score)), np.inf)
        return found


def _key(y: np.ndarray, score: float) -> tuple[bytes, float]:
    return np.asarray(y, dtype=np.float64).tobytes(), score
