"""Columns of a training frame: what is kept of them by the evidence of all columns and the target.

Guesses look at one column; here the columns are filled, categories with many levels get what they
say about the target, numbers that identify rows are left out if they say nothing about any other
column, and numbers get their supports.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import guess_columns, id_note, read_as
from absentia.tables.columns.readings import ColumnReading, filled, places_of
from absentia.tables.columns.supports import Support
from absentia.tables.phrases import counted, frames_of_absentia, listed, overrule
from absentia.tables.reading import FloatArray, IntArray

#: Whole numbers with fewer different values are classes, as far as encoding by the target goes.
_MOST_CLASSES = 20
#: A density of categories takes no more of them by default: it holds the probabilities of all.
_MOST_CODES = 200
_FOLDS = 5
#: Standard deviations by which neighbours must be alike for an id to say something.
_ALIKE = 4.0
#: Folds, rows at most, and the forest in which many categories must lower the loss to be used.
_TRIALS, _TRIAL_ROWS = 3, 20_000
_FOREST = {"n_estimators": 50, "min_samples_leaf": 5, "random_state": 0}


@dataclass(frozen=True)
class Options:
    """How the owner of a frame wants it read; see :meth:`absentia.ColumnPlan.of`."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    max_categories: int = 30
    keep_ids: bool = False
    codes: bool = False
    supports: Mapping[str, Any] = field(default_factory=dict)


def read_training_columns(
    columns: Mapping[str, Column], separator: str, y: Any, options: Options
) -> tuple[dict[str, ColumnReading], FloatArray]:
    """Return the readings of the columns of a training frame, and their numbers.

    Numbers of categories that are encoded by the target ``y`` are cross-fitted: those of a row do
    not depend on its own target.
    """
    n_rows = max(map(len, columns.values()), default=0)
    if not n_rows:
        raise ValueError(
            f"A table needs at least one row and one column, found {counted(n_rows, 'row')} and "
            f"{counted(len(columns), 'column')}."
        )
    for option in ("kinds", "supports"):
        unknown = [name for name in getattr(options, option) if name not in columns]
        if unknown:
            raise ValueError(
                f"{option} names the column {unknown[0]!r}, which the table does not have; its "
                f"columns are {listed(list(columns))}."
            )
    readings = guess_columns(
        columns, separator=separator, kinds=options.kinds, max_categories=options.max_categories
    )
    for name, reading in readings.items():
        if options.keep_ids and reading.is_id and reading.kind == "category":
            readings[name] = read_as(columns[name], "category")
    targets = _target_columns(y, n_rows)
    cross_fitted = _encode_many(readings, columns, targets, options)
    own = filled(columns, readings, n_rows, options.codes)
    for name, place in places_of(readings, options.codes).items():
        if name in cross_fitted:
            own[:, place] = cross_fitted[name]
    own = _without_ids(readings, own, targets, options)
    if all(reading.left_out for reading in readings.values()):
        notes = [f"{name}: {reading.note}" for name, reading in readings.items() if reading.note]
        raise ValueError("No column has anything to learn from. " + "; ".join(notes) + ".")
    return _with_supports(readings, columns, own, options.codes, options.supports), own


def _target_columns(y: Any, n_rows: int) -> FloatArray | None:
    """Return targets as numbers, (n_rows, n_targets): quantities, or indicators of classes.

    None without targets, and for those that are no valid ones: whoever uses them says so.
    """
    import pandas as pd

    y = None if y is None else np.asarray(y)
    if y is None or not 1 <= y.ndim <= 2 or len(y) != n_rows or not y.size:
        return None
    if y.ndim == 2 and y.shape[1] > 1:
        return y.astype(np.float64) if y.dtype.kind in "iufb" else None
    y = y.reshape(-1)
    if y.dtype.kind == "f" and np.isinf(y).any():
        return None
    codes, classes = pd.factorize(y)
    if y.dtype.kind in "iuf" and len(classes) > _MOST_CLASSES:
        return y.astype(np.float64)[:, None]
    indicators = np.where(codes[:, None] < 0, np.nan, codes[:, None] == np.arange(len(classes)))
    return indicators[:, 1:] if len(classes) == 2 else indicators


