"""A prior with few directions of correlation: factors and independent noise, and its conditionals.

With ``x = m + W z + e``, ``z ~ N(0, I)`` of ``q`` factors and ``e ~ N(0, diag(p))``, a row that has
``O`` determines its factors up to the precision ``G = I + W[O]' inv(p[O]) W[O]``, a matrix of
``q x q`` that depends on the pattern alone. Conditional moments and log-densities follow from it:

    z          = inv(G) W[O]' inv(p[O]) (x - m)[O]
    E[x | x_O] = m + W z,   Cov[x | x_O] = diag(p) + W inv(G) W'   on the missing columns
    log N(x_O) = -1/2 (sum log(2 pi p[O]) + log det G + |z|^2 + |x_O - m - W z|^2_inv(p))

The quadratic form is written as the minimum over ``z`` that it is, so that an error of ``z`` enters
squared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from absentia.beliefs.prior import Prior
from absentia.engine.threads import bounded_slices, computed_once
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import assume_valid


@dataclass(frozen=True, eq=False, kw_only=True)
class LowRankPrior(Prior):
    """A mixture of factor analysers: ``covariances[c] = W W' + diag(noise)`` with ``q`` factors.

    Conditioning, scores and kernels work with ``q x q`` matrices in place of ``d x d`` ones, and
    the dense covariances are there for everything else. ``loadings`` (n_components, n_features,
    n_factors) are ``W``; ``noises`` are the variances that no factor explains, positive.
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
        scales = np.diagonal(A)
        if A.shape[0] == A.shape[1] and scales.all() and not (A - np.diag(scales)).any():
            return assume_valid(self.scaled(scales, b), self)
        moved = super().transform(A, b)
        return assume_valid(Prior(moved.weights, moved.means, moved.covariances), self)

    def scaled(self, scales: FloatArray, centres: FloatArray) -> LowRankPrior:
        """Return the density of ``scales * x + centres``, a scale per column."""
        loadings, noises = self.loadings * scales[:, None], self.noises * scales**2
        moved = super().scaled(scales, centres)
        assert isinstance(moved, LowRankPrior)
        return replace(moved, loadings=loadings, noises=noises)

    def in_units(self, units: FloatArray, origin: FloatArray | float = 0.0) -> LowRankPrior:
        """Return the density of ``(x - origin) / units``, a unit per column."""
        moved = super().in_units(units, origin)
        assert isinstance(moved, LowRankPrior)
        # A noise may be smaller than any number in these units.
        noises = np.maximum(self.noises / units / units, np.finfo(float).tiny)
        changed = replace(moved, loadings=self.loadings / units[:, None], noises=noises)
        return assume_valid(changed, self)


def _dense(loadings: FloatArray, noises: FloatArray) -> FloatArray:
    products = loadings @ loadings.transpose(0, 2, 1)
    products = (products + products.transpose(0, 2, 1)) / 2
    diagonal = np.arange(noises.shape[1])
    products[:, diagonal, diagonal] += noises
    return products


_LOG_2_PI = float(np.log(2 * np.pi))

# From this precision of the factors on, relative to their prior's, the scores are refined once.
_ENOUGH_TO_REFINE = 1e4


def packed_products(left: FloatArray, right: FloatArray | None = None) -> FloatArray:
    """Return the products of entries of each row: lower triangles, or all pairs with ``right``.

    (n, q) to (n, q (q + 1) / 2), or (n, q) and (n, r) to (n, q r).
    """
    if right is not None:
        return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
    rows, columns = np.tril_indices(left.shape[1])
    return left[:, rows] * left[:, columns]


def unpacked(packed: FloatArray, size: int) -> FloatArray:
    """Return the symmetric matrices of packed lower triangles, (n, size, size)."""
    place = np.zeros((size, size), dtype=np.intp)
    rows, columns = np.tril_indices(size)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return packed[:, place]


@dataclass(frozen=True, eq=False)
class FactorKnowledge:
    """Posterior precision ``G`` of the factors of one component, by pattern, and ``log det G``."""

    precisions: FloatArray
    log_determinants: FloatArray

    @classmethod
    def of(cls, loadings: FloatArray, noise: FloatArray, masks: BoolArray) -> FactorKnowledge:
        """Take the precisions of the factors given what patterns have."""
        q = loadings.shape[1]
        observed = (~masks).astype(np.float64)
        precisions = unpacked(observed @ (packed_products(loadings) / noise[:, None]), q)
        precisions += np.eye(q)
        scaled, scales = _with_unit_diagonals(precisions)
        roots = np.linalg.cholesky(scaled)
        log_determinants = 2 * np.log(np.diagonal(roots, axis1=1, axis2=2) * scales).sum(axis=1)
        return cls(precisions, log_determinants)

    @computed_once
    def inverses(self) -> FloatArray:
        """The inverse of each precision: the covariance of the factors."""
        scaled, scales = _with_unit_diagonals(self.precisions)
        inverses = np.linalg.inv(scaled) / (scales[:, :, None] * scales[:, None, :])
        return (inverses + inverses.transpose(0, 2, 1)) / 2


