"""A warning of columns whose spread is one gross value."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from absentia.kernels.base import Kernel
from absentia.tables import BoolArray, FloatArray, Table
from absentia.tables.phrases import frames_of_absentia, listed

__all__ = ["gross_columns", "warn_of_gross_values", "widths_from_variance"]

# A value is gross where the squared distances of all others from the median are together less than
# this share of its own: a thousand standard deviations for a column of one row, times the root of
# the number of rows. No column of the tables that come with the library has one.
_SHARE_OF_OTHERS = 1e-6
_FEWEST_VALUES = 10
# Columns that are nearly always the same value, such as indicators of a rare word, are no spread to
# compare with: at least this share of the values must differ from the median.
_SHARE_THAT_VARIES = 0.1


def warn_of_gross_values(
    rows: object, density: object, sample_weight: ArrayLike | None = None
) -> None:
    """Warn of columns in which one value makes up nearly all of the variance.

    Widths that are taken from the spread of the columns, or searched for from there, then see
    nothing but this value: all other rows are alike. Beliefs about normal scores do not. Rows of
    weight zero do not count, and streams are not looked through.
    """
    if not isinstance(rows, Table) or getattr(density, "margins", None) is not None:
        return
    table = rows.array if sample_weight is None else rows.array[np.asarray(sample_weight) > 0]
    found = np.flatnonzero(gross_columns(table))
    if not len(found):
        return
    labels = rows.labels
    first = found[0]
    values = table[:, first]
    centre = np.nanmedian(values)
    value = values[np.nanargmax(np.abs(values - centre))]
    names = listed([labels[j] for j in found])
    columns = f"column {names}" if len(found) == 1 else f"each of the columns {names}"
    example = "" if len(found) == 1 else f" of {labels[first]!r}"
    warnings.warn(
        f"One value makes up nearly all of the variance of {columns}: {value:g}{example}, where "
        f"half of the values are within {_half_width(values, centre):.2g} of {centre:g}. Widths of "
        "the kernel are taken from this variance, so that all other rows look alike. Correct or "
        "remove the value, or use normal scores (`NormalScores`, or a density with "
        "margins='normal-scores').",
        stacklevel=frames_of_absentia(),
    )


def widths_from_variance(kernel: Kernel) -> bool:
    """Return whether a kernel, or one that it is made of, takes its width from the columns."""
    return any(
        name.split("__")[-1] in ("gamma", "theta") and isinstance(value, str) and value == "scale"
        for name, value in kernel.get_params().items()
    )


def gross_columns(X: FloatArray) -> BoolArray:
    """Return which columns have a variance that is one value, shape (n_features,)."""
    known = ~np.isnan(X)
    n_known = known.sum(axis=0)
    found = np.zeros(X.shape[1], dtype=bool)
    # Around the mean of n values, such a value has all of the sum of squares but one in n.
    some = np.where(known, X, 0.0)
    largest = np.maximum(np.abs(some).max(axis=0, initial=0.0), np.finfo(float).tiny)
    some /= largest
    mean = some.sum(axis=0) / np.maximum(n_known, 1)
    squares = np.where(known, (some - mean) ** 2, 0.0)
    share = squares.max(axis=0, initial=0.0) / np.maximum(squares.sum(axis=0), np.finfo(float).tiny)
    candidates = (n_known > _FEWEST_VALUES) & (share > 1 - 1 / np.maximum(n_known, 1) - 1e-5)
    for j in np.flatnonzero(candidates):
        distances = np.abs(some[known[:, j], j] - np.median(some[known[:, j], j]))
        at = distances.argmax()
        others = np.delete(distances, at)
        varies = np.count_nonzero(others) >= _SHARE_THAT_VARIES * len(others)
        found[j] = varies and (others**2).sum() < _SHARE_OF_OTHERS * distances[at] ** 2
    return found


def _half_width(values: FloatArray, centre: float) -> float:
    return float(np.nanmedian(np.abs(values - centre)))
