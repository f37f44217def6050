"""The kernel as a transformer, for every kernel method that takes a precomputed matrix."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target

from absentia.densities.fit_density import DensityLike
from absentia.kernels.named_kernels import KernelLike
from absentia.kernels.repair import check_psd
from absentia.machines.base import KernelMachine
from absentia.machines.documentation import documented
from absentia.machines.shared_parameters import WidthParameters
from absentia.machines.targets import codes_of_classes, codes_of_numbers
from absentia.parameters import declared
from absentia.tables import FloatArray, TableLike

__all__ = ["KernelMatrix"]


@documented
@declared
class KernelMatrix(
    WidthParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine
):
    """Turn rows with missing values into rows of a Gram matrix.

    ``fit`` learns the density and remembers the training rows; ``transform`` gives the kernel of
    new rows with each training row, ``K[i, j] = k(new row i, training row j)``. In a pipeline it
    makes every kernel method of scikit-learn with ``kernel="precomputed"`` (or
    ``affinity="precomputed"``) applicable to incomplete rows, also under cross-validation:
    each fold fits its own density.

    Parameters
    ----------
    {common_parameters}

    Attributes
    ----------
    {common_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelMatrix
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> X = np.array([[-2.0, -1.5], [-1.0, np.nan], [np.nan, -2.0], [1.0, 1.5], [np.nan, 1.0]])
    >>> KernelMatrix().fit_transform(X).shape
    (5, 5)
    >>> machine = make_pipeline(StandardScaler(), KernelMatrix(), SVC(kernel="precomputed"))
    >>> machine.fit(X, [0, 0, 0, 1, 1]).predict([[np.nan, -1.0], [2.0, np.nan]])
    array([0, 1])
    """

    _holds_matrix = False

    density: DensityLike = field(default="gaussian", kw_only=False)
    kernel: KernelLike = field(default="genrbf", kw_only=False)

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> KernelMatrix:
        """Fit density and kernel to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,), optional
            Used only by ``gamma="loo"``.

        Returns
        -------
        self
        """
        self._check_parameters()
        rows = self._open(X, training=True)
        self._warn_of_gross_values(rows)
        self._keep(rows, self._prepare(rows, y), {})
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """Return the kernel of each row of ``X`` with each training row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs

        Returns
        -------
        ndarray of shape (n_samples, n_training_rows)
        """
        return self._gram_rows(X)

    def fit_transform(self, X: TableLike, y: ArrayLike | None = None) -> FloatArray:
        """Fit to training rows and return their Gram matrix, symmetric to the last bit.

        Half the work of ``fit(X).transform(X)``, and for kernels whose diagonal is not that of
        two independent draws the matrix to train with.
        """
        self.fit(X, y)
        K = self.kernel_(self.beliefs_, n_jobs=self.n_jobs)
        check_psd(K, self.kernel_)
        return K

    def _target_codes(self, y: Any) -> FloatArray:
        if y is None:
            return super()._target_codes(y)
        are_classes = type_of_target(y) in ("binary", "multiclass")
        return codes_of_classes(y) if are_classes else codes_of_numbers(y)

    @property
    def _n_features_out(self) -> int:
        return len(self.beliefs_)
