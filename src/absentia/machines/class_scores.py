"""Classifiers whose scores are sums over the training rows, one sum per class."""

from __future__ import annotations

import numpy as np

from absentia.machines.one_vs_rest import decided_classes
from absentia.machines.prediction_tiles import PredictsInTiles
from absentia.parameters import FloatMatrix, FloatVector
from absentia.tables import FloatArray, TableLike

__all__ = ["ClassScores"]


class ClassScores(PredictsInTiles):
    """A base for classifiers with ``f(x) = sum_i dual_coef[i] k(x, x_i) + intercept``.

    Two classes have one such function, positive for the second; more classes have one each.
    """

    classes_: np.ndarray
    dual_coef_: FloatVector | FloatMatrix
    intercept_: FloatVector

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return ``f`` of each row: positive for the second of two classes, or one per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
        """
        scores = self._map_gram(X, lambda K: K @ self.dual_coef_.T + self.intercept_)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the class of the highest score, for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)  # first: it says whether the machine is fitted
        return decided_classes(self.classes_, scores)
