"""Base class of the kernel machines: rows to beliefs, beliefs to a Gram matrix, a solver on it.

A new machine writes a few things and inherits the rest:

- its parameters, as annotated fields of a class that is decorated with ``@documented`` (a base
  class with ``@declared``), which writes ``__init__`` and documents inherited parameters;
- :meth:`KernelMachine._solve`, a *pure* function from the training Gram matrix and the targets to
  a dictionary of fitted attributes. It never changes ``self``, so a failed fit leaves the machine
  as it was, and model selection can solve many times on one matrix;
- :class:`ClassifierTargets` or :class:`RegressorTargets` as its first base, if it has targets:
  ``class SVC(ClassifierTargets, KernelMachine)``;
- prediction methods that are functions of ``K``, the kernel of the new rows (rows of ``K``) with
  the training rows that the machine keeps (columns of ``K``): ``self._map_gram(X, function)``
  applies them to a tile of rows at a time.

A machine that needs the kernel as a function of its parameters (a Gaussian process) overrides
:meth:`KernelMachine._fit_data` and uses :meth:`KernelMachine._prepare` and
:meth:`KernelMachine._keep`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

import absentia.parameters as rules
from absentia.beliefs import Beliefs
from absentia.densities.fit_density import (
    DensityEstimator,
    DensityLike,
    believe,
    fit_density,
    words_for,
)
from absentia.kernels.base import Kernel
from absentia.kernels.metric import Widths, warn_of_gross_values, widths_from_variance
from absentia.kernels.named_kernels import (
    CategoryWeight,
    KernelLike,
    MaskWeight,
    PrecomputedKernel,
    make_kernel,
)
from absentia.kernels.repair import check_psd
from absentia.machines.gram_matrices import GramRows, gram_tiles
from absentia.machines.search.kernel_family import draw_relevance, relevance_of
from absentia.machines.search.widths import WIDTH_PRIOR, kernel_by_leave_one_out
from absentia.machines.validation import (
    Shift,
    check_matrix_size,
    check_shift,
    checked_gram,
    checked_weights,
    is_free,
    warn_of_other_order,
    warn_of_unequal_ranges,
    weight_of_kept,
)
from absentia.parameters import FloatVector, Rule, check_parameters, declared, require
from absentia.tables import (
    FloatArray,
    IntArray,
    Learned,
    MemoryRows,
    TableLike,
    WordsAs,
    open_memory,
    plan_of,
    set_fitted,
)
from absentia.tables.column_plan import ShowsColumns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Start of the search for the weight of the mask kernel.
_FIRST_MASK_WEIGHT = 0.1


class TrainingData(NamedTuple):
    """Validated arguments of ``fit``, and the kernel before its parameters are resolved."""

    rows: MemoryRows
    y: np.ndarray
    weights: FloatArray | None
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class Training:
    """Input of a solver: beliefs about the training rows, and the resolved kernel.

    The density is None for rows that came as :class:`Beliefs`; a precomputed kernel has neither.
    """

    density: DensityEstimator | Any
    beliefs: Beliefs | Any
    kernel: Kernel


@declared
class KernelMachine(ShowsColumns):
    """Base class of the kernel machines; ``beliefs_`` are the rows that predictions need."""

    density: DensityLike = "gaussian"
    kernel: KernelLike = "genrbf"
    gamma: Widths = "scale"
    mask_weight: MaskWeight = None
    category_weight: CategoryWeight = "scale"
    n_jobs: int | None = None
    shift: Shift = "ignore"

    density_: BaseEstimator | None = field(init=False)
    kernel_: Kernel = field(init=False)
    beliefs_: Beliefs = field(init=False)
    missing_rates_: FloatVector = field(init=False)

    #: Valid values of parameters; a machine adds its own and may replace these.
    _rules: ClassVar[dict[str, Rule]] = {
        "gamma": rules.GAMMA | rules.GAMMAS | rules.words("scale", "auto", "loo", "loo-ard"),
        "mask_weight": rules.WEIGHTS | rules.words(None, "optimize"),
        "width_prior": WIDTH_PRIOR,
        "shift": rules.words("ignore", "warn", "error"),
    }

    #: Whether sparse matrices and ``kernel="precomputed"`` (rows of a Gram matrix) are taken, as
    #: by the machines of scikit-learn that this one replaces.
    _replaces_scikit_learn: ClassVar[bool] = False
    #: Further parameters of the machine that are those of its kernel.
    _kernel_options: ClassVar[tuple[str, ...]] = ()
    #: Whether ``fit`` holds the kernel of all pairs of training rows in memory.
    _holds_matrix: ClassVar[bool] = True
    #: From ``(K, y, sample_weight, sets, candidates)`` to fitted attributes without each set of
    #: rows, a list for each candidate, for predictions from the kernel with *all* rows of ``K``.
    _solve_left_out: ClassVar[Any]
    #: Whether rows of negative weight are left out; otherwise they are an error.
    _negative_weights: ClassVar[bool] = False

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        """Return the fitted attributes by name, from the Gram matrix of the training rows.

        Pure: ``self`` is read (parameters), never written. ``y`` is the output of
        :meth:`_check_targets`, ``sample_weight`` a finite array of shape (n_samples,).
        """
        raise TypeError(f"{type(self).__name__} does not solve on a Gram matrix alone.")

    def _with(self, candidate: Mapping[str, Any]) -> Self:
        """Return a shallow copy with other parameters or attributes; a clone costs more."""
        changed = copy(self)
        changed.__dict__.update(candidate)
        return changed

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Return ``y`` validated: finite, of the right length and kind."""
        return y

    def _check_counting_targets(self, y: np.ndarray) -> None:
        """Raise if the targets of the rows of positive weight leave nothing to learn."""
        self._check_targets(y, len(y))

    def _target_codes(self, y: Any) -> FloatArray:
        """Return the targets as numbers, (n_samples, n_codes), for ``gamma="loo"``."""
        raise ValueError(
            f"gamma='loo' chooses gamma by how well targets are predicted, but "
            f"{type(self).__name__} has no targets. Give a number, or gamma='scale'."
        )

    def _own_ridges(self, y: Any) -> tuple[float, float] | None:
        """Return the machine's range of ridge penalties to score a width; None if it is free."""
        return None

    def _ignores_offsets(self) -> bool:
        """Return whether predictions are the same for the kernels ``k(x, y) + g(x) + g(y)``."""
        return False

    def _params(self, *names: str) -> dict[str, Any]:
        """Return parameters by name, for an estimator that takes the same ones."""
        return {name: getattr(self, name) for name in names}

    def _kept_rows(self, solution: Mapping[str, Any]) -> IntArray | None:
        """Return which training rows prediction needs (support vectors); None means all."""
        return None

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
            Weights of the rows' errors; in support vector machines they multiply ``C``.
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit on rows or beliefs; attributes are set only after everything has succeeded."""
        return self._fit_data(self._validated(X, y, sample_weight))

    def _fit_data(
        self, data: TrainingData, believed: tuple[BaseEstimator, Beliefs] | None = None
    ) -> Self:
        """Fit to validated data; ``believed`` is density and beliefs, if they are known."""
        if self._is_precomputed():
            training, K = Training(None, None, data.kernel), checked_gram(data.rows, square=True)
        else:
            training = self._prepare(data, believed)
            K = training.kernel(training.beliefs, n_jobs=self.n_jobs)
            if not training.kernel.positive_definite:
                check_psd(K, training.kernel)
        return self._keep(data.rows, training, self._solve(K, data.y, data.weights))

    def _prepare(
        self, data: TrainingData, believed: tuple[BaseEstimator, Beliefs] | None = None
    ) -> Training:
        """Return density, beliefs and resolved kernel for the training rows."""
        density, beliefs = believed or self._believe_training(data.rows, data.weights)
        return Training(density, beliefs, self._choose_kernel(data, density, beliefs))

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

    def _keep(self, rows: MemoryRows, training: Training, solution: Mapping[str, Any]) -> Self:
        """Set the fitted attributes: the last step of ``fit``, which cannot fail any more."""
        beliefs, kept = training.beliefs, self._kept_rows(solution)
        learned = {
            **solution,
            "density_": training.density,
            "kernel_": training.kernel,
            "beliefs_": beliefs if beliefs is None or kept is None else beliefs[kept],
            "missing_rates_": rows.missing_rates(),
        }
        set_fitted(self, rows, learned)
        return self

    def _validated(
        self, X: TableLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> TrainingData:
        """Return the arguments of ``fit``, read and validated."""
        kernel = self._validated_kernel()
        rows = self._open(X, kernel, y)
        warn_of_other_order(X, y)
        warn_of_unequal_ranges(rows, kernel, self.gamma)
        y = self._check_targets(y, len(rows))
        weights = self._check_weights(sample_weight, y, len(rows))
        chosen = isinstance(self.gamma, str) and self.gamma != "auto"
        if (chosen or isinstance(self.kernel, Kernel)) and widths_from_variance(kernel):
            warn_of_gross_values(rows, self.density, weights)
        return TrainingData(rows, y, weights, kernel)

    def _validated_kernel(self) -> Kernel:
        """Validate the parameters and return the kernel before its parameters are resolved."""
        self._check_parameters()
        if self._is_precomputed():
            return PrecomputedKernel()
        own = isinstance(self.kernel, Kernel)  # beside one, a gamma of the machine is refused
        return self._make_kernel(self.gamma if own or not self._searches_gamma() else "scale")

    def _check_parameters(self) -> None:
        """Raise for invalid parameters before anything is computed."""
        check_parameters(self)
        require(
            self._is_precomputed()
            or not is_free(self.mask_weight)
            or self._may_optimize_mask_weight(),
            "mask_weight='optimize' is chosen along with the widths of columns: use it with "
            "gamma='loo-ard', or give a number.",
        )

    def _check_weights(
        self, sample_weight: ArrayLike | None, y: np.ndarray, n_samples: int
    ) -> FloatArray | None:
        class_weight = getattr(self, "class_weight", None)
        factors = compute_sample_weight(class_weight, y) if isinstance(class_weight, dict) else None
        weights = checked_weights(
            sample_weight, n_samples, factors, negative_as_zero=self._negative_weights
        )
        if weights is not None and y is not None and not (weights > 0).all():
            self._check_counting_targets(y[weights > 0])
        return weights

    def _open(
        self, X: TableLike, kernel: Kernel | None = None, y: ArrayLike | None = None
    ) -> MemoryRows:
        """Read rows; those of training come with the kernel that will compare them."""
        if self._is_precomputed() and issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: use K.toarray().")
        encoding = None
        if kernel is not None and not self._is_precomputed():
            encoding = self._words(kernel)
            if self._holds_matrix:
                check_matrix_size(X, type(self).__name__)
        return open_memory(X, y, words=encoding, sparse=self._replaces_scikit_learn)

    def _words(self, kernel: Kernel) -> WordsAs:
        """Return the encoding of text columns: codes if density and kernel take categories."""
        return words_for(self.density) if kernel.takes_categories else "indicators"

    def _open_new(self, X: TableLike) -> MemoryRows:
        """Return new rows, read, and checked against those of training."""
        plan = None if isinstance(X, MemoryRows) else plan_of(self, X)
        return self._open(X).checked(self) if plan is None else plan.read(X)

    def _is_precomputed(self) -> bool:
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return named and self._replaces_scikit_learn

    def _check_fitted(self, attribute: str | None = None) -> None:
        """Raise NotFittedError if the machine is not fitted yet."""
        # One look first: scikit-learn collects the tags of the machine at every call.
        if (attribute or "n_features_in_") not in vars(self):
            check_is_fitted(self, attribute)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._is_precomputed()
        tags.input_tags.sparse = self._replaces_scikit_learn and not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _make_kernel(self, gamma: Widths, density: Any = None) -> Kernel:
        """Return the kernel with that gamma, the mask kernel multiplied in.

        Arrays of one number per column are cut to the columns that ``density`` kept. Values that
        are searched for are those at which the search starts.
        """
        mask_weight = _FIRST_MASK_WEIGHT if is_free(self.mask_weight) else self.mask_weight
        category_weight = "scale" if is_free(self.category_weight) else self.category_weight
        return self._settled(
            make_kernel(
                self.kernel,
                weight_of_kept(gamma, density),
                weight_of_kept(mask_weight, density),
                category_weight,
                **self._params(*self._kernel_options),
            )
        )

    def _settled(self, kernel: Kernel) -> Kernel:
        """Return the kernel as the machine uses it: far from zero, linear ones need a centre."""
        return kernel.centred_at("auto") if self._ignores_offsets() else kernel

    def _searches_gamma(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma in ("loo", "loo-ard")

    def _may_optimize_mask_weight(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "loo-ard"

    def _choose_kernel(
        self, data: TrainingData, density: DensityEstimator, beliefs: Beliefs
    ) -> Kernel:
        """Return the kernel with all parameters resolved to numbers."""
        if self._searches_gamma():
            return kernel_by_leave_one_out(self, data, density, beliefs)
        given: tuple[Any, ...] = self.gamma, self.mask_weight
        if any(np.ndim(value) for value in given):  # perhaps of columns that the density left out
            return self._make_kernel(self.gamma, density).resolve(beliefs.prior)
        return data.kernel.resolve(beliefs.prior)

    @property
    def relevance_(self) -> FloatArray:
        """Relevance of each column, for kernels with a width per column; the sum is one.

        The column's share of the expected squared distance between two rows, shape
        (n_features_in_,). Columns in which rows hardly differ, in units of the learned widths,
        are near zero.
        """
        check_is_fitted(self, "kernel_")
        return relevance_of(self)

    def plot_relevance(self, max_columns: int = 30) -> Figure:
        """Draw :attr:`relevance_` of at most ``max_columns``, the most relevant ones first."""
        return draw_relevance(self, max_columns)

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
            X = GramRows(checked_gram(self._open_new(X)))
        if isinstance(X, GramRows):
            kept = self._kept_rows(vars(self))
            return X.values if kept is None else X.values[:, kept]
        return self.kernel_(self._believe(X), self.beliefs_, n_jobs=self.n_jobs)

    def _map_gram(self, X: TableLike, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return a function of the kernel of new rows, a tile of rows at a time.

        ``function`` takes rows of the matrix ``k(new, kept)`` and returns one entry per row.
        """
        self._check_fitted()
        if isinstance(X, GramRows) or self._is_precomputed():
            return function(self._gram_rows(X))
        parts = [function(K) for _, K in self._gram_tiles(self._believe(X))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _gram_tiles(self, beliefs: Beliefs) -> Iterator[tuple[slice, FloatArray]]:
        return gram_tiles(self.kernel_, beliefs, self.beliefs_, self.n_jobs)


class UnsupervisedMachine(KernelMachine):
    """Base class of the machines that learn without targets."""

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Fit density, kernel and machine to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : Ignored
        """
        return self._fit(X)
