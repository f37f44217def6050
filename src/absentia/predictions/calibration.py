"""Calibration rows made comparable with test rows by hiding values, and prediction regions.

A conformal region compares a test row with calibration rows. With missing values the comparison is
fair only between rows that miss the same columns, and under values missing completely at random any
row can be made to miss more. For a test row that misses ``m`` and calibration rows that miss
``M_k``, the methods of Zaffran et al. (2023, 2024) are

- *exact*: rows with ``M_k`` contained in ``m``; ``m`` is hidden in them;
- *nested*: all rows; the union of ``M_k`` and ``m`` is hidden in row ``k``, and in the test row
  when it is compared with row ``k``;
- *nested\\**: as nested, with those rows only whose ``M_k`` hides little more than ``m`` does.

Beyond values missing completely at random, *weighted* compares with completed and weighted rows
(:mod:`absentia.predictions.weighting`).

Nothing is hidden for plain split and cross conformal prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.missingness import Patterns
from absentia.predictions.hiding_table import HidingTable
from absentia.predictions.weighting import Weighting
from absentia.predictions.wrapped_model import explained_words
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    import pandas as pd

#: A fitted model: a tuple of one estimator or, for quantiles, of a lower and an upper one.
Fitted = tuple[Any, ...]
#: From a fitted model and rows to what scores are computed from, (n_samples, width).
Answer = Callable[[Fitted, Any], FloatArray]

#: At most this many rows go through a model at once.
_BATCH = 20_000


#: Room for rounding in sums of weights.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Comparison:
    """Test rows (``rows``) beside the calibration rows that they are compared with (``kept``).

    ``calibration`` are the model's predictions (n_kept, width) of the latter, with further values
    hidden, and ``distinct`` those of the test rows (n_rows, n_distinct, width), once for each
    distinct model and mask: ``distinct[:, which]`` are beside each calibration row. ``weights`` are
    those of the calibration rows and ``own`` those of the test rows; without weights all are one.
    """

    rows: IntArray
    kept: IntArray
    calibration: FloatArray
    distinct: FloatArray
    which: IntArray
    weights: FloatArray
    own: FloatArray

    def needed(self, coverage: float) -> FloatArray:
        """Return the weight of scores that a region has to exceed, for each test row.

        ``coverage (sum of the weights + own)``, the ``ceil(coverage (n + 1))``-th of ``n`` scores
        where all weights are one; infinite where the scores do not have that weight.
        """
        total = float(self.weights.sum())
        needed = coverage * (total + self.own) - _ROUNDING
        return np.where((needed > total) | (total <= 0), np.inf, needed)

    def bound(self, values: FloatArray, needed: float) -> float:
        """Return the smallest of the values, one per calibration row, that reaches a weight."""
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(self.weights[order])
        at = min(int(np.searchsorted(reached, needed)), len(order) - 1)
        return float(values[order[at]])


@dataclass(frozen=True, eq=False)
class Calibration(Stored):
    """Calibration rows, and the models that were not trained on them: one, or one per fold.

    ``model_of_row`` is the model of each row, ``weights`` how many rows each counts as.
    """

    table: HidingTable
    models: tuple[Fitted, ...]
    model_of_row: IntArray
    weights: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless every row of the table has one of the models."""
        self._require_type("table", HidingTable)
        self._require_array("model_of_row", np.intp, (len(self.table),))
        self._require_indices("model_of_row", len(self.models))
        self._require_array("weights", np.float64, (len(self.table),))

    def __len__(self) -> int:
        return len(self.table)

    def compare(
        self,
        new: HidingTable,
        method: str,
        subsample: int,
        answer: Answer,
        weighting: Weighting | None = None,
    ) -> Iterator[Comparison]:
        """Yield comparisons that together have every new row once."""
        known, hides = self.table, method not in ("split", "cross")
        # Where nothing is hidden, one comparison serves all rows.
        patterns = Patterns.of_mask(new.mask if hides else np.zeros_like(new.mask))
        for mask, rows in zip(patterns.masks, patterns.rows_by_pattern(), strict=True):
            of = kept = self._comparable(mask, method, subsample)
            weights, own = self.weights[kept], np.ones(len(new))
            if weighting is not None:
                known, of = weighting.known.table, weighting.known.row
                kept, (weights, own) = np.arange(len(of)), weighting.of_mask(mask)
                weights = weights * self.weights[of]
            if not len(kept):
                nothing = np.empty((len(rows), 0, 0))
                yield Comparison(rows, of, nothing[0], nothing, of, weights, own[rows])
                continue
            hidden = (known.mask[kept] | mask) & hides
            models = self.model_of_row[of]
            calibration = self._answers(known, kept, models, hidden, answer)
            keys = np.column_stack([models, hidden])
            distinct, which = np.unique(keys, axis=0, return_inverse=True)
            which, n_distinct = which.reshape(-1), len(distinct)
            for part in np.array_split(rows, -(-len(rows) * n_distinct // _BATCH)):
                answers = self._answers(
                    new,
                    np.repeat(part, n_distinct),
                    np.tile(distinct[:, 0], len(part)),
                    np.tile(distinct[:, 1:].astype(bool), (len(part), 1)),
                    answer,
                )
                shaped = answers.reshape(len(part), n_distinct, -1)
                yield Comparison(part, of, calibration, shaped, which, weights, own[part])

    def _comparable(self, mask: BoolArray, method: str, subsample: int) -> IntArray:
        """Return the calibration rows that a test row of this mask is compared with."""
        # Number of further values of the test row that would have to be hidden.
        excess = (self.table.mask & ~mask).sum(axis=1)
        most = 0 if method == "exact" else mask.size
        if method == "nested*" and subsample < len(excess):
            most = int(np.partition(excess, subsample - 1)[subsample - 1])
        return np.flatnonzero(excess <= most)

    def _answers(
        self,
        table: HidingTable,
        rows: IntArray,
        models: IntArray,
        hidden: BoolArray,
        answer: Answer,
    ) -> FloatArray:
        """Return the predictions of each row's model, in batches."""
        parts, order = [], []
        for model in np.unique(models):
            mine = np.flatnonzero(models == model)
            for start in range(0, len(mine), _BATCH):
                batch = mine[start : start + _BATCH]
                with explained_words():
                    parts.append(answer(self.models[model], table.take(rows[batch], hidden[batch])))
                order.append(batch)
        return np.concatenate(parts)[np.argsort(np.concatenate(order))]


class _Region:
    """Base class of the regions of a conformal predictor."""

    without_guarantee: Any

    @property
    def n_without_guarantee(self) -> int:
        """The number of rows for which too few calibration rows remain."""
        return int(self.without_guarantee.sum())


@dataclass(frozen=True, eq=False)
class PredictionIntervals(_Region):
    """One interval per row; unpacks as ``lower, upper = intervals``.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_samples,)
        Infinite where too few calibration rows remain for the requested coverage.
    coverage : float
    n_calibration : ndarray of int, shape (n_samples,)
        The number of calibration rows that each row was compared with.
    """

    lower: FloatArray
    upper: FloatArray
    coverage: float
    n_calibration: IntArray

    @property
    def without_guarantee(self) -> BoolArray:
        """The rows with an infinite interval, because too few calibration rows remain."""
        return np.isinf(self.lower) | np.isinf(self.upper)

    @property
    def width(self) -> FloatArray:
        """The length of each interval."""
        return self.upper - self.lower

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.lower, self.upper))

    def __len__(self) -> int:
        return len(self.lower)

    def __repr__(self) -> str:
        return (
            f"PredictionIntervals of {len(self)} row{'s' * (len(self) != 1)}, coverage "
            f"{self.coverage:g}, {self.n_without_guarantee} infinite"
        )

    def covers(self, y: ArrayLike) -> BoolArray:
        """Return which targets lie in their interval."""
        targets = np.asarray(y, dtype=np.float64)
        return (self.lower <= targets) & (targets <= self.upper)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with ``lower``, ``upper`` and ``n_calibration``."""
        import pandas as pd

        return pd.DataFrame(
            {"lower": self.lower, "upper": self.upper, "n_calibration": self.n_calibration}
        )


@dataclass(frozen=True, eq=False)
class PredictionSets(_Region):
    """One set of classes per row.

    Attributes
    ----------
    members : ndarray of bool, shape (n_samples, n_classes)
        Which classes are in the set of each row.
    classes : ndarray of shape (n_classes,)
    coverage : float
    n_calibration : ndarray of int, shape (n_samples,)
        The number of calibration rows that each row was compared with.
    without_guarantee : ndarray of bool, shape (n_samples,)
        Which rows have all classes, because too few calibration rows remain.
    """

    members: BoolArray
    classes: np.ndarray
    coverage: float
    n_calibration: IntArray
    without_guarantee: BoolArray

    @property
    def size(self) -> IntArray:
        """The number of classes in each set."""
        return self.members.sum(axis=1)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, row: int) -> np.ndarray:
        """Return the classes in the set of one row."""
        return self.classes[self.members[row]]

    def __repr__(self) -> str:
        return (
            f"PredictionSets of {len(self)} row{'s' * (len(self) != 1)}, coverage "
            f"{self.coverage:g}, {self.size.mean():.3g} of {len(self.classes)} classes on average, "
            f"{self.n_without_guarantee} without guarantee"
        )

    def covers(self, y: ArrayLike) -> BoolArray:
        """Return which labels are in their set."""
        labels = np.asarray(y)
        return (self.members & (self.classes == labels[:, None])).any(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one column of booleans per class, and ``n_calibration``."""
        import pandas as pd

        frame = pd.DataFrame(self.members, columns=list(self.classes))
        return frame.assign(n_calibration=self.n_calibration)
