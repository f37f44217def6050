"""How much more a row misses than the training rows did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from absentia.tables import BoolArray, FloatArray, Table
from absentia.tables.stored import Stored

__all__ = ["MissingNorm", "hide_cells"]

Rows = TypeVar("Rows", FloatArray, Table)

#: Rows that miss no more than this part of the training rows are nothing new.
_QUANTILE = 0.95


@dataclass(frozen=True, eq=False)
class MissingNorm(Stored):
    """What training rows missed, so that new rows can be compared.

    The surprise of a row is the weighted share of its missing columns, where a column that was
    missing in a part ``r`` of the training rows weighs ``1 - r``. The excess of a row is its
    surprise beyond that of 95 % of the training rows, between 0 (nothing new) and 1 (nothing is
    observed).

    Attributes
    ----------
    rates : ndarray of shape (n_features,)
        Share of the training rows that missed each column.
    usual : float
        The surprise that 95 % of the training rows do not exceed.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.automatic.novelty import MissingNorm
    >>> norm = MissingNorm.of(np.zeros((10, 4), dtype=bool))
    >>> norm.excess(np.array([[False] * 4, [True, True, False, False]]))
    array([0. , 0.5])
    """

    rates: FloatArray
    usual: float

    def validate(self) -> None:
        """Raise ValueError unless rates and the usual surprise are shares."""
        self._require_array("rates", np.float64, (None,))
        self._require_finite("rates")
        if not 0.0 <= self.usual <= 1.0:
            raise ValueError(f"MissingNorm.usual must be a share, found {self.usual!r}.")

    @classmethod
    def of(cls, mask: BoolArray) -> MissingNorm:
        """Learn the norm from the mask of the training rows, shape (n_samples, n_features)."""
        norm = cls(mask.mean(axis=0), 0.0)
        return cls(norm.rates, float(np.quantile(norm._surprise(mask), _QUANTILE)))

    def excess(self, mask: BoolArray) -> FloatArray:
        """Return how much more each row misses than training rows, shape (n_samples,)."""
        room = max(1.0 - self.usual, np.finfo(float).eps)
        beyond: FloatArray = np.clip((self._surprise(mask) - self.usual) / room, 0.0, 1.0)
        # Rounding is no news.
        return np.where(beyond > 1e-12, beyond, 0.0)

    def is_new(self, mask: BoolArray) -> BoolArray:
        """Tell which rows miss more than training rows did, or a column that none of them did."""
        new: BoolArray = (self.excess(mask) > 0) | mask[:, self.rates == 0].any(axis=1)
        return new

    def _surprise(self, mask: BoolArray) -> FloatArray:
        weights = 1.0 - self.rates
        surprise: FloatArray = mask @ weights / max(weights.sum(), np.finfo(float).tiny)
        return np.minimum(surprise, 1.0)


def hide_cells(table: Rows, share: float, seed: int) -> Rows:
    """Hide a share of the observed cells of each row at random, whichever column they are in.

    A value with limits counts as observed; where it is hidden, its limits are too.

    At least one observed value is left to a row that has one. A larger share with the same seed
    hides what a smaller one does, and more.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.automatic.novelty import hide_cells
    >>> np.isnan(hide_cells(np.ones((2, 4)), 0.5, seed=0)).sum(axis=1)
    array([2, 2])
    """
    observed = ~(table.unknown if isinstance(table, Table) else np.isnan(table))
    lots = np.random.default_rng(seed).random(table.shape)
    lots[~observed] = np.inf  # nothing to hide
    rank = lots.argsort(axis=1).argsort(axis=1)
    n_observed = observed.sum(axis=1)
    # Rounding up or down by lot, so that the share is met on average in narrow tables.
    fraction = np.random.default_rng(seed + 1).random(len(table))
    n_hidden = np.minimum(np.floor(share * n_observed + fraction), np.maximum(n_observed - 1, 0))
    chosen = rank < n_hidden[:, None]
    return table.hiding(chosen) if isinstance(table, Table) else np.where(chosen, np.nan, table)
