"""The inverses that an E-step needs, eight patterns at once in the lanes of the vector unit."""

from __future__ import annotations

import numpy as np

from absentia.engine.array_types import Floats, Integers
from absentia.engine.compiling import compiled
from absentia.engine.elimination import sweep
from absentia.engine.em import small_patterns
from absentia.engine.em.principal import REORDER
from absentia.engine.lanes import LANES
from absentia.engine.small import two_roads

_LOG_2 = float(np.log(2.0))


@two_roads(
    small_patterns.invert_principal,
    work=lambda A, members, *others: members.size * members.shape[1],
)
@compiled()
def invert_principal(
    A: Floats, members: Integers, sizes: Integers, inverses: Floats, log_determinants: Floats
) -> None:
    """Write ``inv(A[K,K])`` of every pattern, symmetric to the last bit, and its log det.

    ``K`` are the first ``sizes[p]`` of ``members[p]``. All submatrices must be safely positive
    definite: a pivot that is not goes unnoticed.

    Parameters
    ----------
    A : (d, d), symmetric
    members : (P, m) int, sizes : (P,) int
        Patterns of like size should stand together, since eight neighbours are swept at once, as
        large as the largest of them.
    inverses : (P, m, m)
        The first ``sizes[p]`` rows and columns are written.
    log_determinants : (P,)
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
            for r in range(size):
                for c in range(r + 1):
                    if r < sizes[p]:
                        value = A[members[p, r], members[p, c]]
                    else:
                        value = 1.0 if r == c else 0.0
                    work[(r * size + c) * LANES + lane] = value
        sweep(work, size, scratch, determinant)
        for p in range(first, last):
            lane = p - first
            log_determinants[p] = np.log(determinant[lane]) + determinant[LANES + lane] * _LOG_2
            for r in range(sizes[p]):
                for c in range(r + 1):
                    value = -work[(r * size + c) * LANES + lane]
                    inverses[p, r, c] = value
                    inverses[p, c, r] = value


@two_roads(
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
    """Write ``x = inverses[p] v[K]`` to the members of the rows of ``X``, and ``v[K]' x``.

    As :func:`~absentia.engine.em.principal.solve_principal`, with inverses at hand.
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
