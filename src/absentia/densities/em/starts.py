"""Where the EM of a mixture starts: clusters of the rows as one Gaussian would complete them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.cluster import kmeans_plusplus

from absentia.beliefs import Prior
from absentia.densities.em.expectation import ExpectedMoments
from absentia.densities.em.penalty import Penalty
from absentia.tables import FloatArray, IntArray

__all__ = ["RowWords", "cluster_rows", "clustered_start", "scattered_start"]

_LLOYD_ROUNDS = 10
# Rows are clustered by this many of the categories of a column, the most frequent ones.
_MOST_INDICATORS = 50


@dataclass(frozen=True, eq=False)
class RowWords:
    """What is known of the categories of each row: which it has, or how frequent they are in all.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows, n_columns)
        -1 where a category is missing.
    marginals : tuple of ndarray of shape (n_categories,)
    """

    codes: IntArray
    marginals: tuple[FloatArray, ...]

    def indicators(self) -> list[FloatArray]:
        """Return probabilities of frequent categories, at most 50 per column, (n_rows, ...)."""
        found = []
        for column, shares in zip(self.codes.T, self.marginals, strict=True):
            frequent = np.sort(np.argsort(-shares, kind="stable")[:_MOST_INDICATORS])
            known = (column[:, None] == frequent).astype(np.float64)
            found.append(np.where(column[:, None] >= 0, known, shares[frequent]))
        return found

    def counts(
        self, labels: IntArray, shares: FloatArray, n_clusters: int
    ) -> tuple[FloatArray, ...]:
        """Return the weight of each category in each cluster, (n_clusters, n_categories)."""
        found = []
        for column, marginal in zip(self.codes.T, self.marginals, strict=True):
            seen, K = column >= 0, len(marginal)
            places = labels[seen] * K + column[seen]
            weight = np.bincount(places, shares[seen], n_clusters * K).reshape(n_clusters, K)
            missing = np.bincount(labels[~seen], shares[~seen], n_clusters)
            found.append(weight + missing[:, None] * marginal)
        return tuple(found)

    def of_rows(self, rows: IntArray) -> tuple[FloatArray, ...]:
        """Return the probabilities of all categories of a few rows, (len(rows), n_categories)."""
        found = []
        for column, marginal in zip(self.codes[rows].T, self.marginals, strict=True):
            known = (column[:, None] == np.arange(len(marginal))).astype(np.float64)
            found.append(np.where(column[:, None] >= 0, known, marginal))
        return tuple(found)


def clustered_start(
    completed: FloatArray,
    weights: FloatArray | None,
    n_components: int,
    penalty: Penalty,
    rng: np.random.RandomState,
    words: RowWords | None = None,
) -> Prior:
    """Start from k-means clusters of completed rows, seeded as k-means++ does."""
    shares = np.ones(len(completed)) if weights is None else weights
    numbers = completed
    if words is not None:
        completed = np.hstack([completed, *words.indicators()])
    labels, centres = cluster_rows(completed, weights, n_components, rng)
    d = numbers.shape[1]
    centres = centres[:, :d]
    totals = np.bincount(labels, shares, n_components)
    firsts, seconds = np.zeros((n_components, d)), np.zeros((n_components, d, d))
    for c in range(n_components):
        offsets = numbers[labels == c] - centres[c]
        weighted = offsets * shares[labels == c, None]
        firsts[c], seconds[c] = weighted.sum(axis=0), weighted.T @ offsets
    around = Prior(np.full(n_components, 1 / n_components), centres, seconds)
    counts = () if words is None else words.counts(labels, shares, n_components)
    moments = ExpectedMoments(0.0, totals.astype(np.float64), firsts, seconds, counts)
    start = penalty.maximised(around, moments)
    # No component starts without any weight, or EM could never give it some.
    fair = (start.weights * shares.sum() + 1) / (shares.sum() + n_components)
    return replace(start, weights=fair)


def cluster_rows(
    completed: FloatArray,
    weights: FloatArray | None,
    n_components: int,
    rng: np.random.RandomState,
) -> tuple[IntArray, FloatArray]:
    """Return the cluster of each row, and the centres: some rounds of k-means++ and Lloyd's."""
    shares = np.ones(len(completed)) if weights is None else weights
    if len(completed) < n_components:
        centres = completed[rng.choice(len(completed), n_components, p=shares / shares.sum())]
    else:
        centres, _ = kmeans_plusplus(
            completed, n_components, sample_weight=shares, random_state=rng
        )
    labels = _nearest(completed, centres)
    for _ in range(_LLOYD_ROUNDS):
        totals = np.bincount(labels, shares, n_components)
        sums = np.stack(
            [np.bincount(labels, shares * column, n_components) for column in completed.T], axis=1
        )
        # A centre that has lost all its rows stays where it is.
        centres = np.where(totals[:, None] > 0, sums / np.maximum(totals, 1e-300)[:, None], centres)
        previous, labels = labels, _nearest(completed, centres)
        if np.array_equal(previous, labels):
            break
    return labels, centres


def scattered_start(
    completed: FloatArray,
    weights: FloatArray | None,
    n_components: int,
    covariance: FloatArray,
    rng: np.random.RandomState,
    words: RowWords | None = None,
) -> Prior:
    """Start from rows drawn at random, all components with the same covariance.

    A component's categories are half those of its row and half those of all rows.
    """
    share = None if weights is None else weights / weights.sum()
    few = len(completed) < n_components
    rows = rng.choice(len(completed), n_components, replace=few, p=share)
    covariances = np.repeat(covariance[None], n_components, axis=0)
    even = np.full(n_components, 1 / n_components)
    probabilities: tuple[FloatArray, ...] = ()
    if words is not None:
        pairs = zip(words.of_rows(rows), words.marginals, strict=True)
        probabilities = tuple((own + marginal) / 2 for own, marginal in pairs)
    return Prior(even, completed[rows], covariances, probabilities)


def _nearest(X: FloatArray, centres: FloatArray) -> IntArray:
    nearest: IntArray = ((centres**2).sum(axis=1) - 2 * X @ centres.T).argmin(axis=1)
    return nearest
