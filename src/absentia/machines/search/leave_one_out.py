"""Choosing gamma on the training rows by the leave-one-out error of kernel ridge regression.

The error of predicting each row after training on all others has a closed form for kernel ridge
regression, from one factorisation. So a gamma can be evaluated at
the cost of its Gram matrix and a few Cholesky factorisations, and the search walks downhill from
``"scale"`` instead of trying a whole grid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from absentia.beliefs import Beliefs
from absentia.tables import FloatArray

__all__ = ["choose_gamma", "leave_one_out_error", "ridges_of_searched", "searched_rows"]

#: At most this many rows are used: the best gamma changes slowly with their number, and the
#: factorisations would soon cost more than the Gram matrix that training needs.
MOST_ROWS = 400

_GAMMA_STEP = 4.0
_RIDGE_STEP = 10.0**0.5
_FIRST_RIDGE = 0.1
_LEAST_RIDGE = 1e-9  # of the first: a machine may have none, and a kernel no inverse
_FARTHEST = 4  # steps of gamma either side of the start; twice as many of the ridge


def leave_one_out_error(
    K: FloatArray, codes: FloatArray, ridge: float, sample_weight: FloatArray | None = None
) -> float:
    """Return the mean squared error of kernel ridge regression when each row is left out in turn.

    With ``G = inv(K + ridge inv(W))``, ``W`` the weights of the rows on its diagonal, the residual
    of row ``i`` when it is left out is ``(G codes)[i] / G[i, i]``.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The Gram matrix.
    codes : ndarray of shape (n_samples, n_codes)
        The targets as numbers.
    ridge : float
        Added to the diagonal.
    sample_weight : ndarray of shape (n_samples,), optional
        Positive. A row of larger weight is fitted more closely by the regression, and counts for
        more in the mean.

    Returns
    -------
    float
        Infinity where ``K + ridge I`` is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia.machines.search.leave_one_out import leave_one_out_error
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> leave_one_out_error(K, np.array([[1.0], [0.0]]), ridge=1.0)
    0.53125
    """
    A = K.copy(order="F")
    A[np.diag_indices_from(A)] += ridge if sample_weight is None else ridge / sample_weight
    root, failed = dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return np.inf
    # With L L' = K + ridge I and R = inv(L): G = R'R, of which only the diagonal is needed.
    R, _ = dtrtri(root, lower=1, overwrite_c=1)
    residuals = (R.T @ (R @ codes)) / np.einsum("ij,ij->j", R, R)[:, None]
    return float(np.average((residuals**2).mean(axis=1), weights=sample_weight))


def choose_gamma(
    gram: Callable[[float, Beliefs], FloatArray],
    beliefs: Beliefs,
    codes: FloatArray,
    start: float,
    sample_weight: FloatArray | None = None,
    ridges: tuple[float, float] | None = None,
) -> float:
    """Return the gamma with the least leave-one-out error.

    The ridge is chosen along with the width, within what the machine may have.

    From ``start`` the search goes downhill in steps of four, within a factor of 256 either side;
    around the best it tries steps of two, which may go a factor of two further, and ends at the
    lowest point of the parabola through the three best, in logarithms. Of more than 400 rows it
    uses 400, always the same ones.

    Parameters
    ----------
    gram : callable
        ``gram(gamma, beliefs)`` is the Gram matrix.
    beliefs : Beliefs
        About the training rows.
    codes : ndarray of shape (n_samples, n_codes)
        The targets as numbers, centred.
    start : float
        Where to begin, ``"scale"`` as a number.
    sample_weight : ndarray of shape (n_samples,), optional
        Of the rows in the error; positive.
    ridges : pair of float, optional
        The least and the most that the machine adds to the diagonal for a row of weight one.

    Returns
    -------
    float
    """
    least, most = ridges_of_searched(ridges, sample_weight)
    beliefs, codes, weights = searched_rows(beliefs, codes, sample_weight)
    best_ridge = 0.0  # in steps; carried from one gamma to the next, where it is seldom far

    def error(position: float) -> float:
        nonlocal best_ridge
        K = gram(start * _GAMMA_STEP**position, beliefs)
        size = float(np.diagonal(K).mean()) * _FIRST_RIDGE
        if least == most:
            return leave_one_out_error(K, codes, max(least, _LEAST_RIDGE * size), weights)

        def error_with_ridge(step: float) -> float:
            ridge = float(np.clip(size * _RIDGE_STEP**step, least, most))
            return leave_one_out_error(K, codes, ridge, weights)

        errors = walk_downhill(error_with_ridge, best_ridge, 2 * _FARTHEST)
        best_ridge = min(errors, key=errors.__getitem__)
        return errors[best_ridge]

    errors = walk_downhill(error, 0.0, _FARTHEST)
    best = min(errors, key=errors.__getitem__)
    for nearby in (best - 0.5, best + 0.5):
        errors[nearby] = error(nearby)
    best = min(errors, key=errors.__getitem__)
    return start * _GAMMA_STEP ** (best + _lowest_offset(errors, best))


def ridges_of_searched(
    ridges: tuple[float, float] | None, weights: FloatArray | None
) -> tuple[float, float]:
    """Return bounds of the ridge beside weights of mean one, which is how searches see them."""
    least, most = (0.0, np.inf) if ridges is None else ridges
    unit = 1.0 if weights is None else float(weights.mean())
    return least / unit, most / unit


def searched_rows(
    beliefs: Beliefs, codes: FloatArray, weights: FloatArray | None
) -> tuple[Beliefs, FloatArray, FloatArray | None]:
    """Return the rows that a search looks at, always the same ones, with weights of mean one."""
    if len(beliefs) > MOST_ROWS:
        sample = np.sort(np.random.RandomState(0).permutation(len(beliefs))[:MOST_ROWS])
        beliefs, codes = beliefs[sample], codes[sample]
        weights = None if weights is None else weights[sample]
    if weights is not None:
        weights = weights / weights.mean()  # so the ridge starts where it would without them
    return beliefs, codes, weights


def walk_downhill(
    function: Callable[[float], float], start: float, farthest: float
) -> dict[float, float]:
    """Walk downhill in steps of one and return all values seen, by place."""
    seen = {start: function(start)}
    for direction in (1.0, -1.0):
        place = start
        while abs(place + direction) <= farthest:
            place += direction
            seen[place] = function(place)
            if seen[place] >= seen[place - direction]:
                break
        if min(seen, key=seen.__getitem__) != start:
            break  # it went down on this side, so the other side is uphill
    return seen


def _lowest_offset(errors: dict[float, float], best: float) -> float:
    """Return how far from the best place the parabola through its two neighbours is lowest."""
    left, middle, right = (errors.get(best + offset, np.inf) for offset in (-0.5, 0.0, 0.5))
    bend = left - 2 * middle + right
    if not np.isfinite(bend) or bend <= 0:
        return 0.0
    return float(np.clip(0.25 * (left - right) / bend, -0.25, 0.25))
