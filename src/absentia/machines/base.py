"""What every machine is: rows to beliefs, beliefs to a Gram matrix, a solver on that matrix.

A new machine writes a few things and inherits the rest:

- ``__init__`` with its own parameters and the seven that all machines have (density, kernel,
  gamma, mask_weight, category_weight, n_jobs, shift), stored untouched, as scikit-learn requires;
- :meth:`KernelMachine._solve`, a *pure* function from the training Gram matrix and the targets to
  a dictionary of fitted attributes. It never touches ``self``, so a failed fit leaves the machine
  as it was, and model selection can solve many times on one matrix;
- :class:`ClassifierTargets` or :class:`RegressorTargets` among its bases, where it has targets:
  ``class SVC(ClassifierTargets, ClassifierMixin, KernelMachine)``;
- prediction methods that are functions of ``K``, the kernel of the new rows (rows of ``K``)
  with the training rows that the machine kept (columns of ``K``): ``self._map_gram(X, function)``
  applies it to a tile of rows at a time.

``fit`` then is ``return self._fit(X, y, sample_weight)``. A machine that needs the kernel as a
function of its parameters (a Gaussian process) overrides :meth:`KernelMachine._fit` and uses
:meth:`KernelMachine._prepare` and :meth:`KernelMachine._keep`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityEstimator, believe, fit_density
from absentia.kernels.base import Kernel
from absentia.kernels.named_kernels import PrecomputedKernel
from absentia.kernels.repair import check_psd
from absentia.machines.prediction_tiles import PredictsInTiles, gram_matrix
from absentia.tables import FloatArray, Learned, MemoryRows, TableLike, set_fitted

__all__ = ["KernelMachine", "SupervisedMachine", "Training"]


@dataclass(frozen=True, eq=False)
class Training:
    """What a machine learns from, before any solver has seen it.

    Attributes
    ----------
    density : density or None
        Fitted to the training rows; None where the training rows came as :class:`Beliefs`.
    beliefs : Beliefs
        About the training rows.
    kernel : Kernel
        With all parameters resolved to numbers, the mask kernel multiplied in.
    """

    density: DensityEstimator
    beliefs: Beliefs
    kernel: Kernel


class KernelMachine(PredictsInTiles):
    """Base of all machines: density, beliefs, kernel and the checks around them.

    Fitted attributes that all machines have: ``density_``, ``kernel_``, ``beliefs_`` (the training
    rows that prediction needs), ``missing_rates_``, ``n_features_in_`` and, for frames,
    ``feature_names_in_``.
    """

    # ------------------------------------------------------------------ what a machine writes

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        """Return the fitted attributes by name, from the Gram matrix of the training rows.

        Pure: ``self`` is read (parameters), never written. ``y`` is what :meth:`_check_targets`
        returned, ``sample_weight`` a finite array of shape (n_samples,).
        """
        raise TypeError(f"{type(self).__name__} does not solve on a Gram matrix alone.")

    # ------------------------------------------------------------------ what a machine uses

    def _fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit on rows or beliefs; attributes are set only after everything has succeeded."""
        if self._is_precomputed():
            return self._fit_precomputed(X, y, sample_weight)
        return self._fit_checked(*self._open_training(X, y, sample_weight))

    def _fit_checked(
        self,
        rows: MemoryRows,
        y: np.ndarray,
        weights: FloatArray | None,
        believed: tuple[BaseEstimator, Beliefs] | None = None,
    ) -> Self:
        """Fit after the checks; ``believed`` is density and beliefs, where they are known."""
        training = self._prepare(rows, y, weights, believed)
        K = training.kernel(training.beliefs, n_jobs=self.n_jobs)
        check_psd(K, training.kernel)
        solution = self._solve(K, y, weights)
        return self._keep(rows, training, solution)

    def _fit_precomputed(
        self, X: TableLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Self:
        """Fit on a Gram matrix that the user computed: there is no density and no belief."""
        rows, y, weights = self._open_training(X, y, sample_weight)
        K = gram_matrix(rows)
        if len(K) != rows.n_features:
            raise ValueError(
                f"A precomputed kernel must be a square matrix, the kernel of the training rows "
                f"with themselves, found shape {K.shape}."
            )
        learned = {
            **self._solve(K, y, weights),
            "density_": None,
            "kernel_": PrecomputedKernel(),
            "beliefs_": None,
            "missing_rates_": rows.missing_rates(),
        }
        set_fitted(self, rows, learned)
        return self

    def _prepare(
        self,
        rows: MemoryRows,
        y: object = None,
        sample_weight: FloatArray | None = None,
        believed: tuple[BaseEstimator, Beliefs] | None = None,
    ) -> Training:
        """Return density, beliefs and kernel for the training rows.

        ``gamma="loo"`` is settled here, which is what ``y`` is for.
        """
        density, beliefs = believed or self._believe_training(rows, sample_weight)
        kernel = self._choose_kernel(rows, y, sample_weight, density, beliefs)
        return Training(density, beliefs, kernel)

    def _believe_training(
        self, rows: MemoryRows, sample_weight: FloatArray | None = None
    ) -> tuple[BaseEstimator, Beliefs]:
        """Return a density, cloned and fitted on the training rows only, and their beliefs.

        A row of weight two counts as two rows, in the density as in the solver; weights that are
        all equal count as one each in the density.
        """
        seed = getattr(self, "random_state", None)
        density = fit_density(self.density, rows, sample_weight, seed)
        return density, believe(density, rows)

    def _keep(self, rows: MemoryRows, training: Training, solution: Mapping[str, object]) -> Self:
        """Set the fitted attributes: the last step of ``fit``, which cannot fail any more."""
        kept = self._kept_rows(solution)
        learned = {
            **solution,
            "density_": training.density,
            "kernel_": training.kernel,
            "beliefs_": training.beliefs if kept is None else training.beliefs[kept],
            "missing_rates_": rows.missing_rates(),
        }
        set_fitted(self, rows, learned)
        return self


class SupervisedMachine(KernelMachine):
    """A machine that learns targets."""

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit density, kernel and machine to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,) or, for machines of several targets, \
(n_samples, n_targets)
            Class labels or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            How much the error of each row counts; in support vector machines it multiplies ``C``.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)
