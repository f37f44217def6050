"""A kernel on top of a kernel: the distance of two beliefs in the feature space of another."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from absentia.beliefs import Beliefs, Prior
from absentia.beliefs.conditioning import condition
from absentia.kernels.base import Kernel, Scaled, Sum, with_params
from absentia.kernels.gram.tiles import centre_of, distances_of, symmetrised
from absentia.kernels.polynomial import ExpectedLinear
from absentia.parameters import POSITIVE, Rule, check_parameters, declared, words
from absentia.tables import FloatArray

#: Largest rounding of an exponent that is computed from differences of the inner kernel.
_LARGEST_ROUNDING = 1e-7


@declared
class EmbeddingRBF(Kernel):
    """A Gaussian kernel of the distance of two beliefs in the feature space of another kernel.

    ``exp(-theta MMD²)``, ``MMD²(P, Q) = k(P, P) + k(Q, Q) - 2 k(P, Q)``

    A belief is embedded as the mean of the features of what the row could be, and ``MMD`` (the
    maximum mean discrepancy) is the distance of two such means. The expected kernels are linear
    in the belief, so a machine on top of them is linear in it too; this level-2 kernel is not: it
    can tell a row that is uncertain from one that is in the middle. Positive definite where the
    inner kernel is.

    The self-terms are those of two independent draws whatever the ``diagonal`` of the inner
    kernel, for only then is ``MMD`` a distance; the diagonal of this kernel is 1.

    Parameters
    ----------
    kernel : Kernel
        The inner kernel, any of this library's. With :class:`ExpectedLinear` the embedding is the
        mean itself, and the kernel the RBF of the means.
    theta : float or "scale", default="scale"
        ``"scale"`` is one over the variance of the features of the data,
        ``k_same(D, D) - k_independent(D, D)`` for the density ``D``: for :class:`ExpectedLinear`
        this is one over the trace of the data's covariance, as ``gamma="scale"`` is for an RBF.
        An inner kernel without a choice of ``diagonal`` (:class:`GenRBF`) has unit length in its
        feature space, and ``"scale"`` is 1.

    Notes
    -----
    The inner Gram matrix and two diagonals, then O(n²). ``MMD²`` is a difference: an exponent is
    right to ``theta k(P, P) 1e-16``, and an inner kernel so wide that this exceeds 1e-7 is refused.
    Linear terms of the inner kernel are computed from differences of means and lose nothing.

    Examples
    --------
    >>> from absentia import Beliefs, EmbeddingRBF, ExpectedRBF
    >>> P = Beliefs.from_moments([[0.0], [0.0], [2.0]], [[0.0], [1.0], [0.0]])
    >>> kernel = EmbeddingRBF(ExpectedRBF(gamma=0.5), theta=1.0)
    >>> kernel
    EmbeddingRBF(ExpectedRBF(gamma=0.5), theta=1)
    >>> kernel(P).round(2)
    array([[1.  , 0.85, 0.18],
           [0.85, 1.  , 0.35],
           [0.18, 0.35, 1.  ]])
    """

    _rules: ClassVar[dict[str, Rule]] = {"theta": POSITIVE | words("scale")}

    kernel: Kernel = field(kw_only=False)
    theta: float | str = field(default="scale", kw_only=False)

    @property
    def positive_definite(self) -> bool:
        """A Gaussian of a Hilbert space distance is positive definite."""
        return self.kernel.positive_definite

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel and its inner kernel with all parameters resolved to numbers."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be a Kernel such as ExpectedRBF(), found {self.kernel!r}."
            )
        check_parameters(self)
        inner = self.kernel.resolve(prior)
        scale = isinstance(self.theta, str)
        theta = _one_over_feature_variance(inner, prior) if scale else float(self.theta)
        return EmbeddingRBF(inner, theta)

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        K = _squared_discrepancies(self.kernel, float(self.theta), P, Q, n_jobs)
        K *= -float(self.theta)
        np.exp(K, out=K)
        if Q is None:
            np.fill_diagonal(K, 1.0)
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.ones(len(P))


def _squared_discrepancies(
    kernel: Kernel, theta: float, P: Beliefs, Q: Beliefs | None, n_jobs: int | None
) -> FloatArray:
    """Return ``MMD²`` of all pairs: that of a sum is the sum, and linear terms have differences."""
    if type(kernel) is Sum:
        both = (_squared_discrepancies(k, theta, P, Q, n_jobs) for k in (kernel.left, kernel.right))
        return np.add(*both)
    if type(kernel) is Scaled:
        factor = float(kernel.factor)
        return factor * _squared_discrepancies(kernel.kernel, theta * factor, P, Q, n_jobs)
    if type(kernel) is ExpectedLinear:
        return _squared_distances_of_means(theta, P, Q)
    inner = _with_diagonal(kernel, "independent")
    left = inner._diag(P)
    right = left if Q is None else inner._diag(Q)
    _check_width(kernel, theta, float(np.median(left)) if len(left) else 0.0)
    K = inner._gram(P, Q, n_jobs)
    K *= -2
    # The sum of the self-terms is the same from both sides, so symmetry is kept.
    for i, own in enumerate(left):
        K[i] += own + right
    return np.maximum(K, 0, out=K)


def _squared_distances_of_means(theta: float, P: Beliefs, Q: Beliefs | None) -> FloatArray:
    a = P.mean()
    b = a if Q is None else Q.mean()
    # Distances do not depend on where products are counted from, their digits do.
    centre = centre_of(b)
    x = a - centre
    y = x if Q is None else b - centre
    K = distances_of(x, y, lambda i, j: a[i] - b[j], scale=2 * theta)
    return symmetrised(K) if Q is None else K


def _check_width(kernel: Kernel, theta: float, self_term: float) -> None:
    """Refuse a kernel so wide that rows differ by the rounding of its self-terms only."""
    if theta * self_term * np.finfo(np.float64).eps > _LARGEST_ROUNDING:
        raise ValueError(
            f"EmbeddingRBF takes differences of {kernel!r}, whose values of about {self_term:.3g} "
            f"are so alike that theta = {theta:.3g} would magnify their rounding to more than "
            f"{_LARGEST_ROUNDING:g}. Take a narrower kernel (a larger gamma), or ExpectedLinear, "
            "which is the limit of wide ones."
        )


def _diagonal_names(kernel: Kernel) -> list[str]:
    names = kernel.get_params()
    return [name for name in names if name == "diagonal" or name.endswith("__diagonal")]


def _with_diagonal(kernel: Kernel, diagonal: str) -> Kernel:
    """Return a copy of a kernel in which every part with a choice of diagonal takes this one."""
    return with_params(kernel, **dict.fromkeys(_diagonal_names(kernel), diagonal))


def _one_over_feature_variance(kernel: Kernel, prior: Prior) -> float:
    anything = condition(prior, np.full((1, prior.n_features), np.nan))[0]
    kernel = kernel.centred_at(prior.mean())
    same = _with_diagonal(kernel, "same")._diag(anything)[0]
    variance = float(same - _with_diagonal(kernel, "independent")._diag(anything)[0])
    if variance <= 0 and (not _diagonal_names(kernel) or not prior.covariances.any()):
        return 1.0
    # Where rounding leaves nothing of it, the Gram matrix is refused: _check_width.
    return 1.0 / max(variance, np.finfo(np.float64).eps * same)
