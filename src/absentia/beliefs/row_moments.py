"""Mean, covariance and standard deviation of each row, and random draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from absentia.beliefs.prior import sample_codes
from absentia.engine.threads import bounded_slices
from absentia.parameters import MOST_DRAWS, RandomState, count_from
from absentia.tables import FloatArray

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["covariance_of", "covariance_roots", "mean_of", "sampled", "spread_of"]


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


_SIZE = count_from(0, MOST_DRAWS)


def sampled(beliefs: Beliefs, size: int | None, random_state: RandomState) -> FloatArray:
    """Draw one table or several; see :meth:`Beliefs.sample`."""
    rng = check_random_state(random_state)
    if size is not None:
        _SIZE.check("size", size)
    n_draws = 1 if size is None else int(size)
    n, d = beliefs.shape
    if beliefs.n_components == 1:
        component = np.zeros((n_draws, n), dtype=np.intp)
    else:
        cumulative = np.cumsum(beliefs.weights(), axis=1)
        uniforms = rng.uniform(size=(n_draws, n, 1)) * cumulative[:, -1:]
        component = (uniforms > cumulative[:, :-1]).sum(axis=2)
    draws = beliefs.means[np.arange(n), component]
    uncertain = np.flatnonzero(~beliefs.covariances.is_zero()[beliefs.group_of_row])
    # Rows of one group stand together, so that few groups' matrices are needed at a time.
    rows_in_order = uncertain[np.argsort(beliefs.group_of_row[uncertain], kind="stable")]
    floats_per_row = d * (n_draws + beliefs.n_components * d)
    for part in bounded_slices(len(rows_in_order), floats_per_row):
        rows = rows_in_order[part]
        groups, local = np.unique(beliefs.group_of_row[rows], return_inverse=True)
        roots = covariance_roots(beliefs.covariances.dense(groups))
        noise = rng.standard_normal((n_draws, len(rows), d)).transpose(1, 2, 0)
        for c in range(beliefs.n_components):
            offsets = (roots[local, c] @ noise).transpose(2, 0, 1)
            draws[:, rows] += np.where((component[:, rows] == c)[:, :, None], offsets, 0.0)
    if beliefs.codes is not None:
        categories = sample_codes(beliefs.prior, beliefs.codes, component, rng)
        draws = np.concatenate([draws, categories.astype(np.float64)], axis=2)
    return draws[0] if size is None else draws


def covariance_roots(covariances: FloatArray) -> FloatArray:
    """Return ``R`` with ``R R' = covariance`` for a stack, with zero rows where it has them."""
    certain = np.diagonal(covariances, axis1=-2, axis2=-1) <= 0
    filled = covariances + certain[..., None] * np.eye(covariances.shape[-1])
    try:
        roots = np.linalg.cholesky(filled)
    except np.linalg.LinAlgError:  # singular, as after a map to more columns
        eigenvalues, vectors = np.linalg.eigh(filled)
        roots = vectors * np.sqrt(np.maximum(eigenvalues, 0))[..., None, :]
    cleared: FloatArray = np.where(certain[..., None], 0.0, roots)
    return cleared
