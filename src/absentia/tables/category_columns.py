"""Categories as codes: which columns of a table hold them, and from values to codes and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.tables.reading import FloatArray, IntArray
from absentia.tables.rows import Rows
from absentia.tables.table import Table


@dataclass(frozen=True, eq=False)
class CategoryColumns:
    """Columns of a table that hold categories, and the values of these categories."""

    columns: IntArray
    values: list[FloatArray]

    def codes(self, X: FloatArray) -> IntArray:
        """Return the codes of rows, (n_samples, n_category_columns), -1 where missing."""
        return codes_of_values(X[:, self.columns], self.values)

    @property
    def n_categories(self) -> tuple[int, ...]:
        """The number of categories of each column."""
        return tuple(map(len, self.values))


def find_columns(categories: Any, rows: Rows) -> list[int]:
    """Return the numbers of the columns that hold categories, ascending."""
    if isinstance(categories, str) or not np.iterable(categories):
        if not (isinstance(categories, str) and categories == "auto"):
            raise ValueError(
                f"categories must be 'auto' or a list of columns, found {categories!r}."
            )
        return list(rows.category_columns) if isinstance(rows, Table) else []
    labels = rows.labels
    found = set(rows.category_columns if isinstance(rows, Table) else ())
    for column in categories:
        if isinstance(column, str):
            if column not in labels:
                raise ValueError(
                    f"categories names {column!r}, which is not among the columns that are "
                    "learned from. Columns of a frame with one value or with free text are left "
                    "out. To keep the last kind, train on "
                    f"ColumnPlan.of(frame, kinds={{{column!r}: 'category'}}, codes=True)"
                    ".read(frame)."
                )
            found.add(labels.index(column))
        elif isinstance(column, int | np.integer) and 0 <= column < rows.n_features:
            found.add(int(column))
        else:
            raise ValueError(
                f"categories must be names of columns or numbers from 0 to {rows.n_features - 1}, "
                f"found {column!r}."
            )
    return sorted(found)


def codes_of_values(columns: FloatArray, values: Sequence[FloatArray]) -> IntArray:
    """Return the place of each cell among the known values of its column (ascending), else -1."""
    codes = np.full(columns.shape, -1, dtype=np.intp)
    for j, known in enumerate(values):
        places = np.minimum(np.searchsorted(known, columns[:, j]), len(known) - 1)
        found = known[places] == columns[:, j]
        codes[found, j] = places[found]
    return codes
