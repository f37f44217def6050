"""Novelty and outlier detection in incomplete rows: the one-class support vector machine."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import sklearn.svm
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin

from absentia.machines.documentation import documented
from absentia.machines.shared_parameters import PolynomialParameters
from absentia.machines.svm.solver_matrix import tolerance_in_units
from absentia.machines.svm.support_vectors import SupportVectorMachine
from absentia.parameters import FloatVector, declared
from absentia.tables import FloatArray, IntArray, Learned, TableLike

__all__ = ["OneClassSVM"]


@documented
@declared
class OneClassSVM(PolynomialParameters, OutlierMixin, SupportVectorMachine):
    """Novelty and outlier detection for rows with missing values.

    The smallest region, in the kernel's space, that holds all but a fraction ``nu`` of the training
    rows; ``decision_function`` is positive inside.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training rows outside.
    {solver_parameters}
    {common_parameters}
    {polynomial_parameters}

    Attributes
    ----------
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.
    {support_attributes}
    {common_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import OneClassSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> X[::3, 0] = np.nan
    >>> OneClassSVM(nu=0.1).fit(X).predict([[0.0, np.nan], [np.nan, 9.0]])
    array([ 1, -1])
    """

    _stands_in_for_scikit_learn = True

    nu: float = 0.5
    offset_: FloatVector = field(init=False)

    _fitted_names = (*SupportVectorMachine._fitted_names, "offset_")

    def _solver(self) -> BaseEstimator:
        return sklearn.svm.OneClassSVM(**self._solver_parameters("nu"))

    _one_number = True

    def _tolerance(self, unit: float, y: np.ndarray) -> float:
        return tolerance_in_units(self.tol, unit)

    def _in_units(self, solution: Learned, unit: float) -> Learned:
        # The coefficients sum to a constant, so that the decision function has the unit.
        return {name: solution[name] * unit for name in ("intercept_", "offset_")}

    def _moved_back(self, solution: Learned, taken_off: FloatArray) -> Learned:
        moved = 2 * solution["dual_coef_"] @ taken_off
        return {
            "intercept_": solution["intercept_"] - moved,
            "offset_": solution["offset_"] + moved,
        }

    def fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> OneClassSVM:
        """Fit density, kernel and region to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._fit(X, None, sample_weight)
        return self

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return how far inside (positive) or outside (negative) each row is, (n_samples,)."""
        return self._sum_over_support(X)

    def score_samples(self, X: TableLike) -> FloatArray:
        """Return the decision function before the offset is subtracted, (n_samples,)."""
        return self._map_gram(X, lambda K: K @ self.dual_coef_[0])

    def predict(self, X: TableLike) -> IntArray:
        """Return +1 for rows inside and -1 for rows outside, (n_samples,)."""
        return np.where(self._sum_over_support(X) > 0, 1, -1)
