"""Covariances of beliefs, kept as a table: one entry for each group of rows and each component.

Conditioned on what a row has, each component of a :class:`~absentia.beliefs.prior.Prior`
leaves a covariance on what the row misses; it depends on the row's pattern alone, so the rows of a
pattern share one entry. For these the table stores only the prior and the masks: the kernels' fast
algorithm works from those and never needs the matrices. Rows with limits have matrices of their
own after them, so that the other rows keep the fast algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.beliefs.low_rank_prior import factor_covariances, factor_variances
from absentia.beliefs.prior import SINGULAR, Prior
from absentia.engine.principal import conditional_covariances
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import Stored

_SMALLEST_VARIANCE = 1e-250  # whose inverse, times any inflation, is a number


@dataclass(frozen=True, eq=False)
class CovarianceTable(Stored):
    """Covariances by group of rows and by component; beliefs say which group a row is in.

    First come the patterns of a conditioned prior, ``masks`` (n_patterns, n_features). For one that
    misses ``L`` and has ``O`` the covariance is zero outside ``L x L``, where it is
    ``S[L,L] - S[L,O] inv(S[O,O]) S[O,L] = inv(inv(S)[L,L])``: Eq. (4)-(5) of [Smieja2018]_,
    Eq. (2) of [Williams2005]_. After them come ``explicit`` matrices (n_explicit, k, d, d): rows
    with limits, measurement error, or beliefs after an affine map. ``prior`` is None where all
    groups are explicit.
    """

    prior: Prior | None
    masks: BoolArray
    explicit: FloatArray

    @classmethod
    def conditioned(
        cls, prior: Prior, masks: BoolArray, explicit: FloatArray | None = None
    ) -> CovarianceTable:
        """Return the table of a prior given what patterns have, explicit groups after them."""
        k, d = prior.means.shape
        return cls(prior, masks, np.empty((0, k, d, d)) if explicit is None else explicit)

    @classmethod
    def of_matrices(cls, values: FloatArray) -> CovarianceTable:
        """Return the table of explicit matrices (n_groups, k, d, d)."""
        return cls(None, np.empty((0, values.shape[-1]), dtype=bool), values)

    def validate(self) -> None:
        """Raise ValueError unless all parts are about the same components and columns."""
        self._require_array("explicit", np.float64, (None, None, None, None))
        k, d, _ = self.explicit.shape[1:]
        self._require_array("explicit", np.float64, (None, k, d, d))
        self._require_finite("explicit")
        self._require_array("masks", bool, (0 if self.prior is None else None, d))
        if self.prior is not None:
            self._require_type("prior", Prior)
            self.prior.ensure_valid()
            if self.prior.means.shape != (k, d):
                raise ValueError("CovarianceTable.prior must have the components of the table.")

    def validate_groups(self, patterns: Patterns, group_of_row: IntArray) -> None:
        """Raise ValueError unless rows without explicit groups are in those of their patterns."""
        groups = np.where(group_of_row < len(self.masks), group_of_row, patterns.pattern_of_row)
        if self.prior is not None and not (
            np.array_equal(self.masks, patterns.masks)
            and np.array_equal(groups, patterns.pattern_of_row)
        ):
            raise ValueError("CovarianceTable must have the patterns of the beliefs.")

    @property
    def is_conditioned(self) -> bool:
        """Whether all groups are patterns of a conditioned prior."""
        return self.prior is not None and not len(self.explicit)

    @property
    def n_groups(self) -> int:
        """The number of groups of rows that share their covariances."""
        return len(self.masks) + len(self.explicit)

    @property
    def n_components(self) -> int:
        """The number of Gaussians per group."""
        return int(self.explicit.shape[1])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.explicit.shape[2])

    def dense(
        self, groups: IntArray | slice = slice(None), n_together: int | None = None
    ) -> FloatArray:
        """Return the matrices of some groups, (n_groups, n_components, n_features, n_features).

        Part of a computation over ``n_together`` groups gets the bits of the whole of it.
        """
        n_patterns, matrices = len(self.masks), self.explicit
        if self.prior is None:
            return matrices[groups]
        asked = np.arange(self.n_groups)[groups]
        own = asked >= n_patterns
        if not own.any():
            return self._conditional(self.prior, asked, n_together)
        out = np.empty((len(asked), *matrices.shape[1:]))
        out[own] = matrices[asked[own] - n_patterns]
        if not own.all():
            out[~own] = self._conditional(self.prior, asked[~own], n_together)
        return out

    def _conditional(self, prior: Prior, asked: IntArray, n_together: int | None) -> FloatArray:
        """Return the matrices of some patterns of the prior."""
        self.ensure_valid()
        masks = np.array(self.masks[asked])  # writeable like all others: compiled only once
        n_masks = len(masks) if n_together is None else n_together
        fill = conditional_covariances.choose(n_masks * self.n_features**2)
        if prior.low_rank is not None:
            return factor_covariances(prior.low_rank, masks)
        out = np.zeros((self.n_components, len(masks), self.n_features, self.n_features))
        for c in range(self.n_components):
            S, G = np.ascontiguousarray(prior.covariances[c]), prior.precisions[c]
            if not fill(S, G, masks, out[c]):
                raise np.linalg.LinAlgError(SINGULAR)
        return np.ascontiguousarray(out.transpose(1, 0, 2, 3))

    def diagonals(self) -> FloatArray:
        """Return the variances, shape (n_groups, n_components, n_features)."""
        if self.is_conditioned and self.prior is not None and self.prior.low_rank is not None:
            return factor_variances(self.prior.low_rank, self.masks)
        # A few groups at a time, so that the matrices of all groups never stand at once.
        out = np.empty((self.n_groups, self.n_components, self.n_features))
        for part in bounded_slices(self.n_groups, self.n_components * self.n_features**2):
            out[part] = np.diagonal(self.dense(part), axis1=2, axis2=3)
        return out

    def is_zero(self) -> BoolArray:
        """Return which groups are certain (their covariance is zero), shape (n_groups,)."""
        parts = [self.masks.any(axis=1), self.explicit.any(axis=(1, 2, 3))]
        return np.logical_not(np.concatenate(parts))

    def uncertain_columns(self) -> BoolArray:
        """Return which columns have a variance in some group, shape (n_features,)."""
        variances = np.diagonal(self.explicit, axis1=2, axis2=3)
        return np.asarray(self.masks.any(axis=0) | variances.any(axis=(0, 1)))

    def explicit_groups(self) -> BoolArray:
        """Return which groups have matrices of their own, not those of a conditioned prior."""
        return np.arange(self.n_groups) >= len(self.masks)

    def of_rows(
        self, group_of_row: IntArray, patterns: Patterns
    ) -> tuple[CovarianceTable, IntArray]:
        """Return the table that some rows need, given their groups here, and their groups in it."""
        own = group_of_row >= len(self.masks)
        if self.prior is not None and not own.any():
            return self.conditioned(self.prior, patterns.masks), patterns.pattern_of_row
        kept, among = np.unique(group_of_row[own] - len(self.masks), return_inverse=True)
        if self.prior is None or own.all():
            return self.of_matrices(self.explicit[kept]), among
        groups = np.array(patterns.pattern_of_row)
        groups[own] = len(patterns.masks) + among
        return self.conditioned(self.prior, patterns.masks, self.explicit[kept]), groups

    def in_units(self, units: FloatArray, prior: Prior) -> CovarianceTable:
        """Return the table of ``x / units``, whose prior in those units is given.

        All groups are explicit where the inverse of a variance would overflow.
        """
        if self.prior is None:
            return self.of_matrices(self.explicit / units / units[:, None])
        if np.diagonal(prior.covariances, axis1=1, axis2=2).min() > _SMALLEST_VARIANCE:
            return self.conditioned(prior, self.masks, self.explicit / units / units[:, None])
        return self.of_matrices(self.dense() / units / units[:, None])
