"""Principal submatrices, factored pattern by pattern: solutions, inverses, determinants.

With covariance ``S`` and precision ``G = inv(S)``, conditioning on the columns ``O`` where the
columns ``L`` are missing takes a solve with *one* principal submatrix, and there is a choice:
``G[L,L]``, of the size of what is missing, or ``S[O,O]``, of the size of what was observed. Each
pattern takes the smaller. Below, ``members`` lists the columns of that submatrix.
"""

from __future__ import annotations

import numpy as np

from absentia.engine import small_patterns
from absentia.engine.compiling import Booleans, Floats, Integers, compiled, dispatched
from absentia.engine.elimination import factor, log_determinant_in, sweep
from absentia.engine.lanes import LANES, aligned_empty, splat8

# Sums may be reordered and contracted, which is what lets short dot products use vectors; NaN and
# infinity keep their meaning.
REORDER = {"reassoc", "contract", "arcp", "nsz"}

#: Columns up to which eight submatrices stay in the cache.
MOST_IN_LANES = 48


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


@compiled(fastmath=REORDER, makes_arrays=False)
def substitute(root: Floats, size: int, vector: Floats, columns: Integers, out: Floats) -> float:
    """Write ``inv(root) vector[columns]`` into ``out``; return its squared length."""
    length = 0.0
    for i in range(size):
        total = vector[columns[i]]
        for j in range(i):
            total -= root[i, j] * out[j]
        out[i] = total / root[i, i]
        length += out[i] * out[i]
    return length


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


@compiled(makes_arrays=False)
def split_columns(mask: Booleans, missing: Integers, observed: Integers) -> tuple[int, int]:
    """List the missing and the observed columns of a pattern; return how many there are of each."""
    n_missing = 0
    n_observed = 0
    for j in range(len(mask)):
        if mask[j]:
            missing[n_missing] = j
            n_missing += 1
        else:
            observed[n_observed] = j
            n_observed += 1
    return n_missing, n_observed


