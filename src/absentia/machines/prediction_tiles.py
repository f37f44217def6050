"""What a machine predicts from: the kernel of new rows with training rows, in tiles of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import believe
from absentia.kernels.base import Kernel
from absentia.kernels.gram.tiles import cut
from absentia.machines.door import MachineDoor
from absentia.machines.missingness_shift import check_shift
from absentia.parameters import FloatVector
from absentia.tables import FloatArray, IntArray, MemoryRows, Table, TableLike, plan_of

__all__ = ["GramRows", "PredictsInTiles", "gram_matrix", "gram_tiles"]

# A tile of the matrix that predictions are made from: 64 MB, and a multiple of some rows, so that
# compiled loops find their rows in groups as they do in the whole matrix.
TILE_FLOATS = 2**23
TILE_ROWS = 256


@dataclass(frozen=True, eq=False)
class GramRows:
    """Rows of a Gram matrix that stand for new rows: kernel values with *all* training rows.

    Prediction methods on ``_map_gram`` take them instead of ``X``, so that model selection computes
    a matrix once and scores many models on it with any scorer.
    """

    values: FloatArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        """(new rows, training rows)."""
        n, m = self.values.shape
        return n, m


class PredictsInTiles(MachineDoor):
    """A fitted machine on new rows."""

    density_: BaseEstimator | None
    kernel_: Kernel
    beliefs_: Beliefs
    missing_rates_: FloatVector
    n_features_in_: int

    def _kept_rows(self, solution: Mapping[str, object]) -> IntArray | None:
        """Return which training rows prediction needs (support vectors); None means all."""
        return None

    @property
    def _n_belief_columns(self) -> int:
        return self.beliefs_.n_features

    def _believe(self, X: TableLike) -> Beliefs:
        """Return the beliefs about new rows, checked against training."""
        self._check_fitted("kernel_")
        rows = self._open_new(X)
        beliefs = believe(self.density_, rows)
        if self.shift != "ignore" and rows.n_features == len(self.missing_rates_):
            planned = plan_of(self) is not None
            names = rows.labels if planned else getattr(self, "feature_names_in_", rows.labels)
            check_shift(self.shift, self.missing_rates_, rows.mask, list(names))
        return beliefs

    def _gram_rows(self, X: Any) -> FloatArray:
        """Return the kernel of new rows with the training rows kept, (n_new, n_kept)."""
        self._check_fitted()
        if self._is_precomputed() and not isinstance(X, GramRows):
            X = GramRows(gram_matrix(self._open_new(X)))
        if isinstance(X, GramRows):
            kept = self._kept_rows(vars(self))
            return X.values if kept is None else X.values[:, kept]
        return self._gram(self._believe(X))

    def _map_gram(self, X: TableLike, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return what a function makes of the kernel of new rows, a tile of rows at a time.

        ``function`` takes rows of the matrix ``k(new, kept)`` and returns one entry per row.
        """
        self._check_fitted()
        if isinstance(X, GramRows) or self._is_precomputed():
            return function(self._gram_rows(X))
        parts = [function(K) for _, K in self._gram_tiles(self._believe(X))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _gram_tiles(self, beliefs: Beliefs) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the kernel of new rows with the training rows kept, in tiles of bounded size.

        See :func:`gram_tiles`.
        """
        return gram_tiles(self.kernel_, beliefs, self.beliefs_, self.n_jobs)

    def _gram(self, beliefs: Beliefs) -> FloatArray:
        return self.kernel_(beliefs, self.beliefs_, n_jobs=self.n_jobs)


def gram_tiles(
    kernel: Kernel, beliefs: Beliefs, known: Beliefs, n_jobs: int | None
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the kernel of many rows with those of a machine, in tiles of bounded size.

    With each tile comes which of the rows it is about. The matrix of all rows is
    never held at once. As many tiles as fit into memory are computed together; how many that
    is changes no bit of an expected RBF or genRBF on dense covariances (low-rank densities, mask
    kernels and other kernels: up to rounding), and none of what is made of a tile, because tiles
    begin at the same rows and have the same height.
    """
    # Without support vectors, which a wide tube leaves, there are rows of no entries.
    step = max(TILE_ROWS, TILE_FLOATS // max(1, len(known)) // TILE_ROWS * TILE_ROWS)
    for rows in cut(len(beliefs), step) or [slice(0, 0)]:
        whole = len(beliefs) <= step
        K = kernel(beliefs if whole else beliefs.tile(rows), known, n_jobs=n_jobs)
        for part in cut(len(K), TILE_ROWS) or [slice(0, 0)]:
            yield slice(rows.start + part.start, rows.start + part.stop), K[part]


def gram_matrix(rows: MemoryRows) -> FloatArray:
    """Return the values of rows that are rows of a Gram matrix."""
    if not isinstance(rows, Table) or rows.mask.any():
        raise ValueError("A precomputed kernel must be a matrix of numbers without missing values.")
    return rows.array
