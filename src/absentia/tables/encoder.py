"""Entry points of tables: rows for estimators, and a transformer of frames to numbers.

Both read a training frame by the :class:`~absentia.ColumnPlan` that is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from absentia.parameters import COUNT, FloatMatrix, Rule, check_parameters, declared
from absentia.tables.column_plan import ColumnPlan, ReadFrame, ShowsColumns
from absentia.tables.reading import (
    FloatArray,
    TableLike,
    as_frame,
    as_table,
    densified,
    has_columns_of_words,
    is_frame,
    native_frame,
)
from absentia.tables.rows import MemoryRows, Rows, TakesMissing
from absentia.tables.streams import Stream
from absentia.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableEncoder"]


def _mapping(expected: str) -> Rule:
    return Rule((expected, "None"), lambda value: value is None or isinstance(value, Mapping))


@declared
class TableEncoder(TransformerMixin, TakesMissing, ShowsColumns):
    """Turn a table of numbers, dates and words into numbers that a machine accepts.

    Each column of the training table gets one of these readings, and later tables are read the
    same way:

    - *number*: kept; numbers written as text (also with decimal commas, thousands, money or
      percent signs, or one unit) are read, and other words among them ("unknown", "-"), limits
      ("<0.5"), infinities and codes far outside the rest (-999) count as missing;
    - *date*: days since 1 January 1970, with sine and cosine of the time of year or of the
      day where the dates cover several of them;
    - *duration*: a number of days;
    - *ordered*: the categories of an ordered categorical column are numbered in their order, and so
      are ranges of numbers such as age groups;
    - *category*: one indicator column per value, a single one if there are two values. A
      missing value is missing in all of them, and so is a value that training never saw;
      Columns of many categories are encoded by what these say about the target, cross-fitted;
    - *left out*: columns without a value, with one value only, free text, and numbers that only
      name the rows and say nothing about any other column.

    Parameters
    ----------
    max_categories : int, default=30
        A column of words with more different values than this is encoded by what they say about
        ``y``, if that lowers the loss of forests in folds; otherwise, and without ``y``, it is
        left out, unless ``kinds`` or its type say that these are categories.
    keep_ids : bool, default=False
        Whether to keep columns that only name the rows: whole numbers that count them and say
        nothing about any other column, or a different word in each.
    kinds : dict of str to {"number", "category", "date", "cyclic date", "left out"}, optional
        How to read some of the columns, whatever they look like, such as postcodes as categories.
        Numbers that are asked for are taken as they are, also such as -999; a date that is asked
        for has no cyclic parts, a cyclic date has all of them.
    supports : dict of str to pair or str, optional
        The values that columns of numbers can have, see :meth:`ColumnPlan.of`.
    limits : bool, default=False
        Whether ``transform`` returns rows for the densities and machines of this library instead of
        an array: in standard units, with limits of values that are written as such ("<0.5").

    Attributes
    ----------
    columns_ : list of str
        The columns of the training table.
    kinds_ : list of str
        For each of them ``"number"``, ``"date"``, ``"duration"``, ``"ordered"``, ``"category"`` or
        ``"left out"``.
    categories_ : dict of str to list of str
        The values of ordered and plain categories.
    ids_ : list of str
        The columns that were left out because they only name the rows.
    plan_ : ColumnPlan
        The same as a small table.
    ranges_ : ndarray of shape (n_features_in_, 2)
        Smallest and largest value of each column of numbers, dates (in days) and durations; NaN
        for words.
    notes_ : list of str
        What was done, in sentences for the user.
    n_features_in_, n_features_out_ : int

    Warns
    -----
    UserWarning
        From ``transform``, where the table lacks columns of the training table (their values are
        missing in every row), has words that training never saw or cells that cannot be read (they
        are missing as well), or writes numbers otherwise.

    Notes
    -----
    Needs pandas (``pip install absentia[tables]``). Cost is O(n d); words are read once for each
    different value of a column, not for each row.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia import TableEncoder
    >>> table = pd.DataFrame(
    ...     {
    ...         "size": ["1,5", "2", None],
    ...         "seen": ["2024-01-02", None, "2024-01-01"],
    ...         "colour": ["red", "green", None],
    ...     }
    ... )
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['size', 'seen', 'colour=red'], dtype=object)
    >>> encoder.transform(table)
    array([[1.5000e+00, 1.9724e+04, 1.0000e+00],
           [2.0000e+00,        nan, 0.0000e+00],
           [       nan, 1.9723e+04,        nan]])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "max_categories": COUNT,
        "kinds": _mapping("a dictionary from column to kind, such as {'zip': 'category'}"),
        "supports": _mapping("a dictionary from column to support, such as {'dose': (0, 9)}"),
    }

    columns_: list[str] = field(init=False)
    kinds_: list[str] = field(init=False)
    categories_: dict[str, list[str]] = field(init=False)
    ids_: list[str] = field(init=False)
    # Set by the recipe: name and lowest value of the target, and whether its logarithm was learned.
    target_: str = field(init=False)
    target_least_: float = field(init=False)
    log_target_: bool = field(init=False)
    ranges_: FloatMatrix = field(init=False)
    notes_: list[str] = field(init=False)
    n_features_out_: int = field(init=False)

    max_categories: int = field(default=30, kw_only=False)
    keep_ids: bool = field(default=False, kw_only=False)
    kinds: Mapping[str, str] | None = field(default=None, kw_only=False)
    limits: bool = field(default=False, kw_only=False)
    supports: Mapping[str, Any] | None = field(default=None, kw_only=False)

    def fit(self, X: Any, y: ArrayLike | None = None) -> TableEncoder:
        """Decide how each column is to be read, from the table of the training rows."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **fit_params: Any) -> Any:
        """Fit to a table and return it as numbers, without warnings of what ``notes_`` says."""
        return self._numbers(self._fit(X, y))

    def _fit(self, X: Any, y: ArrayLike | None) -> ReadFrame:
        check_parameters(self)
        # The notes have what would be warned of.
        read = ColumnPlan.read_training(X, y, warn=False, **self.get_params(deep=False))
        plan = read.table.plan
        assert plan is not None
        readings = plan.by_name
        used = {name: reading for name, reading in readings.items() if not reading.left_out}
        # All at once: no interruption leaves one half of it.
        self.__dict__ = vars(self) | {
            "plan_": plan,
            "columns_": list(readings),
            "kinds_": ["left out" if r.left_out else str(r.kind) for r in readings.values()],
            "categories_": {n: list(r.categories) for n, r in used.items() if r.categories},
            "ids_": [n for n, r in readings.items() if r.is_id and r.left_out],
            "notes_": [f"{name}: {r.note}" for name, r in readings.items() if r.note],
            "ranges_": _ranges(plan, read.own),
            "n_features_in_": len(readings),
            "n_features_out_": len(plan.labels),
        }
        return read

    def read_noted(self, frame: pd.DataFrame) -> ReadFrame:
        """Read a later pandas frame as with ``limits``, with notes in place of warnings."""
        read = self.plan_.read_later(frame, dict(zip(self.columns_, self.ranges_, strict=True)))
        return replace(read, table=_without_plan(read.table))

    def transform(self, X: Any) -> Any:
        """Return the table as numbers, shape (n_samples, n_features_out_), NaN where missing."""
        check_is_fitted(self)
        return self._numbers(self.plan_.read_later(as_frame(X)))

    def _numbers(self, read: ReadFrame) -> Any:
        return _without_plan(read.table) if self.limits else read.own

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the numbers that come out: ``column`` or ``column=value``."""
        check_is_fitted(self, "columns_")
        return np.array(self.plan_.labels, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Declare that text and missing values are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _without_plan(table: Table) -> Table:
    """Return numbers and limits alone: their columns are those of the encoder."""
    return Table(table.array, lower=table.lower, upper=table.upper)


def _ranges(plan: ColumnPlan, own: FloatArray) -> FloatArray:
    """Return the smallest and the largest value of each column, NaN for words, (n_columns, 2)."""
    ranges = np.full((len(plan.names), 2), np.nan)
    for j, ((_, places, _), reading) in enumerate(zip(plan.groups(), plan.readings, strict=True)):
        if places and reading.is_quantity:
            values = own[:, places[0]]
            if not np.isnan(values).all():
                ranges[j] = np.nanmin(values), np.nanmax(values)
    return ranges


#: Encoding of columns of words in a frame; None refuses them.
WordsAs = Literal["codes", "indicators"] | None


def open_rows(
    X: TableLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    words: WordsAs = None,
) -> Table | Stream | MemoryRows:
    """Return what a user gave as a :class:`Table`, a stream or (as they are) beliefs.

    Streams are :class:`~absentia.Chunks`, Dask arrays and Dask data frames; ``y`` and
    ``sample_weight`` of a Dask table go with it, chunks bring their own. Columns of words in a
    frame become codes of categories or indicator columns (``words``), by a plan that is made of the
    training frame; by default they are refused. What was opened before comes back as it is.
    """
    if isinstance(X, Stream):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "The targets and weights of chunks come with the chunks: make each a tuple "
                "(X, y) or (X, y, sample_weight), and pass no separate y."
            )
        return X
    # By name: Dask need not be installed, and is not imported, for any other table.
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from absentia.tables.dask_stream import DaskStream

        return DaskStream.of(X, y, sample_weight)
    return open_memory(X, y, words=words)


