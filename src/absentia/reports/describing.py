"""Description of missing values, and of the cells that are least likely given their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.densities.suspicious_cells import suspicious_cells
from absentia.engine.threads import bounded_slices
from absentia.hidden_warnings import hidden_warnings
from absentia.missingness import Patterns
from absentia.reports.little import little_test
from absentia.reports.missingness_report import MissingnessReport
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike, as_table, column_names
from absentia.tables.column_plan import ColumnPlan
from absentia.tables.columns.guesses import case_note, read_columns
from absentia.tables.phrases import infinite_note, listed
from absentia.tables.reading import as_frame, native_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe_missingness"]

# Patterns times columns cubed, what a step of EM costs; above it the test runs only on request.
_PATIENCE = 1e9
# Columns whose missingness is compared with each other, which takes the square of their number.
_MOST_COMPARED = 300
# Rows times the cube of the columns up to which cells are judged.
_MOST_JUDGED = 3e7


def describe_missingness(
    X: TableLike, *, mcar_test: bool | str = "auto", kinds: Mapping[str, str] | None = None
) -> MissingnessReport:
    """Describe which values are missing from a table, and whether they look random.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        NaN, ``None`` or ``pd.NA`` where a value is missing. Frames may hold words and dates. In
        columns of numbers and dates what cannot be read ("-", "<0.5", an infinity) and codes such
        as -999 far outside the rest count as missing, and ``notes`` says so; machines learn from
        "<0.5" as a limit.
    mcar_test : {"auto", True, False}, default="auto"
        Whether to run Little's test of "missing completely at random", which fits a Gaussian by
        EM. "auto" runs it unless the table is so wide and ragged that it would take minutes.
    kinds : dict of str to {"number", "category", "date", "cyclic date", "left out"}, optional
        Kinds of some columns of a frame, in place of the inferred ones; such numbers are taken as
        they are, also -999.

    Returns
    -------
    MissingnessReport
        Rates by column, patterns, which columns go missing together, and the test. ``print`` it
        to read it, ``.plot()`` to see it.

    Notes
    -----
    Without the test the cost is O(n log n) for the patterns and O(P d^2) for the correlations,
    with P the number of patterns and d at most 300: of a wider table, the columns that miss most
    are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import amputation, describe_missingness
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> report = describe_missingness(amputation.views(X, 0.2, [[0, 1], [2]], random_state=0))
    >>> print(report)
    200 rows, 3 columns: 120 of 600 values missing (20.0 %)
    ...
    >>> report.blocks
    ((0, 1),)
    >>> report.column_rates.round(2)
    array([0.22, 0.22, 0.16])
    """
    if mcar_test not in ("auto", True, False):
        raise ValueError(f'mcar_test must be "auto", True or False, found {mcar_test!r}.')
    X = native_frame(X)
    table, tested, notes = _as_numbers(X, kinds)
    n, d = table.shape
    patterns = Patterns.of_mask(np.isnan(table))
    column_rates = patterns.counts @ patterns.masks / n
    little, why_no_test = None, "it was not requested."
    if mcar_test == "auto" and len(patterns.masks) * d**3 > _PATIENCE:
        why_no_test = (
            f"it would take long for {len(patterns.masks):,} patterns of {d:,} columns; "
            "pass mcar_test=True (--test on the command line) to run it anyway."
        )
    elif not patterns.masks.any():
        why_no_test = "nothing is missing."
    elif not patterns.masks[:, tested].any():
        why_no_test = "nothing is missing from the columns of numbers."
    elif mcar_test:
        try:
            little, why_no_test = little_test(table[:, tested]), ""
        except ValueError as reason:
            why_no_test = str(reason)
    compared = np.arange(d)
    if d > _MOST_COMPARED:  # those that are always missing say nothing
        order = np.argsort(-np.where(column_rates < 1, column_rates, -1.0), kind="stable")
        compared = np.sort(order[:_MOST_COMPARED])
    return MissingnessReport(
        columns=tuple(column_names(X, d)),
        patterns=patterns,
        column_rates=column_rates,
        compared=compared,
        together=_correlation_of_absence(patterns, column_rates, compared),
        blocks=_blocks(patterns),
        little=little,
        why_no_test=why_no_test,
        notes=notes,
    )


def _as_numbers(
    X: Any, kinds: Mapping[str, str] | None
) -> tuple[FloatArray, BoolArray, tuple[str, ...]]:
    """Return a table as numbers, which columns may be tested, and notes on how it was read."""
    if not hasattr(X, "columns"):
        infinite: tuple[str, ...] = ()
        try:
            table = as_table(X)
        except ValueError:
            values = np.asarray(X)
            if values.dtype.kind != "f" or not np.isinf(values).any():
                raise
            table = as_table(np.where(np.isinf(values), np.nan, values))
            infinite = (infinite_note(int(np.isinf(values).sum())),)
        return table, np.ones(table.shape[1], dtype=bool), infinite
    kinds = kinds or {}
    frame = as_frame(X)
    if not frame.size or not frame.columns.is_unique:
        as_table(X)  # which says what is wrong with it
    unknown = [name for name in kinds if name not in frame.columns]
    if unknown:
        raise ValueError(
            f"There is no column {unknown[0]!r}; the columns are {listed([*frame.columns])}."
        )
    columns, readings = read_columns(frame, kinds=kinds)
    numbers = [
        np.where(reading.missing(columns[name]), np.nan, 0.0)
        if reading.left_out or reading.kind == "category"
        else reading.values(columns[name])[:, 0]
        for name, reading in readings.items()
    ]
    tested = np.array([reading.kind != "category" for reading in readings.values()])
    notes = []
    for name, reading in readings.items():
        said = "" if reading.kind == "duration" else reading.note
        if reading.left_out:  # what the user has asked for is said
            said = reading.note if kinds.get(name, "left out") != "left out" else ""
        elif reading.kind == "category":
            said = case_note(reading.categories)
        notes += [f"{name}: {said}."] if said else []
    words = list(frame.columns[~tested])
    if words:
        shown = ", ".join(words[:5]) + f" and {len(words) - 5} more" * (len(words) > 5)
        hold = "holds" if len(words) == 1 else "hold"
        notes.append(f"Little's test uses only numbers, so not {shown}, which {hold} words.")
    return np.column_stack(numbers), tested, tuple(notes)


def _correlation_of_absence(
    patterns: Patterns, column_rates: FloatArray, columns: IntArray
) -> FloatArray:
    rates = column_rates[columns]
    joint = np.zeros((len(rates), len(rates)))
    for part in bounded_slices(len(patterns.masks), len(rates)):
        masks = patterns.masks[part][:, columns].astype(np.float64)
        joint += (masks.T * patterns.counts[part]) @ masks
    spread = np.sqrt(rates * (1 - rates))
    varies = spread > 0
    scale = np.outer(np.where(varies, spread, 1.0), np.where(varies, spread, 1.0))
    correlation = (joint / len(patterns) - np.outer(rates, rates)) / scale
    correlation[~varies] = correlation[:, ~varies] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return np.clip((correlation + correlation.T) / 2, -1.0, 1.0)


def _blocks(patterns: Patterns) -> tuple[tuple[int, ...], ...]:
    """Find the columns that are missing from the same rows: equal columns of the pattern table."""
    by_column = Patterns.of_mask(patterns.masks.T)
    groups = [
        tuple(int(j) for j in columns)
        for columns, mask in zip(by_column.rows_by_pattern(), by_column.masks, strict=True)
        if len(columns) > 1 and mask.any() and not mask.all()
    ]
    return tuple(sorted(groups, key=lambda columns: (-len(columns), columns)))


def suspects(
    frame: pd.DataFrame, kinds: Mapping[str, str] | None = None, most: int = 10
) -> list[dict[str, Any]]:
    """Return the most suspicious cells: row (counted from 1), column, value and expected value.

    Empty where there are none, and where the table is too large or holds nothing to judge them by.
    """
    if len(frame) < 10 or len(frame) * frame.shape[1] ** 3 > _MOST_JUDGED:
        return []
    try:
        with hidden_warnings():
            plan = ColumnPlan.of(frame, kinds=dict(kinds or {}))
            found = suspicious_cells("gaussian", plan.read(frame))
    except ValueError:
        return []
    return [
        {
            "row": int(found.rows[k]) + 1,
            "column": found.names[found.columns[k]],
            "value": _cell_text(found.values[k]),
            "expected": _cell_text(found.expected[k]),
        }
        for k in range(min(most, len(found)))
    ]


def _cell_text(value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat()[:10])
    return f"{value:.4g}" if isinstance(value, float) else str(value)