def _encode_many(
    readings: dict[str, ColumnReading],
    columns: Mapping[str, Column],
    targets: FloatArray | None,
    options: Options,
) -> dict[str, FloatArray]:
    """Decide on columns with many categories; return the cross-fitted numbers of encoded ones."""
    found: dict[str, FloatArray] = {}
    others: FloatArray | None = None  # numbers of the columns with few categories
    judges = None if options.codes else targets
    few = {k: r for k, r in readings.items() if len(r.categories) <= options.max_categories}
    for name, reading in readings.items():
        n, typed = len(reading.categories), hasattr(columns[name].series.dtype, "categories")
        many = n > options.max_categories and reading.kind == "category" and not reading.is_id
        if not many or (reading.left_out and judges is None):
            continue
        asked = typed or name in options.kinds
        tail = "".join(reading.note.partition(";")[1:])
        if options.codes and (asked or n <= _MOST_CODES):
            continue
        why = "and too many for a density" if options.codes else "and no target to encode them by"
        if judges is not None:
            used = replace(reading, left_out=False)
            codes = np.nan_to_num(used.values(columns[name], codes=True)[:, 0], nan=-1)
            crossed, encoded = _cross_fitted(codes, n, judges)
            if others is None:
                others = filled(columns, few, len(codes), codes=False)
            if asked or _lowers_loss(codes, n, others, judges):
                found[name] = crossed
                said = f"{n:,} categories, encoded by what they say about the target{tail}"
                encoding = tuple(encoded.ravel().tolist())
                readings[name] = replace(used, note=said, encoding=encoding)
                continue
            why = "that say nothing about the target"
        if not asked and not columns[name].is_text:  # keys of places or times have an order
            readings[name] = read_as(columns[name], "number")
        elif not asked:
            said = f"left out, text with {n:,} different values {why}{tail}"
            note = f"{said}: {overrule(name, 'category')}"
            readings[name] = replace(reading, left_out=True, note=note)
    return found


