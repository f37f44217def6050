"""Normal scores: increasing curves from the values of a column to a normal shape, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.engine.threads import bounded_slices
from absentia.parameters import check_parameters, count_from
from absentia.tables.reading import FloatArray, TableLike
from absentia.tables.rows import TakesMissing, set_fitted
from absentia.tables.stored import Stored
from absentia.tables.table import Table

__all__ = ["NormalScores", "ScoreCurve"]

# This share of the ranks at each end says how the tail goes on.
_TAIL = 0.1
_END_KNOTS = 5


@dataclass(frozen=True, eq=False)
class ScoreCurve(Stored):
    """An increasing, piecewise linear curve from values to scores, straight beyond its ends."""

    values: FloatArray
    scores: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless both rise strictly, so that the curve has an inverse."""
        self._require_array("values", np.float64, (None,))
        self._require_array("scores", np.float64, (len(self.values),))
        if len(self.values) < 2 or not all(
            np.isfinite(knots).all() and (np.diff(knots) > 0).all()
            for knots in (self.values, self.scores)
        ):
            raise ValueError("ScoreCurve must have two or more knots that rise strictly.")

    @classmethod
    def of(cls, column: FloatArray, n_knots: int) -> ScoreCurve:
        """Fit the curve to the observed values of a column, of which two must differ."""
        values, ranks = _mid_ranks(column, None)
        if len(values) > n_knots:
            kept = np.unique(np.linspace(0, len(values) - 1, n_knots).round().astype(np.intp))
            values, ranks = values[kept], ranks[kept]
        return cls(values, ndtri(ranks))

    @classmethod
    def smooth(cls, column: FloatArray, weights: FloatArray | None = None) -> ScoreCurve:
        """Fit a curve whose slopes can be trusted: with some ``sqrt(n)`` of ``n`` values as knots.

        The five smallest and largest values are knots, too. With all values the slopes would be
        those of gaps between neighbours, which vary by chance. ``weights`` are positive; a value
        of weight two counts as two.
        """
        values, ranks = _mid_ranks(column, weights)
        n = len(values)
        ends = np.arange(min(_END_KNOTS, n))
        kept = np.unique(np.concatenate([ends, np.arange(0, n, int(np.sqrt(n))), n - 1 - ends]))
        return cls(values[kept], ndtri(ranks[kept]))

    def forward(self, values: FloatArray) -> FloatArray:
        """Return the scores of values, NaN where a value is missing."""
        return _along(values, self.values, self.scores, *self._slopes())

    def backward(self, scores: FloatArray) -> FloatArray:
        """Return the values of scores."""
        low, high = self._slopes()
        return _along(scores, self.scores, self.values, 1 / low, 1 / high)

    def expected_values(self, means: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return the mean of the value of a score that is normal with these means and deviations.

        The curve is its middle line and a bend at each knot, and ``E max(z - knot, 0) = s (phi(u)
        + u Phi(u))`` with ``u = (mean - knot) / s``. The bends of knots below the middle are taken
        downwards: a single value far below the others would cost these all their digits otherwise.
        """
        low, high = self._slopes()
        inner = np.diff(self.values) / np.diff(self.scores)
        bends = np.diff(np.concatenate([[1 / low], inner, [1 / high]]))
        middle = (len(inner) - 1) // 2
        towards = np.where(np.arange(len(bends)) > middle, 1.0, -1.0)
        out = self.values[middle] + (means - self.scores[middle]) * inner[middle]
        flat, centres, spreads = out.reshape(-1), means.reshape(-1), deviations.reshape(-1)
        for part in bounded_slices(len(flat), len(bends)):
            s = spreads[part, None]
            gaps = (centres[part, None] - self.scores) * towards
            with np.errstate(divide="ignore", invalid="ignore"):
                u = gaps / s
                beyond = s * np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi) + gaps * ndtr(u)
            flat[part] += np.where(s > 0, beyond, np.maximum(gaps, 0.0)) @ bends
        return flat.reshape(means.shape)

    @property
    def kind(self) -> str:
        """Kind of the curve."""
        return "linear" if len(self.values) == 2 else "scores"

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the support, infinite where any number is possible."""
        return -np.inf, np.inf

    def to_support(self, values: FloatArray) -> FloatArray:
        """Return the values of the support that are nearest to some numbers."""
        return values

    def slopes(self, values: FloatArray) -> FloatArray:
        """Return how steep the curve is at values: d score / d value, never zero."""
        inner = np.diff(self.scores) / np.diff(self.values)
        low, high = self._slopes()
        segments = np.searchsorted(self.values, values, side="right")
        return np.concatenate([[low], inner, [high]])[segments]

    def _slopes(self) -> tuple[float, float]:
        """Return how steep the curve is beyond its ends: as over the last tenth of the ranks."""
        ranks = ndtr(self.scores)
        first = min(int(np.searchsorted(ranks, ranks[0] + _TAIL)), len(ranks) - 1)
        last = max(int(np.searchsorted(ranks, ranks[-1] - _TAIL, side="right")) - 1, 0)
        rises, lengths = (
            (knots[first] - knots[0], knots[-1] - knots[last])
            for knots in (self.scores, self.values)
        )
        return float(rises[0] / lengths[0]), float(rises[1] / lengths[1])


def _mid_ranks(column: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the different values of a column, and the middles of their ranks as shares of all."""
    seen = ~np.isnan(column)
    values, which = np.unique(column[seen], return_inverse=True)
    counts = np.bincount(which, None if weights is None else weights[seen])
    return values, (np.cumsum(counts) - 0.5 * counts) / counts.sum()


def _along(
    x: FloatArray, knots: FloatArray, heights: FloatArray, low: float, high: float
) -> FloatArray:
    inside = np.interp(x, knots, heights)
    below, above = heights[0] + low * (x - knots[0]), heights[-1] + high * (x - knots[-1])
    return np.where(x < knots[0], below, np.where(x > knots[-1], above, inside))


class NormalScores(OneToOneFeatureMixin, TransformerMixin, TakesMissing):
    """Bring columns to a normal shape by their ranks; missing values stay missing.

    The score of a value is the normal quantile of its mid-rank among the observed values of its
    column (van der Waerden scores), linear between observed values and beyond the smallest and
    the largest. A Gaussian on such scores is a Gaussian copula of the table. Columns with few
    different values are left as they are.

    Parameters
    ----------
    min_distinct : int, default=10
        Columns with fewer different values are left as they are.
    n_knots : int, default=1000
        Of a column with more different values, so many quantiles are kept.

    Attributes
    ----------
    curves_ : list of ScoreCurve or None
        One per column; None for a column left as it is.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import NormalScores
    >>> rng = np.random.default_rng(0)
    >>> X = np.exp(2 * rng.normal(size=(500, 2)))
    >>> X[0, 0] = np.nan
    >>> scores = NormalScores().fit(X)
    >>> Z = scores.transform(X)
    >>> Z[1:].std(axis=0).round(1), bool(np.isnan(Z[0, 0]))
    (array([1., 1.]), True)
    >>> bool(np.allclose(scores.inverse_transform(Z), X, equal_nan=True))
    True
    """

    _rules = {"min_distinct": count_from(2), "n_knots": count_from(2)}  # noqa: RUF012

    curves_: list[ScoreCurve | None]

    def __init__(self, min_distinct: int = 10, n_knots: int = 1000):
        self.min_distinct = min_distinct
        self.n_knots = n_knots

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> NormalScores:
        """Learn the curve of each column from its observed values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where a value is missing.
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        table = Table.of(X)
        curves = [
            ScoreCurve.of(column, self.n_knots)
            if len(np.unique(column[~np.isnan(column)])) >= self.min_distinct
            else None
            for column in table.array.T
        ]
        set_fitted(self, table, {"curves_": curves})
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """Return the scores, shape (n_samples, n_features), NaN where a value is missing."""
        return self._map(X, "forward")

    def inverse_transform(self, X: TableLike) -> FloatArray:
        """Return the values that scores stand for, in the units of the table."""
        return self._map(X, "backward")

    def _map(self, X: TableLike, direction: str) -> FloatArray:
        check_is_fitted(self)
        out = Table.of(X).checked(self).array.copy()
        for j, curve in enumerate(self.curves_):
            if curve is not None:
                out[:, j] = getattr(curve, direction)(out[:, j])
        return out
