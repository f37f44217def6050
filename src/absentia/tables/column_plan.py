"""The plan of a table's columns: made from the training rows, applied to every table after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.parameters import IntVector
from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.columns.limit_notes import LIMITS, note_on_limits
from absentia.tables.columns.number_guesses import number_notes
from absentia.tables.columns.sentinels import find_sentinels, without_sentinels
from absentia.tables.columns.table_columns import later_readings, read_columns
from absentia.tables.known_limits import with_limits
from absentia.tables.phrases import counted, listed
from absentia.tables.plan_notes import (
    absent_columns,
    warn_of_absent_columns,
    warn_of_codes,
    warn_of_new_words,
)
from absentia.tables.reading import FloatArray, IntArray, as_frame, has_columns_of_words, is_frame
from absentia.tables.stored import Stored
from absentia.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnPlan", "ShowsColumns", "fill_columns", "id_note", "plan_readings", "read_planned"]


@dataclass(frozen=True, eq=False)
class ColumnPlan(Stored):
    """How each column of a data frame is used: as a number, a date, a category, or not at all.

    Made by a machine from the frame that it is fitted to, kept as ``columns_``, and applied to
    every frame after it. A word that training never saw is missing, and a whole column that a later
    frame lacks is missing in every row, both with a warning.

    Attributes
    ----------
    names : tuple of str
        The columns of the training frame.
    readings : tuple of ColumnReading
        How each is read.
    codes : bool
        Whether columns of words become one column of codes each (for a density that knows
        categories) or indicator columns.
    centres, scales : ndarray
        Numbers, dates, orders and indicators are brought to standard units by these: in a table of
        words and numbers no unit is common to all columns. Zero and one for codes.
    plain : bool
        Whether the frame has numbers only: then they are used as they are, except codes for missing
        values such as -999.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia import SVC
    >>> table = pd.DataFrame(
    ...     {
    ...         "age": [22.0, 38.0, None, 35.0],
    ...         "sex": ["male", "female", "female", None],
    ...         "ship": ["Titanic"] * 4,
    ...     }
    ... )
    >>> SVC().fit(table, [0, 1, 1, 0]).columns_
    column  used as   note
    age     number
    sex     category  2 categories, 1 for 'male' and 0 for 'female'
    ship    left out  its only value is 'Titanic'
    """

    names: tuple[str, ...]
    readings: tuple[ColumnReading, ...]
    codes: bool
    centres: FloatArray
    scales: FloatArray
    plain: bool = False

    def validate(self) -> None:
        """Raise ValueError unless there is a reading per column and a scale per number."""
        self._require_type("readings", tuple)
        for reading in self.readings:
            if not isinstance(reading, ColumnReading):
                raise ValueError("ColumnPlan.readings must be readings of columns.")
            reading.validate()
        if len(self.names) != len(self.readings) or len(set(self.names)) != len(self.names):
            raise ValueError("ColumnPlan.names must be one per reading, and all different.")
        for name in ("centres", "scales"):
            self._require_array(name, np.float64, (len(self.labels),))
            self._require_finite(name)

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        kinds: Mapping[str, str] | None = None,
        max_categories: int = 30,
        keep_ids: bool = False,
        codes: bool = False,
    ) -> ColumnPlan:
        """Make the plan of a pandas or polars frame.

        Machines make theirs without any of these parameters. To choose for yourself, make the
        plan, and train on ``plan.read(X)``; the machine reads later frames by it.

        Parameters
        ----------
        X : frame
        kinds : dict from column to {"number", "category", "date", "cyclic date", "left out"}, \
