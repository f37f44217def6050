"""k-means in the space of a kernel, from so many starts that the best clusters are found."""

from __future__ import annotations

import numpy as np


def best_clusters(K, n_clusters, n_starts=3000):
    """Return the labels of least inertia; thousands of runs of Lloyd's algorithm at once."""
    n, rng = len(K), np.random.default_rng(0)
    seeds = np.array([rng.choice(n, n_clusters, replace=False) for _ in range(n_starts)])
    labels = (np.diagonal(K)[seeds] - 2 * K[:, seeds]).argmin(axis=2).T
    for _ in range(30):
        members = np.eye(n_clusters)[labels]
        sizes = np.maximum(members.sum(axis=1, keepdims=True), 1)
        to_means = np.einsum("ij,sjc->sic", K, members) / sizes
        of_means = (members * to_means).sum(axis=1, keepdims=True) / sizes
        distances = of_means - 2 * to_means
        labels = distances.argmin(axis=2)
    return labels[distances.min(axis=2).sum(axis=1).argmin()]


def relative_distances(K, n_clusters, K_new):
    """Return ``|x - mean|^2 - k(x, x)`` of new rows, clusters in the order of their first rows."""
    labels = best_clusters(K, n_clusters)
    _, firsts = np.unique(labels, return_index=True)
    members = [np.flatnonzero(labels == labels[first]) for first in np.sort(firsts)]
    return np.column_stack([K[np.ix_(m, m)].mean() - 2 * K_new[:, m].mean(axis=1) for m in members])
