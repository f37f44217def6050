"""A table as people keep it (numbers, dates, words) becomes numbers, NaN where nothing is known.

The machines take numbers. :class:`TableEncoder` is the step before them for tables that come out
of a file: it reads numbers written as text, turns dates into days and words into indicator
columns, leaves out what carries nothing, and says in plain sentences what it did. A missing word
is missing in *all* of its indicator columns, so that it stays uncertain instead of becoming
"none of them".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.tables.reading import FloatArray
from absentia.tables.words import Words, days_since_1970, first_two_words

__all__ = ["TableEncoder"]

#: A column is read as numbers or dates when at least this share of its values is.
_READABLE = 0.95


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, dates and words into numbers that a machine accepts.

    Each column of the training table gets one of these readings, and later tables are read the
    same way:

    - *number*: kept; numbers written as text (also with a decimal comma) are read, and the odd
      word among them ("unknown", "-") counts as missing;
    - *date*: days since 1 January 1970;
    - *category*: one indicator column to each value, a single one if there are two values. A
      missing value is missing in all of them, and so is a value that training never saw;
    - *left out*: columns without a value, with one value only, or with too many different words.

    Parameters
    ----------
    max_categories : int, default=30
        A column of words with more different values than this is left out.

    Attributes
    ----------
    columns_ : list of str
        The columns that a table must have.
    kinds_ : list of str
        For each of them ``"number"``, ``"date"``, ``"category"`` or ``"left out"``.
    notes_ : list of str
        What was done, in sentences for the user.
    n_features_out_ : int

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

    def __init__(self, max_categories: int = 30):
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Decide how each column is to be read, from the table of the training rows."""
        frame = _as_frame(X)
        columns = [str(name) for name in frame.columns]
        repeated = sorted({name for name in columns if columns.count(name) > 1})
        if repeated:
            raise ValueError(
                f"Every column needs a name of its own, but {repeated[0]!r} appears more than "
                "once: rename one of them."
            )
        if not len(frame) or not columns:
            raise ValueError(
                f"A table needs at least one row and one column, found {len(frame)} rows and "
                f"{len(columns)} columns."
            )
        kinds: list[str] = []
        categories: dict[str, list[str]] = {}
        date_formats: dict[str, str] = {}
        notes: list[str] = []
        for j, name in enumerate(columns):
            reading = _Reading.of(frame.iloc[:, j], self.max_categories)
            kinds.append(reading.kind)
            if reading.note:
                notes.append(f"{name}: {reading.note}")
            if reading.kind == "category":
                categories[name] = reading.categories
            elif reading.kind == "date":
                date_formats[name] = reading.date_format
        if all(kind == "left out" for kind in kinds):
            raise ValueError("No column carries anything to learn from. " + "; ".join(notes) + ".")
        self.columns_ = columns
        self.kinds_ = kinds
        self.categories_ = categories
        self.date_formats_ = date_formats
        self.notes_ = notes
        self.n_features_in_ = len(columns)
        self.n_features_out_ = len(self.get_feature_names_out())
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the table as numbers, shape (n_samples, n_features_out_), NaN where missing."""
        check_is_fitted(self)
        frame = _as_frame(X)
        frame.columns = [str(name) for name in frame.columns]
        needed = [
            n for n, kind in zip(self.columns_, self.kinds_, strict=True) if kind != "left out"
        ]
        absent = [name for name in needed if name not in frame.columns]
        if absent:
            raise ValueError(
                f"The table lacks {_listed(absent)}, which the model was trained with; it has "
                f"{_listed([str(name) for name in frame.columns])}."
            )
        # Filled column by column: a table of words is many times its size as indicators.
        out = np.empty((len(frame), self.n_features_out_))
        start = 0
        for name, kind in zip(self.columns_, self.kinds_, strict=True):
            if kind == "left out":
                continue
            column = frame[name]
            if kind == "number":
                block = _numbers(column)[:, None]
            elif kind == "date":
                block = _days(column, self.date_formats_[name])[:, None]
            else:
                block = _indicators(column, self.categories_[name])
            out[:, start : start + block.shape[1]] = block
            start += block.shape[1]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the numbers that come out: ``column`` or ``column=value``."""
        check_is_fitted(self, "columns_")
        names: list[str] = []
        for name, kind in zip(self.columns_, self.kinds_, strict=True):
            if kind == "category":
                values = self.categories_[name]
                names += [f"{name}={value}" for value in values[1 if len(values) == 2 else 0 :]]
            elif kind != "left out":
                names.append(name)
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Say that text and missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class _Reading:
    """How one column is to be read."""

    def __init__(
        self,
        kind: str,
        note: str = "",
        *,
        categories: list[str] | None = None,
        date_format: str = "",
    ):
        self.kind = kind
        self.note = note
        self.categories = categories or []
        self.date_format = date_format

    @classmethod
    def of(cls, column: Any, max_categories: int) -> _Reading:
        is_number = column.dtype.kind in "iufb"
        is_date = column.dtype.kind == "M"
        words = None if is_number or is_date else Words(column)
        distinct = first_two_words(column) if words is None else words.distinct
        if not distinct:
            return cls("left out", "left out, it has no value at all")
        if len(distinct) == 1:
            return cls("left out", f"left out, its only value is {distinct[0]!r}")
        if is_number:
            if np.isinf(_numbers(column)).any():
                raise ValueError(
                    f"Column {column.name!r} holds an infinity. Leave the cell empty if the value "
                    "is not known."
                )
            return cls("number")
        if words is None:
            return cls("date", "a date, taken as days since 1970", date_format="datetime")
        n_present = int(words.counts.sum())
        n_numbers = words.n_rows_read(words.numbers())
        if n_numbers >= _READABLE * n_present:
            lost = n_present - n_numbers
            note = f"numbers written as text; {lost} unreadable values count as missing"
            return cls("number", note if lost else "numbers written as text")
        date_format, n_dates = words.best_date_format()
        if n_dates >= _READABLE * n_present:
            lost = n_present - n_dates
            note = "dates written as text, taken as days since 1970"
            return cls(
                "date",
                f"{note}; {lost} unreadable values count as missing" if lost else note,
                date_format=date_format,
            )
        if len(distinct) > max_categories:
            return cls("left out", f"left out, text with {len(distinct)} different values")
        # The commonest first, so that of two values the rarer one gets the indicator.
        count_of = dict(zip(distinct, words.counts.tolist(), strict=True))
        values = sorted(distinct, key=lambda value: (-count_of[value], value))
        if len(values) > 2:
            values = sorted(values)
            note = f"text, one indicator column to each of its {len(values)} values"
        else:
            note = f"text, 1 where it is {values[1]!r} and 0 where it is {values[0]!r}"
        return cls("category", note, categories=values)


def _as_frame(X: Any) -> Any:
    """Return a copy of a table as a pandas frame."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("TableEncoder needs pandas: pip install 'absentia[tables]'.") from None
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    return X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(X)


def _numbers(column: Any) -> FloatArray:
    """Read a column as numbers, NaN where it is missing or no number."""
    if column.dtype.kind in "iufb":
        values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values
    words = Words(column)
    return words.by_row(words.numbers())


def _days(column: Any, date_format: str) -> FloatArray:
    """Read a column as dates: days since 1970, NaN where it is missing or no date."""
    import pandas as pd

    if column.dtype.kind == "M" or date_format == "datetime":
        return days_since_1970(pd.to_datetime(column, errors="coerce", utc=True))
    words = Words(column)
    return words.by_row(words.days(date_format))


def _indicators(column: Any, values: list[str]) -> FloatArray:
    """Return one 0/1 column to each value; NaN in all of them where it is missing or new."""
    words = Words(column)
    position = {value: k for k, value in enumerate(values)}
    rows = np.vstack([np.eye(len(values)), np.full(len(values), np.nan)])
    of_words = rows[[position.get(word, -1) for word in words.distinct]]
    return words.by_row(of_words[:, 1:] if len(values) == 2 else of_words)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
