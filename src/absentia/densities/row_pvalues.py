"""p-values of incomplete rows under a density, comparable across missing patterns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition, joint_log_densities, log_normalised
from absentia.engine.threads import bounded_slices
from absentia.missingness import Patterns
from absentia.parameters import COUNT, RandomState
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike

#: Rows drawn for all patterns of a mixture together, and for each at least.
_MOST_SCORED, _FEWEST_DRAWS = 2_000_000, 99


class RowPValues:
    """Base of densities that give rows p-values."""

    def row_pvalues(
        self: Any, X: TableLike, *, n_draws: int = 1000, random_state: RandomState = 0
    ) -> FloatArray:
        """Return a p-value of each row that is comparable across missing patterns.

        The probability that a row of this density with the same columns observed is no more likely
        than the row. For a Gaussian that of a chi-square distance,
        ``(x_O - m_O)' inv(C_OO) (x_O - m_O) ~ chi2(|O|)``; for mixtures and categories it is
        estimated from draws.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Limits of values are not judged: such a value counts as missing.
        n_draws : int, default=1000
            Draws per missing pattern, fewer where there are thousands of patterns. A row less
            likely than all draws has a p-value below ``1 / (n_draws + 1)``, by the ratio of its
            likelihood to that of the least likely draw.
        random_state : int, RandomState instance or None, default=0

        Returns
        -------
        ndarray of shape (n_samples,)
            One for a row with nothing observed. A mixture that was fitted to gross errors may
            explain them by a component of their own; :class:`OutlierDetector` fits without them.
        """
        COUNT.check("n_draws", n_draws)
        return np.exp(self._log_row_pvalues(X, n_draws, random_state))

    def _log_row_pvalues(self: Any, X: TableLike, n_draws: int, seed: RandomState) -> FloatArray:
        """Return logarithms of the p-values, whose order goes on where p-values underflow.

        Rows less likely than all draws continue the share of draws by the ratio of likelihoods.
        """
        prior: Prior = self.prior_
        table, patterns, codes, _ = self._scored_columns(self._open_in_memory(X))
        scores = log_normalised(joint_log_densities(prior, table, None, patterns, codes))[1]
        if prior.n_components == 1 and codes is None:
            centres = np.where(np.isnan(table), np.nan, prior.means[0])
            best = log_normalised(joint_log_densities(prior, centres, None, patterns, None))[1]
            n_observed = (~np.isnan(table)).sum(axis=1)
            return _chi2_logsf(2 * np.maximum(best - scores, 0.0), n_observed)
        hidden = patterns.mask if codes is None else np.hstack([patterns.mask, codes < 0])
        known = Patterns.of_mask(hidden)
        n_draws = min(n_draws, max(_FEWEST_DRAWS, _MOST_SCORED // len(known.masks)))
        nothing = condition(prior, np.full((1, prior.n_features), np.nan))[0]
        draws = nothing.sample(n_draws, seed)[:, 0]
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
