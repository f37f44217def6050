"""The plan of a frame's columns: made from the training rows, applied to every table after them.

This is the one reader of frames for all estimators, the command line and the studio: training
guesses each column and fills its values once (:meth:`ColumnPlan.read_training`), later frames are
filled once (:meth:`ColumnPlan.read_frame`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.parameters import IntVector
from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import SEPARATOR, later_readings
from absentia.tables.columns.quantities import find_sentinels, number_notes
from absentia.tables.columns.readings import ColumnReading, filled, places_of, without_sentinels
from absentia.tables.columns.supports import Support
from absentia.tables.columns.training_columns import (
    Options,
    read_training_columns,
    warn_of_sentinels,
)
from absentia.tables.frames import completed_frames, frame_of, written_cells
from absentia.tables.known_limits import with_limits
from absentia.tables.phrases import aligned, html_table
from absentia.tables.plan_notes import far_notes, later_notes, plan_lines, warn
from absentia.tables.reading import FloatArray, IntArray, as_frame, is_frame, native_frame
from absentia.tables.stored import Stored
from absentia.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnPlan", "ReadFrame", "ShowsColumns"]


@dataclass(frozen=True, eq=False)
class ReadFrame:
    """A frame that was read by a plan.

    ``frame`` is the pandas frame as it was given, ``table`` has its numbers in the units of the
    plan, with their limits, and ``own`` the same numbers before standard units, to the last bit.
    ``notes`` are sentences on cells of a later frame that are not used, ``far`` on values far
    beyond those of training.
    """

    frame: pd.DataFrame
    table: Table
    own: FloatArray
    notes: Sequence[str] = ()
    far: Sequence[str] = ()

    def part(self, rows: slice) -> ReadFrame:
        """Return some of the rows."""
        return replace(
            self, frame=self.frame.iloc[rows], table=self.table[rows], own=self.own[rows]
        )


@dataclass(frozen=True, eq=False)
class ColumnPlan(Stored):
    """Plan of a data frame: each column is a number, a date, a category, or left out.

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
        Whether the frame has numbers only: then they are used as they are, except sentinels for
        missing values such as -999.

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
        self._require_types(tuple, "readings", entries=ColumnReading)
        if len(self.names) != len(self.readings) or len(set(self.names)) != len(self.names):
            raise ValueError("ColumnPlan.names must be one per reading, and all different.")
        for name in ("centres", "scales"):
            self._require_array(name, np.float64, (len(self.labels),))
            self._require_finite(name)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        *,
        kinds: Mapping[str, str] | None = None,
        max_categories: int = 30,
        keep_ids: bool = False,
        codes: bool = False,
        supports: Mapping[str, Any] | None = None,
    ) -> ColumnPlan:
        """Make the plan of a pandas or polars frame.

        Machines make theirs without any of these parameters. To choose for yourself, make the
        plan, and train on ``plan.read(X)``; the machine reads later frames by it.

        Parameters
        ----------
        X : frame
        y : array-like of shape (n_samples,), optional
            The target, by which columns of many categories are encoded.
        kinds, max_categories, keep_ids
            As for :class:`absentia.TableEncoder`.
        codes : bool, default=False
            Whether categories are to stay categories, for ``density="mixed"``.
        supports : dict from column to pair or str, optional
            The values that columns of numbers can have: the ends of a range, of which None is none,
            such as ``(0, None)``, or ``"positive"``, ``"non-negative"``, ``"share"`` (0 to 1),
            ``"percent"``, ``"counts"``, ``"whole numbers"``, ``"0/1"``; None for all numbers. By
            default they are inferred from 20 values or more.

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
        how: Any = {"kinds": kinds, "max_categories": max_categories, "keep_ids": keep_ids}
        read = cls.read_training(X, y, codes=codes, supports=supports, **how)
        assert read.table.plan is not None
        return read.table.plan

    @classmethod
    def read_training(
        cls, X: Any, y: Any = None, *, limits: bool = True, warn: bool = True, **how: Any
    ) -> ReadFrame:
        """Guess the columns of a training frame and read it; ``table.plan`` is the plan.

        ``how`` are the options of :meth:`of`. Without ``limits`` numbers keep their units, and
        limits of values count as missing; ``warn`` is of sentinels.
        """
        frame = as_frame(X)
        columns = Column.of_frame(frame)
        options = Options(**{name: value for name, value in how.items() if value is not None})
        separator = frame.attrs.get(SEPARATOR, ",")
        readings, own = read_training_columns(columns, separator, y, options)
        if warn:
            warn_of_sentinels(readings)
        units = np.zeros(own.shape[1]), np.ones(own.shape[1])
        plan = cls(tuple(readings), tuple(readings.values()), options.codes, *units)
        if limits:
            plan._set_units(own)
        return ReadFrame(frame, plan._table(own, columns, readings), own)

    def _set_units(self, own: FloatArray) -> None:
        numbers = np.setdiff1d(np.arange(own.shape[1]), self.category_columns)
        # In units of the largest value, whose square need not be a number any more.
        largest = np.nanmax(np.abs(own[:, numbers]), axis=0)
        largest[largest == 0] = 1.0
        spreads = np.nanstd(own[:, numbers] / largest, axis=0) * largest
        self.centres[numbers] = np.nanmean(own[:, numbers] / largest, axis=0) * largest
        self.scales[numbers] = np.where(spreads > 0, spreads, 1.0)

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
            support = Support.of_values(without_sentinels(values, sentinels), name)
            readings[name] = ColumnReading(
                "number", "; ".join(notes), sentinels=sentinels, typed=True, support=support
            )
        warn_of_sentinels(readings)
        units = np.zeros(len(readings)), np.ones(len(readings))
        return cls(tuple(readings), tuple(readings.values()), False, *units, plain=True)

    def without_sentinels(self, values: FloatArray) -> FloatArray:
        """Return an array of the plan's columns with NaN for sentinels such as -999."""
        coded = [j for j, reading in enumerate(self.readings) if reading.sentinels]
        out = values.copy() if coded else values
        for j in coded:
            out[:, j] = without_sentinels(values[:, j], self.readings[j].sentinels)
        return out

    @property
    def labels(self) -> list[str]:
        """The names of the encoded columns: ``column``, or ``column=category``."""
        return [label for name, r in self.by_name.items() for label in r.names(name, self.codes)]

    @property
    def category_columns(self) -> tuple[int, ...]:
        """The encoded columns that hold codes of categories."""
        readings = [r for r in self.readings for _ in range(r.width(self.codes))]
        return tuple(j for j, r in enumerate(readings) if self.codes and r.kind == "category")

    @property
    def by_name(self) -> dict[str, ColumnReading]:
        """The reading of each column of the frame."""
        return dict(zip(self.names, self.readings, strict=True))

    def source_columns(self) -> np.ndarray:
        """Return, for each encoded column, the name of the column it is read from."""
        widths = [reading.width(self.codes) for reading in self.readings]
        return np.repeat(np.array(self.names, dtype=object), widths)

    def groups(self) -> list[tuple[str, tuple[int, ...], FloatArray | None]]:
        """Return (name, places, options) of each column: its encoded columns and categories.

        ``options`` are the encoded numbers for each category of a column of words, shape
        (n_categories, len(places)); None for numbers, and for columns that are left out.
        """
        found: list[tuple[str, tuple[int, ...], FloatArray | None]] = []
        columns = places_of(self.by_name, self.codes)
        for name, reading in self.by_name.items():
            place = columns.get(name, slice(0, 0))
            places, width, options = range(place.start, place.stop), reading.width(self.codes), None
            if width and reading.kind == "category" and (self.codes or not reading.encoding):
                codes = np.arange(len(reading.categories), dtype=np.float64)[:, None]
                options = codes if self.codes or width == 1 else np.eye(width)
                options = (options - self.centres[list(places)]) / self.scales[list(places)]
            found.append((name, tuple(places), options))
        return found

    @property
    def supports(self) -> list[Support]:
        """The support of each encoded column, in the units of the encoded numbers."""
        own, readings = [Support()] * len(self.scales), self.by_name
        for name, place in places_of(readings, self.codes).items():
            own[place.start] = readings[name].support
        units = zip(own, self.centres, self.scales, strict=True)
        return [support.scaled(centre, scale) for support, centre, scale in units]

    def later(self, frame: pd.DataFrame) -> tuple[dict[str, Column], dict[str, ColumnReading]]:
        """Return the columns of a later pandas frame and their readings.

        They are read as in training, except that the frame decides on decimal signs of numbers
        that had a type in training and are text in the frame.
        """
        columns, readings = Column.of_frame(frame), self.by_name
        written = [
            name
            for name, reading in readings.items()
            if reading.typed and not reading.left_out and name in columns and columns[name].is_text
        ]
        if written:
            readings = later_readings(columns, readings, written, frame.attrs.get(SEPARATOR, ","))
        return columns, readings

    def read(self, X: Any) -> Table:
        """Read a frame by the plan, or an array of the columns of training in their order."""
        return self.read_frame(X).table

    def read_frame(self, X: Any) -> ReadFrame:
        """Read a later table as :meth:`read` does, with the frame and its own units."""
        X = native_frame(X)
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
        return self.read_later(frame)

    def read_later(
        self, frame: pd.DataFrame, ranges: Mapping[str, FloatArray] | None = None
    ) -> ReadFrame:
        """Read a pandas frame, which may have no rows, and warn of cells that are not used.

        With the ``ranges`` of the columns in training nothing is warned of: the notes are those on
        all such cells, and on values far beyond training.
        """
        columns, readings = self.later(frame)
        notes = later_notes(columns, readings, new_only=ranges is None)
        own = filled(columns, readings, len(frame), self.codes)
        far: list[str] = []
        if ranges is None:
            warn(notes)
        else:
            places = places_of(readings, self.codes)
            first = {name: own[:, place.start] for name, place in places.items()}
            far = far_notes(columns, readings, first, ranges)
        return ReadFrame(frame, self._table(own, columns, readings), own, notes, far)

    def _table(
        self, own: FloatArray, columns: Mapping[str, Column], readings: Mapping[str, ColumnReading]
    ) -> Table:
        """Return numbers in the units of the plan, with limits that are written as ``<0.5``."""
        values = own - self.centres
        values /= self.scales
        labels = self.labels
        limits: dict[int, tuple[FloatArray, FloatArray]] = {}
        errors: FloatArray | None = None
        for name, place in places_of(readings, self.codes).items():
            if name not in columns:
                continue
            reading, column, j = readings[name], columns[name], place.start
            found, ends = reading.errors(column), reading.limits(column)
            if found is not None:
                errors = np.zeros(own.shape) if errors is None else errors
                errors[:, j] = found / self.scales[j]
            if ends is not None:
                limits[j] = ends
        low = high = None
        if limits:
            low, high = np.full(own.shape, -np.inf), np.full(own.shape, np.inf)
            for j, ends in limits.items():
                low[:, j], high[:, j] = ((end - self.centres[j]) / self.scales[j] for end in ends)
            values, low, high = with_limits(values, low, high, labels)
        return Table(
            values,
            names=tuple(labels),
            category_columns=self.category_columns,
            lower=low,
            upper=high,
            errors=errors,
            plan=self,
        )

    def restored(
        self,
        tables: Sequence[FloatArray],
        columns: IntArray | Sequence[int] | None = None,
        given: Any = None,
        *,
        as_numbers: bool = False,
    ) -> list[Any]:
        """Return encoded numbers and codes as frames of the user's own values.

        ``columns`` are the places of the encoded columns, by default all. ``given``, a pandas or
        polars frame of the same rows, keeps its columns with their order, types, names and index,
        and all values that are observed; those that are not read come back as they were. Missing
        numbers get the nearest value of their support, and fractions with ``as_numbers``.
        """
        places = np.arange(len(self.scales)) if columns is None else np.asarray(columns)
        values = np.stack(tables)
        own = np.full((*values.shape[:2], len(self.scales)), np.nan)
        own[..., places] = values * self.scales[places] + self.centres[places]
        numbers = {
            name: own[..., list(at)] for name, at, _ in self.groups() if np.isin(at, places).any()
        }
        if is_frame(given):
            frame = as_frame(given)
            cells, readings = self.later(frame)
            return completed_frames(given, frame, cells, readings, numbers, as_numbers)
        readings = {name: self.by_name[name] for name in numbers}
        return [
            frame_of({n: written_cells(r, numbers[n][k], as_numbers) for n, r in readings.items()})
            for k in range(len(tables))
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the plan as a pandas frame: one line per column."""
        import pandas as pd

        return pd.DataFrame(self._lines(), columns=["column", "used as", "note"])

    def _lines(self) -> list[tuple[str, str, str]]:
        return plan_lines(self.by_name, self.codes)

    def __repr__(self) -> str:
        return aligned([("column", "used as", "note"), *self._lines()])

    def _repr_html_(self) -> str:
        return html_table(("column", "used as", "note"), self._lines())


class ShowsColumns(BaseEstimator):
    """Base of estimators that take data frames: their page shows how the columns are used."""

    n_features_in_: int
    plan_: ColumnPlan
    columns_: ColumnPlan | IntVector | list[str]

    def _html_repr(self) -> str:
        page: str = super()._html_repr()
        known = vars(self)
        plan = known.get("plan_", known.get("columns_"))
        if not isinstance(plan, ColumnPlan):
            return page
        return f"<div>{page}<details><summary>Columns</summary>{plan._repr_html_()}</details></div>"
