"""Missing values of rows: completed rows, and trial values for single cells.

Predictions and decisions average through :class:`MissingValues`, so that limits, categories and
columns unknown to the density are handled in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs
from absentia.beliefs.column_trials import (
    BeliefColumn,
    ColumnTrials,
    Rule,
    column_trials,
    missing_cells,
    number_columns,
)
from absentia.beliefs.conditioning import condition
from absentia.beliefs.limits import measured
from absentia.densities.fit_density import believe
from absentia.tables import BoolArray, FloatArray, IntArray, Table
from absentia.tables.column_plan import ColumnPlan

#: Error of a value that becomes known, in deviations: its square is below the rounding of one.
_NO_ERROR = 1e-8


@dataclass(frozen=True, eq=False)
class MissingValues:
    """Missing values of rows under a density, in the user's own columns.

    ``numbers`` are the columns of the table that the numbers of a belief are, and ``categories``
    for each column of categories of a belief its column of the table, and the value that the table
    holds for each category.
    """

    believe: Callable[[Table], Beliefs]
    columns: tuple[BeliefColumn, ...]
    numbers: IntArray
    categories: tuple[tuple[int, FloatArray], ...] = ()

    @classmethod
    def of(
        cls,
        density: BaseEstimator,
        names: Sequence[str],
        n_features: int,
        plan: ColumnPlan | None = None,
    ) -> MissingValues:
        """Return the missing values as a fitted density describes them.

        ``names`` are those of the columns of a table without a plan, ``n_features`` is the number
        of columns behind the plan.
        """
        kept = np.asarray(getattr(density, "columns_", np.arange(n_features)))
        numbers = np.asarray(getattr(density, "number_columns_", kept))
        coded = np.asarray(getattr(density, "category_columns_", ()), dtype=np.intp)
        values = getattr(density, "categories_", [])
        categories = tuple((int(j), values[at]) for at, j in enumerate(coded))
        groups: list[tuple[str, tuple[int, ...], FloatArray | None]]
        groups = [(str(name), (j,), None) for j, name in enumerate(names)]
        if plan is not None:
            groups = plan.groups()
        number_at = {int(j): at for at, j in enumerate(numbers)}
        code_at = {int(j): at for at, j in enumerate(coded)}
        columns = []
        for name, places, options in groups:
            if places and places[0] in code_at:
                at = code_at[places[0]]
                columns.append(BeliefColumn(name, places, (), at, values[at][:, None]))
                continue
            known = all(j in number_at for j in places)
            among = tuple(number_at[j] for j in places) if known else ()
            columns.append(BeliefColumn(name, places, among, None, options))

        def conditioned(rows: Table) -> Beliefs:
            return believe(density, rows)

        return cls(conditioned, tuple(columns), numbers, categories)

    @classmethod
    def of_beliefs(cls, beliefs: Beliefs, names: Sequence[str]) -> tuple[Table, MissingValues]:
        """Return rows for beliefs about numbers, and their missing values.

        The last column of the table says which belief a row is about, so that trial rows, with
        further values known, are conditioned on the belief and not on the prior.
        """
        beliefs = replace(beliefs, margins=None)
        spread, d = beliefs.spread(), beliefs.n_features
        values = np.where(spread > 0, np.nan, beliefs.mean())
        table = Table(np.column_stack([values, np.arange(len(beliefs))]), columns_checked=True)

        def conditioned(rows: Table) -> Beliefs:
            numbers, at = rows.array[:, :d], rows.array[:, d].astype(np.intp)
            if not np.isnan(numbers).any():
                return condition(beliefs.prior, numbers)[0]
            learned = ~np.isnan(numbers) & (spread[at] > 0)
            errors = np.where(learned, _NO_ERROR * spread[at], 0.0)
            return measured(beliefs[at], np.nan_to_num(numbers), errors)

        return table, cls(conditioned, number_columns(names), np.arange(d))

    @property
    def n_drawn(self) -> int:
        """Number of coordinates of a draw: numbers, then categories."""
        # Without numbers beliefs have one that is always zero.
        return max(len(self.numbers), 1) + len(self.categories)

    def believed(self) -> tuple[BeliefColumn, ...]:
        """Return the user's columns that beliefs cover."""
        return tuple(column for column in self.columns if column.believed)

    def incomplete(self, table: FloatArray) -> BoolArray:
        """Return which rows miss a value that beliefs cover."""
        places = np.concatenate([self.numbers, [j for j, _ in self.categories]]).astype(np.intp)
        return np.atleast_1d(np.isnan(table[:, places]).any(axis=1))

    def missing(self, table: FloatArray) -> BoolArray:
        """Return which of the user's cells could be measured, (n_samples, len(columns))."""
        return missing_cells(table, self.columns)

    def completed(self, rows: Table, draws: FloatArray) -> FloatArray:
        """Return draws of beliefs as rows of the table, (n, m, n_features), within limits.

        ``draws`` of shape (n, m, n_drawn) are numbers, then codes of categories. NaN is left only
        in columns that beliefs do not cover.
        """
        n_numbers = len(self.numbers)
        limits = rows.limits_of(self.numbers)
        numbers = draws[:, :, :n_numbers]
        if limits is not None:
            numbers = np.clip(numbers, limits[0][:, None], limits[1][:, None])
        # Margins return what they can draw, which an observed value need not be.
        known = rows.array[:, None, self.numbers]
        numbers = np.where(np.isnan(known), numbers, known)
        if not self.categories and n_numbers == rows.n_features:
            return numbers
        out = np.repeat(rows.array[:, None], draws.shape[1], axis=1)
        out[:, :, self.numbers] = numbers
        first = draws.shape[2] - len(self.categories)
        for at, (place, values) in enumerate(self.categories):
            out[:, :, place] = values[draws[:, :, first + at].astype(np.intp)]
        return out

    def before_limits(self, rows: Table) -> Beliefs | None:
        """Return the beliefs given the observed values alone, or None without limits."""
        if rows.lower is None:
            return None
        return self.believe(replace(rows, lower=None, upper=None, _whole=None, _known={}))

    def trials(self, rows: Table, cells: BoolArray, rule: Rule) -> ColumnTrials:
        """Return rows with one missing cell filled in, for each of ``cells``."""
        needed, at = np.unique(np.nonzero(cells)[0], return_inverse=True)
        if not len(needed):
            none = np.empty(0, dtype=np.intp)
            return ColumnTrials(none, none, none, np.empty(0), rows[none])
        some = rows[needed]
        found = column_trials(
            self.believe(some), some, self.columns, cells[needed], rule, self.before_limits(some)
        )
        return ColumnTrials(needed[at], found.column, found.counts, found.weights, found.table)
