"""The door of a machine: parameters, rows, targets and weights, read once and checked."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import Tags, check_array, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from absentia.densities.fit_density import words_for
from absentia.kernels.base import Kernel
from absentia.kernels.metric import warn_of_gross_values, widths_from_variance
from absentia.machines.kernel_choice import ChoosesKernel
from absentia.machines.matrix_size import check_matrix_size
from absentia.machines.search.kernel_family import is_free
from absentia.machines.search.width_prior import WIDTH_PRIOR
from absentia.machines.targets import warn_of_other_order
from absentia.parameters import (
    CATEGORY_WEIGHT,
    GAMMA,
    GAMMAS,
    THREADS,
    Rule,
    check_parameters,
    require,
    words,
)
from absentia.tables import FloatArray, MemoryRows, TableLike, WordsAs, open_memory, plan_of
from absentia.tables.rows import check_largest_weight, huge_weights_refused

__all__ = ["MachineDoor"]


class MachineDoor(ChoosesKernel):
    """What a user gives, checked before anything is computed."""

    #: What parameters may be; a machine adds its own and may replace these.
    _rules: ClassVar[dict[str, Rule]] = {
        "gamma": GAMMA | GAMMAS | words("scale", "auto", "loo", "loo-ard"),
        "category_weight": CATEGORY_WEIGHT | words("scale"),
        "width_prior": WIDTH_PRIOR,
        "shift": words("ignore", "warn", "error"),
        "n_jobs": THREADS,
    }

    #: Whether sparse matrices and ``kernel="precomputed"`` (rows of a Gram matrix) are taken, as
    #: by the machines of scikit-learn that this one stands in for.
    _stands_in_for_scikit_learn = False

    #: Whether ``fit`` holds the kernel of all pairs of training rows in memory.
    _holds_matrix: ClassVar[bool] = True

    def _check_targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Return ``y`` checked (finite, right length, right kind), before anything is computed."""
        return y

    def _open_training(
        self, X: TableLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> tuple[MemoryRows, np.ndarray, FloatArray | None]:
        """Check the parameters; return rows, targets and weights, read and checked: the door."""
        self._check_parameters()
        rows = self._open(X, training=True)
        warn_of_other_order(X, y)
        y = self._check_targets(y, len(rows))
        weights = self._check_weights(sample_weight, y, len(rows))
        self._warn_of_gross_values(rows, weights)
        return rows, y, weights

    def _warn_of_gross_values(self, rows: MemoryRows, weights: FloatArray | None = None) -> None:
        """Warn of columns that are one value, where the kernel's widths come from the columns."""
        chosen = isinstance(self.gamma, str) and self.gamma != "auto"
        if self._is_precomputed() or not (chosen or isinstance(self.kernel, Kernel)):
            return
        if widths_from_variance(self._kernel_before_fit()):
            warn_of_gross_values(rows, self.density, weights)

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

    def _is_precomputed(self) -> bool:
        named = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return named and self._stands_in_for_scikit_learn

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
        """Return the weights of the rows as an array, or None where there are none.

        Rows of a class of weight zero have no weight.
        """
        of_classes = getattr(self, "class_weight", None)
        factors = compute_sample_weight(of_classes, y) if isinstance(of_classes, dict) else None
        if sample_weight is None and (factors is None or factors.all()):
            return None
        with huge_weights_refused():
            weights: FloatArray = (
                np.ones(n_samples)
                if sample_weight is None
                else check_array(
                    sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
                )
            )
        if weights.shape != (n_samples,):
            raise ValueError(
                f"sample_weight must have shape ({n_samples},), one weight per row of X, found "
                f"sample_weight.shape == {weights.shape}."
            )
        check_largest_weight(weights)
        weights = self._without_negative(weights)
        if factors is not None:
            weights = weights * (factors > 0)
        counting = weights > 0
        if not counting.any():
            # The first words are those that scikit-learn's own tests look for.
            raise ValueError(
                "Invalid input - all samples have zero or negative weights, so there is nothing to "
                "learn from. Give rows that count a positive weight."
            )
        if y is not None and not counting.all():
            self._check_counting_targets(y[counting])
        return weights

    def _without_negative(self, weights: FloatArray) -> FloatArray:
        """Return weights none of which is negative, or raise."""
        if (weights < 0).any():
            raise ValueError(
                f"sample_weight must not be negative, found {weights.min():.6g} in row "
                f"{int(weights.argmin())}: use 0 for rows that should not count."
            )
        return weights

    def _check_counting_targets(self, y: np.ndarray) -> None:
        """Raise where the targets of the rows that count leave nothing to learn."""
        self._check_targets(y, len(y))

    def _check_fitted(self, attribute: str | None = None) -> None:
        """Raise NotFittedError where the machine is not fitted yet."""
        # One look first: scikit-learn collects the tags of the machine at every call.
        if (attribute or "n_features_in_") not in vars(self):
            check_is_fitted(self, attribute)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._is_precomputed()
        tags.input_tags.sparse = self._stands_in_for_scikit_learn and not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags
