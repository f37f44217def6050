"""Similarity of missingness patterns, for data in which missingness is informative."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Kernel, numbers_per_column, with_params
from absentia.kernels.gram.tiles import assembled
from absentia.parameters import declared
from absentia.tables import FloatArray

_TILE = 512


@declared
class MaskKernel(Kernel):
    """Similarity of two rows in *which* values they miss, whatever their values are.

    ``exp(-sum_j weight_j [exactly one of the two rows misses column j])``

    One for rows with the same pattern; each column that one of them misses and the other has
    takes a factor of ``exp(-weight)``. Multiplied with another kernel it lets a model use *that*
    a value is missing, which is decisive when data are not missing at random: a customer who
    leaves the income blank is not an average customer. Where missingness is uninformative it
    costs a little accuracy, so choose the weight by cross-validation; 0 switches it off.

    A product over columns of positive definite kernels on two points, so positive definite. Its
    diagonal is one, for two draws of a row miss the same columns.

    Beliefs from moments, and beliefs after a map that mixes columns, miss no column: between
    those the kernel is one everywhere.

    Parameters
    ----------
    weight : float or array-like of shape (n_features,), default=1.0
        Non-negative. An array gives each column its own weight, so that only the columns whose
        absence is informative count.

    Notes
    -----
    One product of two matrices of 0 and 1 with d columns, paid once per pair of patterns: O(P² d)
    for P patterns, and O(n²) to spread it to n rows.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity, GenRBF, MaskKernel
    >>> X = np.array([[1.0, 2.0, 3.0], [2.0, np.nan, 4.0], [0.0, np.nan, np.nan], [3.0, 1.0, 2.0]])
    >>> P = GaussianDensity().fit(X).condition(X)
    >>> MaskKernel(weight=np.log(2))(P)
    array([[1.  , 0.5 , 0.25, 1.  ],
           [0.5 , 1.  , 0.5 , 0.5 ],
           [0.25, 0.5 , 1.  , 0.25],
           [1.  , 0.5 , 0.25, 1.  ]])
    >>> GenRBF() * MaskKernel(weight=[0.0, 1.0, 1.0])
    GenRBF() * MaskKernel(weight=[0.0, 1.0, 1.0])
    """

    weight: ArrayLike = field(default=1.0, kw_only=False)

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with its weights checked against the columns."""
        return with_params(
            self, weight=checked_weight(self.weight, prior.n_features + len(prior.probabilities))
        )

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        left = P.missing_patterns
        right = left if Q is None else Q.missing_patterns
        n_columns = left.masks.shape[1]
        weights = np.broadcast_to(np.asarray(self.weight, dtype=np.float64), (n_columns,))
        A, B = left.masks.astype(np.float64), right.masks.astype(np.float64)

        def tile(rows: slice, columns: slice) -> FloatArray:
            ours, row_of = np.unique(left.pattern_of_row[rows], return_inverse=True)
            theirs, column_of = np.unique(right.pattern_of_row[columns], return_inverse=True)
            # Both terms are sums of weights with nothing cancelled, so equal patterns give 0.
            with np.errstate(over="ignore"):  # the exponential of minus infinity is zero, too
                differing = (A[ours] * weights) @ (1 - B[theirs]).T
                differing += (1 - A[ours]) @ (B[theirs] * weights).T
            return np.take(np.exp(-differing)[row_of], column_of, axis=1)

        shape = (len(left), len(right))
        return assembled(tile, shape, symmetric=Q is None, tile_rows=_TILE, n_jobs=n_jobs)

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.ones(len(P))

    has_gradient = True

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        K = self._gram(P, None, n_jobs) if K is None else K
        pairs = weights * K
        missing = P.missing_patterns.mask.astype(np.float64)
        # A column counts where one row misses it and the other has it.
        by_rows, by_columns = pairs.sum(axis=1), pairs.sum(axis=0)
        differing = (by_rows + by_columns) @ missing
        differing -= 2 * np.einsum("ij,ij->j", missing, pairs @ missing)
        weight = np.asarray(self.weight, dtype=np.float64)
        by_column: FloatArray = -weight * differing
        return {"weight": by_column if weight.ndim else np.asarray(by_column.sum())}


def checked_weight(weight: ArrayLike, n_features: int) -> float | FloatArray:
    """Return the weights of the mask kernel, checked against the columns."""
    return numbers_per_column("weight (mask_weight in a machine)", weight, n_features)
