"""Beliefs under values that are not missing at random: exponential tilts of the missing values.

If a value is more likely to be missing the larger it is, the missing values of a row have the
density of the belief times ``exp(g'x)``, up to a factor. For ``N(m, C)`` that is ``N(m + C g, C)``;
a mixture keeps its covariances, and the weight of component ``c`` changes by
``exp(g'm_c + g'C_c g / 2)``. A category that is more likely to be missing has its odds multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from absentia.engine.threads import bounded_slices
from absentia.tables.stored import assume_valid

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

#: Shifts in deviations: beyond this, squares of the means may overflow.
_LARGEST = 1e50


def tilted(
    beliefs: Beliefs, shift: ArrayLike, log_odds: Mapping[int, ArrayLike] | None = None
) -> Beliefs:
    """Return tilted beliefs; see :meth:`Beliefs.tilted`."""
    try:
        deltas = np.broadcast_to(np.asarray(shift, dtype=np.float64), beliefs.shape)
    except ValueError:
        raise ValueError(
            f"shift must be one number, one for each of the {beliefs.n_features} columns, or one "
            f"per row and column, found shape {np.shape(shift)}."
        ) from None
    if not (np.abs(deltas) <= _LARGEST).all():
        raise ValueError(f"shift must be finite and at most {_LARGEST:g} deviations.")
    spread, centre = beliefs.spread(), beliefs.mean()
    slopes = np.divide(deltas, spread, out=np.zeros(beliefs.shape), where=spread > 0)
    means, log_weights = beliefs.means.copy(), beliefs.log_weights.copy()
    for part in bounded_slices(len(beliefs), beliefs.n_components * beliefs.n_features**2):
        dense = beliefs.covariances.dense(beliefs.group_of_row[part])
        moved = np.einsum("icjl,il->icj", dense, slopes[part])
        # About the mean of the row: observed values cancel, and so does what all weights share.
        offsets = means[part] - centre[part][:, None] + 0.5 * moved
        log_weights[part] += np.einsum("icj,ij->ic", offsets, slopes[part])
        means[part] += moved
    prior = beliefs.prior
    for column, given in (log_odds or {}).items():
        tables = list(prior.probabilities)
        if beliefs.codes is None or not 0 <= column < len(tables):
            raise ValueError(f"log_odds: there is no column {column} of categories.")
        odds = np.asarray(given, dtype=np.float64)
        if odds.shape != tables[column].shape[1:] or not np.isfinite(odds).all():
            raise ValueError(
                f"log_odds of column {column} must be {tables[column].shape[1]} finite numbers, "
                f"found {given!r}."
            )
        with np.errstate(divide="ignore"):
            logs = np.log(tables[column]) + odds
        total = logsumexp(logs, axis=1)
        log_weights += np.where(beliefs.codes[:, column, None] < 0, total, 0.0)
        tables[column] = np.exp(logs - total[:, None])
        prior = assume_valid(replace(prior, probabilities=tuple(tables)), prior)
    log_weights -= logsumexp(log_weights, axis=1, keepdims=True)
    found = replace(beliefs, means=means, log_weights=log_weights, prior=prior)
    return assume_valid(found.labelled(beliefs.labels), beliefs)
