"""Sums over pairs and trees that models take: second moments, third cumulants, leaves."""

from __future__ import annotations

from math import isnan

import numpy as np

from absentia.engine.compiling import Floats, Integers, compiled
from absentia.engine.principal import REORDER, factor_principal, substitute


@compiled(error_model="numpy")
def second_moments(first, last, starts, forms, slopes, heights, owner, weights, coefficients, out):
    """Write ``sum_ij weights[i,j] E[k_i k_j]`` and ``coef' E[k k'] coef`` for rows first to last.

    The bumps ``k_i`` of a Gaussian process are exponentials of quadratic forms in standard normal
    ``z``, where ``x = a + R z``::

        log k_i = e_i + g_i'z - 1/2 z' L_i z
        E[k_i k_j] = det(M)^(-1/2) exp(e_i + e_j + 1/2 (g_i + g_j)' inv(M) (g_i + g_j))
        M = I + L_i + L_j

    ``M`` is factored once for two groups of bumps, which begin at ``starts`` and have the forms
    ``L`` (n_groups, size, size), the slopes ``g`` (n_inputs, n_bumps, size) and the heights ``e``
    (n_inputs, n_bumps); ``owner`` is the training row of a bump. ``weights`` (n_rows, n_rows) is
    symmetric, ``out`` (n_inputs, 1 + n_targets) has the weighted sum first.
    """
    n_groups = len(starts) - 1
    size = forms.shape[1]
    n_targets = coefficients.shape[1]
    n_bumps = len(owner)
    whole = np.arange(size)
    matrix = np.empty((size, size))
    root = np.empty((size, size))
    solved = np.empty((n_bumps, size))
    other = np.empty((n_bumps, size))
    for p in range(n_groups):
        for q in range(p + 1):
            for r in range(size):
                for c in range(r + 1):
                    matrix[r, c] = forms[p, r, c] + forms[q, r, c]
                matrix[r, r] += 1.0
            half_log_det = 0.5 * factor_principal(matrix, whole, size, root)
            for row in range(first, last):
                for i in range(starts[p], starts[p + 1]):
                    substitute(root, size, slopes[row, i], whole, solved[i])
                for j in range(starts[q], starts[q + 1]):
                    substitute(root, size, slopes[row, j], whole, other[j])
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


@compiled(fastmath=REORDER)
def third_cumulants(
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
) -> Floats:
    """Return ``a[i]' B[column_of[j]] A[row_of[i]] b[j]`` for all ``i`` and ``j``.

    The third cumulant of an inner product of two Gaussian vectors. It needs only the columns that
    both rows miss: ``A b`` is zero where the first is certain, ``B a`` where the second is. With a
    third of the values missing these are a tenth of the columns, so that a loop over pairs is
    faster than any product of whole matrices. The uncertain columns of each covariance come first,
    and are listed in ascending order, so many of them as counted.
    """
    d = a.shape[1]
    out = np.empty((len(a), len(b)))
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
    return out


@compiled()
def add_leaves(X, feature, threshold, left, right, missing_left, values, roots, out):
    """Add to each row of ``out`` the values of the leaves that it reaches in each of the trees.

    Rows with at most the threshold of a node's feature go left, and so do rows that miss it where
    ``missing_left``; a leaf has -1 for the nodes below.
    """
    n_samples, n_outputs = out.shape
    for root in roots:
        for i in range(n_samples):
            node = root
            while left[node] >= 0:
                x = X[i, feature[node]]
                goes_left = missing_left[node] if isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            for k in range(n_outputs):
                out[i, k] += values[node, k]
