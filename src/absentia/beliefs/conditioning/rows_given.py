"""Rows of a group under one Gaussian: completed, and their log-densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from absentia.beliefs.conditioning.grouping import GroupedRows
from absentia.beliefs.priors.prior import Prior
from absentia.engine.expected_moments import centre_rows
from absentia.engine.principal import invert_principal, multiply_principal, solve_principal
from absentia.tables import FloatArray

__all__ = ["RowsGiven"]

_LOG_2_PI = float(np.log(2 * np.pi))

# From this inflation on the square of the error in a completed value would show.
_ENOUGH_TO_REFINE = 1e6


@dataclass(frozen=True, eq=False)
class RowsGiven:
    """The rows of a batch under one Gaussian, given what was observed of them.

    Attributes
    ----------
    vectors : ndarray of shape (n_rows, n_features)
        On the missing side the completed row less the mean, ``y``; on the observed side
        ``w = inv(S[O,O]) (x - mean)[O]`` with zeros elsewhere, from which ``y = S w``.
    log_densities : ndarray of shape (n_rows,)
        ``log N(x[O] | mean[O], S[O,O])``; NaN where ``S[O,O]`` is not positive definite.
    inverses : ndarray of shape (n_patterns, most, most)
        Of the submatrices of the batch's patterns.
    """

    vectors: FloatArray
    log_densities: FloatArray
    inverses: FloatArray

    @classmethod
    def of(
        cls,
        batch: GroupedRows,
        X: FloatArray,
        prior: Prior,
        component: int,
    ) -> RowsGiven:
        """Condition one component of a prior on what was observed of the rows ``X`` of a batch.

        Eight patterns are inverted at once, unless the prior is so badly conditioned that one of
        them might fail to be positive definite; then they are factored one by one, failures show
        as NaN in the log-densities, and no inverses are kept.

        Log-densities are accurate to about 1e-15 times the inflation of the prior (see
        :attr:`Prior.inflation`), times their own size where that is more than one.
        """
        n, d = X.shape
        vectors = np.empty((n, d))
        shape = batch.members, batch.sizes, batch.starts
        centre_rows(X, prior.means[component], *shape, batch.members_are_missing, vectors)
        if batch.members_are_missing:
            G = prior.precisions[component]
            # The minus makes the solutions the completed values: y[L] = -inv(G[L,L]) (G y)[L].
            solved = _solve(batch, G, vectors @ -G, vectors, prior.well_conditioned)
            # From the completed row, because it is the minimum over y[L]: an error there enters
            # squared. With zeros in the holes two numbers as large as G would be subtracted.
            images = vectors @ G
            quadratics = np.einsum("ij,ij->i", vectors, images)
            if prior.inflation > _ENOUGH_TO_REFINE:
                changes = np.zeros((n, d))
                again = _solve(batch, G, -images, changes, prior.well_conditioned)
                vectors += changes
                quadratics -= again.quadratics
            log_determinants = solved.log_determinants + prior.log_determinants[component]
        else:
            S = np.ascontiguousarray(prior.covariances[component])
            sides, vectors = vectors, np.zeros((n, d))
            solved = _solve(batch, S, sides, vectors, prior.well_conditioned)
            quadratics, log_determinants = solved.quadratics, solved.log_determinants
        constants = log_determinants + _LOG_2_PI * batch.n_observed(d)
        log_densities = -0.5 * (constants[batch.pattern_of_row] + quadratics)
        return cls(vectors, log_densities, solved.inverses)


class _Solved(NamedTuple):
    quadratics: FloatArray
    log_determinants: FloatArray
    inverses: FloatArray


def _solve(
    batch: GroupedRows, A: FloatArray, sides: FloatArray, X: FloatArray, by_inverses: bool
) -> _Solved:
    """Solve with the submatrices of ``A`` of the batch's patterns, writing to their members."""
    n_patterns, most = batch.members.shape
    quadratics = np.empty(len(sides))
    log_determinants = np.empty(n_patterns)
    shape = batch.members, batch.sizes, batch.starts
    if by_inverses:
        inverses = np.empty((n_patterns, most, most))
        invert_principal(A, batch.members, batch.sizes, inverses, log_determinants)
        multiply_principal(inverses, *shape, sides, X, quadratics)
    else:
        inverses = np.empty((0, most, most))
        solve_principal(A, *shape, sides, X, quadratics, log_determinants)
    return _Solved(quadratics, log_determinants, inverses)
