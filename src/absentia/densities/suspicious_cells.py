"""Observed cells that a density cannot explain given the rest of their rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr, logsumexp
from scipy.stats import false_discovery_control

from absentia.beliefs import Beliefs
from absentia.beliefs.column_trials import BeliefColumn, marginals, option_probabilities
from absentia.densities.base import Density
from absentia.densities.em.ascent import of_components
from absentia.densities.fit_density import DensityLike, fit_density, make_density, words_for
from absentia.densities.missing_values import MissingValues
from absentia.engine.threads import bounded_slices
from absentia.parameters import number_between
from absentia.tables import BoolArray, FloatArray, IntArray, Table, TableLike, open_memory, plan_of
from absentia.tables.reading import has_columns_of_words, is_frame

if TYPE_CHECKING:
    import pandas as pd

#: Cells of one row that are set aside while the others are judged.
_MOST_BAD_CELLS = 3
#: Fits of a density, each without the cells that the one before could not explain.
_MOST_FITS = 5
#: Rows that a component of a mixture stands for at least, to explain rows that it was fitted to,
#: or this share of them where they are few.
_FEWEST_ROWS, _SMALLEST_SHARE = 5, 0.05
#: A cell that the rest of its row determines still has this share of its column's deviation.
_SMALLEST_DEVIATION = 1e-7
_LEVEL = number_between(1e-12, 0.5, expected="a rate between 0 and 0.5")


@dataclass(frozen=True, eq=False)
class CellTests:
    """Tests of the observed cells of rows: log p-values and expected values.

    ``log_p`` is by the user's columns, NaN for cells without a test; ``expected`` are conditional
    means, or likeliest categories, in the columns of the table.
    """

    log_p: FloatArray
    expected: FloatArray

    @classmethod
    def of(cls, missing: MissingValues, table: Table, hidden: BoolArray) -> CellTests:
        """Judge every observed cell given those of its row that are not ``hidden``.

        ``hidden`` has the shape (n_samples, n_columns) of the user's columns. For a number the
        p-value is ``2 min(F(x), 1 - F(x))`` with the conditional distribution function ``F``; for
        a category it is the probability of all categories that are no more likely.
        """
        given = _without(table, hidden, missing)
        log_p = np.full(hidden.shape, np.nan)
        expected = np.full(table.array.shape, np.nan)
        for at, column in enumerate(missing.columns):
            places = list(column.places)
            tested = np.flatnonzero(~np.isnan(table.array[:, places]).any(axis=1))
            if not column.believed or not len(tested):
                continue
            for part in bounded_slices(len(tested), table.n_features**2):
                rows = tested[part]
                rest = given[rows]
                rest[:, places] = np.nan
                values = table.array[rows][:, places]
                test = _test_number if column.options is None else _test_category
                some = replace(table[rows], array=rest, _whole=None, _known={})
                log_p[rows, at], means = test(missing, some, column, values)
                expected[rows[:, None], places] = means
        return cls(log_p, expected)


def _without(table: Table, cells: BoolArray, missing: MissingValues) -> FloatArray:
    """Return the array of a table with some cells (n_samples, n_columns) of the user hidden."""
    out = table.array.copy()
    for at, column in enumerate(missing.columns):
        for place in column.places:
            out[cells[:, at], place] = np.nan
    return out


def _test_number(
    missing: MissingValues, rest: Table, column: BeliefColumn, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log p-values of numbers, and their conditional means in units of the table."""
    beliefs, number = missing.believe(rest), column.numbers[0]
    curve = None if beliefs.margins is None else beliefs.margins.curves[number]
    scores = values[:, 0] if curve is None else curve.forward(values[:, 0])
    log_p, mean = _two_sided(beliefs, np.full(len(rest), number), scores)
    return log_p, (mean if curve is None else curve.backward(mean))[:, None]


