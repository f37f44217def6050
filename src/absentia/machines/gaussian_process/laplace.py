"""The Laplace approximation of a Gaussian process classifier of two classes.

The posterior of the latent values ``f`` at the training rows is replaced by the Gaussian at its
mode. The mode is that of kernel logistic regression without an offset, so the solver is shared.
Chapters 3.4, 3.7 and 5.5 of Rasmussen and Williams, Gaussian Processes for Machine Learning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import expit, ndtr

from absentia.machines.logistic.newton import LogisticSolution, factor_identity_plus, fit_binary
from absentia.tables import BoolArray, FloatArray

__all__ = ["LaplaceApproximation", "average_sigmoid", "latent"]


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """A Gaussian in place of the posterior of the latent values of a binary classifier.

    Attributes
    ----------
    coefficients : ndarray of shape (n_samples,)
        ``c`` with the mode ``f = K c``; also the gradient of the log-likelihood there.
    root : ndarray of shape (n_samples,)
        Square roots of the second derivatives ``W`` of the negative log-likelihood.
    factor : ndarray of shape (n_samples, n_samples)
        The lower Cholesky factor of ``B = I + W^(1/2) K W^(1/2)``.
    log_evidence : float
        The approximate log marginal likelihood of the labels.
    converged : bool
        Whether the mode was found.
    """

    coefficients: FloatArray
    root: FloatArray
    factor: FloatArray
    log_evidence: float
    converged: bool

    @classmethod
    def of(
        cls,
        K: FloatArray,
        positive: BoolArray,
        *,
        max_iter: int = 100,
        start: FloatArray | None = None,
    ) -> LaplaceApproximation:
        """Find the mode by Newton's method, O(n^3 / 3) a step, and the curvature there.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            The covariance of the latent values.
        positive : ndarray of bool, shape (n_samples,)
        max_iter : int, default=100
        start : ndarray of shape (n_samples,), optional
            Coefficients to begin with, from a neighbouring ``K``.
        """
        n = len(K)
        first = None if start is None else LogisticSolution(start[None], np.zeros(1), 0, False)
        mode = fit_binary(
            K, positive, np.ones(n), fit_intercept=False, max_iter=max_iter, tol=1e-8, start=first
        )
        c = mode.coefficients[0]
        f = K @ c
        root = np.sqrt(expit(f) * expit(-f))
        L = np.tril(factor_identity_plus(K, root)[0])
        margins = np.where(positive, f, -f)
        log_evidence = (
            -0.5 * c @ f - np.logaddexp(0.0, -margins).sum() - np.log(np.diagonal(L)).sum()
        )
        return cls(c, root, L, float(log_evidence), mode.converged)

    def gradient(self, K: FloatArray, derivatives: Iterable[FloatArray]) -> FloatArray:
        """Return the derivatives of the evidence, given those of ``K``: Algorithm 5.1.

        The mode moves with ``K``; ``push`` is how the evidence feels that.
        """
        f = K @ self.coefficients
        R = cho_solve((self.factor, True), np.diag(self.root), check_finite=False)
        R *= self.root[:, None]
        spread = solve_triangular(
            self.factor, self.root[:, None] * K, lower=True, check_finite=False
        )
        posterior_variance = np.diagonal(K) - (spread**2).sum(axis=0)
        push = -0.5 * posterior_variance * self.root**2 * (expit(-f) - expit(f))

        def along(dK: FloatArray) -> float:
            moved = dK @ self.coefficients
            explicit = 0.5 * self.coefficients @ moved - 0.5 * np.vdot(R, dK)
            return float(explicit + push @ (moved - K @ (R @ moved)))

        return np.array([along(dK) for dK in derivatives])


def latent(
    coefficients: FloatArray,
    root: FloatArray,
    factor: FloatArray,
    K_new: FloatArray,
    diagonal: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the latent value of new rows.

    Parameters
    ----------
    coefficients, root, factor : ndarray
        Of a :class:`LaplaceApproximation`.
    K_new : ndarray of shape (n_new, n_samples)
    diagonal : ndarray of shape (n_new,)
        The prior variance of each new row.
    """
    explained = solve_triangular(factor, root[:, None] * K_new.T, lower=True, check_finite=False)
    variance = np.maximum(diagonal - (explained**2).sum(axis=0), 0.0)
    return K_new @ coefficients, variance


_NORMAL_NODES = np.arange(-34, 35) * 0.25
_LOGISTIC_NODES = np.arange(-80, 81) * 0.5


def average_sigmoid(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return ``E[1 / (1 + exp(-f))]`` for ``f ~ N(mean, variance)``, to 1e-12.

    The trapezoidal rule, which converges exponentially for functions that are analytic around the
    real line and vanish on both ends. For narrow Gaussians it averages the sigmoid over the
    Gaussian; for wide ones the sigmoid is a step by comparison, and the normal distribution
    function is averaged over the logistic density instead, which is the same integral.
    """
    mean, deviation = np.asarray(mean, dtype=np.float64), np.sqrt(variance)
    average = np.empty_like(mean)
    narrow = deviation <= 1.0
    weights = np.exp(-0.5 * _NORMAL_NODES**2)
    values = expit(mean[narrow, None] + deviation[narrow, None] * _NORMAL_NODES)
    average[narrow] = values @ (weights / weights.sum())
    weights = expit(_LOGISTIC_NODES) * expit(-_LOGISTIC_NODES)
    values = ndtr((mean[~narrow, None] + _LOGISTIC_NODES) / deviation[~narrow, None])
    average[~narrow] = values @ (weights / weights.sum())
    return average
