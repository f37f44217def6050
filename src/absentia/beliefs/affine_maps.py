"""Beliefs about an affine map of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs.priors.covariances import (
    ConditionalCovariances,
    CovarianceTable,
    ExplicitCovariances,
)
from absentia.missingness import Patterns
from absentia.tables.stored import assume_valid, frozen

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs

__all__ = ["mapped"]


def mapped(beliefs: Beliefs, A: ArrayLike, b: ArrayLike) -> Beliefs:
    """Return the beliefs about ``A x + b``; see :meth:`Beliefs.transform`."""
    A = np.array(A, dtype=np.float64, ndmin=2)
    if A.shape[1] != beliefs.n_features:
        raise ValueError(
            f"A must have one column for each of the {beliefs.n_features} features, found shape "
            f"{A.shape}."
        )
    b = np.asarray(b, dtype=np.float64)
    if b.shape not in ((), (1,), (A.shape[0],)):
        raise ValueError(
            f"b must be one number, or one for each of the {A.shape[0]} rows of A, found shape "
            f"{b.shape}."
        )
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError("A and b must be finite, found NaN or infinity.")
    b = np.broadcast_to(b, (A.shape[0],))
    prior = beliefs.prior.transform(A, b)
    patterns, table = beliefs.patterns, beliefs.covariances
    diagonal = np.diagonal(A)
    if A.shape[0] == A.shape[1] and not np.count_nonzero(A - np.diag(diagonal)):
        means = beliefs.means * diagonal + b
    else:
        means = beliefs.means @ A.T + b
        patterns = Patterns.of_mask(np.zeros((len(beliefs), A.shape[0]), dtype=bool))
    if patterns is beliefs.patterns and table.is_conditioned and diagonal.all():
        # Scaled columns are conditioned as before: the covariances are those of the new prior.
        moved: CovarianceTable = ConditionalCovariances(prior, patterns.masks)
    else:
        values = A @ table.dense() @ A.T
        moved = ExplicitCovariances(frozen((values + values.transpose(0, 1, 3, 2)) / 2))
    found = replace(
        beliefs, means=means, covariances=moved, patterns=patterns, prior=prior, margins=None
    )
    return assume_valid(found, beliefs)
