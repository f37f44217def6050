"""Kernel logistic regression for incomplete rows."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_sample_weight

from absentia.machines.base import KernelMachine
from absentia.machines.documentation import documented
from absentia.machines.gram_matrices import CentredGram
from absentia.machines.losses import log_probabilities_of, probabilities_of
from absentia.machines.newton import LogisticSolution, fit_gram
from absentia.machines.search.left_out import logistic_left_out
from absentia.machines.targets import ScoringClassifier, balanced_weights, weights_of_present
from absentia.progress import SolverStatus
from absentia.tables import FloatArray, IntArray, Learned, TableLike

# With less the answer is the intercept alone, as with this, but sums are no normal numbers.
_SMALLEST_C = 1e-290


class LogisticSolver(ScoringClassifier, KernelMachine):
    """Base class of :class:`LogisticRegression` and :class:`LogisticRegressionCV`."""

    C: float
    fit_intercept: bool
    class_weight: dict[Hashable, float] | str | None
    tol: float
    max_iter: int
    warm_start: bool = False

    n_iter_: np.ndarray

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        return probabilities_of(self.decision_function(X).reshape(-1, len(self.dual_coef_)))

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """Return the logarithms of :meth:`predict_proba`, exact if a probability underflows."""
        return log_probabilities_of(self.decision_function(X).reshape(-1, len(self.dual_coef_)))

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        if sample_weight is not None and not (sample_weight > 0).all():
            rows = np.flatnonzero(np.isin(y, np.unique(y[sample_weight > 0])))
            if len(rows) < len(y):  # without those of classes that have no weight at all
                found = self._solve(K[np.ix_(rows, rows)], y[rows], sample_weight[rows])
                coefficients = np.zeros((len(found["dual_coef_"]), len(y)))
                coefficients[:, rows] = found["dual_coef_"]
                return found | {"dual_coef_": coefficients}
        classes, codes = np.unique(y, return_inverse=True)
        weights = self._loss_weights(y, sample_weight)
        centred = CentredGram.of(K) if self.fit_intercept else CentredGram(K)
        start, taken_off = None, centred.taken_off
        if self.warm_start and np.array_equal(vars(self).get("classes_", ()), classes):
            known, b = self.dual_coef_, self.intercept_
            if known.shape[1] == len(K):
                b = b if taken_off is None else b + known @ taken_off
                start = LogisticSolution(known, b, 0, SolverStatus.EXHAUSTED)
        solution = fit_gram(
            centred.values,
            codes,
            len(classes),
            weights,
            fit_intercept=self.fit_intercept,
            max_iter=int(self.max_iter),
            tol=self.tol,
            start=start,
        )
        coefficients, intercept = solution.coefficients, solution.intercept
        if taken_off is not None:
            # Where the solver stops they sum to nearly zero: what is left is of no account on the
            # centred matrix, but would be multiplied by the kernel of new rows.
            coefficients = coefficients - coefficients.mean(axis=1, keepdims=True)
            intercept = intercept - coefficients @ taken_off
        if not solution.status.converged:
            warnings.warn(
                f"LogisticRegression did not converge in max_iter={self.max_iter} Newton steps. "
                "Lower C, raise max_iter, or accept a larger tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return {
            "classes_": classes,
            "dual_coef_": coefficients,
            "intercept_": intercept,
            "n_iter_": np.array([solution.n_iter]),
        }

    def _solve_left_out(
        self,
        K: FloatArray,
        y: np.ndarray,
        sample_weight: FloatArray | None,
        sets: Sequence[IntArray],
        candidates: Sequence[Mapping[str, Any]],
    ) -> list[list[Learned]]:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        classes = np.unique(y[weights > 0])
        # Rows of a class without weight have none themselves, so that their code does not matter.
        codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        plain = self._with({"C": 1.0})
        of_sets = None
        if isinstance(self.class_weight, str):
            of_sets = np.zeros((len(sets), len(y)))
            for own, left_out in zip(of_sets, sets, strict=True):
                rows = np.setdiff1d(np.arange(len(y)), left_out)
                own[rows] = plain._loss_weights(y[rows], weights[rows])
        models = logistic_left_out(
            K,
            codes,
            len(classes),
            plain._loss_weights(y, weights),
            [max(float(candidate["C"]), _SMALLEST_C) for candidate in candidates],
            sets,
            set_weights=of_sets,
            fit_intercept=self.fit_intercept,
            max_iter=int(self.max_iter),
        )
        return [
            [
                {"classes_": classes, "dual_coef_": coefficients, "intercept_": intercept}
                for coefficients, intercept in zip(*model, strict=True)
            ]
            for model in models
        ]

    def _ignores_offsets(self) -> bool:
        return bool(self.fit_intercept)

    def _loss_weights(self, y: np.ndarray, sample_weight: FloatArray | None) -> FloatArray:
        of_class: FloatArray = compute_sample_weight(weights_of_present(self.class_weight, y), y)
        C = max(float(self.C), _SMALLEST_C)
        if sample_weight is None:
            return C * of_class
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            of_class = balanced_weights(y, sample_weight)
        return C * of_class * sample_weight


@documented
class LogisticRegression(LogisticSolver):
    """Kernel logistic regression for rows with missing values.

    The classifier of [Williams2005]_, with a penalty that keeps it from fitting noise. Two classes
    have one function ``f(x) = sum_i dual_coef[i] k(x, x_i) + intercept``, the log-odds of the
    second class, that minimises

        ``1/2 dual_coef' K dual_coef + C sum_i weight_i log(1 + exp(-y_i f(x_i)))``;

    more classes have one function each, and probabilities by the softmax. A row with little
    observed is similar to many others, so its probabilities are less certain.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the data against the penalty; the smaller, the smoother.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit, if it had as many rows.

    See Also
    --------
    LogisticRegressionCV : chooses ``C``, ``gamma`` and ``mask_weight`` by cross-validation.
    GaussianProcessClassifier : the same loss, averaged over what the function could be.

    Notes
    -----
    [Williams2005]_ maximises the likelihood of ``w'[1, k(x, x_1), ..., k(x, x_n)]`` without a
    penalty; on as many parameters as rows that has no finite solution when the kernel matrix is
    invertible, so the norm of the kernel's space is added here, as is usual; ``C`` large comes
    close to it. Newton's method, O(n^3 / 3) per step for two classes and O(n^2 k) per conjugate
    gradient step for more; about ten steps.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X.sum(axis=1) > 0, "right", "left")
    >>> X[::2, 1] = np.nan
    >>> machine = LogisticRegression(C=10.0).fit(X, y)
    >>> machine.predict([[-1.0, np.nan], [1.0, 1.0]])
    array(['left', 'right'], dtype='<U5')
    >>> machine.predict_proba([[-1.0, -1.0], [-1.0, np.nan]]).round(1)
    array([[1. , 0. ],
           [0.8, 0.2]])
    """

    C: float = 1.0
    fit_intercept: bool = True
    class_weight: dict[Hashable, float] | str | None = None
    tol: float = 1e-6
    max_iter: int = 100
    warm_start: bool = False
    width_prior: float | str = 0.3
