"""The expected inner product."""

from __future__ import annotations

import numpy as np

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Diagonal, Kernel
from absentia.kernels.belief_moments import BeliefMoments
from absentia.kernels.gram.symmetry import symmetrised
from absentia.parameters import check_parameters, declared
from absentia.tables import FloatArray

__all__ = ["ExpectedLinear"]


@declared
class ExpectedLinear(Kernel):
    """The inner product of two rows, averaged over what they could have been.

    ``E[x'y] = a'b`` for independent ``x``, ``y`` with means ``a``, ``b``.

    A row that misses a value is compared by its conditional mean: off the diagonal this is the
    linear kernel after imputing that mean, for Gaussians and mixtures alike. Uncertainty shows
    only where a row meets itself.

    Parameters
    ----------
    diagonal : {"independent", "same"}, default="independent"
        What ``kernel(P)`` has on its diagonal: two independent draws of a row, ``a'a``; or one
        and the same row, ``E[x'x] = a'a + tr A`` with ``A`` its covariance, Eq. (2) of
        [Anderson2011]_, which shrinks what a linear machine makes of an uncertain row, as a ridge
        of the row's own. Both are positive definite.

    Notes
    -----
    One product of the means: O(n² d), whatever the patterns. The kernel has no metric of its
    own; to weigh columns, standardise them or use :meth:`Beliefs.transform`.

    Examples
    --------
    >>> from absentia import Beliefs, ExpectedLinear
    >>> means = [[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]
    >>> P = Beliefs.from_moments(means, [[0.0, 0.5], [0.0, 0.0], [0.0, 0.0]])
    >>> ExpectedLinear()(P)
    array([[1., 1., 0.],
           [1., 5., 2.],
           [0., 2., 1.]])
    >>> ExpectedLinear(diagonal="same")(P)
    array([[1.5, 1. , 0. ],
           [1. , 5. , 2. ],
           [0. , 2. , 1. ]])
    """

    diagonal: Diagonal = "independent"

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel, its parameter checked."""
        check_parameters(self)
        return self

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        means = P.mean()
        K: FloatArray = means @ (means if Q is None else Q.mean()).T
        if Q is None:
            symmetrised(K)
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        means = P.mean()
        squares: FloatArray = np.einsum("ij,ij->i", means, means)
        return squares + BeliefMoments(P).traces() if self.diagonal == "same" else squares
