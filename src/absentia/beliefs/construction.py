"""Parts of beliefs about rows that were measured with known error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.prior import Prior
from absentia.missingness import Patterns
from absentia.tables import FloatArray, IntArray
from absentia.tables.stored import frozen


def moments_by_row(
    means: ArrayLike,
    covariances: ArrayLike | None,
    variances: ArrayLike | None,
    prior: Prior | None,
) -> tuple[FloatArray, FloatArray, CovarianceTable, IntArray, Patterns, Prior]:
    """Return the parts of beliefs, in their order; see ``Beliefs.from_moments``."""
    centres = np.array(means, dtype=np.float64, ndmin=2)
    if centres.ndim != 2 or not centres.size or not np.isfinite(centres).all():
        raise ValueError(
            f"means must be a finite table of shape (n_samples, n_features), found shape "
            f"{centres.shape}{' with NaN or infinity' * (not np.isfinite(centres).all())}. "
            "Rows with missing values go through density.condition(X)."
        )
    values, group_of_row = covariances_by_group(covariances, variances, centres.shape)
    n, d = centres.shape
    if prior is None:
        centred = centres - centres.mean(axis=0)
        average = np.einsum("g,gij->ij", np.bincount(group_of_row) / n, values)
        prior = Prior(
            weights=np.ones(1),
            means=centres.mean(axis=0)[None],
            covariances=(centred.T @ centred / n + average)[None],
        )
    elif prior.n_features != d:
        raise ValueError(
            f"prior is about {prior.n_features} columns, but means have {d}; give the prior of "
            "rows in the same columns."
        )
    prior.ensure_valid()
    table = CovarianceTable.of_matrices(frozen(values[:, None]))
    patterns = Patterns.of_mask(np.zeros(centres.shape, dtype=bool))
    return np.zeros((n, 1)), centres[:, None, :], table, group_of_row, patterns, prior


def covariances_by_group(
    covariances: ArrayLike | None, variances: ArrayLike | None, shape: tuple[int, int]
) -> tuple[FloatArray, IntArray]:
    """Bring what ``Beliefs.from_moments`` accepts into (n_groups, d, d) and a group per row."""
    n, d = shape
    if (covariances is None) == (variances is None):
        raise ValueError("Give either covariances or variances, not both.")
    given = np.asarray(variances if covariances is None else covariances, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("covariances and variances must be finite, found NaN or infinity.")
    if covariances is not None:
        if given.shape in ((n, d, d), (1, d, d)):
            matrices = given
        elif given.shape == (n, d) == (d, d) and d > 1 and given.any():
            raise ValueError(
                f"covariances of shape {given.shape} could be one matrix for all rows or one "
                f"variance per value, since there are as many rows as columns. Give "
                "covariances[None] for the first, variances=... for the second."
            )
        elif given.shape == (d, d):
            matrices = given[None]
        elif given.shape == (n, d):
            matrices = given[:, :, None] * np.eye(d)
        else:
            raise ValueError(
                f"covariances must have shape {(n, d, d)} (one matrix per row) or {(d, d)} (one "
                f"matrix for all), found {given.shape}. For independent errors give variances."
            )
    else:
        try:
            matrices = np.broadcast_to(given, (n, d))[:, :, None] * np.eye(d)
        except ValueError:
            raise ValueError(
                f"variances must broadcast to {(n, d)}, one per value of the table, found "
                f"shape {given.shape}."
            ) from None
        if given.shape not in ((n, d), (n, 1)):  # all rows alike
            matrices = matrices[:1]
    values = matrices.copy()
    group_of_row = np.arange(n) if len(values) == n else np.zeros(n, dtype=np.intp)
    if not np.allclose(values, values.transpose(0, 2, 1)):
        raise ValueError(
            "covariances must be symmetric: each matrix equal to its transpose. Try "
            "(C + C.transpose(0, 2, 1)) / 2 if the difference is rounding."
        )
    smallest = np.linalg.eigvalsh(values)[:, 0]
    largest = np.abs(values).max(axis=(1, 2))
    if (smallest < -1e-8 * largest).any():
        worst = int(np.argmin(smallest))
        raise ValueError(
            f"covariances must be positive semidefinite, but number {worst} has an eigenvalue of "
            f"{smallest[worst]:.3g}."
        )
    return (values + values.transpose(0, 2, 1)) / 2, group_of_row
