"""geom: the support vector machine whose margin is measured in each row's own subspace.

Chechik, Heitz, Elidan, Abbeel and Koller, *Max-margin classification of data with absent
features*, Journal of Machine Learning Research 9 (2008), 1-21.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

from absentia.machines.targets import ClassifierTargets, class_signs, decided_classes
from absentia.missingness import Patterns
from absentia.parameters import COUNT, POSITIVE, declared
from absentia.tables import FloatArray, Table, TableLike, set_fitted
from absentia.tables.rows import TakesMissing, is_constant
from lab.baselines.smo import solve_dual
from lab.baselines.subspace_norms import squared_norms

# A row whose columns carry less than this share of |w| would count a hundred times: no row may.
_SMALLEST_SCALE = 0.01


@declared
class GeometricMarginSVC(ClassifierTargets, TakesMissing):
    """Support vector classifier (RBF) that judges each row by the part of ``w`` that it can see.

    A row that lacks columns lies in a subspace, and its distance to the decision boundary there is
    ``y f(x) / |w_i|``, with ``w_i`` the part of ``w`` on the columns that the row has. With
    ``s[i] = |w_i| / |w|`` the soft-margin problem is

    ``minimise 1/2 |w|^2 + C sum xi[i]   subject to   y[i] f(x[i]) / s[i] >= 1 - xi[i]``

    and the scales depend on ``w``: the scheme of Chechik and others starts with scales of 1,
    solves with the scales fixed, takes the scales from the norms, and repeats. It need not
    converge, so the step with the lowest objective (scales and ``w`` agreeing) is kept. With
    nothing missing all scales are 1 and this is the ordinary support vector machine.

    Holes are zeros to the kernel; standardise the columns first. In the feature space of the
    kernel ``|w_i|^2 = sum beta[j] y[j] beta[l] y[l] k(x_j on i, x_l on i)``, all rows
    restricted to the columns that row i has; ``beta[i]`` is the multiplier of row i's constraint
    divided by ``s[i]``, at most ``C / s[i]``.

    Parameters
    ----------
    C : float, default=1.0
    gamma : float or "scale", default="scale"
        ``"scale"`` is ``1 / (n_features * X.var())`` of the zero-filled rows.
    max_iter : int, default=10
        The most times that the scales are updated.
    tol : float, default=1e-3
        Scales that change by less have converged; a tenth of it is the solver's tolerance.

    Attributes
    ----------
    classes_ : ndarray
    dual_coef_ : ndarray of shape (n_codes, n_support)
        ``beta[i] y[i]``; one row for two classes, else one row per class (against the rest).
    intercept_ : ndarray of shape (n_codes,)
    scales_ : ndarray of shape (n_codes, n_samples)
        ``s`` of each training row.
    support_rows_ : ndarray of shape (n_support, n_features)
        Zero-filled.
    gamma_ : float
    n_iter_ : int
        Updates of the scales, the most of any code.

    Notes
    -----
    Each update costs one support vector machine and, for P patterns and v support vectors,
    at most O(P v^2 d) for the norms, less the more columns patterns share. Rows with nothing
    observed have no subspace; they are left out of training.

    The margin, the scales, the alternation and the kernel over common columns agree with the
    paper's abstract and with the machine for missing features of the C++ library Shark, which
    names the paper as its source; they are not checked against the paper's full text. Four things
    are choices made here. The offset is divided by the scale with the rest of ``f``, so that the
    margin is a distance and the sign of ``f`` is the class (Shark leaves the offset whole, and
    divides by the scale of each new row). The step kept is the best one, of ten (Shark: the last of
    four). No scale is below 0.01. And the RBF kernel is that of zero-filled rows, which is positive
    definite with any holes, but does count a column that only one of two rows has: how absent
    columns enter an RBF kernel we found in no source, and [Smieja2018]_, who used one, do not say.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import GeometricMarginSVC
    >>> X = [[1.0, np.nan], [2.0, 1.0], [-1.0, -2.0], [np.nan, -1.0]]
    >>> machine = GeometricMarginSVC().fit(X, ["up", "up", "down", "down"])
    >>> machine.predict([[np.nan, 3.0], [-0.5, np.nan]])
    array(['up', 'down'], dtype='<U4')
    """

    classes_: np.ndarray = field(init=False)
    dual_coef_: FloatArray = field(init=False)
    intercept_: FloatArray = field(init=False)
    scales_: FloatArray = field(init=False)
    support_rows_: FloatArray = field(init=False)
    gamma_: float = field(init=False)
    n_iter_: int = field(init=False)

    C: float = field(default=1.0, kw_only=False)
    gamma: float | str = "scale"
    max_iter: int = 10
    tol: float = 1e-3

    def fit(self, X: TableLike, y: ArrayLike) -> Self:
        """Fit to incomplete rows, shape (n_samples, n_features), and their classes."""
        table = Table.of(X)
        y = self._check_targets(y, len(table))
        self._check_parameters()
        classes, signs = class_signs(y)
        filled = np.nan_to_num(table.array)
        gamma = self._resolved_gamma(filled)
        K = rbf_kernel(filled, gamma=gamma)
        patterns = Patterns.of(table)
        fits = [self._fit_code(K, filled, patterns, code, gamma) for code in signs.T]
        support = np.flatnonzero(np.any([fit.coefficients != 0 for fit in fits], axis=0))
        learned = {
            "classes_": classes,
            "dual_coef_": np.stack([fit.coefficients[support] for fit in fits]),
            "intercept_": np.array([fit.bias for fit in fits]),
            "scales_": np.stack([fit.scales for fit in fits]),
            "support_rows_": filled[support],
            "gamma_": gamma,
            "n_iter_": max(fit.n_iter for fit in fits),
        }
        set_fitted(self, table, learned)
        return self

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return ``f`` of each row: shape (n_samples,) for two classes, else (n_samples, classes).

        The sign is the class; for more classes the largest value is.
        """
        check_is_fitted(self)
        filled = np.nan_to_num(Table.of(X).checked(self).array)
        values = rbf_kernel(filled, self.support_rows_, gamma=self.gamma_) @ self.dual_coef_.T
        values += self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the class of each row, shape (n_samples,)."""
        values = self.decision_function(X)
        return decided_classes(self.classes_, values)

    def _check_parameters(self) -> None:
        POSITIVE.check("C", self.C)
        COUNT.check("max_iter", self.max_iter)

    def _resolved_gamma(self, filled: FloatArray) -> float:
        if isinstance(self.gamma, str):
            if self.gamma != "scale":
                raise ValueError(f"gamma must be 'scale' or a positive number, found {self.gamma}.")
            variance = 0.0 if is_constant(filled.ravel()) else float(filled.var())
            return 1.0 / (filled.shape[1] * variance) if variance > 0 else 1.0
        if not self.gamma > 0:
            raise ValueError(f"gamma must be 'scale' or a positive number, found {self.gamma!r}.")
        return float(self.gamma)

    def _fit_code(
        self, K: FloatArray, filled: FloatArray, patterns: Patterns, code: FloatArray, gamma: float
    ) -> _Step:
        """Alternate between the machine and the scales for one column of +1 and -1."""
        counted = (patterns.n_missing < filled.shape[1])[patterns.pattern_of_row]
        scales = np.ones(len(code))
        best: _Step | None = None
        for n_iter in range(1, self.max_iter + 1):
            upper = np.where(counted, self.C / scales, 0.0)
            solution = solve_dual(K, code, scales, upper, tol=self.tol / 10)
            if not solution.ending.converged:
                warnings.warn(
                    "The solver of geom stopped before its tolerance was met; scale the columns, "
                    "or try a smaller C.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            coefficients = solution.dual * code
            products = K @ coefficients
            whole = float(coefficients @ products)
            updated = self._scales(whole, filled, patterns, coefficients, gamma)
            slack = np.maximum(1 - code * (products + solution.bias) / updated, 0.0)[counted]
            objective = whole / 2 + self.C * float(slack.sum())
            step = _Step(objective, coefficients, solution.bias, updated, n_iter)
            if best is None or objective < best.objective:
                best = step
            if np.abs(updated - scales).max() < self.tol:
                break
            scales = updated
        assert best is not None
        return _Step(best.objective, best.coefficients, best.bias, best.scales, n_iter)

    def _scales(
        self,
        whole: float,
        filled: FloatArray,
        patterns: Patterns,
        coefficients: FloatArray,
        gamma: float,
    ) -> FloatArray:
        """Return ``|w_i| / |w|`` of each row, by pattern, where ``whole`` is ``|w|^2``."""
        if not whole > 0:
            return np.ones(len(filled))
        support = np.flatnonzero(coefficients)
        squared = squared_norms(filled[support], coefficients[support], patterns.masks, gamma)
        # Where nothing is missing the scale is 1 by definition, not up to rounding.
        scales = np.where(patterns.n_missing == 0, 1.0, np.sqrt(np.maximum(squared, 0.0) / whole))
        by_row: FloatArray = np.maximum(scales, _SMALLEST_SCALE)[patterns.pattern_of_row]
        return by_row


@dataclass(frozen=True, eq=False)
class _Step:
    """One round of the alternation: the machine, and the scales that follow from it."""

    objective: float
    coefficients: FloatArray
    bias: float
    scales: FloatArray
    n_iter: int
