"""karma: a support vector machine on the coordinates that two rows share.

Hazan, Livni and Mansour, *Classification with low rank and missing data* (ICML 2015), compare rows
with the kernel below; they train by online gradient steps, and the experiments here and in
[Smieja2018]_ put the kernel into a support vector machine.
"""

from __future__ import annotations

from dataclasses import field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from absentia.parameters import COUNT, POSITIVE, declared
from absentia.tables import FloatArray, Table, TableLike, as_table, set_fitted
from absentia.tables.rows import TakesMissing


def karma_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, g: int = 2) -> FloatArray:
    """Return the karma kernel of incomplete rows.

    ``k(x, y) = (m^g - 1) / (m - 1) * sum over the m common columns of x[j] y[j]``

    where ``(m^g - 1)/(m - 1) = 1 + m + ... + m^(g-1)``, which is ``g`` where one column is common.
    Rows with nothing in common have similarity 0. Positive definite for every whole ``g >= 1``:
    ``m`` is the inner product of two 0/1 masks, the sum is that of two rows with zeros in their
    holes, and sums and products of positive definite kernels are positive definite.

    Parameters
    ----------
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d), optional
        ``X`` itself without it.
    g : int, default=2
        1 is the linear kernel of zero-filled rows; 2 weighs by ``m + 1``.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    Two columns in common, (2^2 - 1)/(2 - 1) * (1 * 2 + 3 * 1):

    >>> import numpy as np
    >>> from lab.baselines import karma_kernel
    >>> karma_kernel([[1.0, 3.0, np.nan]], [[2.0, 1.0, 5.0]], g=2)
    array([[15.]])
    """
    COUNT.check("g", g)
    left = as_table(X)
    right = left if Y is None else as_table(Y)
    common = (~np.isnan(left)).astype(float) @ (~np.isnan(right)).astype(float).T
    inner: FloatArray = np.nan_to_num(left) @ np.nan_to_num(right).T
    weight = np.zeros_like(common)
    for _ in range(g):  # Horner's scheme of 1 + m + ... + m^(g-1)
        weight = weight * common + 1.0
    return weight * inner


def self_similarity(X: FloatArray, g: int) -> FloatArray:
    """Return the karma kernel of each row with itself, shape (n_samples,)."""
    m = (~np.isnan(X)).sum(axis=1).astype(float)
    weight = np.zeros_like(m)
    for _ in range(g):
        weight = weight * m + 1.0
    return weight * np.nansum(X**2, axis=1)


