"""Widths of a kernel by the leave-one-out error of kernel ridge regression on the training rows.

With ``G = inv(K + ridge inv(W))``, ``W`` the weights of the rows, the residual of row ``i`` when it
is left out is ``r_i = (G y)_i / G_ii``: the error of predicting each row after training on all
others takes one factorisation. One width is found by walking downhill from ``"scale"``. For one
width per column the mean square ``E`` of the residuals has the gradient

    dE = 2/n sum_i (r_i^2 / G_ii (G dK G)_ii - r_i / G_ii (G dK G y)_i),

a sum over pairs of rows, which the kernel adds up for all columns in one pass. The deviation of the
prior that holds these widths together may be chosen by cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from absentia.beliefs import Beliefs
from absentia.kernels.base import Kernel
from absentia.kernels.metric import resolve_gamma
from absentia.machines.search.kernel_family import KernelFamily, maximise
from absentia.machines.targets import weights_of_present
from absentia.machines.validation import is_free
from absentia.parameters import number_between, words
from absentia.progress import report
from absentia.tables import FloatArray, MemoryRows

if TYPE_CHECKING:
    from absentia.machines.base import KernelMachine, TrainingData

#: At most this many rows are used: the best gamma changes slowly with their number, and the
#: factorisations would soon cost more than the Gram matrix that training needs.
MOST_ROWS = 400

_GAMMA_STEP = 4.0
_RIDGE_STEP = 10.0**0.5
_FIRST_RIDGE = 0.1
_LEAST_RIDGE = 1e-9  # of the first: a machine may have none, and a kernel no inverse
_FARTHEST = 4  # steps of gamma either side of the start; twice as many of the ridge
# Range of the ridge beside widths of columns, in multiples of the mean diagonal of the matrix.
_RIDGES = (1e-6, 1e2)
# Range of the widths of columns, in multiples of gamma="scale".
_GAMMA_BOUNDS = (1e-4, 1e4)

#: Deviations of the prior that cross-validation chooses from; zero is one width for all columns.
WIDTH_PRIORS = (0.0, 0.3, 1.0, 3.0)
#: The deviation that stays unless another is clearly better.
DEFAULT = 0.3
#: Rule of the parameter ``width_prior``.
WIDTH_PRIOR = number_between(0, 100, expected="a number from 0 to 100") | words("cv")
_FOLDS = 5


def kernel_by_leave_one_out(
    machine: KernelMachine, data: TrainingData, density: BaseEstimator, beliefs: Beliefs
) -> Kernel:
    """Return a machine's kernel with the widths of ``gamma="loo"`` or ``"loo-ard"``."""
    known, targets, weights = beliefs, data.y, data.weights
    if weights is not None and not weights.all():
        counting = np.flatnonzero(weights)
        known, targets, weights = beliefs[counting], targets[counting], weights[counting]
    codes, ridges = machine._target_codes(targets), machine._own_ridges(targets)
    gamma = choose_gamma(
        lambda trial, rows: machine._make_kernel(trial, density)(rows, n_jobs=machine.n_jobs),
        known,
        codes,
        # A user's own kernel, with another metric, is not searched by its name.
        start=resolve_gamma("scale", beliefs.prior, "euclidean"),
        sample_weight=weights,
        ridges=ridges,
    )
    kernel = machine._make_kernel(gamma, density).resolve(beliefs.prior)
    if machine.gamma == "loo":
        return kernel
    deviation: Any = getattr(machine, "width_prior", DEFAULT)
    if isinstance(deviation, str):
        deviation = choose_width_prior(machine, data.rows, data.y, data.weights)
    if not deviation > 0:
        return kernel
    return kernel_with_widths(
        kernel,
        known,
        codes,
        float(deviation),
        sample_weight=weights,
        free_mask_weight=is_free(machine.mask_weight),
        ridges=ridges,
        n_jobs=machine.n_jobs,
    )