def open_memory(
    X: TableLike, y: Any = None, *, words: WordsAs = None, sparse: bool = False
) -> MemoryRows:
    """Return what a user gave as rows that are all in memory: a :class:`Table`, or beliefs.

    ``y`` are the targets, by which columns of many categories are encoded; ``words`` is as in
    :func:`open_rows`; ``sparse`` says that a sparse matrix is made dense, where
    others refuse it.
    """
    X = native_frame(X)
    if sparse and issparse(X):
        return Table(as_table(densified(X)), sparse=True)
    if isinstance(X, Rows):
        if isinstance(X, MemoryRows):
            return X
        raise TypeError(
            f"All rows are needed at once, but {type(X).__name__} are read in pieces. Use a "
            "large-scale machine such as LargeScaleRidge, or load the rows into one table."
        )
    if words is not None and is_frame(X) and has_columns_of_words(X):
        return ColumnPlan.read_training(X, y, codes=words == "codes").table
    table = Table.of(X)
    if words is None or not is_frame(X):
        return table
    plan = ColumnPlan.of_numbers(table)
    return replace(table, array=plan.without_sentinels(table.array), plan=plan)


def open_known(X: TableLike, estimator: BaseEstimator) -> Table | Stream | MemoryRows:
    """Return new rows, their columns checked against those that an estimator was fitted to.

    A frame is read by the plan of the training frame, where there was one.
    """
    X = native_frame(X)
    plan = None if isinstance(X, Rows) else plan_of(estimator, X)
    return open_rows(X).checked(estimator) if plan is None else plan.read(X)


def plan_of(estimator: Any, X: Any = None) -> ColumnPlan | None:
    """Return the plan by which an estimator reads tables; None where it takes numbers as they are.

    A frame ``X`` with words, such as "unknown" in a column of numbers, is read by the plan of
    training also where training had numbers alone.
    """
    known = vars(estimator)
    plans = (known.get(name) for name in ("plan_", "columns_"))
    plan = next((plan for plan in plans if isinstance(plan, ColumnPlan)), None)
    if plan is None or not plan.plain:
        return plan
    return plan if is_frame(X) and has_columns_of_words(X) else None
