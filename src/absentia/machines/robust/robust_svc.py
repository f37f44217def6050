"""The robust support vector machine: a margin that allows for how uncertain a row is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.beliefs import Beliefs, CovarianceTable
from absentia.engine.threads import map_on_threads, n_threads, one_blas_thread
from absentia.kernels.base import Kernel, Product
from absentia.kernels.mask import MaskKernel
from absentia.kernels.named_kernels import KernelLike
from absentia.kernels.variance import kernel_variance
from absentia.machines.base import KernelMachine, TrainingData
from absentia.machines.documentation import documented
from absentia.machines.robust.cone import RobustSolution, solve_robust
from absentia.machines.targets import ScoringClassifier, class_signs, decided_classes
from absentia.machines.validation import Split, checked_splits
from absentia.parameters import NOT_NEGATIVE, NOT_NEGATIVES, FloatMatrix, FloatVector, Rule, words
from absentia.progress import SolverStatus
from absentia.tables import FloatArray, IntArray, MemoryRows, TableLike

_FAILED = (
    "The cone program of RobustSVC was not solved: the solver stopped ({status}) after "
    "{n_iter} steps. It always has a solution, so the failure is numerical: scale the columns, or "
    "try a smaller C, a wider kernel (smaller gamma), a larger tol or a larger max_iter."
)
_INACCURATE = (
    "The cone program of RobustSVC was solved less accurately than tol={tol:g} asks: the objective "
    "may be off by a relative {gap:.1g}. Scale the columns, try a smaller C, or set a larger tol."
)


@documented
class RobustSVC(ScoringClassifier, KernelMachine):
    """Support vector classifier that keeps uncertain rows further from the boundary.

    The machine of Eq. (5) of [Anderson2011]_, a second-order cone program:

    ``minimise 1/2 c'Kc + C sum xi`` subject to
    ``y[i] (c'k_i + b) >= 1 - xi[i] + tau sqrt(c' S_i c)``, ``xi >= 0``

    where ``k_i`` is the mean of the kernel values of row i, ``S_i`` their covariance, and
    ``f(x) = c'k(x) + b`` the decision function. ``tau=0`` is the ordinary machine, :class:`SVC`
    with the same kernel; the larger ``tau``, the surer a row must be on its side.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors; the smaller, the smoother.
    tau : float or "cv", default=0.5
        How many standard deviations of its decision value a row should be on its side;
        ``"cv"`` takes the best of ``taus`` by cross-validation on the training rows.
    taus : sequence of float, default=(0, 0.1, 0.3, 1)
        What ``tau="cv"`` chooses from.
    cv : int, splitter or iterable, default=5
        The folds of ``tau="cv"``. Density and kernel are those of all training rows.
    uncertainty : {"kernel", "spherical"}, default="kernel"
        ``"kernel"``: ``K`` is the expected kernel and ``S_i`` the diagonal of the kernel's
        variances, Eq. (6) and (7) of [Anderson2011]_. ``"spherical"``: rows are imputed by their
        conditional mean and every ``S_i`` is the identity, the setting of Shivaswamy and others
        (2006) as [Anderson2011]_ ran it.
    tol : float, default=1e-6
        Tolerance on feasibility and duality gap.
    max_iter : int, default=200
        Maximum number of steps of the solver.
    verbose : bool, default=False
        Print the size of each program and a line for each step of the solver.
    density : {"gaussian", "low-rank", "mixture"} or density, default="gaussian"
        What the data could have been. It is cloned and fitted on the training rows only.
    kernel : {"expected-rbf", "expected-linear"} or Kernel, default="expected-rbf"
        :class:`~absentia.ExpectedRBF` or :class:`~absentia.ExpectedLinear`: the kernels whose
        variance is known. Columns whose means are hundreds of deviations from zero are counted from
        these means, in the inner products and in their variances. With
        ``uncertainty="spherical"`` any kernel will do. The diagonal of the variances is that of
        the same rows, or of independent draws, as the kernel's own is.
    gamma : float, "scale" or "loo", default="scale"
        Width of the kernel, as for :class:`SVC`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_problems, n_samples)
        ``c``: one row for two classes, else one row per class (against the rest).
    intercept_ : ndarray of shape (n_problems,)
    tau_ : float
        The ``tau`` used.
    tau_scores_ : ndarray of shape (n_taus,), or None
        Mean accuracy of each of ``taus``, where ``tau="cv"``.
    objective_ : ndarray of shape (n_problems,)
        What was minimised, at ``c`` and ``b`` themselves.
    relative_gap_ : ndarray of shape (n_problems,)
        How far ``objective_`` is above the solver's lower bound for the minimum, relative to
        ``objective_``. The bound is a dual value, which holds up to rounding: the gap of an exact
        solution can come out as a negative number of the size of ``tol``.
    n_iter_ : ndarray of int, shape (n_problems,)
        Steps of the solver.
    n_cones_ : ndarray of int, shape (n_problems,)
        Rows that are uncertain enough to make a cone.

    Raises
    ------
    RuntimeError
        When the solver stops without a solution.

    Warns
    -----
    ConvergenceWarning
        When the solution is less accurate than asked.

    Notes
    -----
    A step of the solver multiplies and factorises matrices of n rows, O(n^3), and there are some
    10 to 20; memory is O(n^2). More than two classes are separated one against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import RobustSVC
    >>> X = np.array([[-2.0, -1.5], [-1.0, np.nan], [np.nan, -2.0], [1.0, 1.5], [np.nan, 1.0]])
    >>> y = ["left", "left", "left", "right", "right"]
    >>> RobustSVC(tau=0.3).fit(X, y).predict([[np.nan, -1.0], [2.0, np.nan]])
    array(['left', 'right'], dtype='<U5')
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "tau": words("cv") | NOT_NEGATIVE,
        "taus": NOT_NEGATIVES,
        "uncertainty": words("kernel", "spherical"),
    }

    tau_: float = field(init=False)
    tau_scores_: FloatVector | FloatMatrix | None = field(init=False)
    objective_: FloatVector = field(init=False)
    relative_gap_: FloatVector = field(init=False)
    n_iter_: np.ndarray = field(init=False)
    n_cones_: np.ndarray = field(init=False)

    C: float = 1.0
    tau: float | Literal["cv"] = 0.5
    taus: Sequence[float] = (0.0, 0.1, 0.3, 1.0)
    cv: Any = 5
    uncertainty: Literal["kernel", "spherical"] = "kernel"
    tol: float = 1e-6
    max_iter: int = 200
    verbose: bool = False
    kernel: KernelLike = "expected-rbf"

    def _fit_data(
        self, data: TrainingData, believed: tuple[BaseEstimator, Beliefs] | None = None
    ) -> Self:
        rows, y, weights, _ = data
        training = self._prepare(data, believed)
        K = training.kernel(training.beliefs, n_jobs=self.n_jobs)
        variances = None
        if self.uncertainty == "kernel":
            variances = _variances(training.kernel, training.beliefs, self.n_jobs)
        problem = _Problem(K, variances)
        if isinstance(self.tau, str):
            scores = self._cross_validated(data, problem)
            tau = float(self.taus[int(np.argmax(scores))])
        else:
            scores, tau = None, float(self.tau)
        classes, signs = class_signs(y, weights)
        solutions = self._solutions(problem, signs, weights, tau)
        fitted = {
            "classes_": classes,
            "dual_coef_": np.stack([one.coefficients for one in solutions]),
            "intercept_": np.array([one.bias for one in solutions]),
            "tau_": tau,
            "tau_scores_": scores,
            "objective_": np.array([one.objective for one in solutions]),
            "relative_gap_": np.array([one.relative_gap for one in solutions]),
            "n_iter_": np.array([one.n_iter for one in solutions]),
            "n_cones_": np.array([one.n_cones for one in solutions]),
        }
        return self._keep(rows, training, fitted)

    # ------------------------------------------------------------------ beliefs, or their means

    def _believe_training(
        self, rows: MemoryRows, sample_weight: FloatArray | None = None
    ) -> tuple[BaseEstimator, Beliefs]:
        density, beliefs = super()._believe_training(rows, sample_weight)
        return density, _imputed(beliefs) if self.uncertainty == "spherical" else beliefs

    def _believe(self, X: TableLike) -> Beliefs:
        beliefs = super()._believe(X)
        return _imputed(beliefs) if self.uncertainty == "spherical" else beliefs

    def _ignores_offsets(self) -> bool:
        # Between complete rows it does. Variances of inner products are those about the centre,
        # without which what all rows share would count as uncertainty.
        return True

    # ------------------------------------------------------------------ the program

    def _solutions(
        self, problem: _Problem, signs: FloatArray, weights: FloatArray | None, tau: float
    ) -> list[RobustSolution]:
        penalties = np.full(len(signs), float(self.C))
        if weights is not None:
            penalties *= weights
        # Spread over more rows, coefficients have less variance: a row without weight would take
        # part in the solution, though no error there counts.
        counting = np.flatnonzero(penalties)
        problem = problem.of_rows(counting)
        solutions = []
        for column in signs.T:
            solution = solve_robust(
                problem.K,
                problem.variances,
                column[counting],
                penalties[counting],
                tau,
                tol=float(self.tol),
                max_iter=self.max_iter,
                verbose=self.verbose,
            )
            if solution.status not in (SolverStatus.CONVERGED, SolverStatus.ALMOST):
                raise RuntimeError(
                    _FAILED.format(status=solution.status.value, n_iter=solution.n_iter)
                )
            if solution.status is SolverStatus.ALMOST:
                message = _INACCURATE.format(tol=self.tol, gap=abs(solution.relative_gap))
                warnings.warn(message, ConvergenceWarning, stacklevel=3)
            coefficients = np.zeros(len(signs))
            coefficients[counting] = solution.coefficients
            solutions.append(replace(solution, coefficients=coefficients))
        return solutions

    def _cross_validated(self, data: TrainingData, problem: _Problem) -> FloatArray:
        """Return the mean accuracy of each of ``taus``; folds share density and kernel matrix."""
        _, y, weights, _ = data
        splits = checked_splits(self.cv, y, classifier=True)

        def score(split: Split) -> list[float]:
            train, test = split
            own = None if weights is None else weights[train]
            classes, signs = class_signs(y[train], own)
            counts = np.ones(len(test)) if weights is None else weights[test]
            if not counts.any():
                return [np.nan] * len(self.taus)
            scores = []
            for tau in self.taus:
                models = self._solutions(problem.of_rows(train), signs, own, float(tau))
                K_test = problem.K[np.ix_(test, train)]
                values = np.stack([K_test @ one.coefficients + one.bias for one in models], axis=1)
                right = decided_classes(classes, values) == y[test]
                scores.append(float(np.average(right, weights=counts)))
            return scores

        threads = 1 if self.verbose else n_threads(self.n_jobs)
        with one_blas_thread() if threads > 1 else nullcontext():
            means: FloatArray = np.nanmean(list(map_on_threads(score, splits, threads)), axis=0)
        return means


