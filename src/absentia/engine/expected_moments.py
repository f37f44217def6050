"""The expected moments of incomplete rows under a Gaussian, summed: the hot loops of EM."""

from __future__ import annotations

import numpy as np

from absentia.engine import small_patterns
from absentia.engine.compiling import Booleans, Floats, Integers, compiled, dispatched
from absentia.engine.principal import REORDER, factor_principal, invert_from_root, split_columns


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


@compiled(fastmath=REORDER)
def moments_of_patterns(
    S: Floats,
    G: Floats,
    mean: Floats,
    masks: Booleans,
    counts: Floats,
    sums: Floats,
    products: Floats,
    first: Floats,
    second: Floats,
    spread: Floats,
) -> tuple[float, float]:
    """Add up the expected moments of patterns whose rows were summed beforehand.

    The cost does not depend on the number of rows. All moments are about ``mean``, with covariance
    ``S`` and precision ``G``. Each pattern has its total weight ``counts`` and the weighted sums of
    its rows, (P, d), and of their outer products, (P, d, d), zero where a value is missing. Added
    to are the sum of completed rows (``first``), of their outer products (``second``) and of their
    conditional covariances (``spread``).

    Returns the sum of ``counts * log det S[O,O]``, less ``log det S`` wherever ``G[L,L]`` was used
    (NaN where a factorisation failed), and the count of the patterns to add ``log det S`` for.
    """
    d = len(S)
    root = np.empty((d, d))
    scratch = np.empty((d, d))
    inverse = np.empty((d, d))
    missing = np.empty(d, dtype=np.intp)
    observed = np.empty(d, dtype=np.intp)
    log_determinants = 0.0
    by_precision = 0.0
    for p in range(len(masks)):
        n_missing, n_observed = split_columns(masks[p], missing, observed)
        count = counts[p]
        moments = np.empty((n_observed, n_observed))  # about the mean, on what was observed
        totals = np.empty(n_observed)
        for i in range(n_observed):
            a = observed[i]
            totals[i] = sums[p, a] - count * mean[a]
        for i in range(n_observed):
            a = observed[i]
            for j in range(n_observed):
                b = observed[j]
                moments[i, j] = products[p, a, b] - mean[a] * sums[p, b] - totals[i] * mean[b]
                second[a, b] += moments[i, j]
            first[a] += totals[i]
        if n_missing <= n_observed:
            log_determinant = factor_principal(G, missing, n_missing, root)
            by_precision += count
        else:
            log_determinant = factor_principal(S, observed, n_observed, root)
        if np.isnan(log_determinant):
            return np.nan, by_precision
        log_determinants += count * log_determinant
        if n_missing == 0:
            continue
        # The regression of the missing on the observed columns.
        gain = np.empty((n_missing, n_observed))
        if n_missing <= n_observed:
            invert_from_root(root, n_missing, scratch, inverse)
            for i in range(n_missing):
                for j in range(n_observed):
                    total = 0.0
                    for t in range(n_missing):
                        total -= inverse[i, t] * G[missing[t], observed[j]]
                    gain[i, j] = total
                for j in range(n_missing):
                    spread[missing[i], missing[j]] += count * inverse[i, j]
        else:
            invert_from_root(root, n_observed, scratch, inverse)
            for i in range(n_missing):
                for j in range(n_observed):
                    total = 0.0
                    for t in range(n_observed):
                        total += S[missing[i], observed[t]] * inverse[t, j]
                    gain[i, j] = total
                for j in range(i + 1):
                    total = S[missing[i], missing[j]]
                    for t in range(n_observed):
                        total -= gain[i, t] * S[observed[t], missing[j]]
                    spread[missing[i], missing[j]] += count * total
                    if j < i:
                        spread[missing[j], missing[i]] += count * total
        across = np.dot(gain, moments)
        within = np.dot(across, gain.T)
        for i in range(n_missing):
            a = missing[i]
            total = 0.0
            for j in range(n_observed):
                total += gain[i, j] * totals[j]
                second[a, observed[j]] += across[i, j]
                second[observed[j], a] += across[i, j]
            first[a] += total
            for j in range(n_missing):
                second[a, missing[j]] += within[i, j]
    return log_determinants, by_precision
