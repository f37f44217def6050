"""The Gram matrix as libsvm should see it: in units of its own, and without a large constant.

libsvm keeps its copy of the matrix in single precision, and some of its machines stop at a
tolerance in units of the matrix. The solution of a support vector machine is the same for

    K'_ij = (K_ij - r_i - r_j + m) / u

with ``C`` multiplied by ``u``, because the coefficients sum to zero; only coefficients and
intercept have to be translated back. So the matrix is divided by a unit ``u`` near its typical
diagonal entry, and row means ``r`` are taken off where what all rows share (columns whose means are
large beside their deviations, a large ``coef0``, a tiny ``gamma``) would leave single precision too
few digits for the differences. The coefficients of the one-class machine sum to a constant instead:
there only one number may be taken off, which moves its offset.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from absentia.tables import FloatArray, IntArray

__all__ = ["SolverMatrix", "most_iterations", "pair_sums", "pairs_of_classes", "tolerance_in_units"]

#: Diagonal before and after centring: from here on single precision (six to seven digits) has fewer
#: digits left than the default tolerance asks for.
_SHARED = 1e3
#: Largest entry after division: numbers in single precision end near 1e38.
_LARGEST = 1e28
#: Tolerance that a matrix in single precision can still answer to.
_FINEST = 1e-6
#: Where the differences of rows are rounding alone.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class SolverMatrix:
    """A Gram matrix for the solver, and how its solution is translated back.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_samples)
    unit : float
        A power of two, so that the division rounds nothing.
    taken_off : ndarray of shape (n_samples,) or None
        What was taken off rows and columns, in the units of the Gram matrix.
    constant : bool
        Whether all entries are the same up to rounding.
    """

    values: FloatArray
    unit: float
    taken_off: FloatArray | None = None
    constant: bool = False

    @classmethod
    def of(cls, K: FloatArray, *, one_number: bool = False) -> SolverMatrix:
        """Return the matrix for the solver.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        one_number : bool
            Whether only one number may be taken off all entries (the one-class machine).
        """
        taken_off, constant = None, False
        diagonal = np.abs(K.diagonal())
        largest = float(diagonal.max(initial=0.0))
        means = K.mean(axis=1) / largest if 0.0 < largest < np.inf else np.zeros(len(K))
        left = K.diagonal() / (largest or 1.0) - 2 * means + means.mean()
        if float(np.abs(left).max(initial=0.0)) * _SHARED < 1.0 and len(K) > 1 and largest > 0.0:
            constant = float(np.abs(left).max()) <= _ROUNDING
            if constant:
                warnings.warn(
                    "The kernel has the same value for all pairs of training rows, up to rounding, "
                    "so that one answer is learned for all rows. Standardise the columns "
                    "(make_pipeline(StandardScaler(), machine)), or use a smaller coef0 or a "
                    "larger gamma.",
                    stacklevel=2,
                )
            taken_off = means * largest
            if one_number:
                taken_off = np.full(len(K), float(K.min()) / 2)
            K = K - taken_off[:, None] - taken_off
            if not one_number:
                K += taken_off.mean()
            K = np.zeros_like(K) if constant else K
            diagonal = np.abs(K.diagonal())
        unit = _unit(diagonal)
        return cls(K if unit == 1.0 else K / unit, unit, taken_off, constant)

    def penalty(self, C: float) -> float:
        """Return the ``C`` of the same problem on this matrix, positive, and finite if it was."""
        return C if np.isinf(C) else float(np.clip(C * self.unit, 1e-290, 1e290))


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

    LIBSVM's own, ten million or a hundred per row, is too near: of the tables that scikit-learn
    ships, standardised, the linear kernel needs 10.5 million on breast_cancer (C = 1e6) and 19.5
    million on diabetes (C = 1000, 6 s); with "rbf" no C up to 1e6 needs more than 0.1 million.
    """
    return max(100_000_000, 100 * n_samples)


def pairs_of_classes(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in the order in which they are separated."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def pair_sums(values: FloatArray, dual_coef: FloatArray, n_support: IntArray) -> FloatArray:
    """Return the sum over support vectors for each pair of classes, (n_rows, n_pairs).

    ``dual_coef`` has, for a support vector of class ``i``, its coefficients against all other
    classes in ascending order; so those against class ``j`` are in row ``j - 1`` where ``i < j``
    and in row ``j`` where ``i > j``.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_support)
    dual_coef : ndarray of shape (n_classes - 1, n_support)
    n_support : ndarray of shape (n_classes,)
    """
    stops = np.cumsum(n_support)
    sums = [
        values[:, stop - size : stop] @ dual_coef[:, stop - size : stop].T
        for stop, size in zip(stops, n_support, strict=True)
    ]
    pairs = [sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs_of_classes(len(n_support))]
    return np.column_stack(pairs)
