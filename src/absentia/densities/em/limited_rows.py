"""The E-step of rows with limits: expected moments of truncated Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from absentia.beliefs import Beliefs, Prior
from absentia.beliefs.conditioning import condition
from absentia.beliefs.limits import truncated_to
from absentia.beliefs.prior import indicators, split_categories
from absentia.beliefs.truncated_normal import truncated_moments
from absentia.densities.em.expectation import (
    ExpectedMoments,
    require_well_conditioned,
    responsibilities,
)
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray

# The variance left of an interval, relative to its column's, up to which it is nearly a value.
_NARROW = 0.25


def narrow_intervals_filled(Z: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return rows in standard units with the means of narrow intervals filled in."""
    filled = Z.copy()
    row, column = np.nonzero(np.isnan(Z) & np.isfinite(lower) & np.isfinite(upper))
    _, means, variances = truncated_moments(lower[row, column], upper[row, column])
    narrow = variances < _NARROW
    filled[row[narrow], column[narrow]] = means[narrow]
    return filled


@dataclass(frozen=True, eq=False)
class LimitedExpectation:
    """Rows of which some missing values have limits, as :class:`Expectation` has other rows.

    Given what was observed, the missing values of a row are Gaussian in each component; with limits
    they are a truncated Gaussian, whose mean and covariance enter the expected moments, and whose
    mass multiplies the likelihood. One limit per row is exact, so that EM never lowers the
    likelihood; several are approximated by expectation propagation, whose log-mass has exactly
    these moments as its derivatives, so that EM has its fixed points where the approximate
    likelihood is stationary. See :func:`absentia.beliefs.limits.truncated_to`.
    """

    Z: FloatArray
    weights: FloatArray | None
    patterns: Patterns
    codes: IntArray | None
    limits: tuple[FloatArray, FloatArray]
    n_categories: tuple[int, ...]

    def __call__(self, prior: Prior) -> ExpectedMoments:
        """Take expectations under a prior; LinAlgError where a covariance is nearly singular."""
        require_well_conditioned(prior)
        beliefs, log_likelihoods = condition(
            prior, self.Z, patterns=self.patterns, codes=self.codes
        )
        log_joint = beliefs.log_weights + log_likelihoods[:, None]
        k, d = prior.means.shape
        slices = bounded_slices(len(self.Z), k * d * d)
        return reduce(add, (self._of_slice(beliefs, log_joint, rows, prior) for rows in slices))

    def _of_slice(
        self, beliefs: Beliefs, log_joint: FloatArray, rows: slice, prior: Prior
    ) -> ExpectedMoments:
        spread = beliefs.covariances.dense(beliefs.group_of_row[rows])
        log_masses, means, narrowed = truncated_to(
            beliefs.means[rows], spread, self.limits[0][rows], self.limits[1][rows]
        )
        weights = None if self.weights is None else self.weights[rows]
        shares, log_likelihood = responsibilities(log_joint[rows] + log_masses, weights)
        offsets = means - prior.means
        firsts = np.einsum("nk,nkd->kd", shares, offsets)
        by_component = offsets.transpose(1, 2, 0)
        seconds = (by_component * shares.T[:, None]) @ by_component.transpose(0, 2, 1)
        seconds += np.einsum("nk,nkij->kij", shares, narrowed)
        counts: tuple[FloatArray, ...] = ()
        if self.codes is not None:
            words = indicators(self.codes[rows], self.n_categories)
            counts = split_categories((words.T @ shares).T, self.n_categories)
        return ExpectedMoments(log_likelihood, shares.sum(axis=0), firsts, seconds, counts)
