"""The ascent of EM over factors and noise: where it starts, and in which coordinates it goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from absentia.beliefs import LowRankPrior
from absentia.densities.em.acceleration import Ascent, ascend
from absentia.densities.em.factors import FactorPenalty, TakesFactorExpectations
from absentia.tables import FloatArray

__all__ = ["Shape", "climb_factors", "factor_start"]

# As in `coordinates`: changes in units of a column's own noise count a hundredth.
_RELATIVE = 0.01

# What loadings start with at least: at zero EM would stay.
_SMALLEST_START = 0.05


@dataclass(frozen=True)
class Shape:
    """Components, columns and factors: how a vector of parameters is read.

    Any vector reads as a density: roots of weights, means, loadings, and roots of what noises are
    above their floor.
    """

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
        """Return the prior of a vector."""
        roots, means, loadings, above = self._split(vector)
        weights = roots[:, 0] ** 2
        return LowRankPrior.of(weights / weights.sum(), means, loadings, self.floor + above**2)

    def largest_change(self, vector: FloatArray, change: FloatArray) -> float:
        """Return the largest change of a parameter, or a hundredth of it in units of the noise."""
        largest = float(np.abs(change).max(initial=0.0))
        noise_roots = np.sqrt(self.floor + self._split(vector)[3] ** 2)
        _, means, loadings, above = self._split(change)
        for part in (means, above, np.abs(loadings).max(axis=2)):
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = np.abs(part) / noise_roots
            largest = max(largest, _RELATIVE * float(np.nan_to_num(relative).max()))
        return largest

    def _split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        k, d, q = self.n_components, self.n_features, self.n_factors
        edges = np.cumsum([k, k * d, k * d * q])
        weights, means, loadings, above = np.split(vector, edges)
        return (
            weights.reshape(k, 1),
            means.reshape(k, d),
            loadings.reshape(k, d, q),
            above.reshape(k, d),
        )


def climb_factors(
    expectation: TakesFactorExpectations,
    penalty: FactorPenalty,
    start: LowRankPrior,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = True,
) -> tuple[LowRankPrior, Ascent] | None:
    """Run EM from a start; None where a noise vanishes and nothing keeps it from that."""
    shape = Shape(start.n_components, start.n_features, start.n_factors, penalty.floor)

    def step(vector: FloatArray) -> tuple[float, FloatArray] | None:
        prior = shape.unpack(vector)
        if not (prior.noises > _SMALLEST_NOISE).all() or not np.isfinite(vector).all():
            return None
        try:
            moments = expectation(prior)
            objective = moments.log_likelihood - penalty.value(prior)
            following = shape.pack(penalty.maximised(prior, moments))
        except np.linalg.LinAlgError:
            return None
        return objective, following

    ascent = ascend(
        step,
        shape.pack(start),
        max_iter=max_iter,
        tol=tol,
        accelerate=accelerate,
        size=shape.largest_change,
    )
    return None if ascent is None else (shape.unpack(ascent.parameters), ascent)


# Below this the likelihood has no maximum that double precision can find.
_SMALLEST_NOISE = 1e-11


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
