"""Conditioning a Gaussian on parts of rows: principal submatrices, factored pattern by pattern.

With covariance ``S`` and precision ``G = inv(S)``, everything that conditioning on the columns
``O`` and leaving out the columns ``L`` asks for is a solve with *one* principal submatrix, and
there is a choice which: ``G[L,L]``, of the size of what is missing, or ``S[O,O]``, of the size of
what was observed. Each pattern takes the smaller. Below, ``members`` lists the columns of that
submatrix, whichever it is.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.array_types import Booleans, Floats, Integers
from absentia.engine.compiling import compiled
from absentia.engine.em import small_patterns
from absentia.engine.small import two_roads

# Sums may be reordered and contracted, which is what lets short dot products use vectors; NaN and
# infinity keep their meaning.
REORDER = {"reassoc", "contract", "arcp", "nsz"}


@compiled(fastmath=REORDER)
def factor_principal(A: Floats, columns: Integers, size: int, root: Floats) -> float:
    """Write the Cholesky factor of ``A[columns, columns]`` into ``root``; return its log det.

    Returns NaN where the submatrix is not positive definite.
    """
    log_determinant = 0.0
    for i in range(size):
        row = columns[i]
        for j in range(i + 1):
            total = A[row, columns[j]]
            for t in range(j):
                total -= root[i, t] * root[j, t]
            if j < i:
                root[i, j] = total / root[j, j]
            else:
                if not total > 0.0:
                    return np.nan
                root[i, i] = np.sqrt(total)
                log_determinant += np.log(total)
    return log_determinant


@compiled(fastmath=REORDER)
def invert_from_root(root: Floats, size: int, scratch: Floats, inverse: Floats) -> None:
    """Write ``inv(root root')`` into ``inverse``, symmetric to the last bit."""
    for j in range(size):  # scratch becomes the transpose of inv(root): rows are contiguous
        scratch[j, j] = 1.0 / root[j, j]
        for i in range(j + 1, size):
            total = 0.0
            for t in range(j, i):
                total += root[i, t] * scratch[j, t]
            scratch[j, i] = -total / root[i, i]
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for t in range(i, size):
                total += scratch[i, t] * scratch[j, t]
            inverse[i, j] = total
            inverse[j, i] = total


@compiled(fastmath=REORDER)
def solve_principal(
    A: Floats,
    members: Integers,
    sizes: Integers,
    starts: Integers,
    V: Floats,
    X: Floats,
    quadratics: Floats,
    log_determinants: Floats,
) -> None:
    """Solve ``A[K,K] x = v[K]`` for the rows of every pattern, with ``K`` its members.

    Parameters
    ----------
    A : (d, d), symmetric positive definite
    members : (P, m) int, sizes : (P,) int
        The columns ``K`` of pattern ``p`` are ``members[p, :sizes[p]]``.
    starts : (P + 1,) int
        Pattern ``p`` has the rows ``starts[p]`` to ``starts[p + 1]`` of ``V`` and ``X``.
    V : (n, d)
        Right hand sides; only the members are read.
    X : (n, d)
        Solutions, written to the members only.
    quadratics : (n,)
        ``v[K]' x``.
    log_determinants : (P,)
        ``log det A[K,K]``; NaN where it is not positive definite, whose rows are left alone.
    """
    most = members.shape[1]
    root = np.empty((most, most))
    scratch = np.empty((most, most))
    inverse = np.empty((most, most))
    values = np.empty(most)
    for p in range(len(sizes)):
        size = sizes[p]
        columns = members[p]
        log_determinants[p] = factor_principal(A, columns, size, root)
        if np.isnan(log_determinants[p]):
            continue
        # A row costs size^2 either way; the inverse costs size^3 / 2 once and has longer loops.
        by_inverse = starts[p + 1] - starts[p] > size
        if by_inverse:
            invert_from_root(root, size, scratch, inverse)
        for r in range(starts[p], starts[p + 1]):
            quadratic = 0.0
            if by_inverse:
                for i in range(size):
                    values[i] = V[r, columns[i]]
                for i in range(size):
                    total = 0.0
                    for j in range(size):
                        total += inverse[i, j] * values[j]
                    X[r, columns[i]] = total
                    quadratic += total * values[i]
            else:
                for i in range(size):
                    total = V[r, columns[i]]
                    for j in range(i):
                        total -= root[i, j] * values[j]
                    values[i] = total / root[i, i]
                    quadratic += values[i] * values[i]
                for i in range(size - 1, -1, -1):
                    values[i] /= root[i, i]
                    for j in range(i):
                        values[j] -= root[i, j] * values[i]
                    X[r, columns[i]] = values[i]
            quadratics[r] = quadratic


@two_roads(
    small_patterns.conditional_covariances, work=lambda S, G, masks, out: masks.size * len(S)
)
@compiled(fastmath=REORDER)
def conditional_covariances(S: Floats, G: Floats, masks: Booleans, out: Floats) -> bool:
    """Write the covariance on what each pattern misses, given the rest, into ``out`` (P, d, d).

    ``inv(G[L,L])``, or ``S[L,L] - S[L,O] inv(S[O,O]) S[O,L]``, whichever has less to factor; zero
    elsewhere. Returns False where a factorisation failed.
    """
    d = len(S)
    root = np.empty((d, d))
    scratch = np.empty((d, d))
    block = np.empty((d, d))
    missing = np.empty(d, dtype=np.intp)
    observed = np.empty(d, dtype=np.intp)
    for p in range(len(masks)):
        n_missing = 0
        n_observed = 0
        for j in range(d):
            if masks[p, j]:
                missing[n_missing] = j
                n_missing += 1
            else:
                observed[n_observed] = j
                n_observed += 1
        if n_missing <= n_observed:
            if np.isnan(factor_principal(G, missing, n_missing, root)):
                return False
            invert_from_root(root, n_missing, scratch, block)
        else:
            if np.isnan(factor_principal(S, observed, n_observed, root)):
                return False
            for i in range(n_missing):  # scratch[i] = inv(root) S[O, L[i]]
                for j in range(n_observed):
                    total = S[missing[i], observed[j]]
                    for t in range(j):
                        total -= root[j, t] * scratch[i, t]
                    scratch[i, j] = total / root[j, j]
            for i in range(n_missing):
                for j in range(i + 1):
                    total = S[missing[i], missing[j]]
                    for t in range(n_observed):
                        total -= scratch[i, t] * scratch[j, t]
                    block[i, j] = total
                    block[j, i] = total
        for i in range(n_missing):
            for j in range(n_missing):
                out[p, missing[i], missing[j]] = block[i, j]
    return True
