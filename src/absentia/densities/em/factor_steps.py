"""EM of factors and noise: the E-step knows the factors of each row, the M-step regresses on them.

Given its factors a row's columns are independent, so that what a row misses need not be completed:
the loadings and the noise of a column are a regression of its *observed* values on the factors.
Both steps are products of matrices over all rows and columns, and small systems of ``q`` equations.
After each M-step the factors are brought back to unit variance (parameter expansion; Liu, Rubin and
Wu, 1998), which the likelihood does not fall by either, and which saves most of the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from absentia.beliefs import LowRankPrior
from absentia.beliefs.low_rank_prior import FactorKnowledge, FactorRows, packed_products, unpacked
from absentia.densities.em.ascent import RELATIVE
from absentia.densities.em.expectation import RowSums, responsibilities
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.tables import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FactorMoments(RowSums):
    """Expected sums over the rows, by component; rows count from the old means.

    Over all rows: weights (k,), factors (k, q) and their packed products. Over the rows that have
    a column: weights, values and squared values (k, d), factors (k, d, q), their packed products,
    and values times factors (k, d, q).
    """

    log_likelihood: float
    totals: FloatArray
    scores: FloatArray
    score_products: FloatArray
    counts: FloatArray
    sums: FloatArray
    squares: FloatArray
    seen_scores: FloatArray
    seen_products: FloatArray
    crossed: FloatArray

    @classmethod
    def zeros(cls, k: int, d: int, q: int) -> FactorMoments:
        """Return the moments of no rows."""
        t = q * (q + 1) // 2
        shapes = ((k,), (k, q), (k, t), (k, d), (k, d), (k, d), (k, d, q), (k, d, t), (k, d, q))
        return cls(0.0, *map(np.zeros, shapes))


class FactorExpectation:
    """An incomplete table, arranged once for E-steps: rows sorted by pattern, in slices.

    A step costs O(q^2) per row and column, and O(q^3) per pattern.
    """

    def __init__(
        self, X: FloatArray, weights: FloatArray | None = None, patterns: Patterns | None = None
    ):
        if patterns is None:
            patterns = Patterns.of_mask(np.isnan(X))
        order = np.argsort(patterns.pattern_of_row, kind="stable")
        self._slices: list[tuple[FloatArray, BoolArray, IntArray, FloatArray | None]] = []
        for part in bounded_slices(len(X), 6 * X.shape[1]):
            rows = order[part]
            some = patterns[rows]
            own = None if weights is None else weights[rows]
            self._slices.append((np.nan_to_num(X[rows]), some.masks, some.pattern_of_row, own))

    def __call__(self, prior: LowRankPrior) -> FactorMoments:
        """Take expectations under a prior."""
        total = FactorMoments.zeros(prior.n_components, prior.n_features, prior.n_factors)
        for part in self._slices:
            total = total + _moments(*part, prior)
        return total


def _moments(
    X: FloatArray,
    masks: BoolArray,
    pattern_of_row: IntArray,
    weights: FloatArray | None,
    prior: LowRankPrior,
) -> FactorMoments:
    """Return the moments of rows that are sorted by pattern."""
    k, d = prior.means.shape
    givens = [
        FactorRows.of(X, masks, pattern_of_row, prior.means[c], prior.loadings[c], prior.noises[c])
        for c in range(k)
    ]
    log_joint = np.column_stack([given.log_densities for given in givens])
    if k > 1:
        log_joint += prior.log_weights
    shares, log_likelihood = responsibilities(log_joint, weights)
    starts = np.searchsorted(pattern_of_row, np.arange(len(masks)))
    seen = (~masks).T.astype(np.float64)
    out = FactorMoments.zeros(k, d, prior.n_factors)
    for c, given in enumerate(givens):
        share = shares[:, c, None]
        z = given.scores
        rows, columns = np.tril_indices(z.shape[1])
        by_pattern = np.add.reduceat(share, starts)
        products = np.add.reduceat(share * packed_products(z), starts)
        products += by_pattern * given.knowledge.inverses[:, rows, columns]
        sums = np.add.reduceat(share * z, starts)
        weighted = share * given.offsets
        out.totals[c] = share.sum()
        out.scores[c] = sums.sum(axis=0)
        out.score_products[c] = products.sum(axis=0)
        out.counts[c] = seen @ by_pattern[:, 0]
        out.sums[c] = weighted.sum(axis=0)
        out.squares[c] = np.einsum("ij,ij->j", weighted, given.offsets)
        out.seen_scores[c] = seen @ sums
        out.seen_products[c] = seen @ products
        out.crossed[c] = weighted.T @ z
    return replace(out, log_likelihood=log_likelihood)


@dataclass(frozen=True, eq=False)
class FactorPenalty:
    """The penalty of :class:`~absentia.densities.em.ascent.Penalty`, in the factors.

    The objective is the log-likelihood of what was observed less

        1/2 (strength log det S + tr(T inv(S))),   T = diag(diagonal) + roots roots'

    for each component: as if there were ``strength`` further, complete rows with the products
    ``T``; infinite fixes ``S = I``. No noise falls below ``floor``.
    """

    strength: float
    diagonal: FloatArray
    roots: FloatArray
    floor: float

    def value(self, prior: LowRankPrior) -> float:
        """Return what the objective loses at some parameters."""
        if np.isinf(self.strength):
            return 0.0
        lost = 0.0
        for loadings, noise in zip(prior.loadings, prior.noises, strict=True):
            G, weighted = _complete(loadings, noise)
            log_det = float(np.log(noise).sum() + G.log_determinants[0])
            trace = float((self.diagonal + (self.roots**2).sum(axis=1)) @ (1 / noise))
            explained = self._scores(G, weighted)[1]
            trace -= float(np.einsum("ij,ij->", explained, G.precisions[0]))
            lost += 0.5 * (self.strength * log_det + trace)
        return lost

    def maximised(self, prior: LowRankPrior, moments: FactorMoments) -> LowRankPrior:
        """Return the parameters that maximise the expected objective, then rescale the factors."""
        k, d = prior.means.shape
        means = prior.means.copy()
        loadings, noises = np.zeros(prior.loadings.shape), np.ones((k, d))
        for c in range(k):
            if np.isinf(self.strength):
                means[c] += moments.sums[c] / np.maximum(moments.counts[c], _TINY)
            else:
                shift, loadings[c], noises[c] = self._regressed(prior, moments, c)
                means[c] += shift
        weights = moments.totals / moments.totals.sum()
        return LowRankPrior.of(weights, means, loadings, noises)

    def _regressed(
        self, prior: LowRankPrior, moments: FactorMoments, c: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the shift of the mean, loadings and noise of one component."""
        q = prior.n_factors
        G, weighted = _complete(prior.loadings[c], prior.noises[c])
        crossed, products = self._scores(G, weighted)
        products = products + self.strength * G.inverses[0]
        # One system per column: its loadings, and the shift of its mean, which is the intercept.
        systems = np.empty((prior.n_features, q + 1, q + 1))
        systems[:, :q, :q] = unpacked(moments.seen_products[c], q) + products
        systems[:, :q, q] = systems[:, q, :q] = moments.seen_scores[c]
        systems[:, q, q] = moments.counts[c] + _TINY
        sides = np.column_stack([moments.crossed[c] + crossed, moments.sums[c]])
        solved = np.linalg.solve(systems, sides[:, :, None])[:, :, 0]
        squares = moments.squares[c] + self.diagonal + (self.roots**2).sum(axis=1)
        left = squares - np.einsum("ij,ij->i", solved, sides)
        noise = np.maximum(left / (moments.counts[c] + self.strength + _TINY), self.floor)
        loadings, shift = solved[:, :q], solved[:, q]
        total = max(float(moments.totals[c]), _TINY)
        centre = moments.scores[c] / total
        spread = unpacked(moments.score_products[c][None], q)[0] - total * np.outer(centre, centre)
        spread = (spread + products) / (total + self.strength)
        shift = shift + loadings @ centre
        return shift, loadings @ np.linalg.cholesky(spread), noise

    def _scores(self, G: FactorKnowledge, weighted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``T`` times the scores of columns, and the products of the scores with ``T``."""
        gain = weighted @ G.inverses[0]
        rooted = self.roots.T @ gain
        crossed = self.diagonal[:, None] * gain + self.roots @ rooted
        return crossed, gain.T @ crossed


_TINY = float(np.finfo(float).tiny)


def _complete(loadings: FloatArray, noise: FloatArray) -> tuple[FactorKnowledge, FloatArray]:
    """Return the posterior of the factors given complete rows, and loadings over noise."""
    masks = np.zeros((1, len(noise)), dtype=bool)
    return FactorKnowledge.of(loadings, noise, masks), loadings / noise[:, None]


# Smallest loadings to start with: EM would stay at zero.
_SMALLEST_START = 0.05


# Below this noise the likelihood has no maximum that double precision can find.
_SMALLEST_NOISE = 1e-11


@dataclass(frozen=True)
class FactorCoordinates:
    """Roots of weights, means, loadings, and roots of what noises are above their floor."""

    n_components: int
    n_features: int
    n_factors: int
    floor: float

    def pack(self, prior: LowRankPrior) -> FloatArray:
        """Return the parameters in one vector."""
        above = np.sqrt(np.maximum(prior.noises - self.floor, 0.0))
        parts = (np.sqrt(prior.weights), prior.means, prior.loadings, above)
        return np.concatenate([part.ravel() for part in parts])

    def unpack(self, vector: FloatArray) -> LowRankPrior:
        """Return the prior of a vector; LinAlgError where a noise vanishes."""
        roots, means, loadings, above = self._split(vector)
        weights, noises = roots[:, 0] ** 2, self.floor + above**2
        if not ((noises > _SMALLEST_NOISE).all() and np.isfinite(vector).all()):
            raise np.linalg.LinAlgError("A column has no noise left.")
        return LowRankPrior.of(weights / weights.sum(), means, loadings, noises)

    def largest_change(self, vector: FloatArray, change: FloatArray) -> float:
        """Return the largest change of a parameter, or a hundredth of it in units of the noise."""
        largest = float(np.abs(change).max(initial=0.0))
        noise_roots = np.sqrt(self.floor + self._split(vector)[3] ** 2)
        _, means, loadings, above = self._split(change)
        for part in (means, above, np.abs(loadings).max(axis=2)):
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = np.abs(part) / noise_roots
            largest = max(largest, RELATIVE * float(np.nan_to_num(relative).max()))
        return largest

    def _split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        k, d, q = self.n_components, self.n_features, self.n_factors
        weights, means, loadings, above = np.split(vector, np.cumsum([k, k * d, k * d * q]))
        return weights[:, None], means.reshape(k, d), loadings.reshape(k, d, q), above.reshape(k, d)


def factor_start(correlations: FloatArray, n_factors: int, floor: float) -> LowRankPrior:
    """Start from the leading directions of a table's correlations, in standard units.

    Probabilistic principal components: what the other directions have on average is noise.
    Each factor points to where most of its loadings are positive, so that the sign of a direction,
    which is arbitrary, does not depend on the machine. Without any correlations there are none.
    """
    d = len(correlations)
    q = min(n_factors, d) if correlations.any() else 0
    values, vectors = np.empty(0), np.empty((d, 0))
    if q:
        values, vectors = eigh(correlations, subset_by_index=[d - q, d - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
    left = max(float(np.trace(correlations) - values.sum()), 0.0) / max(d - q, 1)
    scales = np.sqrt(np.maximum(values - left, _SMALLEST_START))
    signs = np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
    loadings = np.zeros((d, n_factors))
    loadings[:, :q] = vectors * scales * signs
    explained = (loadings**2).sum(axis=1)
    # At least a twentieth of each column is left to its noise.
    loadings *= np.sqrt(np.minimum(1.0, 0.95 / np.maximum(explained, 0.95)))[:, None]
    noise = np.maximum(1.0 - (loadings**2).sum(axis=1), max(floor, 0.05))
    return LowRankPrior.of(np.ones(1), np.zeros((1, d)), loadings[None], noise[None])
