"""Imputation by support vector regression, a rival in [Struski2016]_."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVR

from absentia.tables import FloatArray
from lab.baselines.imputers.imputer import Imputer, other_columns


class SVRImputer(Imputer):
    """Fill each column with what support vector regression predicts from the others.

    For each column an ``SVR(C=1)`` with the RBF kernel is trained on the rows that have it, the
    other columns as inputs ([Struski2016]_, Section 3, after Feng and others 2005). Two things
    differ from the program used there, so that the imputer is inductive and works on any table:
    the target of the learning task is no input, and holes among the inputs are filled with
    column means, where that program needs a row without any.

    Columns should be on one scale (``StandardScaler`` first).

    Parameters
    ----------
    C : float, default=1.0
    gamma : float or "scale", default="scale"
    epsilon : float, default=0.1

    Attributes
    ----------
    regressors_ : list of SVR
        One for each column that training knew.
    means_ : ndarray
        Mean of each column.

    Notes
    -----
    d fits of an SVR on at most n rows: O(d n^2) to O(d n^3).

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import SVRImputer
    >>> x = np.linspace(-1, 1, 40)
    >>> imputer = SVRImputer(epsilon=0.01).fit(np.column_stack([x, np.sin(3 * x)]))
    >>> imputer.transform([[0.5, np.nan]]).round(1)
    array([[0.5, 1. ]])
    """

    regressors_: list[SVR]
    means_: FloatArray

    def __init__(self, C: float = 1.0, *, gamma: float | str = "scale", epsilon: float = 0.1):
        self.C = C
        self.gamma = gamma
        self.epsilon = epsilon

    def _learn(self, table: FloatArray) -> dict[str, object]:
        observed = ~np.isnan(table)
        means = np.nanmean(table, axis=0)
        filled = np.where(observed, table, means)
        regressors = []
        for j in range(table.shape[1]):
            rows = observed[:, j]
            regressor = SVR(C=self.C, gamma=self.gamma, epsilon=self.epsilon)
            regressors.append(regressor.fit(other_columns(filled[rows], j), table[rows, j]))
        return {"regressors_": regressors, "means_": means}

    def _fill(self, table: FloatArray) -> FloatArray:
        missing = np.isnan(table)
        filled = np.where(missing, self.means_, table)
        for j in map(int, np.flatnonzero(missing.any(axis=0))):
            rows = missing[:, j]
            table[rows, j] = self.regressors_[j].predict(other_columns(filled[rows], j))
        return table
