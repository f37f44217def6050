"""From a prior and a table with holes to beliefs, and to the likelihood of what was observed."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from absentia.beliefs import Beliefs
from absentia.gaussians import ConditionalCovariances, Prior
from absentia.missingness import Patterns
from absentia.tables import FloatArray

__all__ = ["condition"]


def condition(prior: Prior, X: FloatArray) -> tuple[Beliefs, FloatArray]:
    """Condition a prior on what each row has, and score each row.

    For a row that has ``O`` and misses ``L``, component by component: the mean on ``L`` is
    ``m[L] + S[L,O] inv(S[O,O]) (x[O] - m[O])``, the log-weight is that of the component plus
    ``log N(x[O] | m[O], S[O,O])``, normalised over components: Eq. (2) of [Williams2005]_.

    Returns
    -------
    beliefs : Beliefs
    log_likelihoods : ndarray of shape (n_samples,)
        ``log p(x[O])`` of each row; zero for a row with nothing observed.
    """
    patterns = Patterns.of(X)
    n = len(X)
    k = prior.n_components
    means = np.repeat(X[:, None, :], k, axis=1)
    log_joint = np.empty((n, k))
    with np.errstate(divide="ignore"):
        log_joint[:] = np.log(prior.weights)
    for mask, rows in zip(patterns.masks, patterns.rows_by_pattern(), strict=True):
        missing, observed = np.flatnonzero(mask), np.flatnonzero(~mask)
        for c in range(k):
            S, m = prior.covariances[c], prior.means[c]
            root = np.linalg.cholesky(S[np.ix_(observed, observed)])
            white = solve_triangular(root, (X[rows][:, observed] - m[observed]).T, lower=True)
            log_joint[rows, c] -= (
                0.5 * ((white**2).sum(axis=0) + len(observed) * np.log(2 * np.pi))
                + np.log(np.diagonal(root)).sum()
            )
            if len(missing):
                gain = solve_triangular(root, S[np.ix_(observed, missing)], lower=True)
                means[rows[:, None], c, missing] = m[missing] + white.T @ gain
    log_likelihoods = logsumexp(log_joint, axis=1)
    beliefs = Beliefs(
        log_weights=log_joint - log_likelihoods[:, None],
        means=means,
        covariances=ConditionalCovariances(prior, patterns.masks),
        group_of_row=patterns.pattern_of_row,
        patterns=patterns,
        prior=prior,
    )
    return beliefs, log_likelihoods
