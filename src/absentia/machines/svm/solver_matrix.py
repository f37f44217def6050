"""The Gram matrix as libsvm should see it: in units of its own, and centred where that matters.

libsvm keeps its copy of the matrix in single precision, and some of its machines stop at a
tolerance in units of the matrix. Dividing the matrix by a unit ``u`` near its typical diagonal
entry and multiplying ``C`` by it leaves the decision function as it is; only the coefficients have
to be divided by ``u``. What all rows share is taken off before (``machines/centred_gram.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.machines.centred_gram import CentredGram
from absentia.tables import FloatArray, IntArray

__all__ = ["SolverMatrix", "most_iterations", "pair_sums", "pairs_of_classes", "tolerance_in_units"]

#: Largest entry after division: numbers in single precision end near 1e38.
_LARGEST = 1e28
#: Tolerance that a matrix in single precision can still answer to.
_FINEST = 1e-6


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
        centred = CentredGram.of(K, one_number=one_number)
        unit = _unit(np.abs(centred.values.diagonal()))
        values = centred.values if unit == 1.0 else centred.values / unit
        return cls(values, unit, centred.taken_off, centred.constant)

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
