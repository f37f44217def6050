"""Which kernel a machine compares beliefs with: its name, its gamma, the weight of its masks."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityEstimator
from absentia.kernels.base import Kernel
from absentia.kernels.metric import Widths, resolve_gamma
from absentia.kernels.named_kernels import CategoryWeight, MaskWeight, make_kernel
from absentia.kernels.polynomial import centred_at
from absentia.machines.relevance import RelevantColumns
from absentia.machines.search.kernel_family import is_free
from absentia.machines.search.leave_one_out import choose_gamma
from absentia.machines.search.leave_one_out_widths import kernel_with_widths
from absentia.machines.search.width_prior import choose_width_prior
from absentia.machines.shared_parameters import BeliefParameters
from absentia.tables import FloatArray, MemoryRows
from absentia.tables.column_plan import ShowsColumns

__all__ = ["ChoosesKernel", "weight_of_kept"]

#: Where a search for the weight of the mask kernel starts.
FIRST_MASK_WEIGHT = 0.1


class ChoosesKernel(BeliefParameters, RelevantColumns, ShowsColumns):
    """A machine's kernel, before ``fit`` and with all parameters resolved to numbers."""

    gamma: Widths
    mask_weight: MaskWeight
    category_weight: CategoryWeight

    def _target_codes(self, y: Any) -> FloatArray:
        """Return the targets as numbers, (n_samples, n_codes), for ``gamma="loo"``.

        Classifiers and regressors get theirs from :class:`ClassifierTargets` and
        :class:`RegressorTargets`; without targets there is nothing to predict, hence to leave out.
        """
        raise ValueError(
            f"gamma='loo' chooses gamma by how well targets are predicted, but "
            f"{type(self).__name__} has no targets. Give a number, or gamma='scale'."
        )

    def _own_ridges(self, y: Any) -> tuple[float, float] | None:
        """Return the least and the most ridge beside which ``gamma="loo"`` may judge a width.

        Those of the machine, for the target codes: a width that is good with a smaller ridge only
        is not good here. None where the ridge is free.
        """
        return None

    def _make_kernel(self, gamma: Widths) -> Kernel:
        """Return the machine's kernel with that gamma, the mask kernel multiplied in."""
        return self._settled(
            make_kernel(
                self.kernel, gamma, self._first_mask_weight(), self._first_category_weight()
            )
        )

    def _ignores_offsets(self) -> bool:
        """Return whether answers are the same for the kernels ``k(x, y) + g(x) + g(y)``.

        They are where coefficients sum to zero (an intercept that is not penalised), and where the
        machine centres the matrix for itself.
        """
        return False

    def _settled(self, kernel: Kernel) -> Kernel:
        """Return the kernel as the machine uses it: far from zero, linear ones need a centre."""
        return centred_at(kernel, "auto") if self._ignores_offsets() else kernel

    def _kernel_before_fit(self) -> Kernel:
        own_gamma = isinstance(self.kernel, Kernel)  # beside one, a gamma of the machine is refused
        return self._make_kernel(self.gamma if own_gamma else "scale")

    def _first_mask_weight(self) -> MaskWeight:
        """Return the weight of the mask kernel, or where a search for it starts."""
        return FIRST_MASK_WEIGHT if is_free(self.mask_weight) else self.mask_weight

    def _first_category_weight(self) -> CategoryWeight:
        """Return the weight of categories, or where a search for it starts."""
        return "scale" if is_free(self.category_weight) else self.category_weight

    def _may_optimize_mask_weight(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "loo-ard"

    def _choose_kernel(
        self,
        rows: MemoryRows,
        y: Any,
        sample_weight: FloatArray | None,
        density: DensityEstimator,
        beliefs: Beliefs,
    ) -> Kernel:
        """Return the kernel with all parameters resolved to numbers, the mask kernel multiplied in.

        ``gamma="loo"`` and ``"loo-ard"`` are settled here, which is what ``y`` is for.
        """
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
                ridges=self._own_ridges(targets),
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
                    ridges=self._own_ridges(targets),
                    n_jobs=self.n_jobs,
                )
        return kernel


def weight_of_kept(mask_weight: Any, density: BaseEstimator) -> Any:
    """Return the mask weight of the columns that a density kept, where each column has its own."""
    kept = getattr(density, "columns_", None)
    if kept is None or np.ndim(mask_weight) == 0 or len(kept) == density.n_features_in_:
        return mask_weight
    return np.asarray(mask_weight)[kept]
