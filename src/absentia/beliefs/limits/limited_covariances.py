"""Covariances of rows of which some have limits: conditioned groups, and explicit ones after them.

Limits narrow the covariance of their own row alone. The other rows keep the table of the
conditioned prior, which kernels compare several times faster than explicit matrices in wide tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.beliefs.priors.covariances import (
    ConditionalCovariances,
    CovarianceTable,
    ExplicitCovariances,
)
from absentia.beliefs.priors.prior import Prior
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["LimitedCovariances"]


@dataclass(frozen=True, eq=False)
class LimitedCovariances(CovarianceTable):
    """The groups of a conditioned prior, one per pattern, and after them groups of their own.

    Attributes
    ----------
    conditioned : ConditionalCovariances
        Of all patterns, whether or not a row without limits has them.
    limited : ndarray of shape (n_limited, n_components, n_features, n_features)
        Explicit matrices of rows with limits.
    """

    conditioned: ConditionalCovariances
    limited: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless both parts are about the same components and columns."""
        self._require_type("conditioned", ConditionalCovariances)
        self.conditioned.ensure_valid()
        k, d = self.n_components, self.n_features
        self._require_array("limited", np.float64, (None, k, d, d))
        self._require_finite("limited")

    def validate_groups(self, patterns: Patterns, group_of_row: IntArray) -> None:
        """Raise ValueError unless rows without limits are in the group of their pattern."""
        plain = group_of_row < self.conditioned.n_groups
        groups = np.where(plain, group_of_row, patterns.pattern_of_row)
        self.conditioned.validate_groups(patterns, groups)

    @property
    def n_groups(self) -> int:
        """The number of patterns and of rows with limits."""
        return self.conditioned.n_groups + len(self.limited)

    @property
    def n_components(self) -> int:
        """The number of components of the prior."""
        return self.conditioned.n_components

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.conditioned.n_features

    def dense(
        self, groups: IntArray | slice = slice(None), n_together: int | None = None
    ) -> FloatArray:
        """Return the matrices of some groups."""
        asked = np.arange(self.n_groups)[groups]
        explicit = asked >= self.conditioned.n_groups
        if not explicit.any():
            return self.conditioned.dense(asked, n_together)
        out = np.empty((len(asked), *self.limited.shape[1:]))
        out[explicit] = self.limited[asked[explicit] - self.conditioned.n_groups]
        if not explicit.all():
            out[~explicit] = self.conditioned.dense(asked[~explicit], n_together)
        return out

    def is_zero(self) -> BoolArray:
        """Return which groups are certain."""
        explicit = ExplicitCovariances(self.limited)
        return np.concatenate([self.conditioned.is_zero(), explicit.is_zero()])

    def explicit_groups(self) -> BoolArray:
        """Return which groups are those of rows with limits."""
        return np.arange(self.n_groups) >= self.conditioned.n_groups

    def of_rows(
        self, group_of_row: IntArray, patterns: Patterns
    ) -> tuple[CovarianceTable, IntArray]:
        """Return the table that some rows need; conditioned where none of them has limits."""
        explicit = group_of_row >= self.conditioned.n_groups
        conditioned = ConditionalCovariances(self.conditioned.prior, patterns.masks)
        if not explicit.any():
            return conditioned, patterns.pattern_of_row
        kept, among = np.unique(
            group_of_row[explicit] - self.conditioned.n_groups, return_inverse=True
        )
        if explicit.all():
            return ExplicitCovariances(self.limited[kept]), among
        groups = np.array(patterns.pattern_of_row)
        groups[explicit] = conditioned.n_groups + among
        return LimitedCovariances(conditioned, self.limited[kept]), groups

    def select(self, groups: IntArray) -> ExplicitCovariances:
        """Return the matrices of some groups."""
        return ExplicitCovariances(self.dense(groups))

    def in_units(self, units: FloatArray, prior: Prior) -> CovarianceTable:
        """Return the table of ``x / units``."""
        conditioned = self.conditioned.in_units(units, prior)
        limited = self.limited / units / units[:, None]
        if isinstance(conditioned, ConditionalCovariances):
            return LimitedCovariances(conditioned, limited)
        return ExplicitCovariances(np.concatenate([conditioned.dense(), limited]))
