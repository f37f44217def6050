"""The margins of a table: a curve per column from values to normal scores, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from absentia.tables.constant_columns import is_constant
from absentia.tables.normal_scores import ScoreCurve
from absentia.tables.reading import FloatArray, IntArray
from absentia.tables.stored import InconsistentError, Stored
from absentia.tables.table import Table

__all__ = ["Margins"]

_MIN_DISTINCT = 10  # columns with fewer different values are scaled
_LEAST_WEIGHT = 1e-12  # of all; a value with less is no knot
_IDENTITY = ScoreCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class Margins(Stored):
    """How each column of a table becomes normal scores: increasing curves with exact inverses.

    A column with few different values has a straight line, to mean zero and deviation one.

    Attributes
    ----------
    curves : tuple of ScoreCurve

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.tables import Table
    >>> from absentia.tables.margins import Margins
    >>> rows = Table.of(np.exp(np.arange(12.0))[:, None])
    >>> margins = Margins.of(rows)
    >>> scores = margins.forward(rows.array)
    >>> scores.ravel()[:3].round(2)
    array([-1.73, -1.15, -0.81])
    >>> margins.backward(scores).ravel()[:3].round(2)
    array([1.  , 2.72, 7.39])
    """

    curves: tuple[ScoreCurve, ...]

    def validate(self) -> None:
        """Raise ValueError unless each column has a curve."""
        self._require_type("curves", tuple)
        for curve in self.curves:
            if not isinstance(curve, ScoreCurve):
                raise ValueError("Margins.curves must be curves of scores.")
            curve.ensure_valid()

    @classmethod
    def of(cls, rows: Table, weights: FloatArray | None = None) -> Margins:
        """Fit the curves to the observed values, and to the middles of intervals without any.

        Rows of weight zero, or next to it, do not count. A column without any value gets the
        identity.
        """
        values, middles = rows.array, rows.interval_middles()
        if middles is not None:
            unseen = np.isnan(values).all(axis=0)
            values = np.where(unseen, middles, values)
        return cls(tuple(_curve_of(column, weights) for column in values.T))

    def of_columns(self, columns: IntArray | Sequence[int]) -> Margins:
        """Return the margins of some columns."""
        return Margins(tuple(self.curves[j] for j in columns))

    def leaving(self, columns: Sequence[int]) -> Margins:
        """Return the same margins, some columns as they are."""
        return Margins(tuple(_IDENTITY if j in columns else c for j, c in enumerate(self.curves)))

    def forward(self, values: FloatArray) -> FloatArray:
        """Return scores; the last axis are the columns, NaN where a value is missing."""
        return self._mapped(values, "forward")

    def backward(self, scores: FloatArray) -> FloatArray:
        """Return the values of scores, in the units of the table."""
        return self._mapped(scores, "backward")

    def _mapped(self, values: FloatArray, direction: str) -> FloatArray:
        if values.shape[-1] != len(self.curves):
            raise InconsistentError(
                f"Margins of {len(self.curves)} columns for {values.shape[-1]} columns."
            )
        out = np.empty(values.shape)
        for j, curve in enumerate(self.curves):
            out[..., j] = getattr(curve, direction)(values[..., j])
        return out

    def forward_limits(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return limits of scores, the upper one still above the lower one after rounding."""
        low, high = self.forward(lower), self.forward(upper)
        return low, np.where(high > low, high, np.nextafter(low, np.inf))

    def forward_table(self, rows: Table) -> Table:
        """Return a table of scores, its limits scored too; what is missing is missing there."""
        limits = rows.lower, rows.upper
        if rows.lower is not None and rows.upper is not None:
            limits = self.forward_limits(rows.lower, rows.upper)
        return replace(
            rows,
            array=self.forward(rows.array),
            lower=limits[0],
            upper=limits[1],
            _whole=(rows, slice(None)),  # patterns are those of the table
            _known={},
        )

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Return, by row, the logarithm of how a small volume of what was observed is stretched.

        ``sum_j log(d score_j / d value_j)`` over the observed columns: what to add to the log of a
        density of scores for that of values.
        """
        total = np.zeros(len(values))
        for j, curve in enumerate(self.curves):
            seen = ~np.isnan(values[:, j])
            total[seen] += np.log(curve.slopes(values[seen, j]))
        return total


def _curve_of(column: FloatArray, weights: FloatArray | None) -> ScoreCurve:
    counted = ~np.isnan(column)
    if weights is not None:
        # A weight that is lost beside the sum would give its value the rank of the next one.
        counted &= weights > _LEAST_WEIGHT * weights[counted].sum()
        weights = weights[counted]
    values = column[counted]
    if len(np.unique(values)) >= _MIN_DISTINCT:
        return ScoreCurve.smooth(values, weights)
    if not len(values):
        return _IDENTITY
    with np.errstate(over="ignore", invalid="ignore"):
        middle = float(np.average(values, weights=weights))
        spread = float(np.sqrt(np.average((values - middle) ** 2, weights=weights)))
    if not np.isfinite(middle + spread):  # such units are refused by the density, by name
        return _IDENTITY
    # A constant has no deviation; a unit that is lost beside its value would not be a knot.
    if is_constant(values):
        middle, spread = float(values[0]), 0.0
    if middle + spread == middle:
        spread = max(1.0, abs(middle))
    return ScoreCurve(np.array([middle, middle + spread]), np.array([0.0, 1.0]))
