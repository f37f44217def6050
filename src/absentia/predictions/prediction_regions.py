"""What conformal predictors return: an interval or a set of classes per row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from absentia.tables import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictionIntervals", "PredictionSets"]


@dataclass(frozen=True, eq=False)
class PredictionIntervals:
    """One interval per row; unpacks as ``lower, upper = intervals``.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_samples,)
        Infinite where too few calibration rows remain for the requested coverage.
    coverage : float
    n_calibration : ndarray of int, shape (n_samples,)
        How many calibration rows each row was compared with.
    """

    lower: FloatArray
    upper: FloatArray
    coverage: float
    n_calibration: IntArray

    @property
    def without_guarantee(self) -> BoolArray:
        """Which rows have an infinite interval, because too few calibration rows remain."""
        infinite: BoolArray = np.isinf(self.lower) | np.isinf(self.upper)
        return infinite

    @property
    def n_without_guarantee(self) -> int:
        """How many rows have an infinite interval."""
        return int(self.without_guarantee.sum())

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
        inside: BoolArray = (self.lower <= targets) & (targets <= self.upper)
        return inside

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with ``lower``, ``upper`` and ``n_calibration``."""
        import pandas as pd

        return pd.DataFrame(
            {"lower": self.lower, "upper": self.upper, "n_calibration": self.n_calibration}
        )


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """One set of classes per row.

    Attributes
    ----------
    members : ndarray of bool, shape (n_samples, n_classes)
        Which classes are in the set of each row.
    classes : ndarray of shape (n_classes,)
    coverage : float
    n_calibration : ndarray of int, shape (n_samples,)
        How many calibration rows each row was compared with.
    without_guarantee : ndarray of bool, shape (n_samples,)
        Which rows have all classes, because too few calibration rows remain.
    """

    members: BoolArray
    classes: np.ndarray
    coverage: float
    n_calibration: IntArray
    without_guarantee: BoolArray

    @property
    def n_without_guarantee(self) -> int:
        """How many rows have all classes because too few calibration rows remain."""
        return int(self.without_guarantee.sum())

    @property
    def size(self) -> IntArray:
        """The number of classes in each set."""
        size: IntArray = self.members.sum(axis=1)
        return size

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
        inside: BoolArray = (self.members & (self.classes == labels[:, None])).any(axis=1)
        return inside

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one column of booleans per class, and ``n_calibration``."""
        import pandas as pd

        frame = pd.DataFrame(self.members, columns=list(self.classes))
        return frame.assign(n_calibration=self.n_calibration)