def leave_one_out_error(
    K: FloatArray, codes: FloatArray, ridge: float, sample_weight: FloatArray | None = None
) -> float:
    """Return the mean squared error of kernel ridge regression when each row is left out in turn.

    ``codes``, (n_samples, n_codes), are the targets as numbers; ``ridge`` is added to the diagonal.
    A row of larger weight is fitted more closely, and counts for more in the mean. The error is
    infinite if ``K + ridge I`` is not positive definite.
    """
    counts = np.ones(len(K)) if sample_weight is None else sample_weight
    G = _inverse(K, ridge / counts)
    if G is None:
        return np.inf
    residuals = (G @ codes) / np.diagonal(G)[:, None]
    return float(np.average((residuals**2).mean(axis=1), weights=counts))


def _inverse(K: FloatArray, ridges: FloatArray) -> FloatArray | None:
    """Return ``inv(K + diag(ridges))``, None if that is not positive definite."""
    A = K.copy(order="F")
    A[np.diag_indices_from(A)] += ridges
    root, failed = dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return None
    lower = np.tril(dpotri(root, lower=1, overwrite_c=1)[0])
    inverse: FloatArray = lower + np.tril(lower, -1).T
    return inverse


def leave_one_out_gradient(
    K: FloatArray, codes: FloatArray, ridge: float, sample_weight: FloatArray | None = None
) -> tuple[float, FloatArray, float]:
    """Return the leave-one-out error, and its derivatives by ``K`` and by ``log ridge``.

    The derivatives of an infinite error are zero.
    """
    n, n_codes = codes.shape
    counts = np.ones(n) if sample_weight is None else sample_weight
    G = _inverse(K, ridge / counts)
    if G is None:
        return np.inf, np.zeros_like(K), 0.0
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


def choose_gamma(
    gram: Callable[[float, Beliefs], FloatArray],
    beliefs: Beliefs,
    codes: FloatArray,
    start: float,
    sample_weight: FloatArray | None = None,
    ridges: tuple[float, float] | None = None,
) -> float:
    """Return the gamma with the least leave-one-out error; the ridge is chosen along with it.

    From ``start``, ``"scale"`` as a number, the search goes downhill in steps of four, within a
    factor of 256 either side; around the best it tries steps of two, which may go a factor of two
    further, and ends at the lowest point of the parabola through the three best, in logarithms. Of
    more than 400 rows it uses 400, always the same ones. ``gram(gamma, beliefs)`` is the Gram
    matrix, ``codes`` are the centred targets, (n_samples, n_codes), and ``ridges`` is the range of
    the machine's addition to the diagonal for a row of weight one.
    """
    beliefs, codes, weights, least, most = _searched(beliefs, codes, sample_weight, ridges)
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

        errors = _walk_downhill(error_with_ridge, best_ridge, 2 * _FARTHEST)
        best_ridge = min(errors, key=errors.__getitem__)
        return errors[best_ridge]

    errors = _walk_downhill(error, 0.0, _FARTHEST)
    best = min(errors, key=errors.__getitem__)
    for nearby in (best - 0.5, best + 0.5):
        errors[nearby] = error(nearby)
    best = min(errors, key=errors.__getitem__)
    return start * _GAMMA_STEP ** (best + _lowest_offset(errors, best))


def _searched(
    beliefs: Beliefs,
    codes: FloatArray,
    weights: FloatArray | None,
    ridges: tuple[float, float] | None,
) -> tuple[Beliefs, FloatArray, FloatArray | None, float, float]:
    """Return the rows of a search, always the same ones, with weights of mean one, and ridges."""
    least, most = (0.0, np.inf) if ridges is None else ridges
    unit = 1.0 if weights is None else float(weights.mean())
    if len(beliefs) > MOST_ROWS:
        sample = np.sort(np.random.RandomState(0).permutation(len(beliefs))[:MOST_ROWS])
        beliefs, codes = beliefs[sample], codes[sample]
        weights = None if weights is None else weights[sample]
    if weights is not None:
        weights = weights / weights.mean()  # so the ridge starts where it would without them
    return beliefs, codes, weights, least / unit, most / unit


