"""Mean, covariance and standard deviation of what each row could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from absentia.engine.threads import bounded_slices
from absentia.tables import FloatArray

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["covariance_of", "mean_of", "spread_of"]


def mean_of(beliefs: Beliefs) -> FloatArray:
    """Return the mean of each row; see :meth:`Beliefs.mean`."""
    first = beliefs.means[:, 0]
    if beliefs.n_components == 1:
        return first.copy()
    # Relative to the first component: where all components agree (observed entries), the
    # differences vanish exactly, whatever the rounding of the weights.
    offsets = beliefs.means - first[:, None]
    return first + np.einsum("ic,icj->ij", beliefs.weights(), offsets)


def covariance_of(beliefs: Beliefs) -> FloatArray:
    """Return the covariance of each row; see :meth:`Beliefs.covariance`."""
    if beliefs.n_components == 1:
        return beliefs.covariances.dense()[beliefs.group_of_row, 0]
    weights = beliefs.weights()
    # With roots of the weights both factors are the same: symmetric to the last bit.
    offsets = np.sqrt(weights)[:, :, None] * (beliefs.means - beliefs.mean()[:, None])
    out = np.einsum("icj,icl->ijl", offsets, offsets)
    for part in bounded_slices(len(beliefs), beliefs.n_components * beliefs.n_features**2):
        dense = beliefs.covariances.dense(beliefs.group_of_row[part])
        out[part] += np.einsum("ic,icjl->ijl", weights[part], dense)
    return out


def spread_of(beliefs: Beliefs) -> FloatArray:
    """Return the standard deviation of each value, shape (n_samples, n_features)."""
    out = np.empty(beliefs.shape)
    for part in bounded_slices(len(beliefs), beliefs.n_components * beliefs.n_features**2):
        variances = np.diagonal(beliefs[part].covariance(), axis1=1, axis2=2)
        out[part] = np.sqrt(np.maximum(variances, 0.0))
    return out
