"""Walks down decision trees: which leaf each row reaches, and the sum of what the leaves say."""

from __future__ import annotations

from math import isnan

from absentia.engine.compiling import compiled

__all__ = ["add_leaves"]


@compiled()
def add_leaves(X, feature, threshold, left, right, missing_left, values, roots, out):
    """Add to each row of ``out`` the values of the leaves that it reaches.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        NaN where missing.
    feature : ndarray of int, shape (n_nodes,)
        The column that a node looks at.
    threshold : ndarray of shape (n_nodes,)
        Rows with at most this value go left.
    left, right : ndarray of int, shape (n_nodes,)
        The nodes below, -1 for leaves.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether a row that misses the column goes left.
    values : ndarray of shape (n_nodes, n_outputs)
    roots : ndarray of int, shape (n_trees,)
    out : ndarray of shape (n_samples, n_outputs)
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