optional
            What these columns are, whatever they look like.
        max_categories : int, default=30
            A column of words with more different values than this is left out.
        keep_ids : bool, default=False
            Whether to keep columns that only name the rows.
        codes : bool, default=False
            Whether categories are to stay categories, for ``density="mixed"``.

        Examples
        --------
        >>> import pandas as pd
        >>> from absentia import ColumnPlan
        >>> table = pd.DataFrame({"ward": [1, 2, 3, 2], "age": [41, 67, None, 52]})
        >>> ColumnPlan.of(table, kinds={"ward": "category"})
        column  used as   note
        ward    category  3 categories, one indicator column for each
        age     number
        """
        frame = as_frame(X)
        found, _ = plan_readings(
            frame, max_categories=max_categories, keep_ids=keep_ids, kinds=kinds
        )
        readings = {name: _with_limits(reading) for name, reading in found.items()}
        warn_of_codes(readings)
        values = fill_columns(frame, readings, [], codes=codes)
        plan = cls(
            tuple(readings),
            tuple(readings.values()),
            codes,
            np.zeros(values.shape[1]),
            np.ones(values.shape[1]),
        )
        numbers = [j for j in range(values.shape[1]) if j not in plan.category_columns]
        # In units of the largest value, whose square need not be a number any more.
        largest = np.nanmax(np.abs(values[:, numbers]), axis=0)
        largest[largest == 0] = 1.0
        centres = np.nanmean(values[:, numbers] / largest, axis=0)
        spreads = np.nanstd(values[:, numbers] / largest, axis=0) * largest
        plan.centres[numbers] = centres * largest
        plan.scales[numbers] = np.where(spreads > 0, spreads, 1.0)
        return plan

    @classmethod
    def of_numbers(cls, table: Table) -> ColumnPlan:
        """Make the plan of a frame of numbers alone: they are used as they are."""
        readings = {}
        for name, values in zip(table.labels, table.array.T, strict=True):
            sentinels = find_sentinels(values)
            notes = number_notes(values, sentinels, 0)
            known = values[~np.isnan(values)]
            if not len(known):
                notes.append("it has no values")
            elif known.min() == known.max():
                notes.append(f"its only value is {known[0]:g}")
            readings[name] = ColumnReading(
                "number", "; ".join(notes), sentinels=sentinels, typed=True
            )
        warn_of_codes(readings)
        n = len(readings)
        units = (np.zeros(n), np.ones(n))
        return cls(tuple(readings), tuple(readings.values()), False, *units, plain=True)

    def without_codes(self, values: FloatArray) -> FloatArray:
        """Return an array of the plan's columns with NaN for codes such as -999."""
        coded = [j for j, reading in enumerate(self.readings) if reading.sentinels]
        if not coded:
            return values
        out = values.copy()
        for j in coded:
            out[:, j] = without_sentinels(values[:, j], self.readings[j].sentinels)
        return out

    @property
    def labels(self) -> list[str]:
        """The names of the encoded columns: ``column``, or ``column=word``."""
        pairs = zip(self.names, self.readings, strict=True)
        return [label for name, reading in pairs for label in reading.names(name, self.codes)]

    @property
    def category_columns(self) -> tuple[int, ...]:
        """Which of the encoded columns hold codes of categories."""
        if not self.codes:
            return ()
        sources = self._sources()
        return tuple(j for j, (_, r, _) in enumerate(sources) if r.kind == "category")

    @property
    def by_name(self) -> dict[str, ColumnReading]:
        """How each column of the frame is read."""
        return dict(zip(self.names, self.readings, strict=True))

    def readings_of(self, frame: pd.DataFrame) -> dict[str, ColumnReading]:
        """Return how each column of a later pandas frame is read.

        As in training, except that the frame decides on decimal signs of numbers that had a type
        in training and are text in the frame.
        """
        return later_readings(frame, self.by_name)

    def _sources(self) -> list[tuple[str, ColumnReading, int]]:
        """Return, for each column behind the door, its column, reading and part of it."""
        pairs = zip(self.names, self.readings, strict=True)
        return [(n, r, k) for n, r in pairs for k in range(r.width_of(self.codes))]

    def source_columns(self) -> np.ndarray:
        """Return, for each encoded column, the name of the column it is read from."""
        return np.array([name for name, _, _ in self._sources()], dtype=object)

    def groups(self) -> list[tuple[str, tuple[int, ...], FloatArray | None]]:
        """Return each column of the frame with its encoded columns.

        Returns
        -------
        list of (name, places, options)
            ``options`` are the numbers behind the door for each category of a column of words,
            shape (n_categories, len(places)); None for numbers, and for columns that are left out
            and have no places.
        """
        found: list[tuple[str, tuple[int, ...], FloatArray | None]] = []
        start = 0
        for name, reading in zip(self.names, self.readings, strict=True):
            width = reading.width_of(self.codes)
            places = tuple(range(start, start + width))
            start += width
            options = None
            if width and reading.kind == "category":
                words = np.arange(len(reading.categories), dtype=np.float64)[:, None]
                options = words if self.codes or width == 1 else np.eye(width)
                options = (options - self.centres[list(places)]) / self.scales[list(places)]
            found.append((name, places, options))
        return found

    def read(self, X: Any, *, new: bool = True) -> Table:
        """Read a table by the plan; ``new`` says that it is not the table of training.

        Parameters
        ----------
        X : frame, or array-like of shape (n_samples, len(names))
            Arrays have the columns of the training frame in their order.
        """
        frame = as_frame(X)
        if not is_frame(X):
            if frame.shape[1] != len(self.names):
                raise ValueError(
                    f"X has {frame.shape[1]} features, but a table of {len(self.names)} features "
                    "is expected as input: those of the training frame."
                )
            frame.columns = list(self.names)
        if not len(frame):
            raise ValueError("Found a table with 0 samples; a minimum of 1 is required.")
        absent, readings = [], self.readings_of(frame)
        if new:
            absent = absent_columns(set(frame.columns), readings)
            warn_of_absent_columns(absent)
            warn_of_new_words(frame, readings, absent)
        return replace(
            self.values(frame, readings, absent),
            names=tuple(self.labels),
            category_columns=self.category_columns,
            plan=self,
        )

    def values(
        self, frame: pd.DataFrame, readings: dict[str, ColumnReading], absent: list[str]
    ) -> Table:
        """Return the numbers of a pandas frame in the units of the plan, with their limits."""
        values = fill_columns(frame, readings, absent, codes=self.codes)
        values -= self.centres
        values /= self.scales
        lower, upper = self._limits(frame, readings, values)
        # "5-5" is a value.
        values, low, high = with_limits(values, lower, upper, self.labels)
        return Table(values, lower=low, upper=high)

    def _limits(
        self, frame: pd.DataFrame, readings: dict[str, ColumnReading], values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the limits of numbers that are written as such, as in ``<0.5``."""
        lower, upper = np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
        place = {label: j for j, label in enumerate(self.labels)}
        for name, reading in readings.items():
            if name not in frame.columns or name not in place or reading.kind != "number":
                continue
            if frame[name].dtype.kind not in "iufb":
                j = place[name]
                low, high = reading.bounds(frame[name])
                unknown = np.isnan(values[:, j])
                lower[unknown, j] = (low[unknown] - self.centres[j]) / self.scales[j]
                upper[unknown, j] = (high[unknown] - self.centres[j]) / self.scales[j]
        return lower, upper

    def restored(
        self,
        tables: Sequence[FloatArray],
        columns: IntArray | Sequence[int] | None = None,
        given: Any = None,
    ) -> list[pd.DataFrame]:
        """Return encoded numbers and codes as pandas frames of the user's own values.

        Parameters
        ----------
        tables : sequence of ndarray of shape (n_samples, n_columns)
        columns : ndarray of int, optional
            Which columns behind the door these are; by default all.
        given : frame of the same rows, optional
            Its values, which scaling has rounded, its index and the names of its columns are kept.
        """
        import pandas as pd

        frame = as_frame(given) if is_frame(given) else pd.DataFrame(index=range(len(tables[0])))
        places = np.arange(len(self.scales)) if columns is None else np.asarray(columns)
        values = np.stack(tables)
        own = np.tile(self.centres, (*values.shape[:2], 1))  # of columns that are not among these
        own[..., places] = values * self.scales[places] + self.centres[places]
        out: list[dict[str, Any]] = [{} for _ in tables]
        start = 0
        for name, reading in self.readings_of(frame).items():
            width = reading.width_of(self.codes)
            if np.isin(np.arange(start, start + width), places).any():
                parts = own[..., start : start + width]
                indicators = reading.kind == "category" and width > 1
                # The other parts of a date follow from the first.
                numbers = parts.argmax(axis=2) if indicators else parts[..., 0]
                if not reading.categories and name in frame:
                    observed = reading.values(frame[name])[:, 0]
                    numbers = np.where(np.isnan(observed), numbers, observed)
                for table, of_table in zip(out, numbers, strict=True):
                    table[name] = reading.restored(of_table)
            start += width
        names = dict(zip(frame.columns, getattr(given, "columns", ()), strict=False))
        return [pd.DataFrame(t).set_axis(frame.index).rename(columns=names) for t in out]

    def to_frame(self) -> pd.DataFrame:
        """Return the plan as a pandas frame: one line per column."""
        import pandas as pd

        return pd.DataFrame(self._lines(), columns=["column", "used as", "note"])

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = []
        for name, reading in zip(self.names, self.readings, strict=True):
            if reading.left_out:
                lines.append((name, "left out", reading.note.removeprefix("left out, ")))
            elif self.codes and reading.kind == "category":
                _, semicolon, more = reading.note.partition(";")  # what is said beside indicators
                note = f"{len(reading.categories)} categories{semicolon}{more}"
                lines.append((name, "category", note))
            else:
                lines.append((name, str(reading.kind), reading.note))
        return lines

    def __repr__(self) -> str:
        lines = [("column", "used as", "note")]
        lines += [(_printable(name), kind, note) for name, kind, note in self._lines()]
        widths = [max(len(line[at]) for line in lines) for at in (0, 1)]
        return "\n".join(
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {note}".rstrip()
            for name, kind, note in lines
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self._lines()
        )
        head = "<tr><th>column</th><th>used as</th><th>note</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _printable(name: str) -> str:
    """Return a name with control characters written out, which could drive a terminal."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in name)


def _with_limits(reading: ColumnReading) -> ColumnReading:
    """Return a reading whose note says that limits are used, which the encoder leaves out."""
    return replace(reading, note=note_on_limits(reading, LIMITS))


def read_planned(X: Any, *, codes: bool) -> Table:
    """Read a table of training: a frame by the plan that is made of it, any other as it is."""
    if not is_frame(X):
        return Table.of(X)
    if has_columns_of_words(X):
        return ColumnPlan.of(X, codes=codes).read(X, new=False)
    table = Table.of(X)
    plan = ColumnPlan.of_numbers(table)
    return replace(table, array=plan.without_codes(table.array), plan=plan)


def plan_readings(
    frame: pd.DataFrame,
    *,
    max_categories: int = 30,
    keep_ids: bool = False,
    kinds: Mapping[str, Any] | None = None,
) -> tuple[dict[str, ColumnReading], list[str]]:
    """Decide how each column of a pandas frame is read; columns that name rows are left out.

    ``kinds`` are readings by column that the user asked for.

    Returns
    -------
    readings : dict of str to ColumnReading
    ids : list of str
        The columns that were left out because they only name the rows.
    """
    columns = list(frame.columns)
    if not len(frame) or not columns:
        raise ValueError(
            f"A table needs at least one row and one column, found "
            f"{counted(len(frame), 'row')} and {counted(len(columns), 'column')}."
        )
    asked = kinds or {}
    unknown = [name for name in asked if name not in columns]
    if unknown:
        raise ValueError(
            f"kinds names the column {unknown[0]!r}, which the table does not have; its columns "
            f"are {listed(columns)}."
        )
    found_readings = read_columns(frame, kinds=asked, max_categories=max_categories)
    readings = dict(zip(columns, found_readings, strict=True))
    found = [name for name in columns if readings[name].is_id and name not in asked]
    ids = [] if keep_ids else found
    for name in ids:
        readings[name] = replace(readings[name], left_out=True, note=id_note(readings[name]))
    if all(reading.left_out for reading in readings.values()):
        notes = [f"{name}: {reading.note}" for name, reading in readings.items() if reading.note]
        raise ValueError("No column has anything to learn from. " + "; ".join(notes) + ".")
    return readings, ids


def id_note(reading: ColumnReading) -> str:
    """Return the note on a column that is left out because it only identifies the rows."""
    words = reading.kind == "category"
    what = "it has a different word in each row" if words else "it only numbers the rows"
    return f"left out, {what}"


def fill_columns(
    frame: pd.DataFrame,
    readings: dict[str, ColumnReading],
    absent: list[str],
    *,
    codes: bool = False,
) -> FloatArray:
    """Return the columns of a frame as numbers, NaN where missing and in columns that it lacks.

    With ``codes`` a column of words is one column of codes, otherwise indicator columns.
    """
    widths = [reading.width_of(codes) for reading in readings.values()]
    # Filled column by column: a table of words is many times its size as indicators.
    out = np.full((len(frame), sum(widths)), np.nan)
    start = 0
    for (name, reading), width in zip(readings.items(), widths, strict=True):
        if name not in absent and width:
            out[:, start : start + width] = reading.values(frame[name], codes=codes)
        start += width
    return out


class ShowsColumns(BaseEstimator):
    """Base of estimators that take data frames: their page shows how the columns are used."""

    plan_: ColumnPlan
    columns_: ColumnPlan | IntVector | list[str]

    def _html_repr(self) -> str:
        page: str = super()._html_repr()
        known = vars(self)
        plan = known.get("plan_", known.get("columns_"))
        if not isinstance(plan, ColumnPlan):
            return page
        return f"<div>{page}<details><summary>Columns</summary>{plan._repr_html_()}</details></div>"
