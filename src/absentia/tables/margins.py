"""Margins of a table: how the values of each column become scores, and scores values again.

A density with margins describes scores. The support of a column (positive numbers, shares, whole
numbers, a few levels) is a matter of its curve alone: whatever score is drawn or averaged, the
value comes back inside the support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from absentia.tables.columns.supports import Support
from absentia.tables.normal_scores import ScoreCurve
from absentia.tables.reading import FloatArray, IntArray
from absentia.tables.rows import is_constant
from absentia.tables.stored import InconsistentError, Stored
from absentia.tables.table import Table

_MIN_DISTINCT = 10  # columns with fewer different values are scaled, or are levels
_LEAST_WEIGHT = 1e-12  # of all; a value with less is no knot
_IDENTITY = ScoreCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
# Trapezoidal rule for a standard normal score: curves have bends, which Gauss' nodes dislike.
_NODES = np.linspace(-6.5, 6.5, 105)
_NODE_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
_LARGEST_LOG = 700.0
# A column of positive numbers is skewed beyond this, or with a mean of fewer deviations than that.
_SKEWED, _FEW_DEVIATIONS = 1.0, 4.0
# The least value of a column of positive numbers, as a share of the least that was observed; the
# inverse bounds what comes back from a column that only the logarithm keeps apart from its end.
_SMALLEST_SHARE = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class SupportCurve(ScoreCurve):
    """A curve whose values come back inside a support.

    With an end that the curve keeps apart, it is a curve of ``log(x - lower + shift)``, and with
    two of ``log((x - lower + shift) / (upper - x + shift))``; else of the value itself. ``shift``
    is positive where values lie on an end. Values come back from ``least`` to ``most``: the ends
    of the support, or a little inside of them where no value lies on the end. For logarithms
    ``most`` is ten times as far from the end as the largest value: a score far beyond training
    would have a value of any size.
    """

    support: Support
    opens: bool
    shift: float
    least: float
    most: float

    def validate(self) -> None:
        """Raise ValueError unless the curve has an inverse, and the range numbers."""
        super().validate()
        self._require_type("support", Support)
        self.support.ensure_valid()
        self._require_type("opens", bool)
        self._require_types(float, "shift", "least", "most")
        lower, upper = self.support.lower, self.support.upper
        inside = lower <= self.least <= self.most <= upper and 0 <= self.shift < np.inf
        if not inside or (self.opens and np.isinf(lower)):
            raise ValueError("SupportCurve must have a range within its support.")

    @property
    def kind(self) -> str:
        """Kind of the curve."""
        return "linear" if not self.opens else "log" if np.isinf(self.support.upper) else "logit"

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the support."""
        return self.support.lower, self.support.upper

    def forward(self, values: FloatArray) -> FloatArray:
        """Return the scores of values, NaN where a value is missing."""
        return super().forward(self._opened(values))

    def backward(self, scores: FloatArray) -> FloatArray:
        """Return the values of scores, within the support."""
        return self.to_support(self._closed(super().backward(scores)))

    def to_support(self, values: FloatArray) -> FloatArray:
        """Return the values of the support that are nearest to some numbers."""
        return np.clip(self.support.nearest(values), self.least, self.most)

    def expected_values(self, means: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return the mean of the value of a score that is normal, by the trapezoidal rule."""
        scores = means[..., None] + deviations[..., None] * _NODES
        values = np.clip(self._closed(super().backward(scores)), self.least, self.most)
        return values @ _NODE_WEIGHTS

    def slopes(self, values: FloatArray) -> FloatArray:
        """Return how steep the curve is at values: d score / d value."""
        steep = super().slopes(self._opened(values))
        if self.opens:
            inside = self._within_ends(values)
            rest = inside - self.support.lower + self.shift
            if np.isfinite(self._width):
                rest = rest * (self.support.upper - inside + self.shift) / self._width
            steep = steep / rest
        return steep

    @property
    def _width(self) -> float:
        return self.support.upper - self.support.lower + 2 * self.shift

    def _within_ends(self, values: FloatArray) -> FloatArray:
        """Return values inside the ends of the range that are ends of the support."""
        return np.clip(values, self.least, self.most if np.isfinite(self._width) else np.inf)

    def _opened(self, values: FloatArray) -> FloatArray:
        """Return values on the whole line; what is outside of the range counts as its end."""
        if not self.opens:
            return values
        distances = self._within_ends(values) - self.support.lower + self.shift
        opened: FloatArray
        opened = np.log(distances) if np.isinf(self._width) else logit(distances / self._width)
        return opened

    def _closed(self, opened: FloatArray) -> FloatArray:
        """Return numbers of the whole line as values."""
        if not self.opens:
            return opened
        if np.isinf(self._width):
            distances = np.exp(np.minimum(opened, _LARGEST_LOG))
        else:
            distances = self._width * expit(opened)
        return distances + (self.support.lower - self.shift)


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelCurve(ScoreCurve):
    """A straight line for a column of few levels, with steps on the way back.

    A score between two cuts is the level between them. The cuts are the normal quantiles of the
    cumulative shares of the levels, so that draws have the levels as often as the column.
    """

    levels: FloatArray
    cuts: FloatArray

    @property
    def kind(self) -> str:
        """Kind of the curve."""
        return "levels"

    def validate(self) -> None:
        """Raise ValueError unless the levels rise, with a cut between each two of them."""
        super().validate()
        self._require_array("levels", np.float64, (None,))
        self._require_array("cuts", np.float64, (len(self.levels) - 1,))
        rising = (np.diff(self.levels) > 0).all() and (np.diff(self.cuts) >= 0).all()
        if not (len(self.levels) and rising and np.isfinite(self.levels).all()):
            raise ValueError("LevelCurve must have levels that rise strictly.")

    def backward(self, scores: FloatArray) -> FloatArray:
        """Return the levels of scores."""
        return self.levels[np.searchsorted(self.cuts, scores)]

    def to_support(self, values: FloatArray) -> FloatArray:
        """Return the levels that are nearest to some numbers."""
        middles = (self.levels[1:] + self.levels[:-1]) / 2
        return self.levels[np.searchsorted(middles, values)]

    def expected_values(self, means: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return the mean level: the lowest, and each rise with the probability of its cut."""
        with np.errstate(divide="ignore", invalid="ignore"):
            above = ndtr((means[..., None] - self.cuts) / deviations[..., None])
        above = np.where(np.isnan(above), 0.5, above)
        return self.levels[0] + above @ np.diff(self.levels)


@dataclass(frozen=True, eq=False)
class Margins(Stored):
    """An increasing curve from values to scores for each column of a table."""

    curves: tuple[ScoreCurve, ...]

    def validate(self) -> None:
        """Raise ValueError unless each column has a curve."""
        self._require_types(tuple, "curves", entries=ScoreCurve)

    @classmethod
    def of(cls, rows: Table, weights: FloatArray | None = None) -> Margins:
        """Fit normal scores to the observed values, and to the middles of intervals without any.

        Rows of weight zero, or next to it, do not count. A column with few different values has a
        straight line, to mean zero and deviation one, and one without any value the identity.
        """
        columns = (_counted(column, weights) for column in _known_values(rows).T)
        return cls(tuple(_scores_of(*column) for column in columns))

    @classmethod
    def auto(cls, rows: Table, weights: FloatArray | None = None) -> Margins:
        """Choose a curve for the support of each column, that of a plan or inferred.

        Whole numbers of fewer than ten values are levels. Numbers above an end of their support
        have normal scores of the logarithms of their distances where they are skewed, or near the
        end beside their deviation; numbers between two ends have those of their logits. All other
        columns, and indicators of words, have a straight line.
        """
        values = _known_values(rows)
        if rows.plan is not None and rows.encoded:
            supports = rows.plan.supports
        else:
            supports = [Support.of_values(column) for column in values.T]
        return cls(
            tuple(
                _support_curve(*_counted(column, weights), support)
                for column, support in zip(values.T, supports, strict=True)
            )
        )

    @property
    def kinds(self) -> list[str]:
        """The kind of each curve: "levels", "log", "logit", "scores" or "linear"."""
        return [curve.kind for curve in self.curves]

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
        """Return limits of scores, the upper one still above the lower one after rounding.

        A limit at the end of a support, or beyond it, is none.
        """
        ends = np.array([curve.ends for curve in self.curves]).reshape(-1, 2).T
        low = np.where(lower <= ends[0], -np.inf, self.forward(lower))
        high = np.where(upper >= ends[1], np.inf, self.forward(upper))
        return low, np.where(high > low, high, np.nextafter(low, np.inf))

    def forward_table(self, rows: Table) -> Table:
        """Return a table of scores, its limits scored too; what is missing is missing there."""
        limits = rows.lower, rows.upper
        if rows.lower is not None and rows.upper is not None:
            limits = self.forward_limits(rows.lower, rows.upper)
        parts: Any = {"array": self.forward(rows.array), "lower": limits[0], "upper": limits[1]}
        # Patterns are those of the table.
        return replace(rows, **parts, _whole=(rows, slice(None)), _known={})

    def log_slopes(self, values: FloatArray) -> FloatArray:
        """Return, by row, the logarithm of how a small volume of what was observed is stretched.

        ``sum_j log(d score_j / d value_j)`` over the observed columns: what to add to the log of a
        density of scores for that of values.
        """
        with np.errstate(invalid="ignore"):
            logs: FloatArray = np.nansum(np.log(self.slopes(values)), axis=1)
        return logs

    def slopes(self, values: FloatArray) -> FloatArray:
        """Return how steep the curves are at values, NaN where one is missing."""
        found = self._mapped(values, "slopes")
        return np.where(np.isnan(values), np.nan, found)


def _known_values(rows: Table) -> FloatArray:
    """Return the values of a table, and middles of intervals in columns without any value."""
    values, middles = rows.array, rows.interval_middles()
    if middles is None:
        return values
    return np.where(np.isnan(values).all(axis=0), middles, values)


def _counted(
    column: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return the values of a column that count, and their weights."""
    counted = ~np.isnan(column)
    if weights is not None:
        # A weight that is lost beside the sum would give its value the rank of the next one.
        counted &= weights > _LEAST_WEIGHT * weights[counted].sum()
        weights = weights[counted]
    return column[counted], weights


def _scores_of(values: FloatArray, weights: FloatArray | None) -> ScoreCurve:
    """Return normal scores, or a line for few different values."""
    if len(np.unique(values)) >= _MIN_DISTINCT:
        return ScoreCurve.smooth(values, weights)
    return _line(values, weights)


def _line(values: FloatArray, weights: FloatArray | None) -> ScoreCurve:
    """Return a line to mean zero and deviation one, the identity without values."""
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


def _support_curve(values: FloatArray, weights: FloatArray | None, support: Support) -> ScoreCurve:
    """Return the curve of a column with a support."""
    line = _line(values, weights)
    levels = np.unique(values)
    if len(levels) < 2 or line is _IDENTITY or not (support.bounded or support.step):
        return line
    if len(levels) < _MIN_DISTINCT:
        if not support.step:
            return line
        which = np.searchsorted(levels, values)
        shares = np.cumsum(np.bincount(which, weights, len(levels)))
        cuts = ndtri(shares[:-1] / shares[-1])
        return LevelCurve(line.values, line.scores, levels=levels, cuts=cuts)
    rooms = float(levels[0] - support.lower), float(support.upper - levels[-1])
    least, most = support.lower, support.upper
    if 0 < rooms[0] < np.inf:
        least += _SMALLEST_SHARE * rooms[0]
    if 0 < rooms[1] < np.inf:
        most -= _SMALLEST_SHARE * rooms[1]
    opens = np.isfinite(least) and (
        bool(np.isfinite(most)) or _is_skewed(values - support.lower, weights)
    )
    gaps = np.concatenate([levels - support.lower, support.upper - levels])
    shift = float(gaps[gaps > 0].min()) / 2 if opens and min(rooms) <= 0 else 0.0
    if opens and np.isinf(most):
        most = support.lower + (levels[-1] - support.lower) / _SMALLEST_SHARE
    ends = {"least": float(least), "most": float(most)}
    how: Any = {"support": support, "opens": bool(opens), "shift": shift, **ends}
    found = SupportCurve(line.values, line.scores, **how)
    curve = _scores_of(found._opened(values), weights) if opens else line
    return replace(found, values=curve.values, scores=curve.scores)


def _is_skewed(values: FloatArray, weights: FloatArray | None) -> bool:
    """Return whether positive values are skewed, or near zero beside their deviation."""
    mean = float(np.average(values, weights=weights))
    offsets = values - mean
    deviation = float(np.sqrt(np.average(offsets**2, weights=weights)))
    skewness = float(np.average((offsets / deviation) ** 3, weights=weights))
    return skewness > _SKEWED or mean < _FEW_DEVIATIONS * deviation
