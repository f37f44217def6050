"""Covariances of beliefs, kept as a table: one entry for each group of rows and each component.

Conditioned on what a row has, each component of a :class:`~absentia.beliefs.prior.Prior`
leaves a covariance on what the row misses; it depends on the row's pattern alone, so the rows of a
pattern share one entry. The table of a conditioned prior (:class:`ConditionalCovariances`) stores
only the prior and the masks: the kernels' fast algorithm works from those and never needs the
matrices.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from absentia.beliefs.low_rank_prior import factor_covariances, factor_variances
from absentia.beliefs.prior import SINGULAR, Prior
from absentia.engine.principal import conditional_covariances
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import Stored

_SMALLEST_VARIANCE = 1e-250  # whose inverse, times any inflation, is a number


class CovarianceTable(Stored):
    """Covariances by group of rows and by component; beliefs say which group a row is in."""

    #: Whether the covariances come from conditioning a prior, group by group of one pattern.
    is_conditioned: ClassVar[bool] = False

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """The numbers of groups of rows, of Gaussians per group, and of columns."""

    @property
    def n_groups(self) -> int:
        """The number of groups of rows that share their covariances."""
        return self.shape[0]

    @property
    def n_components(self) -> int:
        """The number of Gaussians per group."""
        return self.shape[1]

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.shape[2]

    @abstractmethod
    def dense(
        self, groups: IntArray | slice = slice(None), n_together: int | None = None
    ) -> FloatArray:
        """Return the matrices of some groups, (n_groups, n_components, n_features, n_features).

        Part of a computation over ``n_together`` groups gets the bits of the whole of it.
        """

    @abstractmethod
    def is_zero(self) -> BoolArray:
        """Return which groups are certain (their covariance is zero), shape (n_groups,)."""

    @abstractmethod
    def select(self, groups: IntArray) -> CovarianceTable:
        """Return the table of some groups, in the order given."""

    @abstractmethod
    def in_units(self, units: FloatArray, prior: Prior) -> CovarianceTable:
        """Return the table of ``x / units``, whose prior in those units is given."""

    def validate_groups(self, patterns: Patterns, group_of_row: IntArray) -> None:
        """Raise ValueError where the groups of rows must be their patterns, and are not."""

    def explicit_groups(self) -> BoolArray:
        """Return which groups have matrices of their own, not those of a conditioned prior."""
        return np.full(self.n_groups, not self.is_conditioned)

    def of_rows(
        self, group_of_row: IntArray, patterns: Patterns
    ) -> tuple[CovarianceTable, IntArray]:
        """Return the table that some rows need, given their groups here, and their groups in it."""
        kept, groups = np.unique(group_of_row, return_inverse=True)
        return self.select(kept), groups

    def uncertain_columns(self) -> BoolArray:
        """Return which columns have a variance in some group, shape (n_features,)."""
        return np.asarray(self.diagonals().any(axis=(0, 1)))

    def diagonals(self) -> FloatArray:
        """Return the variances, shape (n_groups, n_components, n_features)."""
        # A few groups at a time, so that the matrices of all groups never stand at once.
        out = np.empty((self.n_groups, self.n_components, self.n_features))
        for part in bounded_slices(self.n_groups, self.n_components * self.n_features**2):
            out[part] = np.diagonal(self.dense(part), axis1=2, axis2=3)
        return out


@dataclass(frozen=True, eq=False)
class ConditionalCovariances(CovarianceTable):
    """The covariances that a prior leaves on what each pattern misses.

    For a pattern that misses ``L`` and has ``O`` the covariance is zero outside ``L x L``, where
    it is ``S[L,L] - S[L,O] inv(S[O,O]) S[O,L] = inv(inv(S)[L,L])``: Eq. (4)-(5) of [Smieja2018]_,
    Eq. (2) of [Williams2005]_. ``masks`` of shape (n_groups, n_features) are True where missing.
    """

    prior: Prior
    masks: BoolArray

    is_conditioned: ClassVar[bool] = True

    def validate(self) -> None:
        """Raise ValueError unless the prior is consistent and the masks are about its columns."""
        self._require_type("prior", Prior)
        self.prior.ensure_valid()
        self._require_array("masks", bool, (None, self.prior.n_features))

    def validate_groups(self, patterns: Patterns, group_of_row: IntArray) -> None:
        """Raise ValueError unless the groups are the patterns of the rows."""
        if not (
            np.array_equal(self.masks, patterns.masks)
            and np.array_equal(group_of_row, patterns.pattern_of_row)
        ):
            raise ValueError("ConditionalCovariances must have the patterns of the beliefs.")

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of patterns, components and columns."""
        return len(self.masks), self.prior.n_components, self.prior.n_features

    def dense(
        self, groups: IntArray | slice = slice(None), n_together: int | None = None
    ) -> FloatArray:
        """Return the matrices of some patterns."""
        self.ensure_valid()
        masks = np.array(self.masks[groups])  # writeable like all others: compiled only once
        n_masks = len(masks) if n_together is None else n_together
        fill = conditional_covariances.choose(n_masks * self.n_features**2)
        prior = self.prior
        if prior.low_rank is not None:
            return factor_covariances(prior.low_rank, masks)
        out = np.zeros((self.n_components, len(masks), self.n_features, self.n_features))
        for c in range(self.n_components):
            S, G = np.ascontiguousarray(prior.covariances[c]), prior.precisions[c]
            if not fill(S, G, masks, out[c]):
                raise np.linalg.LinAlgError(SINGULAR)
        return np.ascontiguousarray(out.transpose(1, 0, 2, 3))

    def diagonals(self) -> FloatArray:
        """Return the variances; of factors and noise without the matrices."""
        if self.prior.low_rank is None:
            return super().diagonals()
        return factor_variances(self.prior.low_rank, self.masks)

    def is_zero(self) -> BoolArray:
        """Return which patterns are complete."""
        return np.logical_not(self.masks.any(axis=1))

    def uncertain_columns(self) -> BoolArray:
        """Return which columns some pattern misses."""
        return np.atleast_1d(self.masks.any(axis=0))

    def of_rows(
        self, group_of_row: IntArray, patterns: Patterns
    ) -> tuple[CovarianceTable, IntArray]:
        """Return the table of the patterns of some rows."""
        return ConditionalCovariances(self.prior, patterns.masks), patterns.pattern_of_row

    def select(self, groups: IntArray) -> ConditionalCovariances:
        """Return the table of some patterns."""
        return ConditionalCovariances(self.prior, self.masks[groups])

    def in_units(self, units: FloatArray, prior: Prior) -> CovarianceTable:
        """Return the table of the prior in other units; explicit where the inverse would overflow.

        That is where the variance of a column is all but zero in them.
        """
        if np.diagonal(prior.covariances, axis1=1, axis2=2).min() > _SMALLEST_VARIANCE:
            return ConditionalCovariances(prior, self.masks)
        return ExplicitCovariances(self.dense()).in_units(units, prior)


@dataclass(frozen=True, eq=False)
class ExplicitCovariances(CovarianceTable):
    """Explicit matrices (n_groups, k, d, d): measurement error, or beliefs after an affine map."""

    values: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless the matrices are square and finite."""
        self._require_array("values", np.float64, (None, None, None, None))
        self._require_array("values", np.float64, (None, None, None, self.n_features))
        self._require_finite("values")

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of groups, components and columns."""
        n_groups, k, d, _ = self.values.shape
        return n_groups, k, d

    def dense(
        self, groups: IntArray | slice = slice(None), n_together: int | None = None
    ) -> FloatArray:
        """Return the matrices of some groups."""
        dense: FloatArray = self.values[groups]
        return dense

    def is_zero(self) -> BoolArray:
        """Return which groups have a covariance of zero."""
        return np.logical_not(self.values.any(axis=(1, 2, 3)))

    def select(self, groups: IntArray) -> ExplicitCovariances:
        """Return the table of some groups."""
        return ExplicitCovariances(self.values[groups])

    def in_units(self, units: FloatArray, prior: Prior) -> ExplicitCovariances:
        """Return the matrices in other units."""
        return ExplicitCovariances(self.values / units / units[:, None])
