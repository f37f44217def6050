"""What every machine is: rows to beliefs, beliefs to a Gram matrix, a solver on that matrix.

A new machine writes a few things and inherits the rest:

- ``__init__`` with its own parameters and the six that all machines have (:data:`COMMON`),
  stored untouched, as scikit-learn requires;
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

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.believing import believe, fit_density, words_for
from absentia.densities.named_densities import DensityEstimator
from absentia.kernels.base import Kernel
from absentia.kernels.function import PrecomputedKernel
from absentia.kernels.gram.tiles import cut
from absentia.kernels.metric import Widths, resolve_gamma
from absentia.kernels.named_kernels import MaskWeight, make_kernel
from absentia.kernels.repair import check_psd
from absentia.machines.matrix_size import check_matrix_size
from absentia.machines.missingness_shift import check_shift
from absentia.machines.relevance import RelevantColumns
from absentia.machines.search.kernel_family import is_free
from absentia.machines.search.leave_one_out import choose_gamma
from absentia.machines.search.leave_one_out_widths import kernel_with_widths
from absentia.machines.search.width_prior import WIDTH_PRIOR, choose_width_prior
from absentia.machines.shared_parameters import BeliefParameters
from absentia.machines.targets import ClassifierTargets, RegressorTargets
from absentia.parameters import (
    GAMMA,
    GAMMAS,
    THREADS,
    Rule,
    check_parameters,
    require,
    words,
)
from absentia.tables import (
    FloatArray,
    IntArray,
    MemoryRows,
    Table,
    TableLike,
    WordsAs,
    open_memory,
    plan_of,
    set_fitted,
)
from absentia.tables.plan_page import ShowsColumns

__all__ = [
    "COMMON",
    "ClassifierTargets",
    "GramRows",
    "KernelMachine",
    "SupervisedMachine",
    "RegressorTargets",
    "Training",
]

#: The parameters that all machines have, with their defaults.
COMMON: dict[str, Any] = {
    "density": "gaussian",
    "kernel": "genrbf",
    "gamma": "scale",
    "mask_weight": None,
    "n_jobs": None,
    "shift": "ignore",
}

# A tile of the matrix that predictions are made from: 64 MB, and a multiple of some rows, so that
# compiled loops find their rows in groups as they do in the whole matrix.
_TILE_FLOATS = 2**23
_TILE_ROWS = 256

#: Where a search for the weight of the mask kernel starts.
FIRST_MASK_WEIGHT = 0.1


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


@dataclass(frozen=True, eq=False)
class GramRows:
    """Rows of a Gram matrix that stand for new rows: kernel values with *all* training rows.

    Prediction methods on ``_map_gram`` take them instead of ``X``, so that model selection computes
    a matrix once and scores many models on it with any scorer.
    """

    values: FloatArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        """(new rows, training rows)."""
        n, m = self.values.shape
        return n, m


class KernelMachine(BeliefParameters, RelevantColumns, ShowsColumns):
    """Base of all machines: density, beliefs, kernel and the checks around them.

    Fitted attributes that all machines have: ``density_``, ``kernel_``, ``beliefs_`` (the training
    rows that prediction needs), ``missing_rates_``, ``n_features_in_`` and, for frames,
    ``feature_names_in_``.
    """

    gamma: Widths
    mask_weight: MaskWeight

    density_: BaseEstimator
    kernel_: Kernel
    beliefs_: Beliefs
    missing_rates_: FloatArray
    n_features_in_: int

    #: What parameters may be; a machine adds its own and may replace these.
    _rules: ClassVar[dict[str, Rule]] = {
        "gamma": GAMMA | GAMMAS | words("scale", "auto", "loo", "loo-ard"),
        "width_prior": WIDTH_PRIOR,
        "shift": words("ignore", "warn", "error"),
        "n_jobs": THREADS,
    }
    #: Whether sparse matrices and ``kernel="precomputed"`` (rows of a Gram matrix) are taken, as
    #: by the machines of scikit-learn that this one stands in for.
    _stands_in_for_scikit_learn = False
    #: Whether ``fit`` holds the kernel of all pairs of training rows in memory.
    _holds_matrix: ClassVar[bool] = True

    # ------------------------------------------------------------------ what a machine writes

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> dict[str, Any]:
        """Return the fitted attributes by name, from the Gram matrix of the training rows.

        Pure: ``self`` is read (parameters), never written. ``y`` is what :meth:`_check_targets`
        returned, ``sample_weight`` a finite array of shape (n_samples,).
        """
        raise TypeError(f"{type(self).__name__} does not solve on a Gram matrix alone.")

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Return ``y`` checked (finite, right length, right kind), before anything is computed."""
        return y

    def _target_codes(self, y: Any) -> FloatArray:
        """Return the targets as numbers, (n_samples, n_codes), for ``gamma="loo"``.

        Classifiers and regressors get theirs from :class:`ClassifierTargets` and
        :class:`RegressorTargets`; without targets there is nothing to predict, hence to leave out.
        """
        raise ValueError(
            f"gamma='loo' chooses gamma by how well targets are predicted, but "
            f"{type(self).__name__} has none. Give a number, or gamma='scale'."
        )

    def _kept_rows(self, solution: Mapping[str, object]) -> IntArray | None:
        """Return which training rows prediction needs (support vectors); None means all."""
        return None

    # ------------------------------------------------------------------ what a machine uses

    def _fit(self, X: TableLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows or beliefs; attributes are set only after everything has succeeded."""
        if self._is_precomputed():
            return self._fit_precomputed(X, y, sample_weight)
        return self._fit_checked(*self._open_training(X, y, sample_weight))

    def _fit_checked(
        self,
        rows: MemoryRows,
        y: np.ndarray,
        weights: FloatArray | None,
        believed: tuple[Any, Beliefs] | None = None,
    ) -> Self:
        """Fit after the checks; ``believed`` is density and beliefs, where they are known."""
        training = self._prepare(rows, y, weights, believed)
        K = training.kernel(training.beliefs, n_jobs=self.n_jobs)
        check_psd(K, training.kernel)
        solution = self._solve(K, y, weights)
        return self._keep(rows, training, solution)

    def _is_precomputed(self) -> bool:
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return named and self._stands_in_for_scikit_learn

    def _fit_precomputed(self, X: TableLike, y: Any, sample_weight: ArrayLike | None) -> Any:
        """Fit on a Gram matrix that the user computed: there is no density and no belief."""
        rows, y, weights = self._open_training(X, y, sample_weight)
        K = _gram_matrix(rows)
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

    def _open_training(
        self, X: TableLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> tuple[MemoryRows, Any, FloatArray | None]:
        """Check the parameters; return rows, targets and weights, read and checked: the door."""
        self._check_parameters()
        rows = self._open(X, training=True)
        y = self._check_targets(y, len(rows))
        return rows, y, self._check_weights(sample_weight, y, len(rows))

    def _open_new(self, X: TableLike) -> MemoryRows:
        """Return new rows, read, and checked against those of training: the door."""
        plan = None if isinstance(X, MemoryRows) else plan_of(self, X)
        return self._open(X).checked(self) if plan is None else plan.read(X)

    def _open(self, X: TableLike, *, training: bool = False) -> MemoryRows:
        if self._is_precomputed() and issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: use K.toarray().")
        words = self._words() if training else None
        if training and self._holds_matrix and not self._is_precomputed():
            check_matrix_size(X, type(self).__name__)
        return open_memory(X, words=words, sparse=self._stands_in_for_scikit_learn)

    def _words(self) -> WordsAs:
        """Return what columns of words become: codes where density and kernel know categories."""
        if self._is_precomputed():
            return None
        known = self._kernel_before_fit().takes_categories
        return words_for(self.density) if known else "indicators"

    def _kernel_before_fit(self) -> Kernel:
        own_gamma = isinstance(self.kernel, Kernel)  # beside one, a gamma of the machine is refused
        return self._make_kernel(self.gamma if own_gamma else "scale")

    def _prepare(
        self,
        rows: MemoryRows,
        y: Any = None,
        sample_weight: FloatArray | None = None,
        believed: tuple[Any, Beliefs] | None = None,
    ) -> Training:
        """Return density, beliefs and kernel for the training rows.

        ``gamma="loo"`` is settled here, which is what ``y`` is for.
        """
        density, beliefs = believed or self._believe_training(rows, sample_weight)
        gamma = self.gamma
        machine = copy(self)  # the same one, but for mask weights of columns that no row has
        machine.mask_weight = weight_of_kept(self.mask_weight, density)
        by_column = isinstance(gamma, str) and gamma == "loo-ard"
        if by_column or (isinstance(gamma, str) and gamma == "loo"):
            known, targets, weights = beliefs, y, sample_weight
            if weights is not None and not weights.all():
                counting = np.flatnonzero(weights)
                known, targets, weights = beliefs[counting], y[counting], weights[counting]
            gamma = choose_gamma(
                lambda trial, sample: machine._make_kernel(trial)(sample, n_jobs=self.n_jobs),
                known,
                self._target_codes(targets),
                # A user's own kernel, with another metric, is not searched by its name.
                start=resolve_gamma("scale", beliefs.prior, "euclidean"),
                sample_weight=weights,
            )
        kernel = machine._make_kernel(weight_of_kept(gamma, density)).resolve(beliefs.prior)
        if by_column:
            deviation: Any = getattr(self, "width_prior", 0.3)
            if isinstance(deviation, str):
                deviation = choose_width_prior(self, rows, y, sample_weight)
            if deviation > 0:
                kernel = kernel_with_widths(
                    kernel,
                    known,
                    self._target_codes(targets),
                    float(deviation),
                    sample_weight=weights,
                    free_mask_weight=is_free(self.mask_weight),
                    n_jobs=self.n_jobs,
                )
        return Training(density, beliefs, kernel)

    def _believe_training(
        self, rows: MemoryRows, sample_weight: FloatArray | None = None
    ) -> tuple[Any, Beliefs]:
        """Return a density, cloned and fitted on the training rows only, and their beliefs.

        A row of weight two counts as two rows, in the density as in the solver; weights that are
        all equal count as one each in the density.
        """
        seed = getattr(self, "random_state", None)
        density = fit_density(self.density, rows, sample_weight, seed)
        return density, believe(density, rows)

    def _make_kernel(self, gamma: Widths) -> Kernel:
        """Return the machine's kernel with that gamma, the mask kernel multiplied in."""
        return make_kernel(self.kernel, gamma, self._first_mask_weight())

    def _may_optimize_mask_weight(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "loo-ard"

    def _first_mask_weight(self) -> Any:
        """Return the weight of the mask kernel, or where a search for it starts."""
        return FIRST_MASK_WEIGHT if is_free(self.mask_weight) else self.mask_weight

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

    @property
    def _n_belief_columns(self) -> int:
        return self.beliefs_.n_features

    def _believe(self, X: TableLike) -> Beliefs:
        """Return the beliefs about new rows, checked against training."""
        self._check_fitted("kernel_")
        rows = self._open_new(X)
        beliefs = believe(self.density_, rows)
        if self.shift != "ignore" and rows.n_features == len(self.missing_rates_):
            planned = plan_of(self) is not None
            names = rows.labels if planned else getattr(self, "feature_names_in_", rows.labels)
            check_shift(self.shift, self.missing_rates_, rows.mask, list(names))
        return beliefs

    def _gram_rows(self, X: Any) -> FloatArray:
        """Return the kernel of new rows with the training rows kept, (n_new, n_kept)."""
        self._check_fitted()
        if self._is_precomputed() and not isinstance(X, GramRows):
            X = GramRows(_gram_matrix(self._open_new(X)))
        if isinstance(X, GramRows):
            kept = self._kept_rows(vars(self))
            return X.values if kept is None else X.values[:, kept]
        return self._gram(self._believe(X))

    def _map_gram(self, X: TableLike, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return what a function makes of the kernel of new rows, a tile of rows at a time.

        ``function`` takes rows of the matrix ``k(new, kept)`` and returns one entry per row.
        """
        self._check_fitted()
        if isinstance(X, GramRows) or self._is_precomputed():
            return function(self._gram_rows(X))
        parts = [function(K) for _, K in self._gram_tiles(self._believe(X))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _gram_tiles(self, beliefs: Beliefs) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the kernel of new rows with the training rows kept, in tiles of bounded size.

        With each tile comes which of the new rows it is about. The matrix of all new rows is
        never held at once. As many tiles as fit into memory are computed together; how many that
        is changes no bit of an expected RBF or genRBF (other kernels are products by BLAS: up
        to rounding), and none of what is made of a tile, because tiles begin at the same rows and
        have the same height.
        """
        # Without support vectors, which a wide tube leaves, there are rows of no entries.
        n_kept = max(1, len(self.beliefs_))
        step = max(_TILE_ROWS, _TILE_FLOATS // n_kept // _TILE_ROWS * _TILE_ROWS)
        for rows in cut(len(beliefs), step) or [slice(0, 0)]:
            whole = len(beliefs) <= step
            K = self._gram(beliefs if whole else beliefs.tile(rows))
            for part in cut(len(K), _TILE_ROWS) or [slice(0, 0)]:
                yield slice(rows.start + part.start, rows.start + part.stop), K[part]

    def _gram(self, beliefs: Beliefs) -> FloatArray:
        return self.kernel_(beliefs, self.beliefs_, n_jobs=self.n_jobs)

    # ------------------------------------------------------------------ the rest

    def _check_fitted(self, attribute: str | None = None) -> None:
        """Raise NotFittedError where the machine is not fitted yet."""
        check_is_fitted(self, attribute)

    def _check_parameters(self) -> None:
        """Raise for invalid parameters before anything is computed."""
        check_parameters(self)
        if self._is_precomputed():
            return
        require(
            not is_free(self.mask_weight) or self._may_optimize_mask_weight(),
            "mask_weight='optimize' is chosen along with the widths of columns: use it with "
            "gamma='loo-ard', or give a number.",
        )
        self._kernel_before_fit()

    def _check_weights(
        self, sample_weight: ArrayLike | None, y: np.ndarray, n_samples: int
    ) -> FloatArray | None:
        """Return the weights of the rows as an array, or None where there are none."""
        if sample_weight is None:
            return None
        weights: FloatArray = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
        if weights.shape != (n_samples,):
            raise ValueError(
                f"sample_weight must have shape ({n_samples},), one weight per row of X, found "
                f"sample_weight.shape == {weights.shape}."
            )
        weights = self._without_negative(weights)
        counting = weights > 0
        if not counting.any():
            # The first words are those that scikit-learn's own tests look for.
            raise ValueError(
                "Invalid input - all samples have zero or negative weights, so there is nothing to "
                "learn from. Give rows that count a positive sample_weight."
            )
        if y is not None and not counting.all():
            self._check_counting_targets(y[counting])
        return weights

    def _without_negative(self, weights: FloatArray) -> FloatArray:
        """Return weights none of which is negative, or raise."""
        if (weights < 0).any():
            raise ValueError(
                f"sample_weight must not be negative, found {weights.min():.6g} in row "
                f"{int(weights.argmin())}: a row counts, or at weight zero it does not."
            )
        return weights

    def _check_counting_targets(self, y: np.ndarray) -> None:
        """Raise where the targets of the rows that count leave nothing to learn."""
        self._check_targets(y, len(y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._is_precomputed()
        tags.input_tags.sparse = self._stands_in_for_scikit_learn and not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


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


def _gram_matrix(rows: MemoryRows) -> FloatArray:
    """Return the values of rows that are rows of a Gram matrix."""
    if not isinstance(rows, Table) or rows.mask.any():
        raise ValueError("A precomputed kernel must be a matrix of numbers without missing values.")
    return rows.array


def weight_of_kept(mask_weight: Any, density: BaseEstimator) -> Any:
    """Return the mask weight of the columns that a density kept, where each column has its own."""
    kept = getattr(density, "columns_", None)
    if kept is None or np.ndim(mask_weight) == 0 or len(kept) == density.n_features_in_:
        return mask_weight
    return np.asarray(mask_weight)[kept]
