"""Gram matrices as solvers and predictions need them: centred, in units of their own, in tiles.

The coefficients of a machine with an intercept sum to zero at the optimum, and then

    sum_j c_j K_ij + b  =  sum_j c_j (K_ij - r_i - r_j + m) + b',    b = b' - sum_j c_j r_j

so that row means ``r`` can be taken off the matrix. That is done if the diagonal is large beside
what is left (columns whose means are large beside their deviations, a large ``coef0``, a tiny
``gamma``): otherwise solvers lose the digits in which rows differ.

libsvm keeps its copy of the matrix in single precision, and some of its machines stop at a
tolerance in units of the matrix. Dividing the matrix by a unit ``u`` near its typical diagonal
entry and multiplying ``C`` by it leaves the decision function as it is; only the coefficients have
to be divided by ``u``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from absentia.beliefs import Beliefs
from absentia.engine.threads import cut
from absentia.kernels.base import Kernel
from absentia.tables import FloatArray, IntArray

#: Diagonal before and after centring: from here on single precision (six to seven digits), which is
#: what libsvm computes in, has fewer digits left than the default tolerances ask for.
_SHARED = 1e3
#: Rest of the diagonal if rows differ in their last three digits, and by rounding alone.
_LAST_DIGITS, _ROUNDING = 1e-12, 1e-14
#: Largest entry after division: numbers in single precision end near 1e38.
_LARGEST = 1e28
#: Tolerance that a matrix in single precision can still answer to.
_FINEST = 1e-6
#: A tile of the matrix that predictions are made from has 64 MB, and a multiple of some rows, so
#: that compiled loops group its rows as they do in the whole matrix.
TILE_FLOATS = 2**23
TILE_ROWS = 256


@dataclass(frozen=True, eq=False)
class CentredGram:
    """A Gram matrix and the numbers subtracted from its rows and columns, (n_samples,) or None.

    The entries of a ``constant`` matrix were the same up to rounding; all are zero then. The values
    are those of the matrix divided by ``unit``, a power of two, so that the division rounds
    nothing; ``taken_off`` is in the units of the matrix.
    """

    values: FloatArray
    taken_off: FloatArray | None = None
    constant: bool = False
    unit: float = 1.0

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, K: FloatArray, *, one_number: bool = False) -> CentredGram:
        """Return the matrix, centred if that matters.

        With ``one_number``, only one number is taken off all entries, twice the values of
        ``taken_off``: for coefficients that sum to a constant that is not zero (the one-class
        machine).
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

    @classmethod
    def for_solver(cls, K: FloatArray, *, one_number: bool = False) -> CentredGram:
        """Return the matrix, centred if that matters, in units of its typical diagonal entry."""
        centred = cls.of(K, one_number=one_number)
        unit = _unit(np.abs(centred.values.diagonal()))
        return centred if unit == 1.0 else replace(centred, values=centred.values / unit, unit=unit)

    def penalty(self, C: float) -> float:
        """Return the ``C`` of the same problem on this matrix, positive, and finite if it was."""
        penalty = float(C)
        return penalty if np.isinf(penalty) else float(np.clip(penalty * self.unit, 1e-290, 1e290))


def _unit(diagonal: FloatArray) -> float:
    """Return the power of two below the median of the positive entries, or a larger one."""
    positive = diagonal[diagonal > 0]
    if not positive.size:
        return 1.0
    # The median, so that one gross row does not make the others invisible to the tolerance.
    typical = max(float(np.median(positive)), float(positive.max()) / _LARGEST)
    return float(2.0 ** np.floor(np.log2(typical)))


def tolerance_in_units(tol: float, unit: float) -> float:
    """Return the tolerance, on a matrix divided by ``unit``, of machines that stop in its units.

    Not looser than on the matrix as it was, except below what single precision can tell.
    """
    return min(tol, max(tol / unit, _FINEST))


def most_iterations(n_samples: int) -> int:
    """Return the bound on the solver's steps where none was asked for.

    LIBSVM's own, ten million or a hundred per row, is too near. Measured on wine, breast_cancer and
    diabetes, standardised: with "rbf" no C up to 1e6 needs more than 61,000; linear needs
    10.5 million on breast_cancer (C = 1e6), 19.5 million on diabetes (C = 1000, 6 s), and more than
    50 million there at C = 1e4 (30 s).
    """
    return max(100_000_000, 100 * n_samples)


def pairs_of_classes(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in the order in which they are separated."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def pair_sums(values: FloatArray, dual_coef: FloatArray, n_support: IntArray) -> FloatArray:
    """Return the sum over support vectors for each pair of classes, (n_rows, n_pairs).

    ``values`` has shape (n_rows, n_support). ``dual_coef``, (n_classes - 1, n_support), has, for a
    support vector of class ``i``, its coefficients against all other classes in ascending order; so
    those against class ``j`` are in row ``j - 1`` if ``i < j`` and in row ``j`` if ``i > j``.
    """
    stops = np.cumsum(n_support)
    sums = [
        values[:, stop - size : stop] @ dual_coef[:, stop - size : stop].T
        for stop, size in zip(stops, n_support, strict=True)
    ]
    pairs = [sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs_of_classes(len(n_support))]
    return np.column_stack(pairs)


@dataclass(frozen=True, eq=False)
class GramRows:
    """Kernel values of new rows with *all* training rows, in place of the new rows themselves.

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


def gram_tiles(
    kernel: Kernel, beliefs: Beliefs, known: Beliefs, n_jobs: int | None
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the kernel of many rows with those of a machine, in tiles of bounded size.

    Each tile comes with the slice of its rows. The matrix of all rows is never held at once. As
    many tiles as fit into memory are computed together; their number changes no bit of an expected
    RBF or genRBF on dense covariances (low-rank densities, mask kernels and other kernels: up to
    rounding), nor of functions of a tile, because tiles begin at the same rows and have the same
    height.
    """
    # A wide tube leaves no support vectors: then rows have no entries.
    step = max(TILE_ROWS, TILE_FLOATS // max(1, len(known)) // TILE_ROWS * TILE_ROWS)
    for rows in cut(len(beliefs), step) or [slice(0, 0)]:
        whole = len(beliefs) <= step
        K = kernel(beliefs if whole else beliefs.tile(rows), known, n_jobs=n_jobs)
        for part in cut(len(K), TILE_ROWS) or [slice(0, 0)]:
            yield slice(rows.start + part.start, rows.start + part.stop), K[part]
