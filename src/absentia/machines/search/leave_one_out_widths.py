"""Widths of columns by the leave-one-out error of kernel ridge regression, with exact gradients.

With ``G = inv(K + ridge inv(W))`` the residual of row ``i`` when it is left out is
``r_i = (G y)_i / G_ii``, and the mean square ``E`` of these changes with the kernel matrix as

    dE = 2/n sum_i (r_i^2 / G_ii (G dK G)_ii - r_i / G_ii (G dK G y)_i),

a sum over pairs of rows, which the kernel adds up for all columns in one pass.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from absentia.beliefs import Beliefs
from absentia.kernels.base import Kernel
from absentia.machines.search.kernel_family import KernelFamily, maximise
from absentia.machines.search.leave_one_out import (
    leave_one_out_error,
    ridges_of_searched,
    searched_rows,
)
from absentia.tables import FloatArray

__all__ = ["kernel_with_widths", "leave_one_out_gradient"]

# Multiples of the mean diagonal of the kernel matrix between which the ridge is looked for.
_RIDGES = (1e-6, 1e2)
# Multiples of gamma="scale" between which the widths are looked for.
_GAMMA_BOUNDS = (1e-4, 1e4)


def leave_one_out_gradient(
    K: FloatArray, codes: FloatArray, ridge: float, sample_weight: FloatArray | None = None
) -> tuple[float, FloatArray, float]:
    """Return the leave-one-out error, and its derivatives by ``K`` and by ``log ridge``.

    Parameters are those of :func:`~absentia.machines.search.leave_one_out.leave_one_out_error`.

    Returns
    -------
    error : float
        Infinity where ``K + ridge I`` is not positive definite.
    by_kernel : ndarray of shape (n_samples, n_samples)
    by_log_ridge : float

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.search.leave_one_out_widths import leave_one_out_gradient
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> error, by_kernel, _ = leave_one_out_gradient(K, np.array([[1.0], [0.0]]), ridge=1.0)
    >>> error, by_kernel.round(3)
    (0.53125, array([[-0.031,  0.   ],
           [ 0.125,  0.   ]]))
    """
    n, n_codes = codes.shape
    counts = np.ones(n) if sample_weight is None else sample_weight
    A = K.copy(order="F")
    A[np.diag_indices_from(A)] += ridge / counts
    root, failed = dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return np.inf, np.zeros_like(K), 0.0
    lower = np.tril(dpotri(root, lower=1)[0])
    G = lower + np.tril(lower, -1).T
    diagonal = np.diagonal(G)
    solved = G @ codes
    residuals = solved / diagonal[:, None]
    shares = (counts / counts.sum() / n_codes)[:, None]
    error = float((shares * residuals**2).sum())
    along = G @ (shares * residuals / diagonal[:, None])
    across = (shares * residuals**2).sum(axis=1) / diagonal
    by_kernel = 2 * ((G * across) @ G - along @ solved.T)
    by_log_ridge = float((np.diagonal(by_kernel) * ridge / counts).sum())
    return error, by_kernel, by_log_ridge


def kernel_with_widths(
    kernel: Kernel,
    beliefs: Beliefs,
    codes: FloatArray,
    deviation: float,
    *,
    sample_weight: FloatArray | None = None,
    free_mask_weight: bool = False,
    ridges: tuple[float, float] | None = None,
    n_jobs: int | None = None,
) -> Kernel:
    """Return the kernel with widths of columns that make the leave-one-out error small.

    What is minimised is ``n/2 log(error) + sum_j (l_j - mean l)^2 / (2 deviation^2)`` for the
    logarithms ``l`` of the widths: the first term is what Gaussian residuals of unknown variance
    have, so that the prior weighs as much as it does beside the evidence of a Gaussian process. The
    ridge is chosen along with the widths, within what the machine may have. Of more than 400 rows
    400 are used.

    Parameters
    ----------
    kernel : Kernel
        Resolved; its one ``gamma`` is where the search starts.
    beliefs : Beliefs
    codes : ndarray of shape (n_samples, n_codes)
        The targets as numbers, centred.
    deviation : float
        Of the normal prior; positive.
    sample_weight : ndarray of shape (n_samples,), optional
        Positive.
    free_mask_weight : bool, default=False
        Whether the weight of the mask kernel, the last factor, is chosen as well.
    ridges : pair of float, optional
        The least and the most that the machine adds to the diagonal for a row of weight one.
    n_jobs : int, optional

    Returns
    -------
    Kernel
    """
    least, most = ridges_of_searched(ridges, sample_weight)
    beliefs, codes, weights = searched_rows(beliefs, codes, sample_weight)
    prior = beliefs.prior
    family = KernelFamily.of(
        kernel,
        prior,
        free_gamma=True,
        free_mask_weight=free_mask_weight,
        gamma_bounds=_GAMMA_BOUNDS,
    ).by_column(prior, deviation)
    K = family.at(family.start)(beliefs, n_jobs=n_jobs)
    unit = float(np.diagonal(K).mean())
    tried = np.unique(
        np.clip(unit * np.geomspace(*_RIDGES, 17), max(least, unit * _RIDGES[0] ** 2), most)
    )
    errors = [leave_one_out_error(K, codes, ridge, weights) for ridge in tried]
    if not np.isfinite(errors).any() or min(errors) == 0:
        return kernel  # targets that are all the same, or a matrix that is not definite
    n = len(codes)

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        logarithms, ridge = theta[:-1], float(np.exp(theta[-1]))
        K = family.at(logarithms)(beliefs, n_jobs=n_jobs)
        error, by_kernel, by_ridge = leave_one_out_gradient(K, codes, ridge, weights)
        value, by_prior = family.log_prior(logarithms)
        if not 0 < error < np.inf:
            return -np.inf, np.zeros(len(theta))
        factor = -0.5 * n / error
        by_widths = family.gradient(logarithms, beliefs, factor * by_kernel, K, n_jobs)
        gradient = np.append(by_widths + by_prior, factor * by_ridge)
        return value - 0.5 * n * float(np.log(error)), gradient

    start = np.append(family.start, np.log(tried[int(np.argmin(errors))]))
    bounds = np.vstack([family.bounds, np.log(tried[[0, -1]])])
    best = maximise(objective, start, bounds, 0, None)
    return family.at(best[:-1])
