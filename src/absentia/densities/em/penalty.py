"""Maximisation under a conjugate penalty: shrinkage within EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from absentia.beliefs import Prior
from absentia.densities.em.acceleration import Ascent, ascend
from absentia.densities.em.coordinates import largest_change, pack, unpack
from absentia.densities.em.expectation import ExpectedMoments
from absentia.tables import FloatArray

__all__ = ["Penalty", "TakesExpectations", "climb"]


@dataclass(frozen=True, eq=False)
class Penalty:
    """An inverse Wishart penalty on the covariance of each component, in standard units.

    The objective is the log-likelihood of what was observed less

        1/2 (strength log det S + tr((strength T + ridge I) inv(S)))

    for each component, and the best ``S`` for rows of total weight ``N`` and scatter ``C`` is
    ``(N C + strength T + ridge I) / (N + strength)``. No column can lose all its variance, and no
    component can collapse onto a few rows, while ``strength`` or ``ridge`` is positive.

    Attributes
    ----------
    strength : float
        Counted in rows; infinite fixes ``S = T``.
    target : ndarray of shape (n_features, n_features)
        ``T``.
    ridge : float
    pseudocounts : tuple of ndarray of shape (n_categories,)
        For each column of categories, rows of each category that are added to each component: the
        objective gains ``pseudocounts' log p``, a Dirichlet penalty.
    """

    strength: float
    target: FloatArray
    ridge: float
    pseudocounts: tuple[FloatArray, ...] = ()

    def value(self, prior: Prior) -> float:
        """Return what the objective loses at some parameters."""
        lost = 0.0
        if self.pseudocounts:
            lost = -float((prior.log_probabilities @ np.concatenate(self.pseudocounts)).sum())
        if np.isinf(self.strength):
            return lost
        pull = self.strength * self.target + self.ridge * np.eye(len(self.target))
        traces = np.einsum("ij,cij->", pull, prior.precisions)
        return lost + 0.5 * float(self.strength * prior.log_determinants.sum() + traces)

    def maximised(self, prior: Prior, moments: ExpectedMoments) -> Prior:
        """Return the parameters that maximise the expected objective: the M-step."""
        shifts, scatter = moments.weighted_means()
        if np.isinf(self.strength):
            covariances = np.broadcast_to(self.target, scatter.shape)
        else:
            totals = moments.totals[:, None, None]
            pull = self.strength * self.target + self.ridge * np.eye(len(self.target))
            filled = totals * scatter + pull
            divisor = np.maximum(totals + self.strength, np.finfo(float).tiny)
            covariances = filled / divisor
        weights = moments.totals / moments.totals.sum()
        filled_counts = [
            counts + pseudo
            for counts, pseudo in zip(moments.counts, self.pseudocounts, strict=True)
        ]
        probabilities = tuple(c / c.sum(axis=1, keepdims=True) for c in filled_counts)
        return Prior(weights, prior.means + shifts, covariances, probabilities)


class TakesExpectations(Protocol):
    """Rows, in memory or not, whose expected moments under a prior can be computed."""

    @property
    def n_features(self) -> int:
        """The number of columns of numbers."""

    @property
    def n_categories(self) -> tuple[int, ...]:
        """How many categories each column of categories has."""

    def __call__(self, prior: Prior) -> ExpectedMoments | None:
        """Return their moments; None where a covariance of the prior is nearly singular."""


def climb(
    expectation: TakesExpectations,
    penalty: Penalty,
    start: Prior | FloatArray,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = True,
) -> tuple[Prior, Ascent] | None:
    """Run EM from a prior, or from where another ascent ended.

    Returns None where the start, or a step of EM, has a covariance that is nearly singular: the
    likelihood then has no maximum, or none that double precision can find.
    """
    d, n_categories = expectation.n_features, expectation.n_categories

    def step(vector: FloatArray) -> tuple[float, FloatArray] | None:
        prior = unpack(vector, d, n_categories)
        moments = expectation(prior)
        if moments is None:
            return None
        try:
            following = pack(penalty.maximised(prior, moments))
        except np.linalg.LinAlgError:
            return None
        return moments.log_likelihood - penalty.value(prior), following

    try:
        vector = pack(start) if isinstance(start, Prior) else start
    except np.linalg.LinAlgError:
        return None
    ascent = ascend(
        step,
        vector,
        max_iter=max_iter,
        tol=tol,
        accelerate=accelerate,
        size=lambda here, change: largest_change(here, change, d, n_categories),
    )
    return (
        None
        if ascent is None
        else (
            unpack(ascent.parameters, d, n_categories),
            ascent,
        )
    )
