"""NumPy twins of the compiled loops over patterns: all patterns of a small table at once.

A principal submatrix is embedded in the identity, so that those of all patterns have one size and
one call of LAPACK takes them all. A single pattern, that of one new row, is taken as it is, in a
fifth of the time. Arguments are those of the compiled functions.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from absentia.engine.compiling import Booleans, Floats, Integers


def invert_principal(
    A: Floats, members: Integers, sizes: Integers, inverses: Floats, log_determinants: Floats
) -> None:
    """Write ``inv(A[K,K])`` of every pattern, symmetric to the last bit, and its log det."""
    if len(sizes) == 1 and sizes[0] == members.shape[1]:
        root, failed = dpotrf(A[members[0][:, None], members[0]], lower=1)
        if failed:
            raise np.linalg.LinAlgError("A principal submatrix is not positive definite.")
        # Not dpotri, whose threads take milliseconds to start, however small the matrix.
        inverse_root = dtrtri(root, lower=1)[0] if len(root) else root
        inverses[0] = _symmetric(inverse_root.T @ inverse_root)
        log_determinants[0] = 2 * np.log(root.diagonal()).sum()
        return
    submatrices = A[members[:, :, None], members[:, None, :]]
    roots = _roots(_embedded(submatrices, _counted(members, sizes)))
    inverses[:] = _inverses_from(roots)
    log_determinants[:] = _log_determinants_from(roots)


def multiply_principal(
    inverses: Floats,
    members: Integers,
    sizes: Integers,
    starts: Integers,
    V: Floats,
    X: Floats,
    quadratics: Floats,
) -> None:
    """Write ``x = inverses[p] v[K]`` to the members of the rows of ``X``, and ``v[K]' x``."""
    if len(sizes) == 1 and sizes[0] == members.shape[1]:
        values = V[:, members[0]]
        X[:, members[0]] = solved = values @ inverses[0]
        quadratics[:] = np.einsum("ni,ni->n", solved, values)
        return
    pattern_of_row = np.repeat(np.arange(len(sizes)), np.diff(starts))
    counted = _counted(members, sizes)
    columns, real = members[pattern_of_row], counted[pattern_of_row]
    values = np.where(real, np.take_along_axis(V, columns, axis=1), 0.0)
    # Beyond its size an inverse may hold anything.
    clean = np.where(_both(counted), inverses, 0.0)
    solved = np.einsum("nij,nj->ni", clean[pattern_of_row], values)
    rows, places = np.nonzero(real)
    X[rows, columns[rows, places]] = solved[rows, places]
    quadratics[:] = np.einsum("ni,ni->n", solved, values)


def add_principal(
    inverses: Floats, members: Integers, sizes: Integers, weights: Floats, total: Floats
) -> None:
    """Add ``weights[p] * inverses[p]`` to the members' rows and columns of ``total`` (d, d)."""
    p, i, j = np.nonzero(_both(_counted(members, sizes)))
    np.add.at(total, (members[p, i], members[p, j]), weights[p] * inverses[p, i, j])


def conditional_covariances(S: Floats, G: Floats, masks: Booleans, out: Floats) -> bool:
    """Write the covariance on what each pattern misses, given the rest, into ``out`` (P, d, d)."""
    n_missing = masks.sum(axis=1)
    by_precision = 2 * n_missing <= masks.shape[1]
    try:
        missing = masks[by_precision]
        inverses = _inverses_from(_roots(_embedded(G, missing)))
        out[by_precision] = np.where(_both(missing), inverses, 0.0)
        missing = masks[~by_precision]
        roots = _roots(_embedded(S, ~missing))
        regressed = inverse_triangles(roots) @ np.where(missing[:, :, None], 0.0, S)
        remaining = S - regressed.transpose(0, 2, 1) @ regressed
        out[~by_precision] = np.where(_both(missing), _symmetric(remaining), 0.0)
    except np.linalg.LinAlgError:
        return False
    return True


def principal_log_determinants(matrix: Floats, masks: Booleans) -> Floats:
    """Return ``log det matrix[mask, mask]`` for each row of ``masks``; NaN unless it is positive
    definite, as the compiled twin does."""
    embedded = _embedded(matrix, masks)
    try:
        return _log_determinants_from(_roots(embedded))
    except np.linalg.LinAlgError:
        return np.array([log_determinant(each) for each in embedded])


def log_determinants_one_by_one(matrix: Floats, masks: Booleans) -> Floats:
    """Return the same, to other bits: the quickest for one pattern."""
    return np.array([log_determinant(matrix[mask][:, mask]) for mask in masks])


def log_determinants_and_lengths(
    matrices: Floats, group_of_row: Integers, vectors: Floats
) -> tuple[Floats, Floats]:
    """Return ``log det C[g]`` of each row's matrix and ``v' inv(C[g]) v`` of its vector."""
    try:
        roots = _roots(matrices)
    except np.linalg.LinAlgError:
        nothing = np.full(len(vectors), np.nan)
        return nothing, nothing.copy()
    solved = np.einsum("nij,nj->ni", inverse_triangles(roots)[group_of_row], vectors)
    return _log_determinants_from(roots)[group_of_row], np.einsum("ni,ni->n", solved, solved)


def inverse_triangles(roots: Floats) -> Floats:
    """Return the inverses of lower triangular matrices, shape (n, d, d), by substitution.

    A general inverse exchanges rows by size. Where columns are measured in very different units
    that leaves rounding errors above the diagonal, in units of the largest.
    """
    inverses = np.zeros_like(roots)
    for i in range(roots.shape[-1]):
        inverses[:, i, i] = 1.0
        inverses[:, i, :i] = -(roots[:, i : i + 1, :i] @ inverses[:, :i, :i])[:, 0]
        inverses[:, i, : i + 1] /= roots[:, i, i, None]
    return inverses


def log_determinant(matrix: Floats) -> float:
    """Return ``log det`` of one matrix, zero for an empty one; NaN unless positive definite."""
    if not matrix.size:
        return 0.0
    root, failed = dpotrf(matrix, lower=1, clean=0)
    return float("nan") if failed else 2 * float(np.log(root.diagonal()).sum())


def _roots(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)


def _counted(members: Integers, sizes: Integers) -> Booleans:
    return np.arange(members.shape[1]) < sizes[:, None]


def _both(flags: Booleans) -> Booleans:
    return flags[:, :, None] & flags[:, None, :]


def _embedded(matrices: Floats, flags: Booleans) -> Floats:
    """Keep the flagged rows and columns of each matrix, and the identity elsewhere."""
    return np.where(_both(flags), matrices, np.eye(flags.shape[1]))


def _symmetric(matrices: Floats) -> Floats:
    return (matrices + matrices.swapaxes(-1, -2)) / 2


def _inverses_from(roots: Floats) -> Floats:
    inverse_roots = inverse_triangles(roots)
    return _symmetric(inverse_roots.transpose(0, 2, 1) @ inverse_roots)


def _log_determinants_from(roots: Floats) -> Floats:
    return 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
