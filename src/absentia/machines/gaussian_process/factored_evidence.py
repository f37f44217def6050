"""The evidence of a Gaussian process at one scale and noise, by a Cholesky factor.

An eighth of the arithmetic of the eigendecomposition in ``evidence.py``, and good for one scale
and noise only. So it suits many rows, where a search knows beforehand about where to look.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.linalg.lapack import dpotri

from absentia.tables import FloatArray

__all__ = ["FactoredEvidence", "NotPositiveDefinite"]


class NotPositiveDefinite(ValueError):
    """The covariance of the targets has no Cholesky factor."""


@dataclass(frozen=True, eq=False)
class FactoredEvidence:
    """The covariance ``S = scale K + noise I`` of the targets, factored.

    Attributes
    ----------
    scale, noise : float
    targets : ndarray of shape (n_samples, n_outputs)
    root : ndarray of shape (n_samples, n_samples)
        The lower Cholesky factor of ``S``.
    weights : ndarray of shape (n_samples, n_outputs)
        ``inv(S)`` times the targets.
    """

    scale: float
    noise: float
    targets: FloatArray
    root: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, K: FloatArray, targets: FloatArray, scale: float, noise: float) -> FactoredEvidence:
        """Factor the covariance of the targets under a kernel matrix, O(n^3 / 3)."""
        S = scale * K
        S[np.diag_indices_from(S)] += noise
        try:
            # Symmetric, so the transpose is the same matrix in the order that LAPACK wants.
            root = cholesky(S.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise NotPositiveDefinite(
                f"The covariance of the targets, {scale:.3g} * K + {noise:.3g} * I, is not "
                "positive definite. Raise noise (or the lower bound in noise_bounds), or use a "
                "kernel whose positive_definite attribute is True, such as GenRBF."
            ) from error
        weights = cho_solve((root, True), targets, check_finite=False)
        return cls(scale, noise, targets, root, weights)

    @property
    def log_likelihood(self) -> float:
        """The log marginal likelihood of the targets."""
        n, n_outputs = self.targets.shape
        log_determinant = 2 * np.log(np.diagonal(self.root)).sum()
        quadratic = np.vdot(self.targets, self.weights)
        return float(-0.5 * (quadratic + n_outputs * (log_determinant + n * np.log(2 * np.pi))))

    def kernel_weights(self) -> FloatArray:
        """Return the derivatives of the log marginal likelihood by the entries of ``K``."""
        half, _ = dpotri(self.root, lower=1)
        lower = np.tril(half)
        G: FloatArray = self.weights @ self.weights.T
        G -= self.targets.shape[1] * (lower + np.tril(lower, -1).T)
        G *= 0.5 * self.scale
        return G

    def gradient(self, derivatives: Iterable[FloatArray] = ()) -> FloatArray:
        """Return the derivatives of the log marginal likelihood, as ``Spectrum.gradient`` does.

        ``1/2 tr((a a' - inv(S)) dS)``, Eq. (5.9) of Rasmussen and Williams (2006), with
        ``dS = scale dK`` for each ``dK``, then ``S - noise I`` and ``noise I`` for the logarithms
        of scale and noise.
        """
        n, n_outputs = self.targets.shape
        half, _ = dpotri(self.root, lower=1)
        diagonal = np.diagonal(half)
        lower = half.T  # in memory order; the other triangle is zero
        by_kernel = []
        for dK in derivatives:
            trace = 2 * np.vdot(lower, dK) - diagonal @ np.diagonal(dK)
            along = np.vdot(self.weights, dK @ self.weights)
            by_kernel.append(0.5 * self.scale * float(along - n_outputs * trace))
        noisy = self.noise * (np.vdot(self.weights, self.weights) - n_outputs * diagonal.sum())
        whole = np.vdot(self.targets, self.weights) - n_outputs * n
        return np.append(by_kernel, [0.5 * (whole - noisy), 0.5 * noisy])
