"""The size of the errors of a regressor, by what a row misses, and targets learned as logarithms.

A row without the columns that matter is predicted worse than one without the columns that do not.
What matters is measured by a linear predictor ``w'x``, the ridge regression of the target on the
conditional means of the training rows: its variance ``v`` over what a row could be,

    v(row) = var(w'x | observed values of the row),

is zero for complete rows. The expected squared error at each level of hidden cells is a line in
``v`` whose coefficients are not negative, fitted to the out-of-fold errors e,

    e^2 ~ a + b v,

and quantiles of ``|e| / sqrt(a + b v)`` make intervals; those of ``e / sqrt(a + b v)`` make the
mean of a target that is learned as a logarithm (at each level: tails are shorter where more is
hidden). The linear predictor only has to rank rows: ``b`` corrects its scale, and where it explains
nothing ``b`` is 0 and all rows of a level have the same interval. A line ends at the largest ``v``
that it was fitted to: extrapolated to rows with most values hidden, that of training rows with few
missing values would make intervals several times too wide.

Errors of a price, a dose or a concentration grow with its size. Members then learn ``log y``. The
ends of intervals are the exponentials of theirs, hence positive. The mean of ``y`` is taken over
the out-of-fold errors ``e`` of the logarithm (the smearing estimate, Duan 1983),

    E[y | x] = mean_k exp(m(x) + s(x) e_k),

with ``s`` the expected size of an error for what the row misses, and ``e`` in units of it, those of
rows that miss as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import skew
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict
from threadpoolctl import threadpool_limits

from absentia.automatic.blending import weights_of_rows
from absentia.automatic.committee import Committee, unknowns_of
from absentia.automatic.member_tuning import as_rows
from absentia.beliefs.draws import DrawPoints
from absentia.machines.averaging import over_draws
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.stored import Stored

#: Ridge per row, in units of the variance of the columns.
_RIDGE = 0.01
#: Squared errors are cut at this quantile, so that one outlier makes no slope.
_LARGEST = 0.99
_STEPS = 10
#: Levels of the quantiles of errors with their signs: the middles of equal steps.
_MIDDLES = (np.arange(50) + 0.5) / 50
#: Rows that decide about a support and a logarithm, and the least skewness that asks for one.
_FEWEST_FOR_SUPPORT, _FEWEST_ROWS, _MOST_ROWS = 20, 50, 2000
_SKEWED = 1.0


@dataclass(frozen=True, eq=False)
class ErrorScale(Stored):
    """Squared errors as lines in the variance of a linear predictor, a line per level.

    ``slopes`` (n_columns,) are the predictor ``w`` on the columns of the density, ``lines``
    (n_levels, 3) ``a``, ``b`` and the largest ``v`` for a target with variance one, and
    ``quantiles`` (n_levels, n_quantiles) those of ``|e| / sqrt(a + b v)`` at equal steps from 0 to
    1; ``signed`` (n_levels, 50) has those of ``e / sqrt(a + b v)`` at the middles of equal steps.
    """

    slopes: FloatArray
    lines: FloatArray
    quantiles: FloatArray
    signed: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless all levels have a line and quantiles that are not negative."""
        self._require_array("slopes", np.float64, (None,))
        self._require_array("lines", np.float64, (None, 3))
        self._require_array("quantiles", np.float64, (len(self.lines), None))
        self._require_array("signed", np.float64, (len(self.lines), None))
        for name in ("slopes", "lines", "quantiles", "signed"):
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
        """Fit the lines to out-of-fold errors (n_levels, n_rows), NaN for rows without one.

        ``tables`` has the rows with the cells of each level hidden.
        """
        n_columns = len(unknowns_of(density, tables[0]).numbers)
        means, _ = moments_of_projection(np.eye(n_columns), tables[0], density, points)
        centred = means - means.mean(axis=0)
        spread = centred.std(axis=0)
        spread[spread == 0.0] = 1.0
        units = centred / spread
        gram = units.T @ units + _RIDGE * len(units) * np.eye(units.shape[1])
        slopes = np.linalg.solve(gram, units.T @ (targets - targets.mean())) / spread
        grid = np.linspace(0.0, 1.0, n_quantiles)
        lines, quantiles, signed = [], [], []
        for error, table in zip(errors, tables, strict=True):
            scored = np.flatnonzero(np.isfinite(error))
            _, variance = moments_of_projection(slopes[:, None], table[scored], density, points)
            line = fit_line(variance[:, 0], error[scored] ** 2)
            scale = np.sqrt(line[0] + line[1] * variance[:, 0])
            line = np.append(line, variance.max(initial=0.0))
            ratio = error[scored] / np.where(scale > 0, scale, 1.0)
            lines.append(line)
            quantiles.append(np.quantile(np.abs(ratio), grid))
            signed.append(np.quantile(ratio, _MIDDLES))
        return cls(slopes, np.stack(lines), np.stack(quantiles), np.stack(signed))

    def half_widths(self, table: Table, coverage: float, committee: Committee) -> FloatArray:
        """Return half the width of each row's interval, interpolated between the levels."""
        grid = np.linspace(0.0, 1.0, self.quantiles.shape[1])
        factors = np.array([np.interp(coverage, grid, level) for level in self.quantiles])
        return self.sizes(table, committee, factors)

    def sizes(self, table: Table, committee: Committee, factors: Any = 1.0) -> FloatArray:
        """Return the expected size of each row's error, times a factor for each level."""
        variance, levels = np.zeros(len(table))[:, None], committee.levels
        excess = committee.norm.excess(table.unknown)
        if self.lines[:, 1].any():
            _, variance = moments_of_projection(
                self.slopes[:, None], table, committee.density, committee.points.matched()
            )
        noise, slope, largest = self.lines.T[:, :, None]
        scales = np.sqrt(noise + slope * np.minimum(variance[:, 0], largest))
        widths = np.reshape(factors, (-1, 1)) * scales
        # More hidden cells never make a prediction surer.
        widths = np.maximum.accumulate(widths, axis=0)
        weights = weights_of_rows(excess, levels, np.eye(len(levels)))
        return np.asarray((weights.T * widths).sum(axis=0))

    def signed_errors(self, table: Table, committee: Committee) -> FloatArray:
        """Return quantiles of each row's error with its sign, (n_rows, 50)."""
        excess = committee.norm.excess(table.unknown)
        units = weights_of_rows(excess, committee.levels, self.signed)
        return self.sizes(table, committee)[:, None] * units


