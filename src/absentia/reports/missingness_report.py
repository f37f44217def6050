"""Report on the missing values of a table, see :func:`absentia.describe_missingness`.

Everything is computed from the patterns and their counts, so that a million rows that fall into a
hundred patterns cost as little as a hundred rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from absentia.missingness import Patterns
from absentia.reports.little import LittleTest
from absentia.reports.pages_of_tables import draw_missingness, missingness_page, notebook_table
from absentia.reports.safe_text import printable
from absentia.tables import FloatArray, IntArray
from absentia.tables.phrases import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MissingnessReport"]

_SHOWN = 8


@dataclass(frozen=True, eq=False)
class MissingnessReport:
    """Report on the missing values of a table; print it, or :meth:`plot` it.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns; ``x0``, ``x1``... where the table has none.
    patterns : Patterns
        The distinct missing masks, the one of each row, and how many rows have each.
    column_rates : ndarray of shape (n_features,)
        The share of rows that miss each column.
    compared : ndarray of int
        The columns that ``together`` compares: all, or of more than 300 those that miss most.
    together : ndarray of shape (n_compared, n_compared)
        The correlation of missingness: 1 for columns that are missing from the same rows, 0 for
        columns whose absence is unrelated, and for columns that are never or always missing.
    blocks : tuple of tuple of int
        Groups of two columns or more that are always missing together (and sometimes are), the
        largest first.
    little : LittleTest or None
        Little's test of "missing completely at random"; None where it was not run.
    why_no_test : str
        Why it was not run; empty where it was.
    notes : tuple of str
        Values that count as missing besides empty cells, and columns that are not tested.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import describe_missingness
    >>> report = describe_missingness([[1.0, np.nan], [2.0, np.nan], [3.0, 4.0], [np.nan, 1.0]])
    >>> report.rate, report.n_complete_rows, report.column_rates
    (0.375, 1, array([0.25, 0.5 ]))
    """

    columns: tuple[str, ...]
    patterns: Patterns
    column_rates: FloatArray
    compared: IntArray
    together: FloatArray
    blocks: tuple[tuple[int, ...], ...]
    little: LittleTest | None
    why_no_test: str
    notes: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.patterns)

    @property
    def rate(self) -> float:
        """The share of all values that is missing."""
        return float(self.column_rates.mean())

    @property
    def n_complete_rows(self) -> int:
        """The number of rows without missing values."""
        return int(self.patterns.counts[self.patterns.n_missing == 0].sum())

    @property
    def n_empty_rows(self) -> int:
        """The number of rows without any value."""
        return int(self.patterns.counts[self.patterns.masks.all(axis=1)].sum())

    def commonest_patterns(self, number: int = 10) -> IntArray:
        """Return the indices of the commonest patterns, the commonest first."""
        return np.argsort(-self.patterns.counts, kind="stable")[:number]

    def strongest_pairs(self, number: int = 10) -> list[tuple[int, int, float]]:
        """Return the pairs of columns whose missingness is most correlated, the strongest first.

        Of a block of columns that always go together only the first takes part; the rest are
        listed in ``blocks``.
        """
        strength = np.triu(np.abs(self.together), k=1)
        repeated = np.isin(self.compared, [j for block in self.blocks for j in block[1:]])
        strength[repeated] = strength[:, repeated] = 0
        order = np.argsort(-strength, axis=None, kind="stable")[:number]
        first, second = np.unravel_index(order, strength.shape)
        return [
            (int(self.compared[i]), int(self.compared[j]), float(self.together[i, j]))
            for i, j in zip(first, second, strict=True)
            if strength[i, j] > 0
        ]

    def plot(self, *, max_columns: int = 40, max_patterns: int = 20) -> Figure:
        """Draw the rates by column, the commonest patterns, and what goes missing together.

        Parameters
        ----------
        max_columns : int, default=40
            The most columns to draw: those that miss most, in the order of the table.
        max_patterns : int, default=20
            The most patterns to draw: the most frequent ones.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``figure.savefig("missingness.png")``.

        Raises
        ------
        ImportError
            Where matplotlib is not installed; it comes with ``absentia[plot]``.
        """
        return draw_missingness(self, max_columns, max_patterns)

    def to_html(self, title: str = "What is missing") -> str:
        """Return the report as a self-contained HTML page with pictures and tables.

        Needs matplotlib, pandas and Jinja2 (``absentia[report]``).
        """
        return missingness_page(self, title)

    def _repr_html_(self) -> str:
        return notebook_table(self)

    def __str__(self) -> str:
        # Names of columns are somebody's, and this is made to be printed.
        return "\n".join(printable(line) for line in self._lines())

    def __repr__(self) -> str:
        return (
            f"MissingnessReport of {counted(self.n_samples, 'row')} in "
            f"{counted(len(self.columns), 'column')}, "
            f"{_percent(self.rate)} missing, {len(self.patterns.masks)} patterns"
        )

    def _lines(self) -> Iterator[str]:
        n, d = self.n_samples, len(self.columns)
        n_missing = int(self.patterns.counts @ self.patterns.n_missing)
        yield (
            f"{counted(n, 'row')}, {counted(d, 'column')}: {n_missing:,} of {n * d:,} values "
            f"missing ({_percent(self.rate)})"
        )
        singles = int((self.patterns.counts == 1).sum())
        facts = [
            f"{counted(self.n_complete_rows, 'complete row')} "
            f"({_percent(self.n_complete_rows / n)})",
            f"{counted(len(self.patterns.masks), 'pattern')}, {singles:,} with a single row",
        ]
        if self.n_empty_rows:
            facts.append(f"{counted(self.n_empty_rows, 'row')} without any value")
        yield "; ".join(facts)
        if n_missing:
            yield from self._column_lines()
            yield from self._pattern_lines()
            yield from self._together_lines()
        yield ""
        yield "Missing completely at random? (Little's test)"
        yield from self.test_lines()
        if self.notes:
            yield ""
            yield "Notes"
            yield from (f"  {note}" for note in self.notes)

    def _column_lines(self) -> Iterator[str]:
        yield ""
        yield "Missing by column"
        order = np.argsort(-self.column_rates, kind="stable")
        order = order[self.column_rates[order] > 0]
        width = max(len(self.columns[j]) for j in order[:_SHOWN])
        for j in order[:_SHOWN]:
            bar = "█" * round(30 * self.column_rates[j]) or "▏"
            yield f"  {self.columns[j]:<{width}}  {_percent(self.column_rates[j]):>7}  {bar}"
        rest = order[_SHOWN:]
        if len(rest):
            low, high = self.column_rates[rest[-1]], self.column_rates[rest[0]]
            yield f"  and {len(rest):,} more, from {_percent(low)} to {_percent(high)}"
        complete = len(self.columns) - len(order)
        if complete:
            yield f"  and {counted(complete, 'column')} without missing values"

    def _pattern_lines(self) -> Iterator[str]:
        yield ""
        if self.patterns.counts.max() == 1 and self.n_samples > _SHOWN:
            yield "Every row has a pattern of its own"
            return
        yield "Commonest patterns"
        shown = self.commonest_patterns(_SHOWN)
        width = len(f"{self.patterns.counts[shown[0]]:,}")
        for p in shown:
            count = self.patterns.counts[p]
            missing = np.flatnonzero(self.patterns.masks[p])
            what = f"miss {self._named(missing)}" if len(missing) else "complete"
            yield f"  {count:>{width},} ({_percent(count / self.n_samples):>6})  {what}"
        rest = len(self.patterns.masks) - len(shown)
        if rest:
            yield f"  and {rest:,} more"

    def _together_lines(self) -> Iterator[str]:
        pairs = [pair for pair in self.strongest_pairs(5) if abs(pair[2]) >= 0.1]
        if not (pairs or self.blocks):
            return
        yield ""
        wide = len(self.columns) > len(self.compared)
        among = f", among the {len(self.compared)} columns that miss most" if wide else ""
        yield f"Missing together (correlation of missingness{among})"
        for block in self.blocks[:_SHOWN]:
            yield f"  always: {self._named(np.array(block))}"
        if len(self.blocks) > _SHOWN:
            yield f"  and {len(self.blocks) - _SHOWN:,} more such groups"
        for i, j, strength in pairs:
            yield f"  {strength:+.2f}: {self.columns[i]}, {self.columns[j]}"

    def test_lines(self) -> Iterator[str]:
        """Yield the outcome of Little's test, line by line."""
        if self.little is None:
            yield f"  not tested: {self.why_no_test}"
            return
        test = self.little
        chance = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
        yield (
            f"  chi-square {test.statistic:,.1f} on {test.degrees_of_freedom:,} degrees of "
            f"freedom, {chance}{' by permutation' * (test.method == 'permutation')}"
        )
        if test.p_value < 0.05:
            yield "  Doubtful: rows that miss different columns have different means."
        else:
            yield "  No evidence against it, but that is not a proof."
        if (self.patterns.counts == 1).sum() > 0.5 * self.n_samples:
            yield "  Caution: most rows have a pattern of their own, where the test is unreliable."
        elif not test.trusted:
            yield "  Caution: rows are few or tails heavy, where chi-square rejects too often."
        if not test.converged:
            yield "  Caution: the estimate behind it did not converge."

    def _named(self, columns: IntArray) -> str:
        names = ", ".join(self.columns[j] for j in columns[:5])
        return names if len(columns) <= 5 else f"{names} and {len(columns) - 5} more"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