def _walk_downhill(
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

    The objective is ``n/2 log(error) + sum_j (l_j - mean l)^2 / (2 deviation^2)`` for the
    logarithms ``l`` of the widths: the first term is that of Gaussian residuals of unknown
    variance, so that the prior weighs as much as it does beside the evidence of a Gaussian process.
    The ridge is chosen along with the widths, and so is the weight of the mask kernel, the last
    factor, with ``free_mask_weight``. The search starts at the one ``gamma`` of the resolved
    kernel; other parameters are those of :func:`choose_gamma`.
    """
    beliefs, codes, weights, least, most = _searched(beliefs, codes, sample_weight, ridges)
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


def choose_width_prior(
    machine: BaseEstimator, rows: MemoryRows, y: ArrayLike, sample_weight: FloatArray | None = None
) -> float:
    """Return the deviation of the prior on log-widths with the least loss in five folds.

    Widths are fitted anew in every fold: evidence and leave-one-out error at the fitted widths
    always prefer the loosest prior. The default, 0.3, is replaced only by a deviation that is
    better by more than the standard error of their difference over rows.
    """
    y = np.asarray(y)
    if sample_weight is not None and not sample_weight.all():  # no weight: as if absent
        counting = np.flatnonzero(sample_weight)
        rows, y, sample_weight = rows[counting], y[counting], sample_weight[counting]
        if hasattr(machine, "class_weight"):
            of_present = weights_of_present(machine.class_weight, y)
            machine = clone(machine).set_params(class_weight=of_present)
    n_folds = min(_FOLDS, len(rows))
    if is_classifier(machine):
        n_folds = min(n_folds, int(np.unique(y, return_counts=True)[1].min()))
    if n_folds < 2:
        raise ValueError(
            "width_prior='cv' needs at least two rows of each class, to leave some of them out. "
            "Give a number, such as width_prior=0.3."
        )
    splitter = StratifiedKFold if is_classifier(machine) else KFold
    folds = list(splitter(n_folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    losses = np.empty((len(WIDTH_PRIORS), len(y)))
    for number, deviation in enumerate(WIDTH_PRIORS):
        for train, test in folds:
            own = clone(machine).set_params(width_prior=deviation)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
            own.fit(rows[train], y[train], **weights)
            losses[number, test] = losses_of_rows(own, rows[test], y[test])
        report(
            "%s: loss %.6g in folds at width_prior=%g",
            type(machine).__name__,
            np.average(losses[number], weights=sample_weight),
            deviation,
            verbose=bool(getattr(machine, "verbose", False)),
        )
    return WIDTH_PRIORS[recommended(losses, WIDTH_PRIORS.index(DEFAULT), sample_weight)]


def recommended(losses: FloatArray, default: int, sample_weight: FloatArray | None = None) -> int:
    """Return the candidate with the least loss if it is clearly better than the default.

    ``losses`` has a row per candidate and a column per row that was left out. Clearly: by more than
    one standard error of the difference.
    """
    shares = np.ones(losses.shape[1]) if sample_weight is None else sample_weight
    shares = shares / shares.sum()
    best = int(np.argmin(losses @ shares))
    gains = losses[default] - losses[best]
    gain = float(gains @ shares)
    error = float(np.sqrt(shares**2 @ (gains - gain) ** 2))
    return best if gain > error else default


def losses_of_rows(
    machine: BaseEstimator,
    rows: MemoryRows,
    y: np.ndarray,
    smallest: float = float(np.finfo(float).tiny),
) -> FloatArray:
    """Return the loss of each row: logarithmic for probabilities, else errors, or squares."""
    if not is_classifier(machine):
        squares = (np.asarray(machine.predict(rows)) - y) ** 2
        by_row: FloatArray = squares.reshape(len(y), -1).mean(axis=1)
        return by_row
    if hasattr(machine, "predict_proba"):
        probabilities = machine.predict_proba(rows)
        own = probabilities[np.arange(len(y)), np.searchsorted(machine.classes_, y)]
        return -np.log(np.maximum(own, smallest))
    return (machine.predict(rows) != y).astype(np.float64)