def _with_unit_diagonals(precisions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return precisions in other units: factors may be known to any precision."""
    scales = np.exp2(np.round(0.5 * np.log2(np.diagonal(precisions, axis1=1, axis2=2))))
    return precisions / (scales[:, :, None] * scales[:, None, :]), scales


@dataclass(frozen=True, eq=False)
class FactorRows:
    """Some rows under one component: less the mean, zero where missing, and their factors."""

    offsets: FloatArray
    scores: FloatArray
    knowledge: FactorKnowledge
    log_densities: FloatArray

    @classmethod
    def of(
        cls,
        X: FloatArray,
        masks: BoolArray,
        pattern_of_row: IntArray,
        mean: FloatArray,
        loadings: FloatArray,
        noise: FloatArray,
    ) -> FactorRows:
        """Condition on rows ``X``, whose missing values may be anything."""
        knowledge = FactorKnowledge.of(loadings, noise, masks)
        missing = masks[pattern_of_row]
        offsets = np.where(missing, 0.0, X - mean)
        weighted = loadings / noise[:, None]
        inverses = knowledge.inverses[pattern_of_row]
        scores = _products(inverses, offsets @ weighted)
        left = np.where(missing, 0.0, offsets - scores @ loadings.T)
        if knowledge.precisions.size and knowledge.precisions.max() > _ENOUGH_TO_REFINE:
            scores = scores + _products(inverses, left @ weighted - scores)
            left = np.where(missing, 0.0, offsets - scores @ loadings.T)
        quadratics = np.einsum("ij,ij->i", scores, scores)
        quadratics += np.einsum("ij,ij->i", left, left / noise)
        constants = (~masks) @ (_LOG_2_PI + np.log(noise)) + knowledge.log_determinants
        log_densities = -0.5 * (constants[pattern_of_row] + quadratics)
        return cls(offsets, scores, knowledge, log_densities)


def factor_joint(
    prior: LowRankPrior, X: FloatArray, patterns: Patterns, means: FloatArray | None
) -> FloatArray:
    """Return the joint log-densities and, where asked, write the conditional means.

    As ``joint_log_densities``, for O(q^2) per row and column instead of O(d).
    """
    n, d = X.shape
    log_joint = np.empty((n, prior.n_components))
    for part in bounded_slices(n, 4 * d + 3 * prior.n_factors**2):
        some = patterns[part]
        missing = np.isnan(X[part])
        for c in range(prior.n_components):
            W, mean = prior.loadings[c], prior.means[c]
            rows = FactorRows.of(X[part], some.masks, some.pattern_of_row, mean, W, prior.noises[c])
            log_joint[part, c] = prior.log_weights[c] + rows.log_densities
            if means is not None:
                means[part, c] = np.where(missing, mean + rows.scores @ W.T, X[part])
    return log_joint


def factor_covariances(prior: LowRankPrior, masks: BoolArray) -> FloatArray:
    """Return the covariances that are left on what patterns miss, (n_patterns, k, d, d)."""
    k, d = prior.means.shape
    out = np.zeros((len(masks), k, d, d))
    diagonal = np.arange(d)
    for c in range(k):
        knowledge = FactorKnowledge.of(prior.loadings[c], prior.noises[c], masks)
        missed = masks[:, :, None] * prior.loadings[c]
        spread = missed @ knowledge.inverses @ missed.transpose(0, 2, 1)
        out[:, c] = (spread + spread.transpose(0, 2, 1)) / 2
        out[:, c, diagonal, diagonal] += masks * prior.noises[c]
    return out


def factor_variances(prior: LowRankPrior, masks: BoolArray) -> FloatArray:
    """Return the diagonals of :func:`factor_covariances`, (n_patterns, k, d)."""
    k, d = prior.means.shape
    out = np.zeros((len(masks), k, d))
    rows, columns = np.tril_indices(prior.n_factors)
    twice = np.where(rows == columns, 1.0, 2.0)
    for part in bounded_slices(len(masks), d + 3 * prior.n_factors**2):
        for c in range(k):
            knowledge = FactorKnowledge.of(prior.loadings[c], prior.noises[c], masks[part])
            packed = knowledge.inverses[:, rows, columns] * twice
            spread = packed @ packed_products(prior.loadings[c]).T
            out[part, c] = masks[part] * (prior.noises[c] + np.maximum(spread, 0.0))
    return out


def _products(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return (matrices @ vectors[:, :, None])[:, :, 0]