@dispatched(
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
        n_missing, n_observed = split_columns(masks[p], missing, observed)
        if n_missing <= n_observed:
            if np.isnan(factor_principal(G, missing, n_missing, root)):
                return False
            invert_from_root(root, n_missing, scratch, block)
        else:
            if np.isnan(factor_principal(S, observed, n_observed, root)):
                return False
            for i in range(n_missing):
                substitute(root, n_observed, S[missing[i]], observed, scratch[i])
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


@compiled(makes_arrays=False)
def put_submatrix(matrix, columns, size, padded, lane, lanes):
    """Put the lower triangle of ``matrix[columns, columns]`` into a lane, embedded in the identity.

    Of ``columns`` the first ``size`` count; the identity fills it up to ``padded`` rows.
    """
    for r in range(padded):
        place = r * padded * LANES + lane
        for c in range(r + 1):
            if r < size:
                lanes[place + c * LANES] = matrix[columns[r], columns[c]]
            else:
                lanes[place + c * LANES] = 1.0 if r == c else 0.0


@dispatched(
    small_patterns.invert_principal,
    work=lambda A, members, *others: members.size * members.shape[1],
)
@compiled()
def invert_principal(
    A: Floats, members: Integers, sizes: Integers, inverses: Floats, log_determinants: Floats
) -> None:
    """Write ``inv(A[K,K])`` of every pattern, symmetric to the last bit, and its log det.

    ``K`` are the first ``sizes[p]`` of ``members[p]``, (P, m); of ``inverses``, (P, m, m), as many
    rows and columns are written. All submatrices must be safely positive definite: a pivot that is
    not goes unnoticed. Patterns of like size should stand together, since eight neighbours are
    swept at once, as large as the largest of them.
    """
    n_patterns, most = members.shape
    work = np.empty(most * most * LANES)
    scratch = np.empty(most * LANES)
    determinant = np.empty(2 * LANES)
    for first in range(0, n_patterns, LANES):
        last = min(first + LANES, n_patterns)
        size = 0
        for p in range(first, last):
            size = max(size, sizes[p])
        for lane in range(LANES):
            p = min(first + lane, n_patterns - 1)  # the last group is filled up with its last
            put_submatrix(A, members[p], sizes[p], size, lane, work)
        sweep(work, size, scratch, determinant)
        for p in range(first, last):
            lane = p - first
            log_determinants[p] = log_determinant_in(determinant, lane)
            for r in range(sizes[p]):
                for c in range(r + 1):
                    value = -work[(r * size + c) * LANES + lane]
                    inverses[p, r, c] = value
                    inverses[p, c, r] = value


@dispatched(
    small_patterns.multiply_principal,
    work=lambda inverses, members, sizes, starts, V, *others: len(V) * members.shape[1] ** 2,
)
@compiled(fastmath=REORDER)
def multiply_principal(
    inverses: Floats,
    members: Integers,
    sizes: Integers,
    starts: Integers,
    V: Floats,
    X: Floats,
    quadratics: Floats,
) -> None:
    """Write ``x = inverses[p] v[K]`` of every row to ``X``, and ``v[K]' x`` to ``quadratics``.

    The rows of pattern ``p`` in ``V`` and ``X`` (n, d) are ``starts[p]`` to ``starts[p + 1]``; of a
    row of ``X`` the members ``K`` are written. The inverses are those of :func:`invert_principal`.
    """
    values = np.empty(members.shape[1])
    for p in range(len(sizes)):
        size = sizes[p]
        columns = members[p]
        for r in range(starts[p], starts[p + 1]):
            for i in range(size):
                values[i] = V[r, columns[i]]
            quadratic = 0.0
            for i in range(size):
                total = 0.0
                for j in range(size):
                    total += inverses[p, i, j] * values[j]
                X[r, columns[i]] = total
                quadratic += total * values[i]
            quadratics[r] = quadratic


@dispatched(small_patterns.add_principal, work=lambda inverses, *others: inverses.size)
@compiled()
def add_principal(
    inverses: Floats, members: Integers, sizes: Integers, weights: Floats, total: Floats
) -> None:
    """Add ``weights[p] * inverses[p]`` to the members' rows and columns of ``total`` (d, d)."""
    for p in range(len(sizes)):
        for i in range(sizes[p]):
            row = members[p, i]
            for j in range(sizes[p]):
                total[row, members[p, j]] += weights[p] * inverses[p, i, j]


@dispatched(
    small_patterns.principal_log_determinants, work=lambda matrix, masks: masks.size * len(matrix)
)
@compiled(error_model="numpy")
def principal_log_determinants(matrix, masks):
    """Return ``log det matrix[mask, mask]`` for each row of ``masks``; zero for an empty one.

    Eight at a time, in lanes, padded by the identity to the size of the largest, which changes no
    bit of the others. Large ones, which would not stay in the cache, one by one.
    """
    n, d = masks.shape
    out = np.empty(n)
    most = min(d, MOST_IN_LANES)
    lanes = aligned_empty(most * most * LANES)
    work = aligned_empty(most * most * LANES)
    pivots = aligned_empty(most * LANES)
    determinant = aligned_empty(2 * LANES)
    root = np.empty((d, d))
    index = np.empty((LANES, d), dtype=np.intp)
    patterns = np.empty(LANES, dtype=np.intp)
    sizes = np.empty(LANES, dtype=np.intp)
    vector = np.zeros(most * LANES)
    everything = np.arange(most).reshape(1, most)
    waiting = 0
    for p in range(n + 1):
        if p < n:
            size = 0
            for k in range(d):
                if masks[p, k]:
                    index[waiting, size] = k
                    size += 1
            if size > most:
                out[p] = factor_principal(matrix, index[waiting], size, root)
                continue
            patterns[waiting] = p
            sizes[waiting] = size
            waiting += 1
        if waiting < LANES and (p < n or waiting == 0):
            continue
        padded = np.intp(0)
        for lane in range(waiting):
            padded = max(padded, sizes[lane])
        for lane in range(LANES):
            # Lanes that have no pattern have the first.
            of = lane if lane < waiting else 0
            put_submatrix(matrix, index[of], sizes[of], padded, lane, lanes)
        factor(
            lanes, padded, everything, np.intp(0), padded, work, pivots, determinant, False,
            vector, splat8(0.0), -np.inf,
        )  # fmt: skip
        for lane in range(waiting):
            out[patterns[lane]] = log_determinant_in(determinant, lane)
            for r in range(padded):
                if not pivots[r * LANES + lane] < 0.0:  # minus one over the pivot
                    out[patterns[lane]] = np.nan
        waiting = 0
    return out


@dispatched(
    small_patterns.log_determinants_and_lengths,
    work=lambda matrices, group_of_row, vectors: matrices.size + vectors.size * len(matrices[0]),
)
@compiled()
def log_determinants_and_lengths(matrices, group_of_row, vectors):
    """Return ``log det C[g]`` of each row's matrix and ``v' inv(C[g]) v`` of its vector.

    Neighbouring rows of one group share the factorisation.
    """
    n, d = vectors.shape
    log_determinants = np.empty(n)
    lengths = np.empty(n)
    root = np.empty((d, d))
    solved = np.empty(d)
    whole = np.arange(d)
    factored = -1
    log_determinant = 0.0
    for i in range(n):
        group = group_of_row[i]
        if group != factored:
            log_determinant = factor_principal(matrices[group], whole, d, root)
            factored = group
        log_determinants[i] = log_determinant
        lengths[i] = substitute(root, d, vectors[i], whole, solved)
    return log_determinants, lengths
