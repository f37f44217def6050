"""Kernel ridge regression for incomplete rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, cho_factor, cho_solve, lstsq

from absentia.machines.base import KernelMachine
from absentia.machines.documentation import documented
from absentia.machines.search.left_out import ridge_left_out
from absentia.machines.targets import RegressorTargets, spread_of_targets
from absentia.parameters import FloatMatrix, FloatVector, Rule, declared, finite
from absentia.tables import FloatArray, IntArray, Learned, TableLike


def _are_ridges(alpha: Any) -> bool:
    values = np.asarray(alpha)
    if values.dtype.kind == "O" and isinstance(alpha, int):  # more than 64 bits
        return finite(alpha) is not None and alpha >= 0
    if values.dtype.kind not in "iuf" or values.ndim > 1:
        return False
    return bool((np.isfinite(values) & (values >= 0)).all())


class RidgeMachine(RegressorTargets, KernelMachine):
    """Base class of kernel ridge regression: ``f(x) = sum_i dual_coef[i] k(x, x_i)``."""

    _multi_output = True

    alpha: Any
    dual_coef_: FloatVector | FloatMatrix

    def predict(self, X: TableLike) -> FloatArray:
        """Return the predictions, of shape (n_samples,) or (n_samples, n_targets).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
        """
        return self._map_gram(X, lambda K: K @ self.dual_coef_)

    def _target_codes(self, y: np.ndarray) -> FloatArray:
        # Not centred: without an intercept their mean has to be learned.
        columns = np.reshape(y, (len(y), -1)).astype(np.float64)
        return columns / spread_of_targets(columns)

    def _own_ridges(self, y: np.ndarray) -> tuple[float, float]:
        return float(np.mean(self.alpha)), float(np.mean(self.alpha))


class KernelRidgeSolver(RidgeMachine):
    """Base class of :class:`KernelRidge` and :class:`KernelRidgeCV`."""

    _rules: ClassVar[dict[str, Rule]] = {
        "alpha": Rule(("a non-negative number", "one number per target"), _are_ridges)
    }

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        targets = np.reshape(y, (len(y), -1))
        alphas = np.asarray(self.alpha, dtype=np.float64).ravel()
        if len(alphas) not in (1, targets.shape[1]):
            raise ValueError(
                f"alpha must be one number or one per target, found {len(alphas)} for "
                f"{targets.shape[1]} targets."
            )
        rounding = np.finfo(np.float64).eps * float(np.trace(K))
        if np.any((alphas > 0) & (alphas < rounding)):
            warnings.warn(
                f"alpha={self.alpha!r} is below the rounding errors of the kernel matrix "
                f"({rounding:.1g}), so predictions have few correct digits or none. Raise alpha, "
                "or centre the columns if the kernel is linear and they are far from zero.",
                LinAlgWarning,
                stacklevel=3,
            )
        if sample_weight is None:
            coefficients = _ridge(K, targets, alphas)
        else:
            # Weighted least squares is the ordinary kind after rows and columns are scaled.
            root = np.sqrt(np.maximum(sample_weight, 0.0))[:, None]
            coefficients = root * _ridge(root * K * root.T, root * targets, alphas)
        return {"dual_coef_": coefficients.reshape(np.shape(y))}

    def _solve_left_out(
        self,
        K: FloatArray,
        y: np.ndarray,
        sample_weight: FloatArray | None,
        sets: Sequence[IntArray],
        candidates: Sequence[Mapping[str, Any]],
    ) -> list[list[Learned]]:
        targets = np.reshape(y, (len(y), -1))
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        rounding = np.finfo(np.float64).eps * float(np.trace(K))
        found = []
        for candidate in candidates:
            model = self._with(candidate)
            try:
                if np.ndim(model.alpha) or model.alpha < rounding:
                    raise LinAlgError
                left = ridge_left_out(K, targets, weights, float(model.alpha), sets)
            except LinAlgError:  # singular, indefinite, or one penalty per target
                without = [weights * ~np.isin(np.arange(len(y)), rows) for rows in sets]
                found.append([model._solve(K, y, own) for own in without])
            else:
                shape = np.shape(y)
                found.append([{"dual_coef_": c.T.reshape(shape)} for c in left.coefficients])
        return found


@documented
@declared
class KernelRidge(KernelRidgeSolver):
    """Kernel ridge regression for rows with missing values.

    Least squares with a penalty: ``f(x) = sum_i dual_coef[i] k(x, x_i)`` with
    ``dual_coef = inv(K + alpha I) y``, one Cholesky factorisation. Several targets (columns of
    ``y``) share it. There is no intercept: centre the targets, for example with
    :class:`sklearn.compose.TransformedTargetRegressor`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        The penalty, non-negative; one for all targets, or one per target.
    {common_parameters}
    {width_prior}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The coefficients of the training rows.
    {common_attributes}

    See Also
    --------
    KernelRidgeCV : chooses ``alpha``, ``gamma`` and ``mask_weight`` by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X.sum(axis=1)
    >>> X[::3, 0] = np.nan
    >>> KernelRidge(alpha=0.1).fit(X, y).predict([[1.0, 1.0], [-1.0, -1.0]]).round()
    array([ 2., -2.])
    """

    _replaces_scikit_learn = True

    alpha: Any = field(default=1.0, kw_only=False)  # by position, too, as in scikit-learn
    width_prior: float | str = 0.3


def _ridge(K: FloatArray, targets: FloatArray, alphas: FloatArray) -> FloatArray:
    """Solve ``(K + alpha I) coefficients = targets``, for one alpha or one per column."""
    if len(alphas) == 1:
        return _solve_symmetric(K, alphas[0], targets)
    columns = zip(alphas, targets.T, strict=True)
    return np.column_stack([_solve_symmetric(K, alpha, column) for alpha, column in columns])


def _solve_symmetric(K: FloatArray, alpha: float, right: FloatArray) -> FloatArray:
    A = K.copy()
    A[np.diag_indices_from(A)] += alpha
    try:
        solution: FloatArray = cho_solve(
            cho_factor(A, lower=True, check_finite=False), right, check_finite=False
        )
    except LinAlgError:
        # Singular (alpha=0 and repeated rows) or an indefinite kernel: the least-squares answer.
        solution = lstsq(A, right, check_finite=False)[0]
    return solution
