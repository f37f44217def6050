"""A kernel on top of a kernel: the distance of two beliefs in the feature space of another."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from absentia.beliefs import Beliefs, ExplicitCovariances, Prior
from absentia.kernels.base import Kernel, with_params
from absentia.kernels.linear import centred_at
from absentia.missingness import Patterns
from absentia.parameters import POSITIVE, Rule, check_parameters, declared, words
from absentia.tables import FloatArray

__all__ = ["EmbeddingRBF"]


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
    The inner Gram matrix and two diagonals, then O(n²).

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
        # Distances do not depend on where inner products are counted from, their digits do.
        centre = (P if Q is None else Q).mean().mean(axis=0)
        inner = centred_at(_with_diagonal(self.kernel, "independent"), centre)
        left = inner._diag(P)
        right = left if Q is None else inner._diag(Q)
        K = inner._gram(P, Q, n_jobs)
        K *= -2
        # The sum of the self-terms is the same from both sides, so symmetry is kept.
        for i, own in enumerate(left):
            K[i] += own + right
        np.maximum(K, 0, out=K)
        K *= -float(self.theta)
        np.exp(K, out=K)
        if Q is None:
            np.fill_diagonal(K, 1.0)
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.ones(len(P))


def _with_diagonal(kernel: Kernel, diagonal: str) -> Kernel:
    """Return a copy of a kernel in which every part with a choice of diagonal takes this one."""
    names = [
        name for name in kernel.get_params() if name == "diagonal" or name.endswith("__diagonal")
    ]
    return with_params(kernel, **dict.fromkeys(names, diagonal))


def _one_over_feature_variance(kernel: Kernel, prior: Prior) -> float:
    anything = Beliefs(
        log_weights=np.log(np.maximum(prior.weights, np.finfo(np.float64).tiny))[None],
        means=prior.means[None],
        covariances=ExplicitCovariances(prior.covariances[None]),
        group_of_row=np.zeros(1, dtype=np.intp),
        patterns=Patterns.of_mask(np.ones((1, prior.n_features), dtype=bool)),
        prior=prior,
    )
    anything.ensure_valid()
    kernel = centred_at(kernel, prior.mean())
    same = _with_diagonal(kernel, "same")._diag(anything)[0]
    variance = float(same - _with_diagonal(kernel, "independent")._diag(anything)[0])
    return 1.0 / variance if variance > 0 else 1.0