def _test_category(
    missing: MissingValues, rest: Table, column: BeliefColumn, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log p-values of categories, and the likeliest ones as the table holds them.

    Where categories are indicator columns, the mean of an indicator is no probability in the tails:
    the indicator of the observed category is judged as the number that the density takes it for.
    """
    assert column.options is not None
    beliefs = missing.believe(rest)
    probabilities = option_probabilities(beliefs, column)
    option = np.abs(values[:, None, :] - column.options).sum(axis=2).argmin(axis=1)
    expected = column.options[probabilities.argmax(axis=1)]
    if column.category is None:
        at = np.minimum(option, len(column.numbers) - 1)
        scores = np.take_along_axis(values, at[:, None], axis=1)[:, 0]
        return _two_sided(beliefs, np.asarray(column.numbers)[at], scores)[0], expected
    own = np.take_along_axis(probabilities, option[:, None], axis=1)
    no_likelier = np.where(probabilities <= own * (1 + 1e-9), probabilities, 0.0).sum(axis=1)
    return np.log(np.clip(no_likelier, np.finfo(float).tiny, 1.0)), expected


def _two_sided(
    beliefs: Beliefs, number: IntArray, scores: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ``log 2 min(F, 1 - F)`` of a number of each row, and its conditional mean."""
    _, means, deviations = marginals(beliefs, np.arange(len(beliefs)), number)
    smallest = np.sqrt(beliefs.prior.covariances[:, number, number]).T * _SMALLEST_DEVIATION
    z = (scores[:, None] - means) / np.maximum(deviations, smallest)
    weights = beliefs.weights()
    tails = [logsumexp(log_ndtr(side), axis=1, b=weights) for side in (z, -z)]
    log_p = np.minimum(np.log(2.0) + np.minimum(*tails), 0.0)
    return log_p, np.einsum("ic,ic->i", weights, means)


def judged_cells(missing: MissingValues, table: Table, level: float) -> CellTests:
    """Judge all cells, each given the cells of its row that are not suspicious themselves.

    One wrong cell makes its neighbours look wrong. The most suspicious cell of each row is
    therefore set aside and the row judged again, up to three times.
    """
    hidden = np.zeros((len(table), len(missing.columns)), dtype=bool)
    found = CellTests.of(missing, table, hidden)
    for _ in range(_MOST_BAD_CELLS):
        suspects = (adjusted(found.log_p) <= level) & ~hidden
        rows = np.flatnonzero(suspects.any(axis=1))
        if not len(rows):
            break
        worst = np.where(suspects[rows], found.log_p[rows], np.inf).argmin(axis=1)
        hidden[rows, worst] = True
        again = CellTests.of(missing, table[rows], hidden[rows])
        found.log_p[rows], found.expected[rows] = again.log_p, again.expected
    return found


def adjusted(log_p: FloatArray) -> FloatArray:
    """Return p-values adjusted for the false discovery rate over the table; one without a test."""
    out = np.ones(log_p.shape)
    tested = np.isfinite(log_p)
    if tested.any():
        out[tested] = false_discovery_control(np.exp(log_p[tested]))
    return out


def fit_without_suspects(density: DensityLike, X: TableLike, level: float) -> tuple[Any, Table]:
    """Fit a density, again without the cells that it could not explain, until these agree.

    A gross error inflates the covariance it is judged by, and hides others; in a mixture it may
    have a component to itself. Returns the fitted density and the table as it was read.
    """
    made = make_density(density, 0)
    opened = open_memory(X, words=words_for(made))
    if not isinstance(opened, Table):
        raise TypeError("Rows of a table are judged, but X holds beliefs. Pass the rows.")
    rows = table = opened.behind_plan()
    suspects = np.zeros((0, 0), dtype=bool)
    for _ in range(_MOST_FITS):
        fitted: Any = fit_density(made, table)
        missing = _missing_values(_without_rare_components(fitted, len(table)), rows)
        before, suspects = suspects, adjusted(judged_cells(missing, rows, level).log_p) <= level
        if not suspects.any() or np.array_equal(before, suspects):
            break
        array = _without(rows, suspects, missing)
        if np.isnan(array).all(axis=0).any():
            break
        table = replace(rows, array=array, _whole=None, _known={})
    return fitted, opened


def _without_rare_components(density: Density, n_rows: int) -> Density:
    """Return a fitted density without the components that stand for a few rows only."""
    rows_of_component = density.prior_.weights * n_rows
    fewest = min(_FEWEST_ROWS, max(2.0, _SMALLEST_SHARE * n_rows), rows_of_component.max())
    kept = np.flatnonzero(rows_of_component >= fewest)
    if len(kept) == density.prior_.n_components:
        return density
    common = copy(density)
    common.prior_ = of_components(density.prior_, kept)
    return common


def _missing_values(density: Density, rows: Table) -> MissingValues:
    names = getattr(density, "feature_names_in_", rows.labels)
    return MissingValues.of(density, list(names), rows.n_features, plan_of(density) or rows.plan)


@dataclass(frozen=True, eq=False)
class SuspiciousCells:
    """Observed cells that a density cannot explain, the most suspicious first.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (n_suspicious,)
        Positions in the table.
    names : list of str
        Names of all columns of the table.
    values, expected : list
        The cells, and their conditional means or likeliest categories, in the user's units.
    p_values : ndarray of shape (n_suspicious,)
    q_values : ndarray of shape (n_suspicious,)
        The p-values adjusted for the number of cells (Benjamini and Hochberg).
    all_p_values : ndarray of shape (n_samples, n_columns)
        Of every cell; NaN where nothing was observed or nothing is believed.
    level : float
        The false discovery rate.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import suspicious_cells
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[7, 1] = 50.0
    >>> np.argwhere(suspicious_cells("gaussian", X).mask)
    array([[7, 1]])
    """

    rows: IntArray
    columns: IntArray
    names: list[str]
    values: list[Any]
    expected: list[Any]
    p_values: FloatArray
    q_values: FloatArray
    all_p_values: FloatArray
    level: float

    def __len__(self) -> int:
        """Return the number of suspicious cells."""
        return len(self.rows)

    @property
    def mask(self) -> BoolArray:
        """Mask of the suspicious cells, shape (n_samples, n_columns)."""
        found = np.zeros(self.all_p_values.shape, dtype=bool)
        found[self.rows, self.columns] = True
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return one line per suspicious cell as a pandas frame.

        Its columns are ``row``, ``column``, ``value``, ``expected``, ``p_value`` and ``q_value``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "row": self.rows,
                "column": [self.names[j] for j in self.columns],
                "value": pd.Series(self.values, dtype=object),
                "expected": pd.Series(self.expected, dtype=object),
                "p_value": self.p_values,
                "q_value": self.q_values,
            }
        )

    def __repr__(self) -> str:
        n_tested = int(np.isfinite(self.all_p_values).sum())
        lines = [
            f"{len(self)} of {n_tested} cells are suspicious at a false discovery rate of "
            f"{self.level:g}"
        ]
        for at in range(min(10, len(self))):
            name, row = self.names[self.columns[at]], self.rows[at]
            lines.append(
                f"  row {row}, {name}: {_short(self.values[at])}, expected "
                f"{_short(self.expected[at])} (p = {max(self.p_values[at], 1e-300):.2g})"
            )
        if len(self) > 10:
            lines.append(f"  and {len(self) - 10} more")
        return "\n".join(lines)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def suspicious_cells(
    density: Density | DensityLike, X: TableLike, *, level: float = 0.05
) -> SuspiciousCells:
    """Find observed cells that cannot be right, given the rest of their rows.

    Every observed cell is compared with the belief about it given the other cells of its row:
    ``p = 2 min(F(x), 1 - F(x))`` for a number with conditional distribution function ``F``, the
    probability of all categories that are no more likely for a category. The most suspicious cell
    of a row is set aside while the others are judged. Cells are reported at a false discovery rate
    over the whole table (Benjamini and Hochberg, 1995).

    Parameters
    ----------
    density : fitted density, or density by name or unfitted
        A fitted density is used as it is: fit it to rows that can be trusted. Any other is fitted
        to ``X``, and again without the suspicious cells until they no longer change.
    X : array-like or frame of shape (n_samples, n_features)
        NaN where a value is missing. Limits of values are not judged.
    level : float, default=0.05
        Expected share of false alarms among the reported cells, where the density is right.

    Returns
    -------
    SuspiciousCells

    Notes
    -----
    p-values are uniform for every missing pattern where the density is the true one; heavy tails
    make them too small. Cost: one conditioning of the table per column.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import suspicious_cells
    >>> rng = np.random.default_rng(0)
    >>> height = rng.normal(170.0, 10.0, size=200)
    >>> X = np.column_stack([height, height - 100 + rng.normal(0.0, 5.0, size=200)])
    >>> X[::5, 1] = np.nan
    >>> X[3, 0] = 17.1
    >>> suspicious_cells("gaussian", X)
    1 of 360 cells are suspicious at a false discovery rate of 0.05
      row 3, x0: 17.1, expected 174.1 (p = 8.5e-237)
    """
    _LEVEL.check("level", level)
    if isinstance(density, Density) and hasattr(density, "prior_"):
        fitted, rows = density, density._open_in_memory(X)
    else:
        if isinstance(density, str) and density == "auto":
            density = "mixed" if is_frame(X) and has_columns_of_words(X) else "gaussian"
        fitted, opened = fit_without_suspects(density, X, level)
        rows = opened.behind_plan()
    missing = _missing_values(fitted, rows)
    tests = judged_cells(missing, rows, level)
    q_values = adjusted(tests.log_p)
    at = np.argwhere(q_values <= level)
    at = at[np.argsort(tests.log_p[at[:, 0], at[:, 1]], kind="stable")]
    own, believed = (
        fitted._in_units([array[:, fitted.columns_]])[0]
        for array in (rows.array, np.where(np.isnan(rows.array), np.nan, tests.expected))
    )
    names = [column.name for column in missing.columns]
    return SuspiciousCells(
        rows=at[:, 0],
        columns=at[:, 1],
        names=names,
        values=[_cell(own, i, missing.columns[j], fitted) for i, j in at],
        expected=[_cell(believed, i, missing.columns[j], fitted) for i, j in at],
        p_values=np.exp(tests.log_p[at[:, 0], at[:, 1]]),
        q_values=q_values[at[:, 0], at[:, 1]],
        all_p_values=np.exp(tests.log_p),
        level=float(level),
    )


def _cell(table: Any, row: int, column: BeliefColumn, density: Density) -> Any:
    """Return one cell of an array or frame in the user's units."""
    if isinstance(table, np.ndarray):
        place = int(np.searchsorted(density.columns_, column.places[0]))
        return float(table[row, place])
    values = table[column.name]
    return values.iloc[row] if hasattr(values, "iloc") else values[int(row)]
