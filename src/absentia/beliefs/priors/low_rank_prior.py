"""A prior with few directions of correlation: factors and independent noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from absentia.beliefs.priors.prior import Prior
from absentia.tables import FloatArray
from absentia.tables.stored import assume_valid

__all__ = ["LowRankPrior"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LowRankPrior(Prior):
    """A mixture of factor analysers: ``covariances[c] = W W' + diag(noise)`` with ``q`` factors.

    Conditioning, scores and kernels work with ``q x q`` matrices in place of ``d x d`` ones, and
    the dense covariances are there for everything else.

    Attributes
    ----------
    loadings : ndarray of shape (n_components, n_features, n_factors)
        ``W``.
    noises : ndarray of shape (n_components, n_features)
        The variance of each column that no factor explains, positive.
    """

    loadings: FloatArray
    noises: FloatArray

    @classmethod
    def of(
        cls, weights: FloatArray, means: FloatArray, loadings: FloatArray, noises: FloatArray
    ) -> LowRankPrior:
        """Make a prior of its factors."""
        covariances = _dense(loadings, noises)
        return cls(weights, means, covariances, loadings=loadings, noises=noises)

    def validate(self) -> None:
        """Raise ValueError unless factors and covariances agree."""
        super().validate()
        k, d = self.means.shape
        self._require_array("loadings", np.float64, (k, d, None))
        self._require_array("noises", np.float64, (k, d))
        for name in ("loadings", "noises"):
            self._require_finite(name)
        if not (self.noises > 0).all():
            raise ValueError("LowRankPrior.noises must be positive.")
        if self.probabilities:
            raise ValueError("LowRankPrior.probabilities must be empty: it is about numbers.")
        roots = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        difference = np.abs(self.covariances - _dense(self.loadings, self.noises))
        if not (difference <= 1e-9 * roots[:, :, None] * roots[:, None, :]).all():
            raise ValueError("LowRankPrior.covariances must be those of its factors.")

    @property
    def low_rank(self) -> LowRankPrior:
        """This prior, which has factors."""
        return self

    @property
    def n_factors(self) -> int:
        """The number of factors of each component."""
        return int(self.loadings.shape[2])

    def transform(self, A: FloatArray, b: FloatArray) -> Prior:
        """Return the density of ``A x + b``: of factors where ``A`` only rescales columns."""
        moved = super().transform(A, b)
        scales = np.diagonal(A)
        if A.shape[0] == A.shape[1] and scales.all() and not (A - np.diag(scales)).any():
            scaled = LowRankPrior(
                moved.weights,
                moved.means,
                moved.covariances,
                loadings=self.loadings * scales[:, None],
                noises=self.noises * scales**2,
            )
            return assume_valid(scaled, self)
        return assume_valid(Prior(moved.weights, moved.means, moved.covariances), self)

    def in_units(self, units: FloatArray, origin: FloatArray | float = 0.0) -> LowRankPrior:
        """Return the density of ``(x - origin) / units``, a unit per column."""
        noises = self.noises / units / units
        if not (noises > 0).all():  # smaller than any number in these units
            noises = np.maximum(noises, np.finfo(float).tiny)
        changed = replace(
            self,
            means=(self.means - origin) / units,
            covariances=self.covariances / units / units[:, None],
            loadings=self.loadings / units[:, None],
            noises=noises,
        )
        return assume_valid(changed, self)


def _dense(loadings: FloatArray, noises: FloatArray) -> FloatArray:
    products = loadings @ loadings.transpose(0, 2, 1)
    products = (products + products.transpose(0, 2, 1)) / 2
    diagonal = np.arange(noises.shape[1])
    products[:, diagonal, diagonal] += noises
    return products