@dataclass(frozen=True, eq=False)
class _Problem:
    """Means and variances of the kernel values; variances None means identities."""

    K: FloatArray
    variances: FloatArray | None

    def of_rows(self, rows: IntArray) -> _Problem:
        """Return the problem of some of the rows."""
        if len(rows) == len(self.K):
            return self
        part = np.ix_(rows, rows)
        return _Problem(self.K[part], None if self.variances is None else self.variances[part])


def _variances(kernel: Kernel, beliefs: Beliefs, n_jobs: int | None) -> FloatArray:
    """Return the variance of each kernel value; a mask kernel is a known factor."""
    if isinstance(kernel, Product) and isinstance(kernel.right, MaskKernel):
        return _variances(kernel.left, beliefs, n_jobs) * kernel.right(beliefs) ** 2
    diagonal: Any = getattr(kernel, "diagonal", "independent")
    return kernel_variance(kernel, beliefs, diagonal=diagonal, n_jobs=n_jobs)


def _imputed(beliefs: Beliefs) -> Beliefs:
    """Return beliefs with zero covariance at the same means; patterns and prior stay."""
    n, d = beliefs.shape
    return replace(
        beliefs,
        log_weights=np.zeros((n, 1)),
        means=beliefs.mean()[:, None, :],
        covariances=CovarianceTable.of_matrices(np.zeros((1, 1, d, d))),
        group_of_row=np.zeros(n, dtype=np.intp),
    )
