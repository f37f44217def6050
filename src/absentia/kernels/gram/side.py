"""One side of a Gram matrix: the rows or the columns of one component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.computed_once import computed_once
from absentia.kernels.gram.ordering import Ordering
from absentia.kernels.gram.smoothing import Smoothing
from absentia.tables import FloatArray, IntArray

__all__ = ["Side", "SideValues"]

# Squared distance from the mean of the density, in units of the RBF's own variance, that rows on
# both sides may have: the missing side subtracts two squared distances of that order.
_LARGEST_SQUARE = 1e7

# The share of an entry of a mixture's matrix that all pairs of components that are left out add.
NEGLIGIBLE = 1e-14
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, eq=False)
class SideValues:
    """The numbers of a side; without its beliefs, so that these can keep them.

    Attributes
    ----------
    means : ndarray of shape (n, n_features)
    constants : ndarray of shape (n,)
        Added to the logarithm of every entry of the row or column: weights and normalisation.
    """

    means: FloatArray
    constants: FloatArray

    @classmethod
    def of(
        cls, beliefs: Beliefs, ordering: Ordering, component: int, log_norms: FloatArray
    ) -> SideValues:
        """Take those of a component; ``log_norms`` is subtracted from every logarithm."""
        constants = beliefs.log_weights[:, component] - log_norms
        means = beliefs.means[:, component]
        if not ordering.identity:
            constants, means = constants[ordering.rows], means[ordering.rows]
        return cls(means, np.ascontiguousarray(constants))

    @computed_once
    def bounds(self) -> FloatArray:
        """What an entry is at most, as a product of one number per row and one per column.

        Without the constants an expected kernel is at most one.
        """
        bounds: FloatArray = np.exp(np.minimum(self.constants, _LARGEST_EXPONENT))
        return bounds


@dataclass(frozen=True, eq=False)
class Side:
    """One component of the beliefs on one side of a Gram matrix, in the order of computation.

    Attributes
    ----------
    beliefs : Beliefs
    ordering : Ordering
    component : int
    values : SideValues
    """

    beliefs: Beliefs
    ordering: Ordering
    component: int
    values: SideValues

    @classmethod
    def of(
        cls, beliefs: Beliefs, ordering: Ordering, component: int, log_norms: FloatArray
    ) -> Side:
        """Pick a component of some beliefs; ``log_norms`` is subtracted from every logarithm."""
        values = SideValues.of(beliefs, ordering, component, log_norms)
        return cls(beliefs, ordering, component, values)

    @classmethod
    def of_components(
        cls, beliefs: Beliefs, ordering: Ordering, log_norms: FloatArray
    ) -> list[Side]:
        """Return every component of some beliefs."""
        return [cls.of(beliefs, ordering, c, log_norms) for c in range(beliefs.n_components)]

    @property
    def means(self) -> FloatArray:
        """The means in the order of computation, (n, n_features)."""
        return self.values.means

    @property
    def constants(self) -> FloatArray:
        """What is added to the logarithm of every entry of a row or column, (n,)."""
        return self.values.constants

    @property
    def bounds(self) -> FloatArray:
        """What an entry is at most: see :attr:`SideValues.bounds`."""
        return self.values.bounds

    def negligible(self, other: Side) -> float:
        """Return the share of an entry that one pair of components may add without being seen."""
        return NEGLIGIBLE / (self.beliefs.n_components * other.beliefs.n_components)

    @property
    def is_conditioned(self) -> bool:
        """Whether the covariances come from conditioning a prior."""
        return self.beliefs.covariances.is_conditioned

    def covariances(self, groups: IntArray) -> FloatArray:
        """Return the covariances of some groups, shape (n_groups, d, d)."""
        n_together = self.beliefs.whole.covariances.n_groups
        return self.beliefs.covariances.dense(groups, n_together)[:, self.component]

    def popular_covariances(self) -> FloatArray:
        """Return the covariances of the popular groups, shape (n_popular_groups, d, d)."""
        groups = np.array([group for group, _, _ in self.ordering.popular])
        n_together = len(Ordering.of(self.beliefs.whole).popular)
        return self.beliefs.covariances.dense(groups, n_together)[:, self.component]

    def is_near(self, centre: FloatArray, smoothing: Smoothing) -> bool:
        """Tell whether all rows of the whole are so near that squares of offsets keep digits."""
        offsets = self.beliefs.whole.means[:, self.component] - centre
        return _largest_square(offsets, smoothing) < _LARGEST_SQUARE


def _largest_square(offsets: FloatArray, smoothing: Smoothing) -> float:
    """Return the largest squared offset in a column, in units of the RBF's own variance."""
    largest = np.maximum(offsets.max(axis=0, initial=0.0), -offsets.min(axis=0, initial=0.0))
    return float((largest**2 * np.diagonal(smoothing.information)).max())