def fit_line(variance: FloatArray, squared: FloatArray) -> FloatArray:
    """Return ``a, b >= 0`` with ``squared ~ a + b variance``.

    Squared errors have standard deviations in proportion to their means, so each step weighs the
    rows by one over the line of the step before (iteratively reweighted least squares).
    """
    unit = float(squared.mean())
    largest = float(variance.max(initial=0.0))
    if unit == 0.0 or largest == 0.0:
        return np.array([unit, 0.0])
    heights = np.minimum(squared, np.quantile(squared, _LARGEST))
    heights /= heights.mean() or unit  # the largest are cut, the mean is kept
    weight = np.ones(len(variance))
    design = np.column_stack([weight, variance / largest])
    for _ in range(_STEPS):
        line = nnls(design * weight[:, None], heights * weight)[0]
        weight = 1 / np.maximum(design @ line, 1e-3)
    return line * unit / np.array([1.0, largest])


def moments_of_projection(
    weights: FloatArray, table: Table, density: BaseEstimator, points: DrawPoints
) -> tuple[FloatArray, FloatArray]:
    """Return means and variances (n_rows, n_outputs) of ``weights' x`` over draws of each row.

    ``weights`` has a line for each column of the density.
    """
    unknowns = unknowns_of(density, as_rows(table))

    def moments(complete: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
        projected = complete[:, :, unknowns.numbers] @ weights
        return projected.mean(axis=1), projected.var(axis=1)

    means, variances = over_draws(moments, unknowns, as_rows(table), points)
    return means, variances


def lowest_end(y: FloatArray) -> float:
    """Return zero for 20 or more targets of which none is negative, else minus infinity."""
    return 0.0 if len(y) >= _FEWEST_FOR_SUPPORT and y.min() >= 0 else -np.inf


def prefers_logarithm(read: Callable[[], FloatArray], y: FloatArray) -> bool:
    """Return whether a target is forecast better by a model of its logarithm.

    The target must be positive, with a skewness above one that the logarithm lessens. Then ``read``
    returns the columns, and boosted trees forecast it on both scales in three folds, each with the
    quantiles of its errors. The logarithm must lower the continuous ranked probability score by
    more than the standard error of the difference.
    """
    if len(y) < _FEWEST_ROWS or y.min() <= 0 or np.ptp(y) == 0:
        return False
    if skew(y) < max(_SKEWED, abs(skew(np.log(y)))):
        return False
    rows = np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS]
    table = read()[rows]
    model = HistGradientBoostingRegressor(max_iter=50, early_stopping=False, random_state=0)
    folds = KFold(3, shuffle=True, random_state=0)

    def crps(log: bool) -> FloatArray:
        target = np.log(y[rows]) if log else y[rows]
        with threadpool_limits(1, user_api="openmp"):  # on few rows threads wait for each other
            centre = cross_val_predict(model, table, target, cv=folds)
        forecast = centre[:, None] + np.quantile(target - centre, _MIDDLES)
        gap = y[rows][:, None] - (np.exp(forecast) if log else forecast)
        return np.maximum(_MIDDLES * gap, (_MIDDLES - 1) * gap).mean(axis=1)

    gains = crps(False) - crps(True)
    return bool(gains.mean() > gains.std() / np.sqrt(len(gains)))


def smeared(logs: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of a target (n_samples, 1) from predictions of its logarithm.

    ``logs`` (n_samples, 1) are those, and ``errors`` (n_samples, n_errors) what may be added.
    """
    values = np.exp(logs + errors)
    return values.mean(axis=1, keepdims=True), values.var(axis=1, keepdims=True)
