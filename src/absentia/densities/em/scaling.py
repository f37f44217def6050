"""Columns brought to a common scale, so that "small" and "converged" mean the same in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.beliefs import Prior
from absentia.beliefs.truncated_normal import truncated_moments
from absentia.tables import FloatArray

_SMALLEST, _LARGEST = 1e-140, 1e140  # the square of a scale, and its inverse, are numbers too
#: A scale need not be known to more digits, and converges slowly where most values are limits.
_ENOUGH, _MOST_STEPS = 1e-5, 500
#: A share of the first guess of a scale that only equal values fall below.
_COLLAPSED = 1e-8


@dataclass(frozen=True, eq=False)
class Scaling:
    """The centre and the scale of each column, from its observed values.

    The scale is the standard deviation. A column whose observed values are all equal has none; it
    gets ``sqrt(eps)`` times its value (or times one, where the value is all but zero), which is
    small beside any other column of its size and yet not zero. A column that has intervals instead
    of values is measured by their middles, as if values were uniform within them; one that has
    limits beside values by the normal distribution that fits both (the values alone would be those
    above a limit of detection).
    """

    centres: FloatArray
    scales: FloatArray

    @classmethod
    def of(
        cls,
        X: FloatArray,
        weights: FloatArray | None = None,
        limits: tuple[FloatArray, FloatArray] | None = None,
    ) -> Scaling:
        """Measure the columns of a table in which each has at least one value, or an interval."""
        found = cls._of_values(X, weights, limits)
        if limits is None:
            return found
        centres, scales = found.centres.copy(), found.scales.copy()
        known = np.isfinite(limits[0]) | np.isfinite(limits[1])
        for j in np.flatnonzero((known & np.isnan(X)).any(axis=0)):
            rows = np.flatnonzero(known[:, j] | ~np.isnan(X[:, j]))
            shares = np.ones(len(rows)) if weights is None else weights[rows]
            z, lower, upper = (
                (numbers[rows, j] - centres[j]) / scales[j] for numbers in (X, *limits)
            )
            with np.errstate(all="ignore"):  # what is too far is refused by name afterwards
                mean, deviation = _censored_moments(z, lower, upper, shares)
            if np.isfinite(mean) and np.isfinite(deviation) and deviation > 0:
                centres[j], scales[j] = centres[j] + scales[j] * mean, scales[j] * deviation
        return cls(centres, scales)

    @classmethod
    def _of_values(
        cls, X: FloatArray, weights: FloatArray | None, limits: tuple[FloatArray, FloatArray] | None
    ) -> Scaling:
        observed = ~np.isnan(X)
        unseen = np.logical_not(observed.any(axis=0))
        if limits is not None and unseen.any():
            lower, upper = limits
            between = unseen & np.isfinite(lower) & np.isfinite(upper)
            widths = np.where(between, upper, 0.0) - np.where(between, lower, 0.0)
            middles = cls.of(np.where(between, lower + 0.5 * widths, X), weights)
            shares = between if weights is None else between * weights[:, None]
            within = np.sqrt(np.average(widths**2, axis=0, weights=shares + ~unseen) / 12)
            scales = np.where(unseen, np.hypot(middles.scales, within), middles.scales)
            return cls(middles.centres, scales)
        shares = observed.astype(np.float64) if weights is None else observed * weights[:, None]
        totals = shares.sum(axis=0)
        # Relative to one of its own values a constant column is zero exactly, and a column far
        # from zero loses no digits.
        anchors = X[observed.argmax(axis=0), np.arange(X.shape[1])]
        with np.errstate(over="ignore", invalid="ignore"):  # what that leads to is refused by name
            offsets = np.where(observed, X - anchors, 0.0)
            means = (shares * offsets).sum(axis=0) / totals
            largest = np.maximum(np.abs(offsets).max(axis=0), np.finfo(float).tiny)
            deviations = np.where(observed, (offsets - means) / largest, 0.0)
            spreads = largest * np.sqrt((shares * deviations**2).sum(axis=0) / totals)
        return cls.from_moments(anchors, means, spreads)

    @classmethod
    def from_moments(cls, anchors: FloatArray, means: FloatArray, spreads: FloatArray) -> Scaling:
        """Make a scaling of means (relative to one of each column's values) and deviations."""
        eps = np.finfo(float).eps
        constant = spreads <= 4 * eps * np.abs(anchors)
        value = np.abs(anchors)
        substitute = np.sqrt(eps) * np.where(value * eps < _SMALLEST, 1.0, value)
        return cls(anchors + means, np.where(constant, substitute, spreads))

    def check_units(self, names: list[str]) -> None:
        """Raise ValueError for columns whose variance, or its inverse, would overflow."""
        fit = (self.scales >= _SMALLEST) & (self.scales <= _LARGEST)
        if not fit.all():
            j = int(np.argmin(fit))
            raise ValueError(
                f"Column {names[j]!r} has a standard deviation of {self.scales[j]:.4g}, but "
                f"variances can be computed only from {_SMALLEST:g} to {_LARGEST:g}. Measure it "
                "in another unit, or drop it."
            )

    def forward(self, X: FloatArray) -> FloatArray:
        """Return a table in standard units."""
        return (X - self.centres) / self.scales

    def forward_limits(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return limits in standard units, still apart where they were."""
        below, above = self.forward(lower), self.forward(upper)
        together = np.isfinite(below) & (below >= above)
        return below, np.where(together, np.nextafter(below, np.inf), above)

    def backward(self, prior: Prior) -> Prior:
        """Return a prior of standard units in the units of the table."""
        return prior.scaled(self.scales, self.centres)

    def log_jacobian(self, X: FloatArray, weights: FloatArray | None = None) -> float:
        """Return what to add to a log-likelihood in standard units for that in the table's."""
        observed = ~np.isnan(X)
        totals = observed.sum(axis=0) if weights is None else weights @ observed
        return -float(totals @ np.log(self.scales))


def _censored_moments(
    z: FloatArray, lower: FloatArray, upper: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Return mean and deviation of the normal distribution that fits values and limits best.

    EM for one column: a value between limits ``a`` and ``b`` counts with the mean and the variance
    of ``N(mean, deviation^2)`` within them. ``z`` is NaN there, in units in which a first guess is
    zero and one.
    """
    between = np.isnan(z)
    a, b = lower[between], upper[between]
    apart = np.maximum(b, np.nextafter(a, np.inf))
    values, variances = z.copy(), np.zeros(len(z))
    mean, deviation = 0.0, 1.0
    for _ in range(_MOST_STEPS):
        _, inner, spread = truncated_moments((a - mean) / deviation, (apart - mean) / deviation)
        values[between] = mean + deviation * inner
        variances[between] = deviation**2 * spread
        new = float(np.average(values, weights=weights))
        size = float(np.average((values - new) ** 2 + variances, weights=weights)) ** 0.5
        if size < _COLLAPSED:  # the values are all the same, and within all limits
            return new, 0.0
        change = max(abs(new - mean), abs(size - deviation)) / max(deviation, size)
        mean, deviation = new, size
        if not change > _ENOUGH:
            break
    return mean, deviation


def shrinkage_from_sums(
    sums_of_pairs: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
) -> float:
    """Choose how far to shrink the correlations of an incomplete table, from its pair sums.

    Shrinking every correlation ``r`` to ``(1 - lam) r`` has the least expected squared error at

        lam = sum var(r) / sum (rho^2 + var(r))

    over the pairs of columns (Ledoit and Wolf, 2003; Schaefer and Strimmer, 2005). ``r`` is the
    correlation over the rows that have both columns, ``n`` of them, so that a pair seldom seen
    together counts as poorly known; ``rho^2`` is estimated by the adjusted ``r^2`` (which is what
    remains of it after chance), and ``var(r)`` by ``(1 - rho^2)^2 / (n - 1)``, as for Gaussians.
    Pairs never seen together are taken as unknown: ``rho = 0``, variance one.
    """
    counts, sums, squares, products = sums_of_pairs
    d = len(counts)
    if d == 1:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = squares / counts - (sums / counts) ** 2
        covariances = products / counts - (sums / counts) * (sums / counts).T
        squared = covariances**2 / (variances * variances.T)
    known = (counts > 2) & (variances > 1e-12) & (variances.T > 1e-12)
    squared = np.where(known, np.minimum(squared, 1.0), 0.0)
    counts = np.maximum(counts, 2.0)
    free = np.maximum(counts - 2.0, 1.0)
    rho_squared = np.clip((squared * (counts - 1.0) - 1.0) / free, 0.0, 1.0)
    doubt = (1.0 - rho_squared) ** 2 / (counts - 1.0)
    pairs = ~np.eye(d, dtype=bool)
    total = float((rho_squared + doubt)[pairs].sum())
    return float(doubt[pairs].sum()) / total if total > 0 else 0.0


def pair_sums(
    Z: FloatArray, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return, over the rows that have both of two columns: counts, sums, squares, products.

    Each of shape (n_features, n_features); those of two tables add up to those of both.
    """
    observed = (~np.isnan(Z)).astype(np.float64)
    values = np.where(np.isnan(Z), 0.0, Z)
    share = observed if weights is None else observed * weights[:, None]
    return (
        share.T @ observed,
        (share * values).T @ observed,
        (share * values**2).T @ observed,
        (share * values).T @ values,
    )
