"""Maximisation under a conjugate penalty: shrinkage within EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from absentia.beliefs import Prior
from absentia.densities.em.acceleration import Ascent, ascend
from absentia.densities.em.coordinates import pack, unpack
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
    """

    strength: float
    target: FloatArray
    ridge: float

    def value(self, prior: Prior) -> float:
        """Return what the objective loses at some parameters."""
        if np.isinf(self.strength):
            return 0.0
        pull = self.strength * self.target + self.ridge * np.eye(len(self.target))
        traces = np.einsum("ij,cij->", pull, prior.precisions)
        return 0.5 * float(self.strength * prior.log_determinants.sum() + traces)

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
        return Prior(moments.totals / moments.totals.sum(), prior.means + shifts, covariances)


class TakesExpectations(Protocol):
    """Rows, in memory or not, whose expected moments under a prior can be computed."""

    n_features: int

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
    d = expectation.n_features

    def step(vector: FloatArray) -> tuple[float, FloatArray] | None:
        prior = unpack(vector, d)
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
    ascent = ascend(step, vector, max_iter=max_iter, tol=tol, accelerate=accelerate)
    return None if ascent is None else (unpack(ascent.parameters, d), ascent)