def _cross_fitted(
    codes: FloatArray, n_categories: int, targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the encodings of rows by the targets of other rows, and those of all categories.

    Shrunken means of the targets within each category, by scikit-learn's TargetEncoder; NaN for a
    missing category, whose code is -1.
    """
    known = np.flatnonzero((codes >= 0) & ~np.isnan(targets).any(axis=1))
    of_rows = np.full((len(codes), targets.shape[1]), np.nan)
    levels = np.arange(n_categories)[:, None]

    def encoded(rows: IntArray, wanted: np.ndarray) -> FloatArray:
        parts = []
        for target in targets[rows].T:
            encoder = TargetEncoder(categories=[levels.ravel()], target_type="continuous")
            unit = np.ldexp(1.0, int(np.frexp(np.abs(target).max())[1]) - 1)  # squares overflow
            encoder.fit(codes[rows, None].astype(int), target / unit)
            parts.append(unit * encoder.transform(wanted))
        return np.hstack(parts)

    folds = KFold(_FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(known) if len(known) >= _FOLDS else ():
        of_rows[known[test]] = encoded(known[train], codes[known[test], None].astype(int))
    return of_rows, encoded(known, levels)


def _lowers_loss(codes: FloatArray, n: int, others: FloatArray, targets: FloatArray) -> bool:
    """Return whether encoded categories lower the squared error of forests in folds.

    By more than the standard error, for ranks of the targets, beside the other columns: against
    none and against shuffled categories. Encodings that say nothing do harm: where other columns
    tell the category, the difference between those of two rows tells their training targets.
    """
    from scipy.stats import rankdata
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    known = rng.permutation(np.flatnonzero(~np.isnan(targets).any(axis=1)))[:_TRIAL_ROWS]
    if len(known) < _TRIALS * _FOLDS:
        return False
    y, others = rankdata(targets[known], axis=0) / len(known), np.clip(others[known], -1e30, 1e30)
    tried = codes[known], rng.permutation(codes[known]), np.zeros(len(y))
    losses = np.zeros((len(tried), len(y)))
    for loss, own in zip(losses, tried, strict=True):
        for train, test in KFold(_TRIALS).split(y):
            crossed, encoded = _cross_fitted(own[train], n, y[train])
            later = np.where(own[test, None] < 0, np.nan, encoded[own[test].astype(int)])
            forest = RandomForestRegressor(**_FOREST, max_samples=min(1000, len(train)))
            forest.fit(np.hstack([others[train], crossed]), y[train].squeeze())
            answers = forest.predict(np.hstack([others[test], later])).reshape(len(test), -1)
            loss[test] = ((answers - y[test]) ** 2).sum(axis=1)
    gains = losses[1:] - losses[0]
    return bool((gains.mean(axis=1) > gains.std(axis=1) / np.sqrt(len(y))).all())


def _without_ids(
    readings: dict[str, ColumnReading],
    own: FloatArray,
    targets: FloatArray | None,
    options: Options,
) -> FloatArray:
    """Leave out numbers that identify rows and say nothing; return the numbers of the others."""
    places = places_of(readings, options.codes)
    ids = [
        name
        for name, reading in readings.items()
        if reading.is_id and not reading.left_out and name not in options.kinds
    ]
    if options.keep_ids or not ids:
        return own
    others = [own[:, place] for name, place in places.items() if name not in ids]
    others += [] if targets is None else [targets]
    kept = np.ones(own.shape[1], dtype=bool)
    for name in ids:
        order = np.argsort(own[:, places[name].start], kind="stable")
        reading = readings[name]
        if any(_neighbours_are_alike(values[order]) for values in others):
            note = (
                "it numbers the rows, but its neighbours are alike in other columns: "
                f"{overrule(name, 'left out')}"
            )
            readings[name] = replace(reading, note=f"{reading.note}; {note}".removeprefix("; "))
            continue
        kept[places[name]] = False
        note = f"{id_note(reading)}: {overrule(name, 'number')}"
        readings[name] = replace(reading, left_out=True, note=note)
    return own if kept.all() else own[:, kept]


def _neighbours_are_alike(values: FloatArray) -> bool:
    """Return whether the values of rows in some order resemble those of the next row.

    By the correlation of ranks with those of the next row, which has a deviation of ``1 / sqrt(n)``
    if the order says nothing: any smooth dependence shows, rising or not.
    """
    known = (column[~np.isnan(column)] for column in values.T)
    return any(_are_related(column[:-1], column[1:]) for column in known)


def _are_related(one: FloatArray, other: FloatArray) -> bool:
    """Return whether one column rises with another, by their correlation of ranks."""
    from scipy.stats import rankdata

    known = ~(np.isnan(one) | np.isnan(other))
    ranks = [rankdata(column[known]) for column in (one, other)]
    if known.sum() < 2 or not all(column.std() > 0 for column in ranks):
        return False
    return bool(np.corrcoef(*ranks)[0, 1] * np.sqrt(known.sum()) > _ALIKE)


def _with_supports(
    readings: Mapping[str, ColumnReading],
    columns: Mapping[str, Column],
    own: FloatArray,
    codes: bool,
    given: Mapping[str, Any],
) -> dict[str, ColumnReading]:
    """Return readings with the supports that were given, and inferred ones of other numbers."""
    out, places = dict(readings), places_of(readings, codes)
    for name, reading in readings.items():
        if name in places and reading.kind == "number":
            values, column = own[:, places[name].start], columns[name]
            label = f"{name} %" if column.is_text and "%" in column.marks() else name
            found = Support.of_values(values, label, limits=reading.counts.bounds > 0)
            if name in given:
                found = Support.of(given[name], name)
                beyond = np.flatnonzero((values < found.lower) | (values > found.upper))
                if len(beyond):
                    raise ValueError(
                        f"Column {name!r} has {values[beyond[0]]:g} in row {beyond[0]}, outside of "
                        f"the support that was given for it ({found}): correct one of them."
                    )
            out[name] = replace(reading, support=found)
        elif name in given:
            kind = "left out" if reading.left_out else f"used as {reading.kind}"
            raise ValueError(
                f"supports names the column {name!r}, which is {kind}: only numbers have a "
                "support. Use kinds to say that it is a number."
            )
    return out


def warn_of_sentinels(readings: Mapping[str, ColumnReading]) -> None:
    """Warn of numbers that are taken for sentinels: a guess that changes values."""
    found = [f"{name!r} has {r.note}" for name, r in readings.items() if r.sentinels]
    if found:
        some = "; ".join(found[:5]) + f"; and {len(found) - 5} more columns" * (len(found) > 5)
        warnings.warn(
            f"Codes for missing values: {some}. To keep them as numbers, use "
            "ColumnPlan.of(X, kinds={column: 'number'}).read(X), or pass an array.",
            stacklevel=frames_of_absentia(),
        )
