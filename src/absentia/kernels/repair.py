"""Kernel matrices that are not positive semidefinite: detection, warning and repair."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky, eigh, eigvalsh

from absentia.kernels.base import Kernel
from absentia.parameters import numbers, words
from absentia.tables import FloatArray


class NotPositiveDefiniteWarning(UserWarning):
    """A kernel matrix has a negative eigenvalue that rounding does not explain.

    Examples
    --------
    >>> import warnings
    >>> from absentia import NotPositiveDefiniteWarning
    >>> with warnings.catch_warnings(action="error", category=NotPositiveDefiniteWarning):
    ...     pass  # a fit in here stops instead of warning
    """


@dataclass(frozen=True, eq=False)
class RepairedMatrix:
    """The repair made by :func:`repair_psd`, to be applied to new rows as well.

    Attributes
    ----------
    method : {"clip", "flip", "shift"}
    eigenvalues : ndarray of shape (n,)
        Of the matrix before the repair, ascending.
    shift : float
        Number added to the diagonal; zero for the other methods.

    Examples
    --------
    >>> from absentia import repair_psd
    >>> repaired, repair = repair_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> repair.eigenvalues, repair.transform([[1.0, 0.0]])
    (array([-1.,  3.]), array([[0.5, 0.5]]))
    """

    method: str
    eigenvalues: FloatArray
    shift: float
    _original: FloatArray
    _projection: FloatArray | None

    def transform(self, K_new: ArrayLike) -> FloatArray:
        """Return the kernel of new rows with the training rows, to go with the repaired matrix.

        Clipping and flipping are linear maps of the rows. A shift raises only the similarity of a
        row with itself, so it leaves new rows as they are; a row that equals a training row to
        the last bit is that row, and is raised. So the training rows always come out as the
        repaired matrix has them.

        Parameters
        ----------
        K_new : array-like of shape (n_new, n)

        Returns
        -------
        ndarray of shape (n_new, n)
        """
        rows = np.array(K_new, dtype=np.float64, ndmin=2)
        if rows.shape[1] != len(self.eigenvalues):
            raise ValueError(
                f"K_new must have a column for each of the {len(self.eigenvalues)} rows of the "
                f"repaired matrix, found shape {rows.shape}."
            )
        if self._projection is not None:
            return rows @ self._projection
        if self.shift:
            known: dict[bytes, list[int]] = {}
            for i, row in enumerate(self._original):
                known.setdefault(row.tobytes(), []).append(i)
            seen: dict[bytes, int] = {}
            for row in rows:
                key = row.tobytes()
                if key in known:
                    # Equal rows take turns, so that all of them come out as in the matrix.
                    turn = seen.get(key, 0)
                    seen[key] = turn + 1
                    row[known[key][turn % len(known[key])]] += self.shift
        return rows


def repair_psd(
    K: ArrayLike, method: Literal["clip", "flip", "shift"] = "clip"
) -> tuple[FloatArray, RepairedMatrix]:
    """Return a positive semidefinite matrix close to a kernel matrix that is not.

    With ``K = V diag(l) V'``:

    - ``"clip"``: negative eigenvalues become zero, the nearest positive semidefinite matrix;
    - ``"flip"``: negative eigenvalues are replaced by their absolute values;
    - ``"shift"``: the absolute value of the smallest is added to the diagonal, which changes no
      similarity of two different rows.

    A matrix that is positive semidefinite up to rounding comes back as it was.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric, finite.
    method : {"clip", "flip", "shift"}, default="clip"

    Returns
    -------
    repaired : ndarray of shape (n, n)
        Symmetric to the last bit.
    repair : RepairedMatrix
        Its ``transform`` does the same to the kernel of new rows with the training rows.

    Notes
    -----
    An eigendecomposition, O(n³).

    Examples
    --------
    >>> from absentia import repair_psd
    >>> K = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]
    >>> repaired, repair = repair_psd(K, method="shift")
    >>> float(repair.eigenvalues[0].round(3)), float(repaired[0, 0].round(3))
    (-0.273, 1.273)
    >>> repair.transform([[0.5, 0.5, 0.5]])
    array([[0.5, 0.5, 0.5]])
    """
    words("clip", "flip", "shift").check("method", method)
    original = np.array(numbers("K", K, "a square matrix of numbers"), ndmin=2)
    if original.ndim != 2 or original.shape[0] != original.shape[1]:
        raise ValueError(f"K must be a square matrix, found shape {original.shape}.")
    if not np.isfinite(original).all():
        raise ValueError("K must be finite, found NaN or infinity.")
    largest = float(np.abs(original).max(initial=0.0))
    if np.abs(original - original.T).max(initial=0.0) > 1e-8 * largest:
        raise ValueError(
            "K must be symmetric: the matrix of the training rows with themselves. Rows of new "
            "data go to the transform of the repair."
        )
    eigenvalues, V = eigh(original)
    # Rounding decides the sign of the smallest eigenvalue of a singular matrix.
    rounding = len(original) * np.finfo(np.float64).eps * np.abs(eigenvalues).max(initial=0.0)
    negative = eigenvalues < -rounding
    shift, projection = 0.0, None
    if not negative.any():
        repaired = original.copy()
    elif method == "shift":
        shift = -float(eigenvalues[0])
        repaired = original + shift * np.eye(len(original))
    else:
        signs = np.where(negative, 0.0 if method == "clip" else -1.0, 1.0)
        projection = (V * signs) @ V.T
        repaired = (V * (eigenvalues * signs)) @ V.T
    repaired = (repaired + repaired.T) / 2
    return repaired, RepairedMatrix(method, eigenvalues, shift, original, projection)


def check_psd(K: FloatArray, kernel: Kernel) -> bool:
    """Return whether a training matrix is positive semidefinite, and warn where it is not.

    Machines call this on the matrix they are about to solve with. A kernel that is positive
    definite by theorem is not checked; for the others a Cholesky factorisation decides, with
    a tolerance of ``1e-8`` of the trace, and only a matrix that fails pays for the smallest
    eigenvalue that a :class:`NotPositiveDefiniteWarning` names.
    """
    if kernel.positive_definite or len(K) == 0:
        return True
    tolerance = max(1e-8 * float(np.trace(K)), np.finfo(np.float64).tiny)
    lifted = K.copy()
    lifted[np.diag_indices_from(lifted)] += tolerance
    try:
        cholesky(lifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        smallest = float(eigvalsh(K, subset_by_index=[0, 0])[0])
        warnings.warn(
            f"The matrix of {kernel!r} is not positive semidefinite: its smallest eigenvalue is "
            f"{smallest:.3g}. The solution may be poor or fail to converge. Use repair_psd on "
            "the matrix, or a kernel whose positive_definite is True, such as GenRBF.",
            NotPositiveDefiniteWarning,
            stacklevel=2,
        )
        return False
    return True
