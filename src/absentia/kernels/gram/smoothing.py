"""The RBF as a Gaussian: ``exp(-gamma d'Md)`` has the covariance ``C0 = inv(2 gamma M)``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from absentia.tables import FloatArray

__all__ = ["Smoothing"]


@dataclass(frozen=True, eq=False)
class Smoothing:
    """What an RBF adds to the covariance of a difference: ``C0 = inv(2 gamma M)``.

    Attributes
    ----------
    gamma : float
    metric : ndarray of shape (n_features, n_features), or None for the Euclidean metric
    n_features : int
    """

    gamma: float
    metric: FloatArray | None
    n_features: int

    @property
    def information(self) -> FloatArray:
        """The inverse ``2 gamma M``."""
        if self.metric is None:
            return 2 * self.gamma * np.eye(self.n_features)
        return 2 * self.gamma * self.metric

    @cached_property
    def covariance(self) -> FloatArray:
        """``C0``, symmetric to the last bit."""
        if self.metric is None:
            return np.eye(self.n_features) / (2 * self.gamma)
        inverse = np.linalg.inv(self.metric) / (2 * self.gamma)
        return (inverse + inverse.T) / 2

    @cached_property
    def log_determinant(self) -> float:
        """``log det C0``."""
        log_det = 0.0 if self.metric is None else float(np.linalg.slogdet(self.metric)[1])
        return -log_det - self.n_features * float(np.log(2 * self.gamma))
