"""Base class of the Gaussian processes: a search by the evidence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import absentia.parameters as rules
from absentia.beliefs import Beliefs, Prior
from absentia.engine.threads import one_blas_thread
from absentia.kernels.base import Kernel, Product, with_params
from absentia.kernels.metric import Widths
from absentia.kernels.named_kernels import CategoryWeight, KernelLike, MaskWeight
from absentia.machines.averaging import machine_uncertainty
from absentia.machines.base import KernelMachine, Training, TrainingData
from absentia.machines.gaussian_process.evidence import Bounds
from absentia.machines.search.kernel_family import KernelFamily, maximise
from absentia.machines.search.widths import choose_width_prior
from absentia.machines.uncertainty import Uncertainty
from absentia.machines.validation import is_free
from absentia.parameters import FloatMatrix, FloatStack, FloatVector, RandomState, declared
from absentia.progress import report
from absentia.tables import FloatArray, Learned, TableLike

_SMALL = 2000


@declared
class GaussianProcess(KernelMachine):
    """Base of the Gaussian processes: ``"optimize"`` as a value of kernel parameters."""

    scale: float | str = "optimize"
    n_restarts_optimizer: int = 0
    gamma_bounds: Bounds = (1e-4, 1e4)
    scale_bounds: Bounds = (1e-3, 1e5)
    random_state: RandomState = None
    verbose: bool = False
    kernel: KernelLike = "expected-rbf"
    gamma: Widths = "optimize"
    width_prior: float | str = 0.3
    mask_weight: MaskWeight = None
    category_weight: CategoryWeight = "optimize"

    hyperparameter_names_: list[str] = field(init=False)
    theta_: FloatVector = field(init=False)
    dual_coef_: FloatVector | FloatMatrix = field(init=False)
    L_: FloatMatrix | FloatStack = field(init=False)
    width_prior_: float = field(init=False)
    log_marginal_likelihood_value_: float = field(init=False)
    scale_: float = field(init=False)

    _rules: ClassVar[dict[str, rules.Rule]] = {
        "gamma": rules.GAMMA | rules.GAMMAS | rules.words("scale", "loo", "optimize", "ard"),
        "category_weight": rules.CATEGORY_WEIGHT | rules.words("scale", "optimize"),
        "scale": rules.PENALTY | rules.words("optimize"),
        "n_restarts_optimizer": rules.COUNT_OR_ZERO,
        "gamma_bounds": rules.BOUNDS,
        "scale_bounds": rules.BOUNDS,
    }

    def fit(self, X: TableLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Fit density, kernel and process to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,) or, for numbers, (n_samples, n_targets)
            Class labels or numbers. Several targets share the kernel, the scale and the noise.
        """
        return self._fit(X, y)

    def _fit_data(
        self, data: TrainingData, believed: tuple[BaseEstimator, Beliefs] | None = None
    ) -> Self:
        training = self._prepare(data, believed)
        by_column = _is_by_column(self.gamma)
        deviation: Any = self.width_prior if by_column else 0.0  # zero for one width
        if isinstance(deviation, str):
            deviation = choose_width_prior(self, data.rows, data.y)
        family = KernelFamily.of(
            training.kernel,
            training.beliefs.prior,
            free_gamma=is_free(self.gamma) or by_column,
            free_mask_weight=is_free(self.mask_weight),
            free_category_weight=is_free(self.category_weight),
            gamma_bounds=rules.bounds_of(self.gamma_bounds),
        )
        family, theta, solution = self._optimised(training, data.y, family, float(deviation))
        solution |= {
            "hyperparameter_names_": [*family.names, *self._free_levels()],
            "theta_": theta,
            "width_prior_": float(deviation),
        }
        training = replace(training, kernel=family.at(theta[: len(family.names)]))
        return self._keep(data.rows, training, solution)

    def _optimised(
        self, training: Training, y: np.ndarray, family: KernelFamily, deviation: float
    ) -> tuple[KernelFamily, FloatArray, Learned]:
        """Return family, logarithms and fitted attributes where the evidence is highest.

        ``deviation`` is that of the prior on log-widths; zero means one width for all columns.
        """
        raise TypeError(f"{type(self).__name__} does not define its evidence.")

    def _free_levels(self) -> list[str]:
        """Return which of scale and noise are to be optimised."""
        return [name for name in ("scale", "noise") if is_free(getattr(self, name, None))]

    def _in_two_stages(
        self,
        search: Callable[[KernelFamily, int], FloatArray],
        family: KernelFamily,
        prior: Prior,
        deviation: float,
    ) -> tuple[KernelFamily, FloatArray]:
        """Search with one width and, for a ``deviation``, from there with a width per column.

        ``search(family, n_restarts)`` returns the logarithms of a family's parameters first.
        """
        theta = search(family, self.n_restarts_optimizer)
        if deviation > 0:
            best = replace(family, kernel=family.at(theta[: len(family.names)]))
            family = best.by_column(prior, deviation)
            theta = search(family, 0)
        return family, theta

    def _make_kernel(self, gamma: Widths, density: Any = None) -> Kernel:
        """Return the kernel with, for what is free, the value that a search starts from.

        By the name ``"expected-rbf"`` the diagonal is that of one draw: the covariance of the
        process at the true, unknown rows, whose variance does not shrink by not knowing them.
        """
        gamma = "scale" if is_free(gamma) or _is_by_column(gamma) else gamma
        kernel = super()._make_kernel(gamma, density)
        if not isinstance(self.kernel, str) or self.kernel.replace("_", "-") != "expected-rbf":
            return kernel
        inner = "left__diagonal" if isinstance(kernel, Product) else "diagonal"
        return with_params(kernel, **{inner: "same"})

    def _may_optimize_mask_weight(self) -> bool:
        return True

    def predict_uncertainty(self, X: TableLike, *, by_column: bool = True) -> Uncertainty:
        """Return predictions with their uncertainty split into model, noise and missing values.

        For numbers it is the variance about the learned function at the true row, which has a
        closed form for the expected RBF kernel; other kernels, and tables with categories, are
        averaged over 64 draws of the missing values. So is the entropy of a class, whose model part
        is its mutual information with the process: what more training rows could remove.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
        by_column : bool, default=True
            Whether to compute what each missing column alone would remove.
        """
        check_is_fitted(self)
        return machine_uncertainty(self, X, by_column=by_column)

    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, FloatArray]:
        """Return the logarithm of the probability of the training targets.

        That of labels is approximate.

        Parameters
        ----------
        theta : array-like of shape (n_hyperparameters,), optional
            Logarithms of what ``hyperparameter_names_`` lists; ``theta_`` by default.
        eval_gradient : bool, default=False
            Whether to return the derivatives by ``theta`` as well. Those by scale and noise are
            exact, as are those by widths of columns; those by other parameters of the kernel use
            central differences of Gram matrices.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_hyperparameters,), with ``eval_gradient``
        """
        check_is_fitted(self)
        given: FloatArray = self.theta_
        if theta is not None:
            given = rules.numbers("theta", theta, "an array of logarithms")
        if given.shape != self.theta_.shape:
            raise ValueError(
                f"theta must hold the logarithms of {self.hyperparameter_names_}, found an array "
                f"of shape {given.shape}."
            )
        value, gradient = self._evidence(given, eval_gradient)
        return (value, gradient) if eval_gradient else value

    def _evidence(self, theta: FloatArray, eval_gradient: bool) -> tuple[float, FloatArray]:
        """Return the evidence of the training targets and, if asked for, its gradient."""
        raise TypeError(f"{type(self).__name__} does not define its evidence.")

    def _search(
        self,
        evidence: Callable[[FloatArray], tuple[float, FloatArray]],
        start: FloatArray,
        bounds: FloatArray,
        n_samples: int,
        n_restarts: int = 0,
    ) -> FloatArray:
        if not len(start):
            return start
        name, n_evaluations = type(self).__name__, 0

        def reported(theta: FloatArray) -> tuple[float, FloatArray]:
            nonlocal n_evaluations
            value, gradient = evidence(theta)
            n_evaluations += 1
            report(
                "%s: evaluation %d, log evidence %.6g at %s",
                name,
                n_evaluations,
                value,
                " ".join(f"{number:.3g}" for number in np.exp(theta)),
                verbose=self.verbose,
            )
            return value, gradient

        # Threads of BLAS pay for matrices of many rows; between those of Gram matrices they cost
        # more than they bring.
        with one_blas_thread() if n_samples <= _SMALL else nullcontext():
            return maximise(reported, start, bounds, n_restarts, self.random_state)


def _is_by_column(gamma: object) -> bool:
    return isinstance(gamma, str) and gamma == "ard"
