"""Nested selection: each fold is predicted by a candidate chosen without it.

A member tries a few candidates (widths, penalties, sizes of leaves) on held-out rows, and the one
with the smallest loss predicts new rows. Its loss on the rows that chose it is optimistic, the more
so the fewer rows and the more candidates there are. Rows ``T`` of a fold are therefore predicted by

    argmin_c  sum_{i in J without T} w_i loss_c(i) / sum_{i in J without T} w_i,

where ``J`` are the rows on which candidates were scored, which takes no further fit. That is not
enough for kernels: a width at which the rows of ``T`` predict others well is one at which others
predict them well. For kernels the losses in this sum are those of models that were trained without
``T`` too: of each other fold by the model without both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from absentia.tables import FloatArray, IntArray

#: Training and held-out rows, fold by fold.
Splits = Sequence[tuple[IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The loss of each candidate of a member on held-out rows.

    The losses ``found`` are an array (n_candidates, n_samples), NaN for rows that were not scored.
    ``nested`` are such losses for each fold of the first repeat, of candidates that were trained
    without its rows; they choose for the fold, where there are any.
    """

    found: FloatArray | None = None
    weights: FloatArray | None = None
    nested: Sequence[FloatArray] = ()

    def for_fold(self, fold: int, rows: IntArray) -> int:
        """Return the candidate that predicts a fold of these rows, counted over all repeats."""
        if fold < len(self.nested):
            return self._best(self.nested[fold], [])
        return self.without(rows)

    def without(self, rows: ArrayLike) -> int:
        """Return the candidate with the smallest loss on all other rows, by default the first."""
        return 0 if self.found is None else self._best(self.found, rows)

    def _best(self, found: FloatArray, left_out: ArrayLike) -> int:
        others = np.asarray(~np.isnan(found).all(axis=0))
        others[np.asarray(left_out, dtype=int)] = False
        if not others.any():
            return 0
        weights = None if self.weights is None else self.weights[others]
        means = np.average(found[:, others], axis=1, weights=weights)
        return int(np.nan_to_num(means, nan=np.inf).argmin())
