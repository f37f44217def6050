"""What the exact ridge machines share, however they solve for their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from absentia.machines.base import KernelMachine
from absentia.machines.targets import SeveralTargets, spread_of_targets
from absentia.parameters import FloatMatrix, FloatVector
from absentia.tables import FloatArray, TableLike

__all__ = ["RidgeMachine"]


class RidgeMachine(SeveralTargets, RegressorMixin, KernelMachine):
    """Base of kernel ridge regression: ``f(x) = sum_i dual_coef[i] k(x, x_i)``, no intercept."""

    alpha: Any
    dual_coef_: FloatVector | FloatMatrix

    def predict(self, X: TableLike) -> FloatArray:
        """Predict the target, or targets, of each row, a tile of rows at a time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._map_gram(X, lambda K: K @ self.dual_coef_)

    def _target_codes(self, y: np.ndarray) -> FloatArray:
        # As they are: without an intercept their mean is part of what is learned.
        columns = np.reshape(y, (len(y), -1)).astype(np.float64)
        return columns / spread_of_targets(columns)

    def _own_ridges(self, y: np.ndarray) -> tuple[float, float]:
        return float(np.mean(self.alpha)), float(np.mean(self.alpha))
