"""Expectation propagation for a Gaussian process classifier of two classes.

The posterior of the latent values ``f`` at the training rows is replaced by a Gaussian whose mean
and variance at each row agree with those of the true likelihood in the context of all other rows.
Minka (2001); Section 3.6 of Rasmussen and Williams, Gaussian Processes for Machine Learning. The
Gaussian at the *mode* (Laplace's approximation) is cheaper, but the posterior of separable classes
is skewed: its mass lies far beyond the mode, and averaging over a symmetric Gaussian around the
mode gives probabilities near one half where the true average is near one (Kuss and Rasmussen,
Assessing Approximate Inference for Binary Gaussian Process Classification, JMLR 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from absentia.engine.solver_status import SolverStatus
from absentia.machines.gaussian_process.sigmoid import sigmoid_moments
from absentia.machines.newton import factor_identity_plus
from absentia.tables import BoolArray, FloatArray

#: Number of sweeps before the last one that are mixed.
_MEMORY = 5


@dataclass(frozen=True, eq=False)
class Sites:
    """Gaussians in place of the likelihoods of the rows, ``exp(-precision f^2 / 2 + shift f)``."""

    precisions: FloatArray
    shifts: FloatArray


@dataclass(frozen=True, eq=False)
class Propagation:
    """A Gaussian approximation of the posterior of a binary classifier's latent values.

    The posterior mean is ``f = K coefficients``; ``root`` are the square roots of the precisions
    ``T`` of the sites, and ``factor`` is the lower Cholesky factor of ``I + T^(1/2) K T^(1/2)``.
    The cavity ``N(f; m, v)`` of a row is its latent value by all sites but its own,
    ``1 / v = 1 / S_ii - T_i`` and ``m / v = f_i / S_ii - shift_i``: the prediction for a row whose
    label the process has not seen. It has converged if the sites agree with one another.
    """

    sites: Sites
    coefficients: FloatArray
    root: FloatArray
    factor: FloatArray
    log_evidence: float
    cavity_means: FloatArray
    cavity_variances: FloatArray
    status: SolverStatus

    @classmethod
    def of(
        cls,
        K: FloatArray,
        positive: BoolArray,
        *,
        max_iter: int = 100,
        tol: float = 1e-6,
        start: Sites | None = None,
    ) -> Propagation:
        """Move all sites at once until they agree; 4/3 n^3 multiplications a sweep.

        Moving all at once overshoots for rows that are alike, so that the sweeps are mixed by
        Anderson's method. ``K`` is the covariance of the latent values, ``start`` the sites of a
        neighbouring ``K``. A sweep has converged that would change the mean and the variance of no
        latent value by more than ``tol``, in units of its deviation and variance.
        """
        signs = np.where(positive, 1.0, -1.0)
        sites = _sites_of(np.zeros(len(K)), np.diagonal(K), signs)[0] if start is None else start
        status, mixing = SolverStatus.EXHAUSTED, _Mixing()
        for sweep in range(max_iter + 1):
            root = np.sqrt(sites.precisions)
            factor = np.tril(factor_identity_plus(K, root)[0])
            explained = solve_triangular(factor, root[:, None] * K, lower=True, check_finite=False)
            variances = np.maximum(np.diagonal(K) - (explained**2).sum(axis=0), 0.0)
            inner = cho_solve((factor, True), root * (K @ sites.shifts), check_finite=False)
            coefficients = sites.shifts - root * inner
            means = K @ coefficients
            # The cavity of a row: its marginal without its own site.
            left = np.maximum(1.0 - sites.precisions * variances, np.finfo(float).eps)
            cavity_variances = variances / left
            cavity_means = (means - variances * sites.shifts) / left
            wanted, log_z, wanted_means, wanted_variances = _sites_of(
                cavity_means, cavity_variances, signs
            )
            deviations = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
            change = max(
                float(np.max(np.abs(wanted_means - means) / deviations, initial=0.0)),
                float(np.max(np.abs(wanted_variances - variances) / deviations**2, initial=0.0)),
            )
            if change <= tol:
                status = SolverStatus.CONVERGED
                break
            if sweep == max_iter:
                break
            sites = mixing.next(sites, wanted, variances)
        T, nu, v, m = sites.precisions, sites.shifts, cavity_variances, cavity_means
        gained = (2 * m * nu + nu**2 * v - T * m**2) / (1 + T * v)
        log_evidence = (
            (log_z + 0.5 * np.log1p(T * v) - 0.5 * gained).sum()
            + 0.5 * nu @ means
            - np.log(np.diagonal(factor)).sum()
        )
        return cls(sites, coefficients, root, factor, float(log_evidence), m, v, status)

    def kernel_weights(self) -> FloatArray:
        """Return the derivatives of the evidence by the entries of ``K``, ``1/2 (c c' - R)``.

        ``R = T^(1/2) inv(B) T^(1/2)``: the evidence is stationary in the sites, so that only the
        explicit part is left.
        """
        R = cho_solve((self.factor, True), np.diag(self.root), check_finite=False)
        R *= self.root[:, None]
        c = self.coefficients
        return 0.5 * (np.outer(c, c) - R)


class _Mixing:
    """Anderson's acceleration of a fixed-point iteration on sites.

    The next point is the combination of the last few whose residual is the smallest; Walker and
    Ni, SIAM Journal on Numerical Analysis 49, 2011. Precisions count in units of one over the
    variance of the row, shifts in units of one over its deviation.
    """

    def __init__(self) -> None:
        self.points: list[FloatArray] = []
        self.residuals: list[FloatArray] = []

    def next(self, sites: Sites, wanted: Sites, variances: FloatArray) -> Sites:
        """Return where to go from sites whose sweep leads to the ones wanted."""
        n = len(variances)
        point = np.concatenate([sites.precisions, sites.shifts])
        residual = np.concatenate([wanted.precisions, wanted.shifts]) - point
        self.points = [*self.points[-_MEMORY:], point]
        self.residuals = [*self.residuals[-_MEMORY:], residual]
        if len(self.points) > 1:
            units = np.concatenate([variances, np.sqrt(variances)])
            moves = np.diff(self.points, axis=0).T
            changes = np.diff(self.residuals, axis=0).T
            shares = np.linalg.lstsq(units[:, None] * changes, units * residual, rcond=1e-8)[0]
            mixed = point + residual - (moves + changes) @ shares
            if (mixed[:n] > 0).all():
                return Sites(mixed[:n], mixed[n:])
        # A precision below zero is no site: go half the plain way, which cannot lead there.
        half = point + residual / 2
        return Sites(half[:n], half[n:])


def _sites_of(
    means: FloatArray, variances: FloatArray, signs: FloatArray
) -> tuple[Sites, FloatArray, FloatArray, FloatArray]:
    """Return the sites that have the effect of the sigmoids on given Gaussians.

    Also the logarithms of the integrals of Gaussian times sigmoid, their means and variances.
    """
    log_z, slope, bend = sigmoid_moments(signs * means, variances)
    slope = signs * slope
    kept = np.maximum(1.0 - bend * variances, np.finfo(float).eps)
    sites = Sites(bend / kept, (slope + means * bend) / kept)
    return sites, log_z, means + slope * variances, variances * kept


def latent(
    coefficients: FloatArray,
    root: FloatArray,
    factor: FloatArray,
    K_new: FloatArray,
    diagonal: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the latent value of new rows, from those of a Propagation.

    ``K_new`` has shape (n_new, n_samples); ``diagonal`` is the prior variance of each new row.
    """
    explained = solve_triangular(factor, root[:, None] * K_new.T, lower=True, check_finite=False)
    variance = np.maximum(diagonal - (explained**2).sum(axis=0), 0.0)
    return K_new @ coefficients, variance
