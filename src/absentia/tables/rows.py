"""Interface of all sources of rows (tables, streams, beliefs), and checks that estimators share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array

from absentia.tables.reading import BoolArray, FloatArray, IntArray

Outcome = TypeVar("Outcome")

#: Fitted attributes by name.
Learned = dict[str, Any]
#: Row indices as NumPy has them.
RowIndex = int | slice | IntArray | BoolArray


class Rows(ABC):
    """Rows with a known number of columns, and names of the columns where they have any."""

    #: Whether all rows are in memory; if not, they come chunk by chunk.
    in_memory: ClassVar[bool] = True

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns, where they have names that are text."""
        names = list(getattr(self, "names", None) or ())
        return names if names and all(isinstance(name, str) for name in names) else None

    @property
    def labels(self) -> list[str]:
        """Labels of the columns in messages: their names, else ``x0``, ``x1``..."""
        return self.column_names or [f"x{j}" for j in range(self.n_features)]

    def column_attributes(self) -> dict[str, object]:
        """Return ``n_features_in_`` and, where columns have names, ``feature_names_in_``."""
        attributes: Learned = {"n_features_in_": self.n_features}
        if self.column_names is not None:
            attributes["feature_names_in_"] = np.asarray(self.column_names, dtype=object)
        return attributes

    @abstractmethod
    def checked(self, estimator: BaseEstimator) -> Self:
        """Return the rows after checking their columns against those an estimator knows."""

    def behind_plan(self) -> Self:
        """Return the rows as densities see them, the columns of a plan as their own."""
        return self


class MemoryRows(Rows):
    """Rows that are all in memory: a table, or beliefs."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def __getitem__(self, rows: RowIndex) -> Self:
        """Return some of the rows."""

    @property
    @abstractmethod
    def mask(self) -> BoolArray:
        """The mask of missing values, shape (n_samples, n_features)."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return len(self), self.n_features

    def missing_rates(self) -> FloatArray:
        """Return the fraction of rows that miss each column, shape (n_features,)."""
        return self.mask.mean(axis=0)

    def map_rows(self, function: Callable[[Self], Outcome], n_columns: int | None) -> Outcome:
        """Return what ``function`` makes of the rows, at once; streams do it chunk by chunk."""
        return function(self)

    def some_rows(self, size: int, rng: np.random.RandomState) -> Self:
        """Return the rows themselves: a sample is for streams, which are never held whole."""
        return self


def set_fitted(estimator: BaseEstimator, rows: Rows, attributes: Mapping[str, object]) -> None:
    """Set the fitted attributes of an estimator, all at once: the last step of ``fit``.

    The attributes of an earlier fit are removed in the same step, which no interruption can cut in
    two: an estimator is as it was before ``fit``, or as ``fit`` leaves it. ``rows`` have the number
    and the names of the columns.
    """
    lasting = {name: value for name, value in vars(estimator).items() if name[-1] != "_"}
    estimator.__dict__ = lasting | rows.column_attributes() | dict(attributes)


class TakesMissing(BaseEstimator):
    """Base of estimators that take NaN, whatever their parameters are."""

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that NaN is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


#: Weights are summed and multiplied by squares, penalties and each other.
_LARGEST_WEIGHT = 1e100


def row_weights(
    sample_weight: ArrayLike | Sequence[object] | None,
    n_samples: int,
    *,
    negative_as_zero: bool = False,
    all_zero: bool = False,
) -> FloatArray | None:
    """Return finite weights, one per row and none negative; None where there are none.

    One of them must be positive, unless ``all_zero`` says that other rows have weights too.
    """
    if sample_weight is None:
        return None
    how: Any = {"ensure_2d": False, "ensure_min_samples": 0, "input_name": "sample_weight"}
    try:
        weights: FloatArray = check_array(sample_weight, dtype=np.float64, **how)
    except OverflowError:
        raise ValueError(
            f"sample_weight must be at most {_LARGEST_WEIGHT:g}, found an integer that is beyond "
            "the largest float. Divide all weights by the same number."
        ) from None
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight per row of X, found "
            f"sample_weight.shape == {weights.shape}."
        )
    if weights.size and weights.max() > _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be at most {_LARGEST_WEIGHT:g}, found {weights.max():.6g} in row "
            f"{int(weights.argmax())}. Divide all weights by the same number."
        )
    if not negative_as_zero and (weights < 0).any():
        raise ValueError(
            f"sample_weight must not be negative, found {weights.min():.6g} in row "
            f"{int(weights.argmin())}: use 0 for rows that should not count."
        )
    if not all_zero:
        check_positive_weight(weights)
    return np.maximum(weights, 0.0) if negative_as_zero else weights


def check_positive_weight(weights: FloatArray) -> None:
    """Raise ValueError unless a row has a positive weight."""
    if not (weights > 0).any():
        # The first words are those that scikit-learn's own tests look for.
        raise ValueError(
            "Invalid input - all samples have zero or negative weights, so there is nothing to "
            "learn from. Give rows that count a positive weight."
        )


#: Values that differ by no more than this share of themselves differ by rounding.
_ROUNDING = 4 * float(np.finfo(float).eps)


def is_constant(values: FloatArray) -> BoolArray:
    """Return which columns have one value only, up to rounding; False for a column without any.

    ``max - min <= 4 eps max|x|``. The standard deviation is no test: the mean of ``n`` times 0.1 is
    not 0.1, so that the deviation comes out as 1e-17 and not as zero, and a column that is divided
    by it has values of any size on other rows.
    """
    largest, smallest = np.fmax.reduce(values, axis=0), np.fmin.reduce(values, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.maximum(np.abs(largest), np.abs(smallest))
        constant: BoolArray = np.asarray(largest - smallest <= _ROUNDING * sizes)
    return constant
