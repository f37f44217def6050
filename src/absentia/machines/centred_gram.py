"""Gram matrices without what all rows share, for machines with an intercept.

The coefficients of a machine with an intercept sum to zero at the optimum, and then

    sum_j c_j K_ij + b  =  sum_j c_j (K_ij - r_i - r_j + m) + b',    b = b' - sum_j c_j r_j

so that row means ``r`` can be taken off the matrix. Where the diagonal is large beside what is left
(columns whose means are large beside their deviations, a large ``coef0``, a tiny ``gamma``), they
are: solvers lose the digits in which rows differ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from absentia.tables import FloatArray

__all__ = ["CentredGram"]

#: Diagonal before and after centring: from here on single precision (six to seven digits), which is
#: what libsvm computes in, has fewer digits left than the default tolerances ask for.
_SHARED = 1e3
#: What is left of the diagonal where rows differ in their last three digits, and by rounding alone.
_LAST_DIGITS, _ROUNDING = 1e-12, 1e-14


@dataclass(frozen=True, eq=False)
class CentredGram:
    """A Gram matrix, and what was taken off it.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_samples)
    taken_off : ndarray of shape (n_samples,) or None
        What was taken off rows and columns; None where the matrix was left as it is.
    constant : bool
        Whether the entries were the same up to rounding; all are zero then.
    """

    values: FloatArray
    taken_off: FloatArray | None = None
    constant: bool = False

    @classmethod
    def of(cls, K: FloatArray, *, one_number: bool = False) -> CentredGram:
        """Return the matrix, centred where that matters.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        one_number : bool
            Whether only one number may be taken off all entries, twice what ``taken_off`` holds:
            where coefficients sum to a constant that is not zero (the one-class machine).
        """
        largest = float(np.abs(K.diagonal()).max(initial=0.0))
        if len(K) < 2 or not 0.0 < largest < np.inf:
            return cls(K)
        means = (K / largest).mean(axis=1) if largest > 1e300 else K.mean(axis=1) / largest
        left = float(np.abs(K.diagonal() / largest - 2 * means + means.mean()).max())
        if left * _SHARED >= 1.0:
            return cls(K)
        if left <= _LAST_DIGITS:
            warnings.warn(
                "The kernel has the same value for all pairs of training rows, up to its last "
                "digits, so predictions can hardly differ between rows. Standardise the columns "
                "(make_pipeline(StandardScaler(), machine)), or use a smaller coef0 or a larger "
                "gamma.",
                stacklevel=2,
            )
        taken_off = np.full(len(K), float(K.min()) / 2) if one_number else means * largest
        constant = left <= _ROUNDING
        if constant:
            return cls(np.zeros_like(K), taken_off, constant)
        K = K - taken_off[:, None] - taken_off
        if not one_number:
            K += taken_off.mean()
        return cls(K, taken_off)
