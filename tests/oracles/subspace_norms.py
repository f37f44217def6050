"""The length of a weight vector on some of the columns, by one Gram matrix to a pattern."""

import numpy as np


def squared_norms(rows, weights, masks, kernel):
    """Return ``sum_jl weights[j] weights[l] kernel(x_j, x_l)``, zero where a pattern misses."""
    found = []
    for mask in masks:
        seen = np.where(mask, 0.0, rows)
        K = np.array([[kernel(x, y) for y in seen] for x in seen])
        found.append(weights @ K @ weights)
    return np.array(found)