@declared
class _KarmaMachine(TakesMissing):
    """The Gram matrix of karma, alone or inside an RBF, for scikit-learn's machines."""

    C: float = field(default=1.0, kw_only=False)
    g: int = 2
    gamma: float | str | None = "scale"
    tol: float = 1e-3

    machine_: BaseEstimator = field(init=False)
    training_rows_: FloatArray = field(init=False)
    gamma_: float | None = field(init=False)

    def _resolved_gamma(self, table: FloatArray) -> float | None:
        if self.gamma is None:
            return None
        if isinstance(self.gamma, str):
            if self.gamma != "scale":
                raise ValueError(
                    f"gamma must be None, 'scale' or a positive number, found {self.gamma!r}."
                )
            typical = float(self_similarity(table, self.g).mean())
            return 1.0 / typical if typical > 0 else 1.0
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(
                f"gamma must be None, 'scale' or a positive number, found {self.gamma!r}."
            )
        return float(self.gamma)

    def _gram(self, table: FloatArray, training: FloatArray, gamma: float | None) -> FloatArray:
        K = karma_kernel(table, training, g=self.g)
        if gamma is None:
            return K
        squared = (
            self_similarity(table, self.g)[:, None] + self_similarity(training, self.g) - 2 * K
        )
        return np.exp(-gamma * np.maximum(squared, 0.0))

    def _fit_machine(self, machine: BaseEstimator, X: TableLike, y: ArrayLike) -> Self:
        POSITIVE.check("C", self.C)
        rows = Table.of(X)
        table = rows.array.copy()
        gamma = self._resolved_gamma(table)
        machine.fit(self._gram(table, table, gamma), y)
        learned = {"machine_": machine, "training_rows_": table, "gamma_": gamma}
        set_fitted(self, rows, learned)
        return self

    def _gram_of_new(self, X: TableLike) -> FloatArray:
        check_is_fitted(self)
        return self._gram(Table.of(X).checked(self).array, self.training_rows_, self.gamma_)

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the prediction for each row, shape (n_samples,)."""
        K = self._gram_of_new(X)
        predicted: np.ndarray = self.machine_.predict(K)
        return predicted


@declared
class KarmaSVC(ClassifierMixin, _KarmaMachine):
    """Support vector classifier with the karma kernel, alone or inside an RBF.

    With ``gamma=None`` the kernel is :func:`karma_kernel`; with a number it is
    ``exp(-gamma (k(x,x) + k(y,y) - 2 k(x,y)))``, the RBF in the feature space of karma, as
    [Smieja2018]_ uses it.

    Parameters
    ----------
    C : float, default=1.0
    g : int, default=2
        The exponent of :func:`karma_kernel`; [Smieja2018]_ tries 1 and 2.
    gamma : None, "scale" or float, default="scale"
        ``"scale"`` is one over the mean of ``k(x,x)`` on the training rows: karma grows with the
        number of columns to the power ``g``, so a useful number is small.
    tol : float, default=1e-3
        Of the solver.

    Attributes
    ----------
    classes_ : ndarray
    training_rows_ : ndarray of shape (n_samples, n_features)
    gamma_ : float or None
    machine_ : sklearn.svm.SVC
        With a precomputed kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import KarmaSVC
    >>> X = [[1.0, np.nan], [2.0, 1.0], [-1.0, -2.0], [np.nan, -1.0]]
    >>> KarmaSVC(gamma=None).fit(X, [1, 1, 0, 0]).predict([[np.nan, 3.0], [-0.5, np.nan]])
    array([1, 0])
    """

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit to incomplete rows, shape (n_samples, n_features), and their classes."""
        machine = SVC(C=self.C, kernel="precomputed", tol=self.tol)
        return self._fit_machine(machine, X, y)

    @property
    def classes_(self) -> np.ndarray:
        """The classes that were seen in training."""
        check_is_fitted(self, "machine_")
        classes: np.ndarray = self.machine_.classes_
        return classes

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return the signed distances, as ``sklearn.svm.SVC`` does."""
        K = self._gram_of_new(X)
        values: FloatArray = self.machine_.decision_function(K)
        return values


@declared
class KarmaSVR(RegressorMixin, _KarmaMachine):
    """Support vector regression with the karma kernel, alone or inside an RBF.

    Parameters
    ----------
    C : float, default=1.0
    g : int, default=2
    gamma : None, "scale" or float, default="scale"
        As for :class:`KarmaSVC`.
    epsilon : float, default=0.1
    tol : float, default=1e-3
        Of the solver.

    Attributes
    ----------
    training_rows_ : ndarray of shape (n_samples, n_features)
    gamma_ : float or None
    machine_ : sklearn.svm.SVR
        With a precomputed kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import KarmaSVR
    >>> X = [[1.0, np.nan], [2.0, 2.0], [3.0, np.nan], [np.nan, 4.0]]
    >>> KarmaSVR(C=100, g=1, gamma=None, epsilon=0.01).fit(X, [1, 4, 3, 4]).predict(X).round(1)
    array([1., 4., 3., 4.])
    """

    epsilon: float = 0.1

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit to incomplete rows, shape (n_samples, n_features), and their targets."""
        machine = SVR(C=self.C, kernel="precomputed", epsilon=self.epsilon, tol=self.tol)
        return self._fit_machine(machine, X, y)
