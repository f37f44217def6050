"""Rows that represent all others: the landmarks of Nystroem features and of preconditioners."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy.linalg import cho_factor, cho_solve
from sklearn.cluster import kmeans_plusplus

from absentia.beliefs import Beliefs
from absentia.kernels.base import Kernel
from absentia.kernels.gram.far_pairs import origin_of, squares_of
from absentia.missingness import Patterns
from absentia.parameters import words
from absentia.tables import FloatArray, IntArray

__all__ = ["LANDMARK_RULES", "candidate_rows", "choose_landmarks"]

#: How landmarks may be chosen among the candidates.
LANDMARK_RULES = ("kmeans++", "leverage", "uniform")

# Candidates per landmark: enough to choose from, few enough that choosing costs less than using.
_CANDIDATES = 20
# Squared distances from inner products are wrong by 1e-16 of the squared lengths; this leaves 1e-4.
_ROUNDING = 1e-12


def candidate_rows(
    patterns: Patterns, n_landmarks: int, prefer_complete: bool, rng: RandomState
) -> IntArray:
    """Return the rows to choose landmarks from, in ascending order; at most 20 per landmark.

    With ``prefer_complete`` rows that miss less come first: a belief that is nearly a point
    discriminates between its neighbours, one that is nearly the prior is equally like everything.
    """
    n = len(patterns)
    size = min(n, _CANDIDATES * n_landmarks)
    shuffled = rng.permutation(n)
    if prefer_complete:
        n_missing = patterns.n_missing[patterns.pattern_of_row]
        shuffled = shuffled[np.argsort(n_missing[shuffled], kind="stable")]
    return np.sort(shuffled[:size])


def choose_landmarks(
    rule: str, kernel: Kernel, candidates: Beliefs, n_landmarks: int, rng: RandomState
) -> IntArray:
    """Return which candidates become landmarks, in ascending order.

    Parameters
    ----------
    rule : {"kmeans++", "leverage", "uniform"}
        ``"kmeans++"`` spreads landmarks over the conditional means, each new one likely where the
        others are far. ``"leverage"`` draws rows by their approximate ridge leverage under the
        kernel: how much of the regression a row decides on its own. ``"uniform"`` draws at random.
    kernel : Kernel
        Resolved.
    candidates : Beliefs
    n_landmarks : int
    rng : RandomState
    """
    words(*LANDMARK_RULES).check("landmarks", rule)
    if n_landmarks >= len(candidates):
        return np.arange(len(candidates))
    if rule == "kmeans++":
        chosen = _spread_out(_points(candidates), n_landmarks, rng)
    elif rule == "leverage":
        chosen = _by_leverage(kernel, candidates, n_landmarks, rng)
    else:
        chosen = rng.choice(len(candidates), n_landmarks, replace=False)
    return np.sort(chosen)


def _spread_out(points: FloatArray, n: int, rng: RandomState) -> IntArray:
    """Return different rows, each likely where the ones before it are far: k-means++.

    scikit-learn's takes distances from inner products. Where those lose the distances of most rows,
    they are taken from differences here.
    """
    others = RandomState(0).permutation(len(points))  # the caller's numbers are for the choice
    apart = squares_of(points - points[others])
    small = float(np.quantile(apart[apart > 0], 0.02)) if apart.any() else np.inf
    if squares_of(points).max() * _ROUNDING < small:
        _, chosen = kmeans_plusplus(points, n, random_state=rng)
        return chosen
    chosen = np.empty(n, dtype=np.intp)
    nearest = np.ones(len(points))
    for k in range(n):
        weights = nearest / nearest.max() if nearest.any() else np.ones(len(points))
        weights[chosen[:k]] = 0.0
        chosen[k] = rng.choice(len(points), p=weights / weights.sum())
        apart = squares_of(points - points[chosen[k]])
        nearest = apart if k == 0 else np.minimum(nearest, apart)
    return chosen


def _points(beliefs: Beliefs) -> FloatArray:
    """Return where beliefs are: their means, and the probabilities of their categories.

    Counted from near the data: scikit-learn's k-means++ takes distances from inner products.
    """
    numbers = beliefs.mean()
    numbers = numbers - origin_of(numbers)
    if beliefs.codes is None:
        return numbers
    words = [beliefs.probabilities(j) for j in range(beliefs.codes.shape[1])]
    # Numbers in standard units, or their scale would say how much categories count.
    deviations = np.sqrt(np.diagonal(beliefs.prior.covariance()))
    return np.hstack([numbers / deviations, *words])


def _by_leverage(
    kernel: Kernel, candidates: Beliefs, n_landmarks: int, rng: RandomState
) -> IntArray:
    """Draw landmarks by the ridge leverage that a pilot sample of their number estimates.

    With ``J`` the pilot, ``l_i = (k_ii - k_iJ inv(K_JJ + r I) k_Ji) / r`` up to a factor; the
    ridge ``r`` is the average of the smaller half of the spectrum of ``K_JJ``, so that what half
    as many landmarks would leave over counts as noise (after Musco and Musco, 2017).
    """
    pilot = rng.choice(len(candidates), n_landmarks, replace=False)
    among = candidates[pilot]
    K = kernel(among, among)
    spectrum = np.linalg.eigvalsh(K)
    ridge = max(spectrum[: (n_landmarks + 1) // 2].mean(), 1e-10 * spectrum[-1])
    across = kernel(candidates, among)
    factor = cho_factor(K + ridge * np.eye(n_landmarks), lower=True)
    explained = np.einsum("ij,ji->i", across, cho_solve(factor, across.T))
    leverage = np.maximum(kernel.diag(candidates) - explained, 0) + 1e-12 * spectrum[-1]
    return rng.choice(len(candidates), n_landmarks, replace=False, p=leverage / leverage.sum())
