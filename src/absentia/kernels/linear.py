"""The expected inner product."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Diagonal, Kernel, Scaled, Sum, with_params
from absentia.kernels.belief_moments import BeliefMoments
from absentia.kernels.gram.symmetry import symmetrised
from absentia.parameters import Rule, check_parameters, declared, words
from absentia.tables import FloatArray

__all__ = ["ExpectedLinear", "centred_at"]

#: Squared length of the mean over the sum of variances from which "auto" takes the mean off.
#: Products then lose five of sixteen digits; before that, machines centre the matrix instead.
_FAR = 1e5


def _is_centre(value: object) -> bool:
    if not isinstance(value, np.ndarray | list | tuple):
        return False
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return array.ndim == 1 and bool(np.isfinite(array).all())


_CENTRE = Rule(("one finite number per column",), _is_centre) | words("auto", None)


@declared
class ExpectedLinear(Kernel):
    """The inner product of two rows, averaged over what they could have been.

    ``E[(x - m)'(y - m)] = (a - m)'(b - m)`` for independent ``x``, ``y`` with means ``a``, ``b``
    and a centre ``m``, which is zero unless one is given.

    A row that misses a value is compared by its conditional mean: off the diagonal this is the
    linear kernel after imputing that mean, for Gaussians and mixtures alike. Uncertainty shows
    only where a row meets itself.

    Parameters
    ----------
    diagonal : {"independent", "same"}, default="independent"
        What ``kernel(P)`` has on its diagonal: two independent draws of a row, ``a'a`` (for
        ``m = 0``); or one and the same row, ``E[x'x] = a'a + tr A`` with ``A`` its covariance,
        Eq. (2) of [Anderson2011]_, which shrinks what a linear machine makes of an uncertain row,
        as a ridge of the row's own. Both are positive definite.
    centre : array-like of shape (n_features,), "auto" or None, default=None
        ``m``. ``"auto"`` is the mean of the density where it is so far from zero that products lose
        the digits in which rows differ (its squared length is more than 100,000 times the sum of
        the columns' variances: a mean of some 300 deviations), else none. Machines whose answers do
        not depend on it, because they have an intercept or centre for themselves, take ``"auto"``
        where no centre is given.

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

    _rules: ClassVar[dict[str, Rule]] = {"centre": _CENTRE}

    diagonal: Diagonal = "independent"
    centre: ArrayLike | Literal["auto"] | None = None

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with a centre of numbers, or with none."""
        check_parameters(self)
        if self.centre is None:
            return self
        if isinstance(self.centre, str):
            mean = prior.mean()
            # In units of the largest mean, whose square may be no number.
            largest = float(np.abs(mean).max(initial=0.0)) or 1.0
            spread = float(np.trace(prior.covariance() / largest / largest))
            far = float(np.sum((mean / largest) ** 2)) > _FAR * spread
            return with_params(self, centre=mean if far else None)
        centre: FloatArray = np.array(self.centre, dtype=np.float64)
        if len(centre) != prior.n_features:
            raise ValueError(
                f"centre must have one number for each of the {prior.n_features} columns, found "
                f"{len(centre)}. Columns without any observed value are left out by a density: "
                "give centre[density.columns_] then."
            )
        return with_params(self, centre=centre)

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        means = self._means(P)
        K: FloatArray = means @ (means if Q is None else self._means(Q)).T
        if Q is None:
            symmetrised(K)
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        means = self._means(P)
        squares: FloatArray = np.einsum("ij,ij->i", means, means)
        return squares + BeliefMoments(P).traces() if self.diagonal == "same" else squares

    def _means(self, P: Beliefs) -> FloatArray:
        means = P.mean()
        return means if self.centre is None else means - np.asarray(self.centre)


def centred_at(kernel: Kernel, centre: FloatArray | Literal["auto"]) -> Kernel:
    """Return a kernel whose linear terms have a centre where they had none.

    That adds ``g(x) + g(y)`` to the kernel, for some function ``g``, which changes no distance in
    the kernel's space and no answer of a machine whose coefficients sum to zero. Linear terms are
    the linear kernel, its multiples and sums of them with others; in a product of kernels a centre
    would be another change.

    Examples
    --------
    >>> from absentia import ExpectedLinear, GenRBF
    >>> from absentia.kernels.linear import centred_at
    >>> centred_at(2.0 * ExpectedLinear() + GenRBF(0.5), "auto")
    2 * ExpectedLinear(centre='auto') + GenRBF(gamma=0.5)
    """
    if type(kernel) is ExpectedLinear and kernel.centre is None:
        return with_params(kernel, centre=centre)
    if type(kernel) is Scaled:
        return Scaled(kernel.factor, centred_at(kernel.kernel, centre))
    if type(kernel) is Sum:
        return Sum(centred_at(kernel.left, centre), centred_at(kernel.right, centre))
    return kernel
