"""The expected RBF kernel and its cosine normalisation (first version, by the formula)."""

from __future__ import annotations

from typing import Any

import numpy as np

from absentia.beliefs import Beliefs
from absentia.gaussians import Prior
from absentia.kernels.base import Kernel, resolve_gamma, symmetrised, with_params
from absentia.tables import FloatArray

__all__ = ["ExpectedRBF", "GenRBF"]


class ExpectedRBF(Kernel):
    """``E exp(-gamma |x - y|^2)`` for independent ``x ~ P``, ``y ~ Q``."""

    def __init__(
        self,
        gamma: float | str = "scale",
        metric: Any = "euclidean",
        *,
        scaled: bool = True,
        diagonal: str = "independent",
    ):
        self.gamma = gamma
        self.metric = metric
        self.scaled = scaled
        self.diagonal = diagonal

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with numbers in place of words."""
        return with_params(self, gamma=resolve_gamma(self.gamma, prior))

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        K = np.exp(_log_gram(P, P if Q is None else Q, float(self.gamma)))
        return symmetrised(K) if Q is None else K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.array(
            [np.exp(_log_gram(P[i], P[i], float(self.gamma)))[0, 0] for i in range(len(P))]
        )


class GenRBF(Kernel):
    """genRBF: Eq. (20)-(21) of [Smieja2018]_."""

    def __init__(self, gamma: float | str = "scale", metric: Any = "euclidean"):
        self.gamma = gamma
        self.metric = metric

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with numbers in place of words."""
        return with_params(self, gamma=resolve_gamma(self.gamma, prior))

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        expected = ExpectedRBF(self.gamma)
        left = expected._diag(P)
        right = left if Q is None else expected._diag(Q)
        K = expected._gram(P, Q, n_jobs)
        K /= np.sqrt(left[:, None] * right)
        if Q is None:
            np.fill_diagonal(K, 1.0)
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.ones(len(P))


def _log_gram(P: Beliefs, Q: Beliefs, gamma: float) -> FloatArray:
    d = P.n_features
    A, B = P.covariances.dense(), Q.covariances.dense()
    out = np.full((len(P), len(Q)), -np.inf)
    for i in range(len(P)):
        for a in range(P.n_components):
            for b in range(Q.n_components):
                C = np.eye(d) / (2 * gamma) + A[P.group_of_row[i], a] + B[Q.group_of_row, b]
                delta = P.means[i, a] - Q.means[:, b]
                quad = np.einsum("jd,jd->j", delta, np.linalg.solve(C, delta[..., None])[..., 0])
                log_det = np.linalg.slogdet(2 * gamma * C)[1]
                term = -0.5 * (quad + log_det) + P.log_weights[i, a] + Q.log_weights[:, b]
                out[i] = np.logaddexp(out[i], term)
    return out
