"""The weights of rows, checked in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight

from absentia.tables.reading import FloatArray

__all__ = ["check_largest_weight", "huge_weights_refused", "row_weights"]

#: Weights are summed and multiplied by squares, penalties and each other.
_LARGEST_WEIGHT = 1e100


def row_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray | None:
    """Return finite weights, one per row and none negative; None where there are none.

    Examples
    --------
    >>> from absentia.tables.row_weights import row_weights
    >>> row_weights([1, 2], 2)
    array([1., 2.])
    """
    if sample_weight is None:
        return None
    with huge_weights_refused():
        weights: FloatArray = _check_sample_weight(
            sample_weight, np.empty((n_samples, 1)), dtype=np.float64, ensure_non_negative=True
        )
    check_largest_weight(weights)
    return weights


def check_largest_weight(weights: FloatArray) -> None:
    """Raise ValueError for weights whose sums and products may be no numbers."""
    if weights.size and weights.max() > _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be at most {_LARGEST_WEIGHT:g}, found {weights.max():.6g} in row "
            f"{int(weights.argmax())}. Divide all weights by the same number."
        )


@contextmanager
def huge_weights_refused() -> Iterator[None]:
    """Raise ValueError where weights become floats and an integer is beyond all of them."""
    try:
        yield
    except OverflowError:
        raise ValueError(
            f"sample_weight must be at most {_LARGEST_WEIGHT:g}, found an integer that is beyond "
            "the largest float. Divide all weights by the same number."
        ) from None
