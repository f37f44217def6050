"""Widths of a kernel by the leave-one-out error of kernel ridge regression on the training rows.

With ``G = inv(K + ridge inv(W))``, ``W`` the weights of the rows, the residual of row ``i`` when it
is left out is ``r_i = (G y)_i / G_ii``: the error of predicting each row after training on all
others takes one factorisation. The mean square ``E`` of the residuals has the gradient

    dE = 2/n sum_i (r_i^2 / G_ii (G dK G)_ii - r_i / G_ii (G dK G y)_i),

a sum over pairs of rows, which the kernel adds up for all columns in one pass. One search serves
one width and one per column. The deviation of the prior that holds the latter together may be
chosen by cross-validation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from absentia.beliefs import Beliefs
from absentia.engine.threads import one_blas_thread
from absentia.kernels.base import Kernel
from absentia.machines.search.kernel_family import KernelFamily, maximise
from absentia.machines.targets import weights_of_present
from absentia.machines.validation import is_free
from absentia.parameters import number_between, words
from absentia.progress import report
from absentia.tables import FloatArray, MemoryRows

if TYPE_CHECKING:
    from absentia.machines.base import KernelMachine, TrainingData

#: At most this many rows are used: the best gamma changes slowly with their number, and the
#: factorisations would soon cost more than the Gram matrix that training needs. The search starts
#: where fewer have the least error, whose eigendecompositions cost an eighth.
MOST_ROWS, _FEW_ROWS = 400, 200
#: Relative gains of the objective at which the search of one width ends, and of several widths.
_GAIN, _GAIN_BY_COLUMN = 1e-4, 1e-9
#: Per row, times this, the objective has second derivatives near one: first steps are good ones.
_CURVATURE = 20.0

# Range of the ridge in multiples of the mean diagonal of the matrix, and steps in it at the start.
_RIDGES = np.geomspace(1e-6, 1e2, 17)
#: Ranges of one width, and of those of columns, in multiples of ``gamma="scale"``.
GAMMA_BOUNDS, _BOUNDS_BY_COLUMN = (1 / 512, 512.0), (1e-4, 1e4)
# One width is first tried at so many times "scale", with every other ridge.
_FIRST_STEPS = (1 / 16, 1.0, 16.0)

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
    given = machine._target_codes(targets), weights, machine._own_ridges(targets), machine.n_jobs
    kernel, prior = machine._make_kernel("scale", density).resolve(beliefs.prior), beliefs.prior
    deviation: Any = 0.0 if machine.gamma == "loo" else getattr(machine, "width_prior", DEFAULT)
    if isinstance(deviation, str):
        deviation = choose_width_prior(machine, data.rows, data.y, data.weights)
    family = KernelFamily.of(
        kernel,
        prior,
        free_gamma=True,
        free_mask_weight=is_free(machine.mask_weight) and deviation > 0,
        gamma_bounds=_BOUNDS_BY_COLUMN if deviation > 0 else GAMMA_BOUNDS,
    )
    if deviation > 0:
        family = family.by_column(prior, float(deviation))
    return least_error(family, known, *given)


def leave_one_out_errors(
    K: FloatArray, codes: FloatArray, ridges: ArrayLike, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Return the mean squared error of kernel ridge regression without each row, for each ridge.

    ``codes``, (n_samples, n_codes), are the targets as numbers; ``ridges`` are added to the
    diagonal. A row of larger weight is fitted more closely, and counts for more in the mean. The
    error is infinite if ``K + ridge I`` is not positive definite.

    One eigendecomposition serves all ridges: with ``c`` the square roots of the weights,
    ``K + r diag(1/c^2)`` is ``diag(1/c) (S + r I) diag(1/c)`` for ``S = diag(c) K diag(c)``.
    """
    ridges = np.asarray(ridges, dtype=np.float64)
    counts = np.ones(len(K)) if sample_weight is None else sample_weight
    root = np.sqrt(counts)[:, None]
    values, vectors = eigh(root * K * root.T, driver="evd", check_finite=False)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shrunk = 1.0 / (values[:, None] + ridges)
        solved = vectors @ (shrunk[:, None] * (vectors.T @ (root * codes))[..., None]).reshape(
            len(K), -1
        )
        residuals = solved.reshape(len(K), -1, len(ridges)) / (vectors**2 @ shrunk)[:, None]
        squares = ((residuals / root[..., None]) ** 2).mean(axis=1)
        errors = np.average(squares, weights=counts, axis=0)
    return np.where(values[0] + ridges > 0, errors, np.inf)


def _inverse(K: FloatArray, ridges: FloatArray) -> FloatArray | None:
    """Return ``inv(K + diag(ridges))``, None if that is not positive definite."""
    A = K.copy(order="F")
    A[np.diag_indices_from(A)] += ridges
    root, failed = dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return None
    lower = np.tril(dpotri(root, lower=1, overwrite_c=1)[0])
    return lower + np.tril(lower, -1).T


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
    across = G * np.sqrt((shares * residuals**2).sum(axis=1) / diagonal)
    by_kernel = 2 * (across @ across.T - along @ solved.T)
    by_log_ridge = float((np.diagonal(by_kernel) * ridge / counts).sum())
    return error, by_kernel, by_log_ridge


