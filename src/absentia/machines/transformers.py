"""Transformers of incomplete rows: rows of the Gram matrix, and kernel principal components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
import sklearn.decomposition
from numpy.typing import ArrayLike
from scipy.linalg import solve
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.multiclass import type_of_target

import absentia.parameters as rules
from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityLike
from absentia.kernels.base import Kernel
from absentia.kernels.metric import Widths
from absentia.kernels.named_kernels import FunctionKernel, KernelLike
from absentia.kernels.repair import check_psd
from absentia.machines.base import KernelMachine, Training, UnsupervisedMachine
from absentia.machines.documentation import documented
from absentia.machines.gram_matrices import gram_tiles
from absentia.machines.targets import codes_of_classes, codes_of_numbers
from absentia.parameters import FloatMatrix, FloatVector, RandomState, Rule
from absentia.tables import FloatArray, Learned, MemoryRows, TableLike


@documented
class KernelMatrix(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Turn rows with missing values into rows of a Gram matrix.

    ``fit`` learns the density and remembers the training rows; ``transform`` gives the kernel of
    new rows with each training row, ``K[i, j] = k(new row i, training row j)``. In a pipeline it
    makes every kernel method of scikit-learn with ``kernel="precomputed"`` (or
    ``affinity="precomputed"``) applicable to incomplete rows, also under cross-validation:
    each fold fits its own density.

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

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Fit density and kernel to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,), optional
            Used only by ``gamma="loo"``.
        """
        data = self._validated(X, y)
        return self._keep(data.rows, self._prepare(data), {})

    def transform(self, X: TableLike) -> FloatArray:
        """Return the kernel of new with training rows, (n_samples, n_training_rows)."""
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


