"""The RBF as a Gaussian: ``exp(-gamma d'Md)`` has the covariance ``C0 = inv(2 gamma M)``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.beliefs.prior import Prior, inverse_and_log_determinant
from absentia.engine.computed_once import computed_once
from absentia.tables import FloatArray

__all__ = ["Smoothing"]

# Between 1e-20 and 1e20 of a variance nothing is gained by other units.
_USUAL_EXPONENT = 33


@dataclass(frozen=True, eq=False)
class Smoothing:
    """What an RBF adds to the covariance of a difference: ``C0 = inv(2 gamma M)``.

    Attributes
    ----------
    gamma : float or ndarray of shape (n_features,)
        One number per column, ``C0 = diag(1 / (2 gamma))``, stands in the Euclidean metric only.
    metric : ndarray of shape (n_features, n_features), or None for the Euclidean metric
    n_features : int
    """

    gamma: float | FloatArray
    metric: FloatArray | None
    n_features: int

    @classmethod
    def of(cls, gamma: Any, metric: Any, n_features: int) -> Smoothing:
        """Return the smoothing of a kernel's resolved parameters; a named metric is Euclidean."""
        number = np.asarray(gamma, dtype=np.float64)
        matrix = None if isinstance(metric, str) else metric
        return cls(number if number.ndim else float(number), matrix, n_features)

    @property
    def by_column(self) -> bool:
        """Whether each column has a width of its own."""
        return isinstance(self.gamma, np.ndarray)

    @computed_once
    def key(self) -> tuple[float | bytes, bytes | None]:
        """What tells this smoothing from others of as many columns; hashable."""
        gamma = self.gamma.tobytes() if isinstance(self.gamma, np.ndarray) else self.gamma
        return gamma, None if self.metric is None else self.metric.tobytes()

    @computed_once
    def units(self) -> FloatArray | None:
        """Units of the columns in which ``C0`` has a diagonal of order one; None where it has.

        Powers of two, so that a change of units rounds nothing. One for all columns in the
        Euclidean metric, which thereby stays Euclidean. Where each column has a width of its own
        the widths are the units, in which ``C0`` is the identity; these are no powers of two.
        """
        if self.by_column:
            return 1 / np.sqrt(2 * self.gamma)
        if self.metric is None:
            exponent = round(-0.5 * (1 + math.log2(float(self.gamma))))
            usual = abs(exponent) <= _USUAL_EXPONENT
            return None if usual else np.full(self.n_features, 2.0**exponent)
        logs = np.log2(np.diagonal(self.metric))
        exponents = np.round(-0.5 * (1 + np.log2(self.gamma) + logs))
        if np.abs(exponents).max() <= _USUAL_EXPONENT:
            return None
        return np.broadcast_to(np.exp2(exponents), self.n_features).copy()

    def in_units(self, units: FloatArray) -> Smoothing:
        """Return the same smoothing for columns that are measured in other units."""
        if self.by_column:
            return Smoothing(0.5, None, self.n_features)
        if self.metric is None:
            return Smoothing(float(self.gamma * units[0] * units[0]), None, self.n_features)
        metric = (self.metric * units) * units[:, None] * self.gamma
        return Smoothing(1.0, metric, self.n_features)

    @property
    def information(self) -> FloatArray:
        """The inverse ``2 gamma M``."""
        if self.metric is None:
            return 2 * self.gamma * np.eye(self.n_features)
        return 2 * self.gamma * self.metric

    def range_in_units(self, prior: Prior) -> tuple[float, float]:
        """Return the smallest and the largest variance of a prior in units of the RBF's own.

        Column by column, of all components.
        """
        if self.metric is None and not self.by_column:
            least, most = prior.variance_range
            return float(2 * self.gamma * least), float(2 * self.gamma * most)
        spread = prior.variances * np.diagonal(self.information)
        return float(spread.min()), float(spread.max())

    @computed_once
    def diagonal(self) -> FloatArray | None:
        """The diagonal of ``C0`` where it has nothing else; None for any other metric."""
        if self.metric is None:
            return np.full(self.n_features, 1 / (2 * self.gamma))
        own = np.diagonal(self.metric)
        if np.count_nonzero(self.metric) != np.count_nonzero(own):
            return None
        return 1 / (2 * self.gamma * own)

    @computed_once
    def covariance(self) -> FloatArray:
        """``C0``, symmetric to the last bit."""
        if self.metric is None:
            return np.eye(self.n_features) / (2 * self.gamma)
        return inverse_and_log_determinant(self.metric)[0] / (2 * self.gamma)

    @computed_once
    def log_determinant(self) -> float:
        """``log det C0``."""
        log_det = 0.0 if self.metric is None else inverse_and_log_determinant(self.metric)[1]
        return -log_det - float(np.broadcast_to(np.log(2 * self.gamma), self.n_features).sum())
