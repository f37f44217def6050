"""The third cumulant of an inner product of two Gaussian vectors, for all pairs of rows.

``a'B A b`` needs only the columns that both rows miss: ``A b`` lives where the first is uncertain,
``B a`` where the second is. With a third of the values missing that is a tenth of the columns, so
a loop over pairs beats any product of whole matrices.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.array_types import Floats, Integers
from absentia.engine.compiling import compiled

__all__ = ["third_cumulants"]


def third_cumulants(
    A: Floats,
    row_of: Integers,
    a: Floats,
    B: Floats,
    column_of: Integers,
    b: Floats,
) -> Floats:
    """Return ``a[i]' B[column_of[j]] A[row_of[i]] b[j]`` for all ``i`` and ``j``.

    Parameters
    ----------
    A, B : ndarray of shape (n_different, d, d)
        Covariances; a column whose variance is zero is certain.
    row_of, column_of : ndarray of int, shape (n,) and (m,)
        Which of the covariances each row has.
    a, b : ndarray of shape (n, d) and (m, d)
        Means.

    Returns
    -------
    ndarray of shape (n, m)
    """
    out = np.empty((len(a), len(b)))
    # One layout of memory, so that the loops are compiled once.
    A, B, a, b = (np.ascontiguousarray(values) for values in (A, B, a, b))
    _fill(*_compressed(A), row_of, a, *_compressed(B), column_of, b, out)
    return out


@compiled()
def _compressed(A: Floats) -> tuple[Floats, Integers, Integers]:
    """Move the uncertain columns of each covariance to the front, and say which they are."""
    n, d = A.shape[0], A.shape[1]
    blocks = np.zeros((n, d, d))
    members = np.zeros((n, d), dtype=np.intp)
    counts = np.zeros(n, dtype=np.intp)
    for g in range(n):
        count = 0
        for c in range(d):
            if A[g, c, c] > 0.0:
                members[g, count] = c
                count += 1
        counts[g] = count
        for i in range(count):
            for j in range(count):
                blocks[g, i, j] = A[g, members[g, i], members[g, j]]
    return blocks, members, counts


@compiled(fastmath={"reassoc", "contract", "arcp", "nsz"})
def _fill(
    A: Floats,
    ours: Integers,
    our_counts: Integers,
    row_of: Integers,
    a: Floats,
    B: Floats,
    theirs: Integers,
    their_counts: Integers,
    column_of: Integers,
    b: Floats,
    out: Floats,
) -> None:
    d = a.shape[1]
    b_here, a_there = np.empty(d), np.empty(d)
    for i in range(a.shape[0]):
        g = row_of[i]
        for j in range(b.shape[0]):
            h = column_of[j]
            n_ours, n_theirs = our_counts[g], their_counts[h]
            for r in range(n_ours):
                b_here[r] = b[j, ours[g, r]]
            for s in range(n_theirs):
                a_there[s] = a[i, theirs[h, s]]
            total = 0.0
            s = 0
            for r in range(n_ours):
                column = ours[g, r]
                while s < n_theirs and theirs[h, s] < column:
                    s += 1
                if s == n_theirs:
                    break
                if theirs[h, s] == column:
                    left = 0.0
                    for t in range(n_ours):
                        left += A[g, r, t] * b_here[t]
                    right = 0.0
                    for t in range(n_theirs):
                        right += B[h, s, t] * a_there[t]
                    total += left * right
            out[i, j] = total
