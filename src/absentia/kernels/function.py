"""A kernel that a user wrote as a function of two arrays, as scikit-learn's machines take them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from absentia.beliefs import Beliefs
from absentia.kernels.base import Kernel, symmetrised
from absentia.tables import FloatArray

__all__ = ["FunctionKernel"]


class FunctionKernel(Kernel):
    """A function ``f(X, Y) -> (n, m)`` of complete rows, applied to the means of beliefs.

    Nothing is known about the function, so there is no closed form for a row with missing values:
    it enters with its conditional mean. On complete rows the matrix is the function's own.

    Parameters
    ----------
    function : callable
        From two arrays, of shapes (n, n_features) and (m, n_features), to a matrix (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVC
    >>> X = np.array([[-2.0, -1.0], [-1.0, -2.0], [1.0, np.nan], [2.0, 1.0]])
    >>> SVC(kernel=lambda X, Y: X @ Y.T).fit(X, [0, 0, 1, 1]).predict([[3.0, 1.0]])
    array([1])
    """

    def __init__(self, function: Callable[[FloatArray, FloatArray], FloatArray]):
        self.function = function

    @property
    def positive_definite(self) -> bool:
        """Unknown, hence not promised."""
        return False

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        rows = P.mean()
        columns = rows if Q is None else Q.mean()
        K = np.array(self.function(rows, columns), dtype=np.float64)
        if K.shape != (len(rows), len(columns)):
            raise ValueError(
                f"The kernel function must return a matrix of shape {(len(rows), len(columns))} "
                f"for {len(rows)} and {len(columns)} rows, found shape {K.shape}."
            )
        return symmetrised(K) if Q is None else K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.array([self._gram(P[i], P[i], None)[0, 0] for i in range(len(P))])
