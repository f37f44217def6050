"""How much to distrust the correlations of a table: shrinkage chosen from the data."""

from __future__ import annotations

import numpy as np

from absentia.tables import FloatArray

__all__ = ["automatic_shrinkage", "pair_sums", "shrinkage_from_sums"]


def automatic_shrinkage(Z: FloatArray, weights: FloatArray | None = None) -> float:
    """Choose how far to shrink the correlations of an incomplete table towards zero.

    Shrinking every correlation ``r`` to ``(1 - lam) r`` has the least expected squared error at

        lam = sum var(r) / sum (rho^2 + var(r))

    over the pairs of columns (Ledoit and Wolf, 2003; Schaefer and Strimmer, 2005). ``r`` is the
    correlation over the rows that have both columns, ``n`` of them, so that a pair seldom seen
    together counts as poorly known; ``rho^2`` is estimated by the adjusted ``r^2`` (which is what
    remains of it after chance), and ``var(r)`` by ``(1 - rho^2)^2 / (n - 1)``, as for Gaussians.
    Pairs never seen together are taken as unknown: ``rho = 0``, variance one.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Columns of comparable scale, NaN where a value is missing.
    weights : ndarray of shape (n_samples,), optional
        A row of weight two counts as two rows.

    Returns
    -------
    float
        Between 0 and 1. The cost is five products of matrices, O(n d^2).
    """
    return shrinkage_from_sums(pair_sums(Z, weights))


def pair_sums(
    Z: FloatArray, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return, over the rows that have both of two columns: counts, sums, squares, products.

    Each of shape (n_features, n_features); those of two tables add up to those of both.
    """
    observed = (~np.isnan(Z)).astype(np.float64)
    values = np.where(np.isnan(Z), 0.0, Z)
    share = observed if weights is None else observed * weights[:, None]
    return (
        share.T @ observed,
        (share * values).T @ observed,
        (share * values**2).T @ observed,
        (share * values).T @ values,
    )


def shrinkage_from_sums(
    sums_of_pairs: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
) -> float:
    """Return the shrinkage of :func:`automatic_shrinkage` from the sums of all rows."""
    counts, sums, squares, products = sums_of_pairs
    d = len(counts)
    if d == 1:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = squares / counts - (sums / counts) ** 2
        covariances = products / counts - (sums / counts) * (sums / counts).T
        squared = covariances**2 / (variances * variances.T)
    known = (counts > 2) & (variances > 1e-12) & (variances.T > 1e-12)
    squared = np.where(known, np.minimum(squared, 1.0), 0.0)
    counts = np.maximum(counts, 2.0)
    free = np.maximum(counts - 2.0, 1.0)
    rho_squared = np.clip((squared * (counts - 1.0) - 1.0) / free, 0.0, 1.0)
    doubt = (1.0 - rho_squared) ** 2 / (counts - 1.0)
    pairs = ~np.eye(d, dtype=bool)
    total = float((rho_squared + doubt)[pairs].sum())
    return float(doubt[pairs].sum()) / total if total > 0 else 0.0