def least_error(
    family: KernelFamily,
    beliefs: Beliefs,
    codes: FloatArray,
    sample_weight: FloatArray | None = None,
    ridges: tuple[float, float] | None = None,
    n_jobs: int | None = None,
) -> Kernel:
    """Return the kernel of a family with the least leave-one-out error.

    The objective is ``n/2 log(error) + sum_j (l_j - mean l)^2 / (2 deviation^2)`` for the
    logarithms ``l`` of numbers per column: the first term is that of Gaussian residuals of unknown
    variance, so that the prior weighs as much as it does beside the evidence of a Gaussian process.
    The ridge is chosen along with the parameters; ``ridges`` is the range of the machine's addition
    to the diagonal for a row of weight one. ``codes``, (n_samples, n_codes), are the targets as
    numbers. The search starts at the family's kernel, for one parameter also at 16 times less and
    more of it. Of more than 400 rows it uses 400, always the same ones.
    """
    weights, (least, most) = sample_weight, ridges or (0.0, np.inf)
    unit = 1.0 if weights is None else float(weights.mean())
    if len(beliefs) > MOST_ROWS:
        sample = np.sort(np.random.RandomState(0).permutation(len(beliefs))[:MOST_ROWS])
        beliefs, codes = beliefs[sample], codes[sample]
        weights = None if weights is None else weights[sample]
    if weights is not None:
        weights = weights / weights.mean()  # so the ridge starts where it would without them
    least, most, n = least / unit, most / unit, len(codes)
    one = len(family.names) == 1
    steps, grid = (np.log(_FIRST_STEPS), _RIDGES[::2]) if one else ([0.0], _RIDGES)
    few = np.arange(n)[:: -(-n // _FEW_ROWS)]
    of_few = None if weights is None else weights[few]

    def tried(point: FloatArray) -> list[tuple[float, FloatArray]]:
        """Return errors of few rows with some ridges at logarithms of parameters."""
        K = family.at(point)(beliefs[few], n_jobs=n_jobs)
        size = float(np.diagonal(K).mean())
        some = np.unique(np.clip(size * grid, max(least, size * _RIDGES[0] ** 2), most))
        errors = leave_one_out_errors(K, codes[few], some, of_few).tolist()
        return [(e, np.append(point, np.log(r))) for e, r in zip(errors, some, strict=True)]

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        logarithms, ridge = theta[:-1], float(np.exp(theta[-1]))
        K = family.at(logarithms)(beliefs, n_jobs=n_jobs)
        error, by_kernel, by_ridge = leave_one_out_gradient(K, codes, ridge, weights)
        value, by_prior = family.log_prior(logarithms)
        if not 0 < error < np.inf:
            return -np.inf, np.zeros(len(theta))
        factor = -0.5 * _CURVATURE / error
        gradient = family.gradient(logarithms, beliefs, factor * by_kernel, K, n_jobs)
        gradient = np.append(gradient + _CURVATURE / n * by_prior, factor * by_ridge)
        return _CURVATURE * (value / n - 0.5 * float(np.log(error))), gradient

    # Threads of BLAS cost more than they save on matrices of 400 rows.
    with one_blas_thread():
        found = [each for step in steps for each in tried(family.start + step)]
        error, start = min(found, key=lambda each: each[0])
        if not (family.names and 0 < error < np.inf):
            return family.kernel  # targets that are all the same, or a matrix that is not definite
        ends = np.array([theta[-1] for _, theta in found])
        bounds = np.vstack([family.bounds, [ends.min(), ends.max()]])
        best = maximise(objective, start, bounds, 0, None, _GAIN if one else _GAIN_BY_COLUMN)
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
    machine: BaseEstimator, rows: Any, y: np.ndarray, smallest: float = np.finfo(float).tiny
) -> FloatArray:
    """Return the loss of each row: logarithmic for probabilities, else errors, or squares.

    A class that the machine does not know has the probability ``smallest``, as have all below it.
    """
    if not is_classifier(machine):
        squares = (np.asarray(machine.predict(rows)) - y) ** 2
        return squares.reshape(len(y), -1).mean(axis=1)
    if hasattr(machine, "predict_proba"):
        place = np.searchsorted(machine.classes_, y).clip(max=len(machine.classes_) - 1)
        of_truth = machine.predict_proba(rows)[np.arange(len(y)), place]
        of_truth = np.where(machine.classes_[place] == y, of_truth, 0.0)
        return -np.log(of_truth.clip(smallest, 1.0))
    return (machine.predict(rows) != y).astype(np.float64)
