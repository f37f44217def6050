"""How large the errors of a regressor are, by what a row misses.

A row without the columns that matter is predicted worse than one without the columns that do not.
What matters is measured by a linear predictor ``w'x``, the ridge regression of the target on the
conditional means of the training rows: its variance ``v`` over what a row could be,

    v(row) = var(w'x | observed values of the row),

is zero for complete rows. The expected squared error at each level of hidden cells is a line in
``v`` whose coefficients are not negative, fitted to the out-of-fold errors e,

    e^2 ~ a + b v,

and quantiles of ``|e| / sqrt(a + b v)`` make intervals. The linear predictor only has to rank rows:
``b`` corrects its scale, and where it explains nothing ``b`` is 0 and all rows of a level have the
same interval. A quadratic one was tried and made no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from sklearn.base import BaseEstimator

from absentia.automatic.member_plans import as_rows
from absentia.automatic.row_draws import columns_of, over_draws
from absentia.beliefs.draws import DrawPoints
from absentia.tables import FloatArray, Table
from absentia.tables.stored import Stored

__all__ = ["ErrorScale", "fit_line", "moments_of_projection"]

#: Ridge per row, in units of the variance of the columns.
_RIDGE = 0.01
#: Squared errors beyond this quantile count as large as it: one outlier is no slope.
_LARGEST = 0.99
_STEPS = 10


@dataclass(frozen=True, eq=False)
class ErrorScale(Stored):
    """Squared errors as lines in the variance of a linear predictor, a line per level.

    Attributes
    ----------
    slopes : ndarray of shape (n_columns,)
        The linear predictor ``w`` on the columns of the density.
    lines : ndarray of shape (n_levels, 2)
        ``a`` and ``b``, for errors of a target with variance one.
    quantiles : ndarray of shape (n_levels, n_quantiles)
        Of absolute errors divided by ``sqrt(a + b v)``, at equal steps from 0 to 1.
    """

    slopes: FloatArray
    lines: FloatArray
    quantiles: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless all levels have a line and quantiles that are not negative."""
        self._require_array("slopes", np.float64, (None,))
        self._require_array("lines", np.float64, (None, 2))
        self._require_array("quantiles", np.float64, (len(self.lines), None))
        for name in ("slopes", "lines", "quantiles"):
            self._require_finite(name)
        if (self.lines < 0).any() or (self.quantiles < 0).any():
            raise ValueError("ErrorScale: lines and quantiles must not be negative.")

    @classmethod
    def of(
        cls,
        errors: FloatArray,
        targets: FloatArray,
        tables: tuple[Table, ...],
        density: BaseEstimator,
        points: DrawPoints,
        n_quantiles: int,
    ) -> ErrorScale:
        """Fit the lines.

        Parameters
        ----------
        errors : ndarray of shape (n_levels, n_rows)
            Out of fold; NaN for rows that were not judged.
        targets : ndarray of shape (n_rows,)
        tables : tuple of Table, one per level
        density : density
        points : DrawPoints
        n_quantiles : int
        """
        columns = columns_of(density, tables[0])
        means, _ = moments_of_projection(np.eye(len(columns)), tables[0], density, points)
        centred = means - means.mean(axis=0)
        spread = centred.std(axis=0)
        spread[spread == 0.0] = 1.0
        units = centred / spread
        gram = units.T @ units + _RIDGE * len(units) * np.eye(units.shape[1])
        slopes = np.linalg.solve(gram, units.T @ (targets - targets.mean())) / spread
        grid = np.linspace(0.0, 1.0, n_quantiles)
        lines, quantiles = [], []
        for error, table in zip(errors, tables, strict=True):
            judged = np.flatnonzero(np.isfinite(error))
            _, variance = moments_of_projection(slopes[:, None], table[judged], density, points)
            line = fit_line(variance[:, 0], error[judged] ** 2)
            scale = np.sqrt(line[0] + line[1] * variance[:, 0])
            ratio = np.abs(error[judged]) / np.where(scale > 0, scale, 1.0)
            lines.append(line)
            quantiles.append(np.quantile(ratio, grid))
        return cls(slopes, np.stack(lines), np.stack(quantiles))

    @classmethod
    def by_level(cls, errors: FloatArray) -> ErrorScale:
        """Return one width for all rows of a level.

        Parameters
        ----------
        errors : ndarray of shape (n_levels, n_quantiles)
            Quantiles of absolute errors.
        """
        squares = np.mean(errors**2, axis=1)
        scales = np.sqrt(np.where(squares > 0, squares, 1.0))
        return cls(np.zeros(0), np.column_stack([squares, 0.0 * squares]), errors / scales[:, None])

    def half_widths(
        self,
        table: Table,
        excess: FloatArray,
        levels: FloatArray,
        coverage: float,
        density: BaseEstimator,
        points: DrawPoints,
    ) -> FloatArray:
        """Return half the width of each row's interval, interpolated between the levels.

        Parameters
        ----------
        table : Table of n_rows rows
        excess : ndarray of shape (n_rows,)
            How much more each row misses than training rows did.
        levels : ndarray of shape (n_levels,)
            The same of the levels of hidden cells.
        coverage : float
        density : density
        points : DrawPoints
        """
        variance = np.zeros((len(table), 1))
        if self.lines[:, 1].any():
            _, variance = moments_of_projection(self.slopes[:, None], table, density, points)
        grid = np.linspace(0.0, 1.0, self.quantiles.shape[1])
        factors = np.array([np.interp(coverage, grid, level) for level in self.quantiles])
        scales = np.sqrt(self.lines[:, :1] + self.lines[:, 1:] * variance[:, 0])
        widths = factors[:, None] * scales
        # More hidden cells never make a prediction surer.
        widths = np.maximum.accumulate(widths, axis=0)
        if len(levels) == 1:
            return widths[0]
        upper = np.clip(np.searchsorted(levels, excess, side="right"), 1, len(levels) - 1)
        share = np.clip((excess - levels[upper - 1]) / (levels[upper] - levels[upper - 1]), 0, 1)
        rows = np.arange(len(excess))
        half: FloatArray = (1 - share) * widths[upper - 1, rows] + share * widths[upper, rows]
        return half