@documented
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, UnsupervisedMachine):
    """Kernel principal component analysis of rows with missing values.

    The directions in the kernel's space along which the rows differ most: with ``Kc`` the kernel
    matrix centred in that space and ``Kc v = l v``, component ``j`` of a row is
    ``sum_i v[i, j] kc(x, x_i) / sqrt(l[j])``. Coordinates of incomplete rows, for plots, or for
    any method that needs complete tables.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components; None keeps all with an eigenvalue above zero.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        As in :class:`sklearn.decomposition.KernelPCA`.
    tol : float, default=0
        Tolerance of ``"arpack"``; 0 lets it choose.
    max_iter : int or None, default=None
        Maximum number of steps of ``"arpack"``.
    iterated_power : int or "auto", default="auto"
        Power iterations of ``"randomized"``.
    remove_zero_eig : bool, default=False
        Whether to drop components with an eigenvalue of zero, also where ``n_components`` is given.
    fit_inverse_transform : bool, default=False
        Whether to learn the inverse map as well, by kernel ridge regression from the components to
        the conditional means of the rows. For kernels without numbers per column (one gamma, no
        metric).
    alpha : float, default=1.0
        The penalty of that regression.
    random_state : int, RandomState instance or None, default=None
        For ``"arpack"`` and ``"randomized"``.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, descending.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
    centerer_ : sklearn.preprocessing.KernelCenterer
        Centres the kernel of new rows.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        The components of the training rows, with ``fit_inverse_transform``.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        The coefficients of the inverse map, with ``fit_inverse_transform``.

    Notes
    -----
    A wholly missing row is the density itself. Where it lies depends on the kernel: not at the
    origin in general, which is the average of the training rows in the kernel's space. O(n^3) for
    all components.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 4))
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> KernelPCA(n_components=2, kernel="genrbf").fit_transform(X).shape
    (50, 2)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "alpha": rules.NOT_NEGATIVE,
        "n_components": rules.COUNT | rules.words(None),
        "eigen_solver": rules.words("auto", "dense", "arpack", "randomized"),
        "tol": rules.NOT_NEGATIVE,
        "max_iter": rules.COUNT | rules.words(None),
        "iterated_power": rules.COUNT_OR_ZERO | rules.words("auto"),
    }

    eigenvalues_: FloatVector = field(init=False)
    eigenvectors_: FloatMatrix = field(init=False)
    centerer_: KernelCenterer = field(init=False)
    X_transformed_fit_: FloatMatrix = field(init=False)
    dual_coef_: FloatVector | FloatMatrix = field(init=False)

    _replaces_scikit_learn = True

    n_components: int | None = field(default=None, kw_only=False)
    eigen_solver: str = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: int | str = "auto"
    remove_zero_eig: bool = False
    fit_inverse_transform: bool = False
    alpha: float = 1.0
    random_state: RandomState = None
    kernel: KernelLike = "linear"

    def transform(self, X: TableLike) -> FloatArray:
        """Return the components of new rows, (n_samples, n_components)."""
        self._check_fitted()
        roots = np.sqrt(self.eigenvalues_)
        inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
        loadings = self.eigenvectors_ * inverse
        return self._map_gram(X, lambda K: self.centerer_.transform(K) @ loadings)

    def fit_transform(self, X: TableLike, y: ArrayLike | None = None) -> FloatArray:
        """Fit to training rows and return their components, (n_samples, n_components)."""
        self.fit(X)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return rows with approximately these components, (n_samples, n_features).

        ``k(X, X_transformed_fit_) @ dual_coef_``: kernel ridge regression of the training rows'
        conditional means on their components.
        """
        self._check_fitted()
        if not hasattr(self, "dual_coef_"):
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available."
            )
        points = Beliefs.from_moments(X, variances=0.0)
        known = Beliefs.from_moments(self.X_transformed_fit_, variances=0.0)
        tiles = gram_tiles(self.kernel_, points, known, self.n_jobs)
        return np.concatenate([K @ self.dual_coef_ for _, K in tiles])

    def _keep(self, rows: MemoryRows, training: Training, solution: Mapping[str, Any]) -> Self:
        if self.fit_inverse_transform:
            _check_compares_components(training.kernel)
            components = solution["eigenvectors_"] * np.sqrt(solution["eigenvalues_"])
            K = training.kernel(Beliefs.from_moments(components, variances=0.0), n_jobs=self.n_jobs)
            K[np.diag_indices_from(K)] += self.alpha
            try:
                back = solve(K, training.beliefs.mean(), assume_a="pos")
            except np.linalg.LinAlgError as error:
                raise ValueError(
                    f"alpha={self.alpha!r} is too small for the regression of the inverse map, "
                    "whose kernel matrix is singular: use a larger one."
                ) from error
            solution = {**solution, "X_transformed_fit_": components, "dual_coef_": back}
        return super()._keep(rows, training, solution)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fit_inverse_transform and self._is_precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")

    def _ignores_offsets(self) -> bool:
        # The components do; the way back to the rows is learned from the matrix as it is.
        return not self.fit_inverse_transform

    def _make_kernel(self, gamma: Widths, density: Any = None) -> Kernel:
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            return FunctionKernel(self.kernel, of_pairs=True)  # as in scikit-learn's KernelPCA
        return super()._make_kernel(gamma, density)

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        shared = self._params("n_components", "eigen_solver", "tol", "max_iter", "iterated_power")
        shared |= self._params("remove_zero_eig", "random_state")
        # scikit-learn multiplies an integer of NumPy by ten.
        shared = {k: int(v) if isinstance(v, np.integer) else v for k, v in shared.items()}
        theirs = sklearn.decomposition.KernelPCA(kernel="precomputed", **shared).fit(K)
        return {
            "eigenvalues_": theirs.eigenvalues_,
            "eigenvectors_": theirs.eigenvectors_,
            "centerer_": KernelCenterer().fit(K),
        }

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def _check_compares_components(kernel: Kernel) -> None:
    """Refuse a kernel with numbers of its own for each column: components are other columns."""
    several = (list, tuple, np.ndarray)
    names = [name for name, value in kernel.get_params().items() if isinstance(value, several)]
    if names:
        raise ValueError(
            "fit_inverse_transform compares components by the kernel of the rows, whose "
            f"parameters ({', '.join(names)}) belong to the columns of the rows. Use one gamma and "
            "the Euclidean metric, one mask weight for all columns, and no centre."
        )
