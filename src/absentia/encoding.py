"""A table as people keep it (numbers, dates, words) becomes numbers, NaN where nothing is known.

The machines take numbers. :class:`TableEncoder` is the step before them for tables that come out
of a file: it reads numbers written as text, turns dates into days and words into indicator
columns, leaves out what carries nothing, and says in plain sentences what it did. A missing word
is missing in *all* of its indicator columns, so that it stays uncertain instead of becoming
"none of them".
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.tables import FloatArray

__all__ = ["TableEncoder"]

#: Tried in this order; the first that reads the most values wins, so a day-first and a month-first
#: date that both fit are read day first.
_DATE_FORMATS = (
    "ISO8601",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    "%Y/%m/%d %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
)
#: A column is read as numbers or dates when at least this share of its values is.
_READABLE = 0.95
_SECONDS_A_DAY = 86_400.0
_THOUSANDS = re.compile(r"^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$")


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
    Needs pandas (``pip install absentia[tables]``). Cost is O(n d).

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
        blocks: list[FloatArray] = []
        for name, kind in zip(self.columns_, self.kinds_, strict=True):
            if kind == "left out":
                continue
            column = frame[name]
            if kind == "number":
                blocks.append(_numbers(column)[:, None])
            elif kind == "date":
                blocks.append(_days(column, self.date_formats_[name])[:, None])
            else:
                blocks.append(_indicators(column, self.categories_[name]))
        return np.hstack(blocks)

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
        words = _words(column)
        n_present = sum(word is not None for word in words)
        if n_present == 0:
            return cls("left out", "left out, it has no value at all")
        distinct = sorted({word for word in words if word is not None})
        if len(distinct) == 1:
            return cls("left out", f"left out, its only value is {distinct[0]!r}")
        if column.dtype.kind in "iufb":
            if np.isinf(_numbers(column)).any():
                raise ValueError(
                    f"Column {column.name!r} holds an infinity. Leave the cell empty if the value "
                    "is not known."
                )
            return cls("number")
        if column.dtype.kind == "M":
            return cls("date", "a date, taken as days since 1970", date_format="datetime")
        numbers = _numbers(column)
        n_numbers = int(np.isfinite(numbers).sum())
        if n_numbers >= _READABLE * n_present:
            lost = n_present - n_numbers
            note = f"numbers written as text; {lost} unreadable values count as missing"
            return cls("number", note if lost else "numbers written as text")
        date_format, n_dates = _best_date_format(column, n_present)
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
        counts = {value: words.count(value) for value in distinct}
        values = sorted(distinct, key=lambda value: (-counts[value], value))
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


def _words(column: Any) -> list[str | None]:
    """Return the values of a column as text without outer blanks, None where missing."""
    missing = column.isna().to_numpy()
    words = [
        None if gone else str(value).strip() for value, gone in zip(column, missing, strict=True)
    ]
    return [word or None for word in words]


def _numbers(column: Any) -> FloatArray:
    """Read a column as numbers, NaN where it is missing or no number."""
    if column.dtype.kind in "iufb":
        values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values
    return np.array([_number(word) for word in _words(column)], dtype=np.float64)


def _number(word: str | None) -> float:
    if word is None:
        return np.nan
    if _THOUSANDS.match(word):
        word = word.replace(",", "")
    for spelling in (word, word.replace(",", ".")):
        try:
            value = float(spelling)
        except ValueError:
            continue
        return value if np.isfinite(value) else np.nan
    if word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    return np.nan


def _best_date_format(column: Any, n_present: int) -> tuple[str, int]:
    best, most = "", 0
    for date_format in _DATE_FORMATS:
        n_read = int(np.isfinite(_days(column, date_format)).sum())
        if n_read > most:
            best, most = date_format, n_read
        if most == n_present:
            break
    return best, most


def _days(column: Any, date_format: str) -> FloatArray:
    """Read a column as dates: days since 1970, NaN where it is missing or no date."""
    import pandas as pd

    if column.dtype.kind == "M" or date_format == "datetime":
        dates = pd.to_datetime(column, errors="coerce", utc=True)
    else:
        words = pd.Series(_words(column), dtype=object)
        dates = pd.to_datetime(words, format=date_format, errors="coerce", utc=True)
    seconds = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    days: FloatArray = seconds.to_numpy(dtype=np.float64, na_value=np.nan) / _SECONDS_A_DAY
    return days


def _indicators(column: Any, values: list[str]) -> FloatArray:
    """Return one 0/1 column to each value; NaN in all of them where it is missing or new."""
    position = {value: k for k, value in enumerate(values)}
    codes = np.array(
        [-1 if word is None else position.get(word, -1) for word in _words(column)], dtype=np.intp
    )
    block = np.full((len(codes), len(values)), np.nan)
    known = codes >= 0
    block[known] = np.eye(len(values))[codes[known]]
    return block[:, 1:] if len(values) == 2 else block


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
