"""The user's own columns, as a table behind the door and the beliefs about its rows hold them.

A column of words is several indicator columns of a table, or one column of codes; beliefs keep
codes apart from numbers. :class:`BeliefColumn` says where one column of the user is in either, and
what its categories are, so that answers can be about the column that the user knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from absentia.beliefs.beliefs import Beliefs
from absentia.tables import BoolArray, FloatArray

__all__ = ["BeliefColumn", "missing_cells", "number_columns", "option_probabilities"]


@dataclass(frozen=True, eq=False)
class BeliefColumn:
    """Where one column of the user is.

    Attributes
    ----------
    name : str
    places : tuple of int
        Its columns in the table; none for a column that is left out.
    numbers : tuple of int
        The same columns among the numbers of a belief; none for codes, and for a column that the
        density does not know.
    category : int or None
        Which column of categories of a belief it is, for codes.
    options : ndarray of shape (n_options, len(places)), or None
        What the table holds for each of its categories; None for a number.
    """

    name: str
    places: tuple[int, ...]
    numbers: tuple[int, ...] = ()
    category: int | None = None
    options: FloatArray | None = None

    @property
    def believed(self) -> bool:
        """Whether beliefs say what its missing values could be."""
        return self.category is not None or bool(self.numbers)


def number_columns(names: Sequence[str]) -> tuple[BeliefColumn, ...]:
    """Return the columns of a table of numbers, all of which the beliefs are about.

    Examples
    --------
    >>> [column.places for column in number_columns(["a", "b"])]
    [(0,), (1,)]
    """
    return tuple(BeliefColumn(str(name), (j,), (j,)) for j, name in enumerate(names))


def missing_cells(table: FloatArray, columns: Sequence[BeliefColumn]) -> BoolArray:
    """Return which of the user's cells are missing and believed something about, (n, n_columns)."""
    mask = np.isnan(table)
    missing = np.zeros((len(table), len(columns)), dtype=np.bool_)
    for at, column in enumerate(columns):
        if column.believed:
            missing[:, at] = mask[:, list(column.places)].any(axis=1)
    return missing


def option_probabilities(beliefs: Beliefs, column: BeliefColumn) -> FloatArray:
    """Return how probable each category of a column is in each row, (n_samples, n_options).

    Codes have the probabilities of the belief. The mean of an indicator is a linear prediction of
    its probability, which may leave the interval from 0 to 1: it is cut off there, and the
    probabilities of a column are divided by their sum.
    """
    assert column.options is not None
    if column.category is not None:
        return beliefs.probabilities(column.category)
    means = beliefs.to_table_units(beliefs.mean())[:, list(column.numbers)]
    if len(column.numbers) == 1:  # one indicator for two categories
        low, high = column.options[:, 0]
        second = np.clip((means[:, 0] - low) / (high - low), 0.0, 1.0)
        return np.column_stack([1.0 - second, second])
    places = np.arange(len(column.options))
    high = column.options[places, places]
    low = column.options[places - 1, places]
    shares = np.maximum((means - low) / (high - low), 0.0)
    total = shares.sum(axis=1, keepdims=True)
    even = np.full_like(shares, 1.0 / shares.shape[1])
    return np.divide(shares, total, out=even, where=total > 0)
