"""p-values of incomplete rows, comparable whatever a row misses.

The log-likelihood of a row depends on which columns it has; its p-value does not.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from absentia.beliefs.conditioning import condition, joint_log_densities, log_normalised
from absentia.beliefs.prior import Prior
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.parameters import RandomState
from absentia.tables import BoolArray, FloatArray, IntArray

#: Rows drawn for all patterns of a mixture together, and for each at least.
_MOST_SCORED, _FEWEST_DRAWS = 2_000_000, 99


def log_row_pvalues(
    prior: Prior,
    table: FloatArray,
    patterns: Patterns,
    codes: IntArray | None,
    n_draws: int,
    seed: RandomState,
) -> FloatArray:
    """Return the logarithm of the p-value of each row, zero for a row with nothing observed.

    For a Gaussian the squared Mahalanobis distance of the observed values is chi-square with as
    many degrees of freedom as there are values. For mixtures and categories the p-value is the
    share of draws, with the same columns hidden, that are no more likely than the row. Rows less
    likely than all draws continue this share by the ratio of their likelihoods.
    """
    scores = log_normalised(joint_log_densities(prior, table, None, patterns, codes))[1]
    if prior.n_components == 1 and codes is None:
        centres = np.where(np.isnan(table), np.nan, prior.means[0])
        best = log_normalised(joint_log_densities(prior, centres, None, patterns, None))[1]
        n_observed = (~np.isnan(table)).sum(axis=1)
        return _chi2_logsf(2 * np.maximum(best - scores, 0.0), n_observed)
    hidden = patterns.mask if codes is None else np.hstack([patterns.mask, codes < 0])
    known = Patterns.of_mask(hidden)
    n_draws = min(n_draws, max(_FEWEST_DRAWS, _MOST_SCORED // len(known.masks)))
    draws = _prior_draws(prior, n_draws, seed)
    found = np.zeros(len(table))
    order = np.argsort(known.pattern_of_row, kind="stable")
    starts = np.concatenate([[0], np.cumsum(known.counts)])
    for part in bounded_slices(len(known.masks), n_draws * draws.shape[1]):
        reference = _masked_log_densities(prior, draws, known.masks[part], codes is not None)
        for pattern, of_draws in zip(range(part.start, part.stop), reference, strict=True):
            own = order[starts[pattern] : starts[pattern + 1]]
            below = np.searchsorted(of_draws, scores[own], side="right")
            beyond = np.minimum(scores[own] - of_draws[0], 0.0)
            found[own] = np.log((below + 1) / (n_draws + 1)) + beyond
    found[hidden.all(axis=1)] = 0.0
    return found


def _chi2_logsf(distances: FloatArray, freedom: IntArray) -> FloatArray:
    """Return the log of the chi-square tail, by its expansion where the tail underflows."""
    half, shape = distances / 2, np.maximum(freedom, 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.log(chi2.sf(distances, np.maximum(freedom, 1)))
        far = (shape - 1) * np.log(half) - half - gammaln(shape)
    return np.where(freedom == 0, 0.0, np.where(np.isfinite(exact), exact, far))


def _prior_draws(prior: Prior, n_draws: int, seed: RandomState) -> FloatArray:
    """Return complete draws (n_draws, n_numbers + n_categories), numbers first."""
    n_categories = len(prior.probabilities)
    codes = np.full((1, n_categories), -1) if n_categories else None
    nothing = condition(prior, np.full((1, prior.n_features), np.nan), None, None, codes)[0]
    return nothing.sample(n_draws, seed)[:, 0]


def _masked_log_densities(
    prior: Prior, draws: FloatArray, masks: BoolArray, has_codes: bool
) -> FloatArray:
    """Return sorted log-densities of the draws under each mask, (n_masks, n_draws)."""
    d = prior.n_features
    hidden = np.repeat(masks, len(draws), axis=0)
    tiled = np.tile(draws, (len(masks), 1))
    numbers = np.where(hidden[:, :d], np.nan, tiled[:, :d])
    codes = np.where(hidden[:, d:], -1, tiled[:, d:]).astype(np.intp) if has_codes else None
    patterns = Patterns.of_mask(hidden[:, :d])
    scores = log_normalised(joint_log_densities(prior, numbers, None, patterns, codes))[1]
    return np.sort(scores.reshape(len(masks), len(draws)), axis=1)
