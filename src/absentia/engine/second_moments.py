"""Second moments of a learned function over an uncertain input, summed pair by pair.

A Gaussian process has learned ``f(x) = sum_i alpha_i k_i(x)`` with Gaussian bumps ``k_i``. Written
in ``z``, standard normal, with ``x = a + R z``, each bump is the exponential of a quadratic form::

    log k_i = e_i + g_i'z - 1/2 z' L_i z
    E[k_i k_j] = det(M)^(-1/2) exp(e_i + e_j + 1/2 (g_i + g_j)' inv(M) (g_i + g_j))
    M = I + L_i + L_j

``L_i`` depends on the group of a bump alone, so ``M`` is factored once for two groups. Nothing of
size n x n is stored.
"""

from __future__ import annotations

import numpy as np

from absentia.engine.compiling import compiled

__all__ = ["second_moments"]


@compiled(error_model="numpy")
def _forward(factor, size, vectors, start, stop, out):
    for i in range(start, stop):
        for r in range(size):
            entry = vectors[i, r]
            for k in range(r):
                entry -= factor[r, k] * out[i, k]
            out[i, r] = entry / factor[r, r]


@compiled(error_model="numpy")
def second_moments(first, last, starts, forms, slopes, heights, owner, weights, coefficients, out):
    """Write ``sum_ij weights[i,j] E[k_i k_j]`` and ``coef' E[k k'] coef`` for rows first to last.

    Parameters
    ----------
    first, last : int
        Which uncertain inputs to work on.
    starts : ndarray of int, shape (n_groups + 1,)
        Where the bumps of each group begin.
    forms : ndarray of shape (n_groups, size, size)
        ``L`` of each group.
    slopes : ndarray of shape (n_inputs, n_bumps, size)
        ``g`` of each bump.
    heights : ndarray of shape (n_inputs, n_bumps)
        ``e`` of each bump.
    owner : ndarray of int, shape (n_bumps,)
        The training row that a bump belongs to.
    weights : ndarray of shape (n_rows, n_rows)
        Symmetric.
    coefficients : ndarray of shape (n_rows, n_targets)
    out : ndarray of shape (n_inputs, 1 + n_targets)
        On return the weighted sum, then one sum per target.
    """
    n_groups = len(starts) - 1
    size = forms.shape[1]
    n_targets = coefficients.shape[1]
    n_bumps = len(owner)
    factor = np.empty((size, size))
    solved = np.empty((n_bumps, size))
    other = np.empty((n_bumps, size))
    for p in range(n_groups):
        for q in range(p + 1):
            half_log_det = 0.0
            for c in range(size):
                for r in range(c, size):
                    entry = forms[p, r, c] + forms[q, r, c]
                    if r == c:
                        entry += 1.0
                    for k in range(c):
                        entry -= factor[r, k] * factor[c, k]
                    if r == c:
                        factor[c, c] = np.sqrt(entry)
                        half_log_det += 0.5 * np.log(entry)
                    else:
                        factor[r, c] = entry / factor[c, c]
            for row in range(first, last):
                _forward(factor, size, slopes[row], starts[p], starts[p + 1], solved)
                _forward(factor, size, slopes[row], starts[q], starts[q + 1], other)
                for i in range(starts[p], starts[p + 1]):
                    stop = i + 1 if p == q else starts[q + 1]
                    for j in range(starts[q], stop):
                        square = 0.0
                        for k in range(size):
                            total = solved[i, k] + other[j, k]
                            square += total * total
                        exponent = heights[row, i] + heights[row, j] + 0.5 * square - half_log_det
                        moment = np.exp(exponent)
                        if i != j:
                            moment *= 2.0
                        out[row, 0] += moment * weights[owner[i], owner[j]]
                        for t in range(n_targets):
                            product = coefficients[owner[i], t] * coefficients[owner[j], t]
                            out[row, 1 + t] += moment * product
