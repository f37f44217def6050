"""The Gaussian values that densities fit and beliefs carry: a prior, and tables of covariances.

A :class:`Prior` is the density of a whole row, one Gaussian or a mixture. Conditioned on what a
row has, each of its components leaves a covariance on what the row misses; that covariance
depends on the row's pattern alone, so it is kept as a *table*, a row of it for each group of rows
that share one. The table of a conditioned prior (:class:`ConditionalCovariances`) stores only the
prior and the masks: the kernels' fast algorithm works from those and never needs the matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from absentia.engine.conditioning_principal import conditional_covariances
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["Prior", "CovarianceTable", "ConditionalCovariances", "ExplicitCovariances"]


@dataclass(frozen=True, eq=False)
class Prior:
    """What any row could be before one looks at it: a mixture of ``k`` Gaussians.

    ``p(x) = sum_c weights[c] N(x | means[c], covariances[c])``, Eq. (1) of [Williams2005]_;
    with one component the Gaussian ``F`` of [Smieja2018]_, Section 3.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
        Non-negative, summing to one.
    means : ndarray of shape (n_components, n_features)
    covariances : ndarray of shape (n_components, n_features, n_features)
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @property
    def n_components(self) -> int:
        """The number of Gaussians."""
        return len(self.weights)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.means.shape[1])

    def mean(self) -> FloatArray:
        """Return the overall mean, shape (n_features,)."""
        return self.weights @ self.means

    def covariance(self) -> FloatArray:
        """Return the overall covariance: within components plus between their means."""
        # With roots of the weights both factors are the same: symmetric to the last bit.
        centred = np.sqrt(self.weights)[:, None] * (self.means - self.mean())
        within = np.einsum("c,cij->ij", self.weights, self.covariances)
        return within + np.einsum("ci,cj->ij", centred, centred)

    @cached_property
    def precisions(self) -> FloatArray:
        """The inverse of each covariance, symmetric to the last bit."""
        return self._inverses[0]

    @cached_property
    def log_determinants(self) -> FloatArray:
        """The log determinant of each covariance, shape (n_components,)."""
        return self._inverses[1]

    @cached_property
    def well_conditioned(self) -> bool:
        """Whether no column is all but determined by the others, in any component.

        True where each column keeps more than 1e-11 of its variance given all others. Beyond that
        rounding drowns likelihoods, and a submatrix may fail to be positive definite.
        """
        try:
            precisions = np.diagonal(self.precisions, axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            return False
        variances = np.diagonal(self.covariances, axis1=1, axis2=2)
        return bool((precisions * variances < 1e11).all())

    @cached_property
    def _inverses(self) -> tuple[FloatArray, FloatArray]:
        precisions = np.empty(self.covariances.shape)
        log_determinants = np.empty(self.n_components)
        for c, covariance in enumerate(self.covariances):
            precisions[c], log_determinants[c] = inverse_and_log_determinant(covariance)
        return precisions, log_determinants

    def transform(self, A: FloatArray, b: FloatArray) -> Prior:
        """Return the density of ``A x + b``."""
        moved = A @ self.covariances @ A.T
        return Prior(self.weights, self.means @ A.T + b, (moved + moved.transpose(0, 2, 1)) / 2)

    def equals(self, other: Prior) -> bool:
        """Tell whether two priors have the same parameters, bit for bit."""
        return self is other or (
            np.array_equal(self.weights, other.weights)
            and np.array_equal(self.means, other.means)
            and np.array_equal(self.covariances, other.covariances)
        )


class CovarianceTable(ABC):
    """Covariances by group of rows and by component; beliefs say which group a row is in."""

    @property
    @abstractmethod
    def n_groups(self) -> int:
        """The number of groups of rows that share their covariances."""

    @property
    @abstractmethod
    def n_components(self) -> int:
        """The number of Gaussians to a group."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    @abstractmethod
    def dense(self, groups: IntArray | slice = slice(None)) -> FloatArray:
        """Return the matrices of some groups, (n_groups, n_components, n_features, n_features)."""

    @abstractmethod
    def is_zero(self) -> BoolArray:
        """Tell which groups are certain (their covariance is zero), shape (n_groups,)."""

    @abstractmethod
    def select(self, groups: IntArray) -> CovarianceTable:
        """Return the table of some groups, in the order given."""

    def diagonals(self) -> FloatArray:
        """Return the variances, shape (n_groups, n_components, n_features)."""
        # A few groups at a time, so that the matrices of all groups never stand at once.
        out = np.empty((self.n_groups, self.n_components, self.n_features))
        for block in row_blocks(self.n_groups, self.n_components * self.n_features**2):
            out[block] = np.diagonal(self.dense(block), axis1=2, axis2=3)
        return out


@dataclass(frozen=True, eq=False)
class ConditionalCovariances(CovarianceTable):
    """The covariances that a prior leaves on what each pattern misses.

    For a pattern that misses ``L`` and has ``O`` the covariance is zero outside ``L x L``, where
    it is ``S[L,L] - S[L,O] inv(S[O,O]) S[O,L] = inv(inv(S)[L,L])``: Eq. (4)-(5) of [Smieja2018]_,
    Eq. (2) of [Williams2005]_.

    Attributes
    ----------
    prior : Prior
    masks : ndarray of bool, shape (n_groups, n_features)
        True where a value is missing.
    """

    prior: Prior
    masks: BoolArray

    @property
    def n_groups(self) -> int:
        """The number of patterns."""
        return len(self.masks)

    @property
    def n_components(self) -> int:
        """The number of components of the prior."""
        return self.prior.n_components

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.prior.n_features

    def dense(self, groups: IntArray | slice = slice(None)) -> FloatArray:
        """Return the matrices of some patterns."""
        masks = np.array(self.masks[groups])  # writeable like all others: compiled only once
        prior = self.prior
        out = np.zeros((self.n_components, len(masks), self.n_features, self.n_features))
        for c in range(self.n_components):
            S, G = np.ascontiguousarray(prior.covariances[c]), prior.precisions[c]
            if not conditional_covariances(S, G, masks, out[c]):
                raise np.linalg.LinAlgError(_SINGULAR)
        return np.ascontiguousarray(out.transpose(1, 0, 2, 3))

    def is_zero(self) -> BoolArray:
        """Tell which patterns are complete."""
        return np.logical_not(self.masks.any(axis=1))

    def select(self, groups: IntArray) -> ConditionalCovariances:
        """Return the table of some patterns."""
        return ConditionalCovariances(self.prior, self.masks[groups])


@dataclass(frozen=True, eq=False)
class ExplicitCovariances(CovarianceTable):
    """Covariances that are given: measurement error, or beliefs after an affine map.

    Attributes
    ----------
    values : ndarray of shape (n_groups, n_components, n_features, n_features)
    """

    values: FloatArray

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.values)

    @property
    def n_components(self) -> int:
        """The number of components."""
        return int(self.values.shape[1])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.values.shape[2])

    def dense(self, groups: IntArray | slice = slice(None)) -> FloatArray:
        """Return the matrices of some groups."""
        dense: FloatArray = self.values[groups]
        return dense

    def is_zero(self) -> BoolArray:
        """Tell which groups have a covariance of zero."""
        return np.logical_not(self.values.any(axis=(1, 2, 3)))

    def select(self, groups: IntArray) -> ExplicitCovariances:
        """Return the table of some groups."""
        return ExplicitCovariances(self.values[groups])


def row_blocks(n_rows: int, floats_per_row: int, budget: int = 2**22) -> list[slice]:
    """Cut ``n_rows`` into slices of at most ``budget`` floats each (32 MB unless told)."""
    step = max(1, budget // max(1, floats_per_row))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def inverse_and_log_determinant(covariance: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a covariance, symmetric to the last bit, and its log determinant.

    By Cholesky on the matrix with its columns brought to comparable scales, so that very different
    ones cost no accuracy.
    """
    variances = np.diagonal(covariance)
    if not (variances > 0).all():
        raise np.linalg.LinAlgError(_SINGULAR)
    # Powers of two, because multiplying by them is exact, in whatever order.
    scale = np.exp2(np.round(np.log2(variances) / 2))
    root, failed = dpotrf((covariance / scale).T / scale, lower=1)
    if failed:
        raise np.linalg.LinAlgError(_SINGULAR)
    lower = np.tril(dpotri(root, lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    log_determinant = 2 * float(np.log(np.diagonal(root)).sum() + np.log(scale).sum())
    return (inverse / scale).T / scale, log_determinant


_SINGULAR = (
    "A covariance of the density is not positive definite, so that rows cannot be conditioned on "
    "it. Fit the density with a larger reg_covar or with shrinkage."
)
