"""The support vector machines of scikit-learn, for incomplete rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import ClassVar

import numpy as np
import sklearn.svm
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin

from absentia.machines.documentation import documented
from absentia.machines.support_vectors import (
    SupportVectorClassifier,
    SupportVectorMachine,
    SupportVectorRegressor,
)
from absentia.machines.targets import balanced_weights, weights_of_present
from absentia.parameters import POSITIVE, FloatVector, RandomState, Rule
from absentia.tables import FloatArray, IntArray, Learned, TableLike


@documented
class SVC(SupportVectorClassifier):
    """Support vector classifier for rows with missing values.

    The decision function is ``f(x) = sum_i dual_coef[i] k(x, x_i) + intercept`` with the kernel
    of what the rows could have been, by default genRBF of Eq. (20) of [Smieja2018]_; on complete
    rows it is the machine of :class:`sklearn.svm.SVC` with the same ``gamma``. More than two
    classes are separated pair by pair, then by vote.

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)

    See Also
    --------
    SVCCV : chooses ``C``, ``gamma`` and ``mask_weight`` by cross-validation.
    NuSVC : the same with a bound on the fraction of support vectors.

    Notes
    -----
    For probabilities use :class:`sklearn.calibration.CalibratedClassifierCV`. Training takes a
    Gram matrix of all rows and the solver, between ``n^2`` and ``n^3``; a prediction takes one
    kernel value per support vector.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVC
    >>> X = np.array([[-2.0, -1.5], [-1.0, np.nan], [np.nan, -2.0], [1.0, 1.5], [np.nan, 1.0]])
    >>> y = ["left", "left", "left", "right", "right"]
    >>> SVC().fit(X, y).predict([[np.nan, -1.0], [2.0, np.nan]])
    array(['left', 'right'], dtype='<U5')
    """

    C: float = 1.0
    class_weight: dict[Hashable, float] | str | None = None
    random_state: RandomState = None
    probability: bool = False
    width_prior: float | str = 0.3

    _fitted_names = (*SupportVectorClassifier._fitted_names, "class_weight_")

    def _solver(self) -> BaseEstimator:
        return sklearn.svm.SVC(
            **self._solver_parameters("C", "class_weight", "decision_function_shape", "break_ties")
        )

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        balanced = isinstance(self.class_weight, str) and self.class_weight == "balanced"
        if sample_weight is None or not (sample_weight > 0).all():
            return super()._solve(K, y, sample_weight)
        if not balanced:
            some = self._with({"class_weight": weights_of_present(self.class_weight, y)})
            return super(SVC, some)._solve(K, y, sample_weight)
        # The solver balances the number of rows; here a row of weight two counts as two.
        factors = balanced_weights(y, sample_weight)
        solution = self._with({"class_weight": None})._solve(K, y, sample_weight * factors)
        return solution | {"class_weight_": factors[np.unique(y, return_index=True)[1]]}


@documented
class NuSVC(SupportVectorClassifier):
    """Support vector classifier with a bound on support vectors, for rows with missing values.

    As :class:`SVC`, with ``nu`` instead of ``C``: at most a fraction ``nu`` of the training
    rows is on the wrong side of the margin, and at least that fraction are support vectors. There
    is no ``class_weight``: the solver ignores it here; weigh the rows with ``sample_weight``.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]; large values can be infeasible for classes of very different size.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import NuSVC
    >>> X = np.array([[-2.0, -1.5], [-1.0, np.nan], [np.nan, -2.0], [1.0, 1.5], [np.nan, 1.0]])
    >>> NuSVC(nu=0.4).fit(X, [0, 0, 0, 1, 1]).predict([[np.nan, -1.0], [2.0, np.nan]])
    array([0, 1])
    """

    nu: float = 0.5
    random_state: RandomState = None
    probability: bool = False
    width_prior: float | str = 0.3

    def _solver(self) -> BaseEstimator:
        return sklearn.svm.NuSVC(
            **self._solver_parameters("nu", "decision_function_shape", "break_ties")
        )

    _stops_in_units = True

    def _check_counting_targets(self, y: np.ndarray) -> None:
        if len(np.unique(y)) < 2:
            raise ValueError(
                "specified nu is infeasible: all rows of positive weight belong to one class."
            )

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        try:
            return super()._solve(K, y, sample_weight)
        except ValueError as error:
            if "infeasible" not in str(error):
                raise
            counts = np.unique(y, return_counts=True)[1]
            raise ValueError(
                f"nu={self.nu!r} is infeasible: of two classes with m and n rows at most a share "
                f"2 min(m, n) / (m + n) can be support vectors, and the smallest class here has "
                f"{counts.min()} rows, the largest {counts.max()}. Use a smaller nu, or SVC."
            ) from error


@documented
class SVR(SupportVectorRegressor):
    """Support vector regression for rows with missing values.

    ``f(x) = sum_i dual_coef[i] k(x, x_i) + intercept``, where errors below ``epsilon`` cost
    nothing; the method of [Struski2016]_, and of Section 6 of [Smieja2018]_, in which the kernel
    compares what the rows could have been.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to this size cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X.sum(axis=1)
    >>> X[::3, 0] = np.nan
    >>> SVR(C=10).fit(X, y).predict([[1.0, 1.0], [-1.0, -1.0]]).round()
    array([ 2., -2.])
    """

    C: float = 1.0
    epsilon: float = 0.1
    width_prior: float | str = 0.3

    def _solver(self) -> BaseEstimator:
        return sklearn.svm.SVR(**self._solver_parameters("C", "epsilon"))


@documented
class NuSVR(SupportVectorRegressor):
    """Support vector regression with a bound on support vectors, for rows with missing values.

    As :class:`SVR`, with ``nu`` instead of ``epsilon``: the width of the epsilon tube is chosen
    such that at most a fraction ``nu`` of the training rows lies outside.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import NuSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X.sum(axis=1)
    >>> X[::3, 0] = np.nan
    >>> NuSVR(C=10).fit(X, y).predict([[1.0, 1.0], [-1.0, -1.0]]).round()
    array([ 2., -2.])
    """

    nu: float = 0.5
    C: float = 1.0
    width_prior: float | str = 0.3

    # Its coefficients begin at C: there is no hard tube.
    _rules: ClassVar[dict[str, Rule]] = {"C": POSITIVE}

    def _tolerance(self, unit: float, y: np.ndarray) -> float:
        # The multipliers sum to C nu n, whatever the data. Below the rounding of that sum the
        # solver would never stop.
        known = super()._tolerance(unit, y)
        rounding = 1e-15 * float(self.C) * unit * len(y)
        if not rounding <= max(known, 1e-2 * float(np.ptp(y))):
            raise ValueError(
                f"C={self.C:g} is too large for {len(y)} rows with this kernel: the multipliers of "
                "NuSVR sum to C nu n, and the rounding error of that sum exceeds the "
                "differences between targets. Use a smaller C; beyond some C the solution no "
                "longer changes."
            )
        return max(known, rounding)

    def _solver(self) -> BaseEstimator:
        return sklearn.svm.NuSVR(**self._solver_parameters("nu", "C"))


@documented
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    """Novelty and outlier detection for rows with missing values.

    The smallest region, in the kernel's space, that holds all but a fraction ``nu`` of the training
    rows; ``decision_function`` is positive inside.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training rows outside.

    Attributes
    ----------
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.

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

    nu: float = 0.5

    offset_: FloatVector = field(init=False)

    _fitted_names = (*SupportVectorMachine._fitted_names, "offset_")

    def _solver(self) -> BaseEstimator:
        return sklearn.svm.OneClassSVM(**self._solver_parameters("nu"))

    _one_number = True
    _stops_in_units = True

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
