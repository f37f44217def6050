"""A kernel that a user wrote as a function of two arrays, as scikit-learn's machines take them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import pairwise_kernels

from absentia.beliefs import Beliefs
from absentia.kernels.base import Kernel
from absentia.kernels.gram.symmetry import symmetrised
from absentia.parameters import declared
from absentia.tables import FloatArray

__all__ = ["FunctionKernel", "PrecomputedKernel"]


@declared
class FunctionKernel(Kernel):
    """A function ``f(X, Y) -> (n, m)`` of complete rows, applied to the means of beliefs.

    Nothing is known about the function, so there is no closed form for a row with missing values:
    it enters with its conditional mean. On complete rows the matrix is the function's own.

    Parameters
    ----------
    function : callable
        From two arrays, of shapes (n, n_features) and (m, n_features), to a matrix (n, m).
    of_pairs : bool, default=False
        Whether the function takes two rows and returns a number instead.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVC
    >>> X = np.array([[-2.0, -1.0], [-1.0, -2.0], [1.0, np.nan], [2.0, 1.0]])
    >>> SVC(kernel=lambda X, Y: X @ Y.T).fit(X, [0, 0, 1, 1]).predict([[3.0, 1.0]])
    array([1])
    """

    function: Callable[[FloatArray, FloatArray], ArrayLike] = field(kw_only=False)
    of_pairs: bool = field(default=False, kw_only=False)

    @property
    def positive_definite(self) -> bool:
        """False: nothing is known about the function."""
        return False

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        rows = P.mean()
        columns = rows if Q is None else Q.mean()
        if self.of_pairs:
            K = pairwise_kernels(rows, columns, metric=self.function)
        else:
            K = np.array(self.function(rows, columns), dtype=np.float64)
        if K.shape != (len(rows), len(columns)):
            raise ValueError(
                f"The kernel function must return a matrix of shape {(len(rows), len(columns))} "
                f"for {len(rows)} and {len(columns)} rows, found shape {K.shape}."
            )
        return symmetrised(K) if Q is None else K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.array([self._gram(P[i], P[i], None)[0, 0] for i in range(len(P))])


class PrecomputedKernel(Kernel):
    """The kernel of a machine that was given its Gram matrix: it compares no beliefs itself."""

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        raise TypeError(
            "This machine was fitted with kernel='precomputed', so only its user can compute the "
            "kernel of new rows with the training rows. Pass that matrix."
        )

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.diagonal(self._gram(P, None, None))