def fit_line(variance: FloatArray, squared: FloatArray) -> FloatArray:
    """Return ``a, b >= 0`` with ``squared ~ a + b variance``.

    Squared errors have standard deviations in proportion to their means, so each step weighs the
    rows by one over the line of the step before (iteratively reweighted least squares).

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.automatic.error_scale import fit_line
    >>> variance = np.linspace(0.0, 2.0, 50)
    >>> fit_line(variance, 1.0 + 3.0 * variance).round(2)
    array([1., 3.])
    >>> fit_line(np.zeros(4), np.full(4, 2.0))
    array([2., 0.])
    """
    unit = float(squared.mean())
    largest = float(variance.max(initial=0.0))
    if unit == 0.0 or largest == 0.0:
        return np.array([unit, 0.0])
    heights = np.minimum(squared, np.quantile(squared, _LARGEST))
    heights /= heights.mean() or 1.0  # the largest are cut, the mean is kept
    design = np.column_stack([np.ones(len(variance)), variance / largest])
    line = np.array([1.0, 0.0])
    for _ in range(_STEPS):
        weight = 1.0 / np.maximum(design @ line, 1e-3)
        line = nnls(design * weight[:, None], heights * weight)[0]
    return line * unit / np.array([1.0, largest])


def moments_of_projection(
    weights: FloatArray, table: Table, density: BaseEstimator, points: DrawPoints
) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of ``weights' x`` over what each row could be.

    Parameters
    ----------
    weights : ndarray of shape (n_columns, n_outputs)
        On the columns of the density.
    table : Table of n_rows rows
    density : density
    points : DrawPoints

    Returns
    -------
    means, variances : ndarray of shape (n_rows, n_outputs)
    """
    table = as_rows(table)
    columns = columns_of(density, table)
    known = table.array[:, columns]
    means, variances = known @ weights, np.zeros((len(table), weights.shape[1]))
    unsure = np.flatnonzero(np.isnan(known).any(axis=1))
    if not len(unsure):
        return means, variances

    def moments(draws: FloatArray) -> FloatArray:
        projected = draws @ weights
        return np.stack([projected.mean(axis=1), projected.var(axis=1)], axis=1)

    found = over_draws(moments, table[unsure], density, points)
    means[unsure], variances[unsure] = found[:, 0], found[:, 1]
    return means, variances
