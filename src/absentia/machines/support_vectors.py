"""Base classes of the support vector machines: scikit-learn's solver, prediction from the dual.

The solver works on the precomputed Gram matrix. Prediction does not go through it: that would need
the kernel of a new row with *every* training row, while only the support vectors count. So the
decision function is evaluated here, from the columns of the support vectors alone.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import _ovr_decision_function

import absentia.parameters as rules
from absentia.kernels.polynomial import ExpectedLinear
from absentia.machines.base import KernelMachine
from absentia.machines.gram_matrices import (
    CentredGram,
    most_iterations,
    pair_sums,
    pairs_of_classes,
    tolerance_in_units,
)
from absentia.machines.targets import ClassifierTargets, RegressorTargets, spread_of_targets
from absentia.parameters import FloatMatrix, FloatVector, IntVector, Rule, declared
from absentia.tables import FloatArray, IntArray, Learned, MemoryRows, TableLike
from absentia.tables.stored import InconsistentError

_NO_PROBABILITIES = (
    "A support vector machine has no probabilities of its own: use LogisticRegression, or put the "
    "machine into sklearn.calibration.CalibratedClassifierCV(machine, ensemble=False)."
)
_NOT_FINITE = (
    "The solver of {} found coefficients that are not finite: the solution of this problem is "
    "beyond double precision. Standardise the columns (make_pipeline(StandardScaler(), "
    "machine)), use a smaller C or coef0, or another nu."
)
#: With standardised columns and C up to 1e6 an RBF kernel needs no more than 61,000 steps.
_MANY_STEPS = 5_000_000
_FITTED = ("support_", "n_support_", "dual_coef_", "intercept_", "n_iter_", "fit_status_")


@declared
class SupportVectorMachine(KernelMachine):
    """Base class of machines whose solution is a sum over support vectors."""

    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    degree: int = 3
    coef0: float = 0.0

    _replaces_scikit_learn = True
    _negative_weights = True
    _kernel_options = ("degree", "coef0")
    #: Fitted attributes that are those of the solver.
    _fitted_names: ClassVar[tuple[str, ...]] = _FITTED
    #: Whether one number may be taken off the matrix, not one per row.
    _one_number: ClassVar[bool] = False
    #: Whether the solver stops at a tolerance in units of the matrix.
    _stops_in_units: ClassVar[bool] = False

    _rules: ClassVar[dict[str, Rule]] = {
        "C": rules.POSITIVE | rules.INFINITE,
        "degree": rules.COUNT_OR_ZERO,
        "nu": rules.number_between(5e-324, 1, expected="a number above 0 and of at most 1"),
        "epsilon": rules.NOT_NEGATIVE,
        # libsvm never comes to an end where rounding is larger than the tolerance.
        "tol": rules.number_between(1e-15, expected="a number of at least 1e-15"),
        "cache_size": rules.POSITIVE,
        "max_iter": rules.COUNT | Rule(("-1",), rules.count_from(-1, -1).admits),
    }

    support_: IntVector = field(init=False)
    n_support_: IntVector = field(init=False)
    dual_coef_: FloatVector | FloatMatrix = field(init=False)
    intercept_: FloatVector = field(init=False)
    n_iter_: int | IntVector = field(init=False)
    fit_status_: int = field(init=False)

    @abstractmethod
    def _solver(self) -> BaseEstimator:
        """Return scikit-learn's estimator with ``kernel="precomputed"`` and our parameters."""

    def _solver_parameters(self, *names: str) -> dict[str, object]:
        shared = ("shrinking", "tol", "cache_size", "verbose", "max_iter")
        return {"kernel": "precomputed"} | self._params(*names, *shared)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._solver()._validate_params()

    def _ignores_offsets(self) -> bool:
        # The coefficients of a one-class machine sum to a constant that is not zero.
        return not self._one_number

    def _open_new(self, X: TableLike) -> MemoryRows:
        if issparse(X) and not vars(self).get("sparse_") and not self._is_precomputed():
            raise ValueError(
                f"The rows are a sparse matrix, whose zeros are observed values, but "
                f"{type(self).__name__} was fitted to a table in which NaN means missing. Use "
                "X.toarray(), with NaN where a value is missing."
            )
        return super()._open_new(X)

    @property
    def support_vectors_(self) -> FloatArray:
        """The conditional means of the support vectors, (n_support, n_features), read-only.

        A support vector with missing values is a belief: ``beliefs_`` has all of it.
        """
        self._check_fitted()
        return _read_only(self.beliefs_.mean())

    @property
    def coef_(self) -> FloatArray:
        """The weights of the columns, for the linear kernel only; read-only.

        Shape (1, n_features), or (n_classes * (n_classes - 1) / 2, n_features) for several
        classes, a row per pair of classes. The decision function is ``X @ coef_.T + intercept_``;
        where ``kernel_`` has a centre (columns whose means are hundreds of deviations from zero),
        ``(X - kernel_.centre) @ coef_.T + intercept_``.
        """
        self._check_fitted()
        if not isinstance(self.kernel_, ExpectedLinear):
            raise AttributeError(
                f"coef_ is only available for the linear kernel, and this one is {self.kernel_!r}."
            )
        return _read_only(self._primal_coefficients())

    def _primal_coefficients(self) -> FloatArray:
        return self.dual_coef_ @ self._centred_support()

    def _centred_support(self) -> FloatArray:
        centre = getattr(self.kernel_, "centre", None)
        return self.support_vectors_ if centre is None else self.support_vectors_ - centre

    def _solve(self, K: Any, y: np.ndarray, sample_weight: FloatArray | None = None) -> Learned:
        if sample_weight is None or (sample_weight > 0).all():
            matrix = K  # a search has made it ready for all of its candidates
            if not isinstance(K, CentredGram):
                matrix = CentredGram.for_solver(K, one_number=self._one_number)
            solver = self._solver()
            if hasattr(solver, "C"):
                solver.C = matrix.penalty(solver.C)
            solver.tol = self._tolerance(matrix.unit, y)
            try:
                self._fit_solver(solver, matrix.values, y, sample_weight)
            except ValueError as error:
                if "not finite" not in str(error):
                    raise
                raise ValueError(_NOT_FINITE.format(type(self).__name__)) from error
            solution = {name: getattr(solver, name) for name in self._fitted_names}
            solution |= self._in_units(solution, matrix.unit)
            if matrix.taken_off is not None:
                taken_off = matrix.taken_off[solution["support_"]]
                if matrix.constant and not self._one_number:
                    # Their sum is zero, and should not be the rounding error of a large kernel.
                    solution["dual_coef_"] = np.zeros_like(solution["dual_coef_"])
                solution |= self._moved_back(solution, taken_off)
            return solution
        # The solver drops rows of no weight by itself, but then counts support vectors among the
        # rows that are left; with a precomputed kernel its own predictions go wrong. So drop first.
        rows = np.flatnonzero(sample_weight > 0)
        left = None if y is None else y[rows]
        solution = self._solve(K[np.ix_(rows, rows)], left, sample_weight[rows])
        return solution | {"support_": rows[solution["support_"]]}

    def _solve_left_out(
        self,
        K: FloatArray,
        y: np.ndarray,
        sample_weight: FloatArray | None,
        sets: Sequence[IntArray],
        candidates: Sequence[Mapping[str, Any]],
    ) -> list[list[Learned]]:
        found: list[list[Learned]] = [[] for _ in candidates]
        counting = np.arange(len(K)) if sample_weight is None else np.flatnonzero(sample_weight > 0)
        for left_out in sets:
            rows = np.setdiff1d(counting, left_out)
            matrix = CentredGram.for_solver(K[np.ix_(rows, rows)], one_number=self._one_number)
            weights = None if sample_weight is None else sample_weight[rows]
            for solutions, candidate in zip(found, candidates, strict=True):
                # The matrix is our own: to check it again for each candidate costs much.
                with config_context(assume_finite=True, skip_parameter_validation=True):
                    solution = self._with(candidate)._solve(matrix, y[rows], weights)
                solutions.append(solution | {"support_": rows[solution["support_"]]})
        return found

    def _fit_solver(
        self, solver: BaseEstimator, K: FloatArray, y: np.ndarray, weights: FloatArray | None
    ) -> None:
        """Fit the solver; without a bound on its steps with a hint before minutes have passed."""
        if self.max_iter != -1:
            solver.fit(K, y, sample_weight=weights)
            return
        solver._warn_from_fit_status = lambda: None
        last = most_iterations(len(K))
        for most in sorted({min(_MANY_STEPS, last), last}):
            solver.max_iter = most
            solver.fit(K, y, sample_weight=weights)
            if not solver.fit_status_:
                return
            then = ", where max_iter=-1 stops"
            if most < last:
                then = " and goes on, though standardised columns seldom need as many"
            warnings.warn(
                f"The solver of {type(self).__name__} did not converge in {most:,} steps{then}. "
                "Standardise the columns (make_pipeline(StandardScaler(), machine)), use a smaller "
                "C, or a larger tol or nu, or set max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _tolerance(self, unit: float, y: np.ndarray) -> float:
        """Return the solver's tolerance for a matrix divided by ``unit``.

        That of a classifier is in units of its margin, which is one.
        """
        return tolerance_in_units(self.tol, unit) if self._stops_in_units else self.tol

    def _in_units(self, solution: Learned, unit: float) -> Learned:
        """Return what changes where the matrix was divided by ``unit`` and C multiplied by it.

        The decision function stays, and so do its errors: only the coefficients have the unit.
        """
        return {"dual_coef_": solution["dual_coef_"] / unit}

    def _moved_back(self, solution: Learned, taken_off: FloatArray) -> Learned:
        """Return what changes where something was taken off the rows and columns of the matrix."""
        return {"intercept_": solution["intercept_"] - solution["dual_coef_"] @ taken_off}

    def _kept_rows(self, solution: Mapping[str, Any]) -> IntArray:
        return solution["support_"]

    def _sum_over_support(self, X: TableLike) -> FloatArray:
        """Return ``sum_i dual_coef[i] k(x, support vector i) + intercept``, shape (n_samples,)."""
        return self._map_gram(X, lambda K: K @ self.dual_coef_[0] + self.intercept_[0])


class SupportVectorRegressor(RegressorTargets, SupportVectorMachine):
    """Base class of support vector machines that predict numbers."""

    _squares_targets = True

    def _own_ridges(self, y: np.ndarray) -> tuple[float, float]:
        # No less than that of the squared loss error^2 / (2 ridge) that equals C |error| at errors
        # of half a deviation.
        spread = float(spread_of_targets(np.asarray(y, dtype=np.float64).reshape(-1, 1))[0])
        return 0.25 * spread / float(self.C), np.inf

    def _tolerance(self, unit: float, y: np.ndarray) -> float:
        # In units of the targets. Those that vary by less than a tenth are known to a hundredth of
        # that; below the rounding of the largest target the solver would go on for ever.
        known = self.tol * min(1.0, 10 * float(np.ptp(y)) or 1.0)
        return max(known, 1e-14 * float(np.abs(y).max(initial=0.0)))

    def predict(self, X: TableLike) -> FloatArray:
        """Return the predicted number of each row, (n_samples,)."""
        return self._sum_over_support(X)


@declared
class SupportVectorClassifier(ClassifierTargets, SupportVectorMachine):
    """Base class of support vector classifiers: one against one, then by vote."""

    decision_function_shape: str = "ovr"
    break_ties: bool = False

    _fitted_names: ClassVar[tuple[str, ...]] = (*_FITTED, "classes_")

    class_weight_: FloatVector = field(init=False)

    def _check_counting_targets(self, y: np.ndarray) -> None:
        if len(np.unique(y)) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class. "
                "Give rows of a second class a positive weight."
            )
        super()._check_counting_targets(y)

    def decision_function(self, X: TableLike) -> FloatArray:
        """Return how far each row is on the side of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs

        Returns
        -------
        ndarray of shape (n_samples,) for two classes (positive means ``classes_[1]``), else \
(n_samples, n_classes), or (n_samples, n_classes * (n_classes - 1) / 2) for \
``decision_function_shape="ovo"``
        """
        self._check_fitted("classes_")
        if len(self.classes_) == 2:
            return self._sum_over_support(X)
        pairs = self._decisions_of_pairs(X)
        if self.decision_function_shape == "ovo":
            return pairs
        return _ovr_decision_function(pairs < 0, -pairs, len(self.classes_))

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the predicted class of each row, (n_samples,)."""
        self._check_fitted("classes_")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties are broken "
                "by the decision function of the classes, which is what 'ovr' gives."
            )
        if len(self.classes_) == 2:
            return self.classes_[(self._sum_over_support(X) >= 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[np.argmax(self.decision_function(X), axis=1)]
        return self.classes_[np.argmax(self._votes(self._decisions_of_pairs(X)), axis=1)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if getattr(self, "probability", False):
            raise ValueError(f"probability must be False. {_NO_PROBABILITIES}")

    @property
    def predict_proba(self) -> NoReturn:
        """Not available: a support vector machine has no probabilities of its own."""
        raise AttributeError(f"{type(self).__name__} has no predict_proba. {_NO_PROBABILITIES}")

    predict_log_proba = predict_proba

    def _moved_back(self, solution: Learned, taken_off: FloatArray) -> Learned:
        if len(solution["classes_"]) == 2:
            return super()._moved_back(solution, taken_off)
        sums = pair_sums(taken_off[None], solution["dual_coef_"], solution["n_support_"])[0]
        return {"intercept_": solution["intercept_"] - sums}

    def _primal_coefficients(self) -> FloatArray:
        if len(self.classes_) == 2:
            return super()._primal_coefficients()
        return pair_sums(self._centred_support().T, self.dual_coef_, self.n_support_).T

    def _decisions_of_pairs(self, X: TableLike) -> FloatArray:
        """Return the decision of each pair of classes, positive for the first of the two."""
        # Before the pairs are listed, of which a changed file can ask for any number.
        n = len(self.classes_)
        shapes = np.shape(self.dual_coef_)[:1], np.shape(self.n_support_), np.shape(self.intercept_)
        if shapes != ((n - 1,), (n,), (n * (n - 1) // 2,)):
            raise InconsistentError(
                f"{type(self).__name__} of {n} classes must have {n - 1} coefficients per support "
                f"vector, {n} numbers of support vectors and {n * (n - 1) // 2} intercepts, found "
                f"{shapes[0]}, {shapes[1]} and {shapes[2]}."
            )
        return self._map_gram(
            X, lambda K: pair_sums(K, self.dual_coef_, self.n_support_) + self.intercept_
        )

    def _votes(self, pairs: FloatArray) -> IntArray:
        votes = np.zeros((len(pairs), len(self.classes_)), dtype=np.intp)
        for column, (i, j) in zip(pairs.T, pairs_of_classes(len(self.classes_)), strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return votes


def _read_only(array: FloatArray) -> FloatArray:
    """Return an array whose entries cannot be set: a change would not reach the machine."""
    array.setflags(write=False)
    return array
