"""A user's table after it was read: an array of float64, the names of its columns, its mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from absentia.tables.plan_notes import absent_names, absent_note, warn
from absentia.tables.reading import BoolArray, FloatArray, IntArray, as_table, is_frame
from absentia.tables.rows import MemoryRows, RowIndex, Rows

if TYPE_CHECKING:
    import pandas as pd

    from absentia.tables.column_plan import ColumnPlan

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Table(MemoryRows):
    """A table that has been read, so that no later stage reads it again.

    Make one with :func:`absentia.tables.open_rows` or :meth:`of`; an array that is known to be
    float64 without infinities can be given as it is.

    ``array`` (n_samples, n_features) has NaN where a value is missing, in the caller's own memory
    where possible: never write to it. ``lower`` and ``upper`` are limits of missing values,
    infinite where there is none, or None. ``errors`` are standard deviations of the errors of
    observed values, zero where one is exact, or None. ``frame`` is the frame that was read, and
    ``names`` are those of its columns.
    ``category_columns`` hold codes of categories. ``plan`` says how the columns of a frame became
    these; ``encoded``: they are the table's own, for densities, which know no frame.
    ``columns_checked``: an estimator has checked the names. ``sparse``: the rows were a sparse
    matrix, whose zeros are observed values.
    """

    array: FloatArray
    frame: pd.DataFrame | None = None
    columns_checked: bool = False
    names: tuple[Any, ...] | None = None
    category_columns: tuple[int, ...] = ()
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    errors: FloatArray | None = None
    sparse: bool = False
    plan: ColumnPlan | None = None
    encoded: bool = False
    _whole: tuple[Table, Any] | None = field(default=None, repr=False)
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, X: Any, *, minimum_rows: int = 1) -> Table:
        """Read a user's table, as :func:`absentia.tables.as_table` does."""
        if isinstance(X, Table):
            return X
        array = as_table(X, minimum_rows=minimum_rows)
        return cls(array, X, names=tuple(X.columns)) if is_frame(X) else cls(array)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.array)

    def __array__(
        self, dtype: np.typing.DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray:
        """Return the values, for functions that take arrays."""
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __getitem__(self, rows: RowIndex) -> Table:
        """Return some of the rows; what is known of the whole need not be found again."""
        names = ("array", "lower", "upper", "errors")
        parts: Any = {n: None if (a := getattr(self, n)) is None else a[rows] for n in names}
        return replace(self, **parts, _whole=(self, rows), _known={})

    @property
    def labels(self) -> list[str]:
        """Labels of the columns in messages."""
        return super().labels if self.names is None else [str(name) for name in self.names]

    @property
    def mask(self) -> BoolArray:
        """The mask of missing values, shape (n_samples, n_features)."""
        return self.once(_mask_of)

    @property
    def limited(self) -> BoolArray:
        """The mask of missing values with a limit, shape (n_samples, n_features)."""
        if self.lower is None or self.upper is None:
            return np.zeros(self.shape, dtype=bool)
        return self.mask & (np.isfinite(self.lower) | np.isfinite(self.upper))

    @property
    def unknown(self) -> BoolArray:
        """The mask of values that are missing and have no limits."""
        return self.mask if self.lower is None else self.mask & ~self.limited

    def hiding(self, cells: BoolArray) -> Table:
        """Return the table with some values missing besides, and without limits and errors."""
        lower, upper, errors = self.lower, self.upper, self.errors
        errors = None if errors is None else np.where(cells, 0.0, errors)
        if lower is not None and upper is not None:
            lower, upper = np.where(cells, -np.inf, lower), np.where(cells, np.inf, upper)
        array = np.where(cells, np.nan, self.array)
        ends: Any = {"lower": lower, "upper": upper, "errors": errors}
        return replace(self, array=array, **ends, _whole=None, _known={})

    def of_columns(self, columns: IntArray | BoolArray) -> Table:
        """Return some of the columns, as numbers and limits alone."""
        lower, upper = (None if e is None else e[:, columns] for e in (self.lower, self.upper))
        return Table(self.array[:, columns], lower=lower, upper=upper)

    def limits_of(self, columns: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """Return lower and upper limits of some columns; None where these have none.

        Infinite for a value without a limit; see :func:`absentia.bounded`.
        """
        if self.lower is None or self.upper is None:
            return None
        lower, upper = self.lower[:, columns], self.upper[:, columns]
        return (lower, upper) if np.isfinite([lower, upper]).any() else None

    def errors_of(self, columns: IntArray) -> FloatArray | None:
        """Return the errors of observed values of some columns; None where all are exact."""
        if self.errors is None:
            return None
        errors = np.where(self.mask, 0.0, self.errors)[:, columns]
        return errors if errors.any() else None

    def interval_middles(self) -> FloatArray | None:
        """Return the middle of each interval, NaN where a value has not two limits.

        None for a table without limits.
        """
        if self.lower is None or self.upper is None:
            return None
        intervals = np.isfinite(self.lower) & np.isfinite(self.upper)
        middles = np.full(self.shape, np.nan)
        middles[intervals] = 0.5 * self.lower[intervals] + 0.5 * self.upper[intervals]
        return middles

    def without_limits(self) -> Table:
        """Return the table for what knows no limits: intervals by their middle, others missing.

        An end that is that of the support of its column makes no interval.
        """
        middles = self.interval_middles()
        if middles is None:
            return self
        if self.plan is not None and self.lower is not None and self.upper is not None:
            least, most = np.array([(s.lower, s.upper) for s in self.plan.supports]).T
            middles[(self.lower <= least) | (self.upper >= most)] = np.nan
        array = np.where(np.isnan(self.array), middles, self.array)
        return replace(self, array=array, lower=None, upper=None, _whole=None, _known={})

    def once(self, function: Callable[[Table], Value]) -> Value:
        """Return ``function(self)``, computed once for the table and all its slices.

        What the function returns has one entry per row, and slices as the table does. Later
        stages keep here what they find in a table, such as its missing patterns.
        """
        if function not in self._known:
            if self._whole is None:
                value = function(self)
            else:
                whole, rows = self._whole
                value = whole.once(function)[rows]  # type: ignore[index]
            self._known[function] = value
        return self._known[function]

    def as_given(self) -> FloatArray | pd.DataFrame:
        """Return the frame that the table was read from, the array where there is none."""
        return self.array if self.frame is None or self._whole is not None else self.frame

    def as_named(self) -> FloatArray | pd.DataFrame:
        """Return what scikit-learn reads the names of the columns from."""
        if self.names is None or self.frame is not None:
            return self.array if self.frame is None else self.frame
        import pandas as pd  # names without a frame come from one that was read

        return pd.DataFrame(self.array[:1], columns=list(self.names))

    def column_attributes(self) -> dict[str, object]:
        """Return what an estimator keeps of the columns: of the frame, where there is a plan."""
        if self.plan is None:
            return super().column_attributes() | ({"sparse_": True} if self.sparse else {})
        if self.encoded or self.plan.plain:
            name = "plan_" if self.encoded else "columns_"
            return super().column_attributes() | {name: self.plan}
        return {
            "n_features_in_": len(self.plan.names),
            "feature_names_in_": np.asarray(self.plan.names, dtype=object),
            "columns_": self.plan,
        }

    def behind_plan(self) -> Table:
        """Return the table as densities see it, the columns of the plan as its own."""
        if self.plan is None or self.encoded:
            return self
        checked = self.columns_checked or not self.plan.plain
        whole = (self, slice(None))
        return replace(self, encoded=True, columns_checked=checked, _whole=whole, _known={})

    def checked(self, estimator: BaseEstimator) -> Table:
        """Return the table after checking its columns against those of training.

        The number of columns, and their names where both tables have names, must be those that
        ``estimator`` was fitted with. The messages are scikit-learn's.
        """
        planned = self.plan is not None and not self.plan.plain and not self.encoded
        if planned and hasattr(estimator, "columns_"):
            return self  # read by the plan of training, which has checked it
        if self.columns_checked:
            _check_n_features(estimator, self.array, reset=False)
            return self
        known = getattr(estimator, "feature_names_in_", None)
        names = None if known is None else [str(name) for name in known]
        table = self
        if self.column_names != names:
            absent = absent_names(self.column_names, names)
            if absent and names:  # missing in every row
                warn(absent_note(absent))
                array = np.full((len(self), len(names)), np.nan)
                array[:, [name not in absent for name in names]] = self.array
                table = Table(array, names=tuple(names))
            else:
                _check_feature_names(estimator, self.as_named(), reset=False)
        _check_n_features(estimator, table.array, reset=False)
        return replace(table._without_sentinels(estimator), columns_checked=True)

    def _without_sentinels(self, estimator: BaseEstimator) -> Table:
        """Return the table without the sentinels for missing values that training had."""
        known = vars(estimator)
        plan = known.get("plan_", known.get("columns_"))
        if self.plan is not None or not getattr(plan, "plain", False):
            return self
        array = plan.without_sentinels(self.array)
        return self if array is self.array else replace(self, array=array, _known={}, _whole=None)


def _mask_of(table: Table) -> BoolArray:
    return np.isnan(table.array)


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
    if isinstance(categories, str):
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
