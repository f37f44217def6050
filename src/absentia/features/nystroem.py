"""Nystroem features, and the landmarks that they and preconditioners are built on."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.base import BaseEstimator
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityLike, believe, words_for
from absentia.features.base import BeliefFeatures, require_moderate
from absentia.kernels import gram_blocks
from absentia.kernels.base import Kernel
from absentia.kernels.gram.tiles import origin_of, squares_of
from absentia.kernels.metric import Widths, widths_from_variance
from absentia.kernels.named_kernels import CategoryWeight, KernelLike, MaskWeight, make_kernel
from absentia.missingness import Patterns
from absentia.parameters import FloatMatrix, RandomState, declared
from absentia.tables import FloatArray, IntArray, Learned, MemoryRows, WordsAs
from absentia.tables.streams import Stream

# Candidates per landmark: enough to choose from, few enough that choosing costs less than using.
_CANDIDATES = 20
# Squared distances from inner products are wrong by 1e-16 of the squared lengths; this leaves 1e-4.
_ROUNDING = 1e-12


def candidate_rows(
    patterns: Patterns, n_landmarks: int, prefer_complete: bool, rng: np.random.RandomState
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
    rule: str, kernel: Kernel, candidates: Beliefs, n_landmarks: int, rng: np.random.RandomState
) -> IntArray:
    """Return which candidates become landmarks under a resolved kernel, in ascending order.

    ``"kmeans++"`` spreads landmarks over the conditional means, each new one likely where the
    others are far. ``"leverage"`` draws rows by their approximate ridge leverage under the kernel:
    how much of the regression a row decides on its own. ``"uniform"`` draws at random.
    """
    if n_landmarks >= len(candidates):
        return np.arange(len(candidates))
    if rule == "kmeans++":
        chosen = _spread_out(_points(candidates), n_landmarks, rng)
    elif rule == "leverage":
        chosen = _by_leverage(kernel, candidates, n_landmarks, rng)
    else:
        chosen = rng.choice(len(candidates), n_landmarks, replace=False)
    return np.sort(chosen)


def _spread_out(points: FloatArray, n: int, rng: np.random.RandomState) -> IntArray:
    """Return different rows, each likely where the ones before it are far: k-means++.

    scikit-learn's takes distances from inner products. Where those lose the distances of most rows,
    they are taken from differences here.
    """
    others = np.random.RandomState(0).permutation(len(points))
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
    kernel: Kernel, candidates: Beliefs, n_landmarks: int, rng: np.random.RandomState
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


_TILE_FLOATS = 2**20
# Rows of an out-of-core table that are sampled per landmark.
_SAMPLED = 40


@declared
class Nystroem(BeliefFeatures):
    """Turn incomplete rows into features whose inner products approach any kernel of beliefs.

    Some training rows, the landmarks ``L``, stand for all. The features of a row ``P`` are
    ``k(P, L) inv(K_LL)^(1/2)``; their inner products equal the kernel between landmarks, and
    approach it elsewhere. Where the spectrum of the kernel falls fast, fewer features are needed
    than with :class:`FourierFeatures`, at the price of kernel values instead of cosines.

    Parameters
    ----------
    n_components : int, default=256
        The number of landmarks, and of features; no more than there are rows.
    kernel : str or Kernel, default="genrbf"
        As in all machines.
    gamma : float or "scale", default="scale"
        For a kernel that is given by name.
    mask_weight, category_weight, density, n_jobs
        As in :class:`FourierFeatures`; the weight of categories for a kernel given by name.
    landmarks : {"kmeans++", "leverage", "uniform"}, default="kmeans++"
        How landmarks are chosen: spread over the conditional means, by approximate ridge leverage
        under the kernel, or uniformly at random.
    prefer_complete : bool, default=True
        Whether landmarks are chosen among the rows that miss least. With a mask kernel, for
        which incomplete rows matter as they are, False may serve better.
    random_state : int, RandomState or None
        Draws the landmarks.

    Attributes
    ----------
    density_ : fitted density, None after a fit on beliefs
    kernel_ : Kernel
        With all parameters resolved to numbers.
    landmarks_ : Beliefs
    normalization_ : ndarray of shape (n_components, n_components)
        ``inv(K_LL)^(1/2)``, without the directions in which ``K_LL`` is numerically zero (or, for
        a kernel that is not positive definite, negative).

    Notes
    -----
    Cost: m kernel values and m^2 multiplications per row for m landmarks; m^3 once, in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity, GenRBF, Nystroem
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3))
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> Z = Nystroem(n_components=100, random_state=0).fit_transform(X)
    >>> K = GenRBF()(GaussianDensity().fit(X).condition(X))
    >>> bool(abs(Z @ Z.T - K).max() < 0.1)
    True
    """

    kernel_: Kernel = field(init=False)
    landmarks_: Beliefs = field(init=False)
    normalization_: FloatMatrix = field(init=False)

    n_components: int = field(default=256, kw_only=False)
    kernel: KernelLike = "genrbf"
    gamma: Widths = "scale"
    mask_weight: MaskWeight = None
    category_weight: CategoryWeight = "scale"
    density: DensityLike = "gaussian"
    landmarks: str = "kmeans++"
    prefer_complete: bool = True
    n_jobs: int | None = None
    random_state: RandomState = None

    def _words(self) -> WordsAs:
        known = self._validated_kernel().takes_categories
        return words_for(self.density) if known else "indicators"

    def _validated_kernel(self) -> Kernel:
        return make_kernel(self.kernel, self.gamma, self.mask_weight, self.category_weight)

    def _widths_from_variance(self) -> bool:
        return widths_from_variance(self._validated_kernel())

    def _learn(self, density: BaseEstimator | None, rows: MemoryRows | Stream) -> Learned:
        n_components = int(self.n_components)
        rng = check_random_state(self.random_state)
        beliefs = believe(density, rows.some_rows(_SAMPLED * n_components, rng))
        kernel = self._validated_kernel().resolve(beliefs.prior)
        n_landmarks = min(n_components, len(beliefs))
        complete_first, patterns = self.prefer_complete, beliefs.missing_patterns
        candidates = beliefs[candidate_rows(patterns, n_landmarks, complete_first, rng)]
        chosen = choose_landmarks(self.landmarks, kernel, candidates, n_landmarks, rng)
        landmarks = candidates[chosen]
        return {
            "kernel_": kernel,
            "landmarks_": landmarks,
            # Of the landmarks as two sets, so that a diagonal of its own (one row with itself)
            # does not count: new rows are compared with landmarks without it.
            "normalization_": inverse_root(kernel(landmarks, landmarks, n_jobs=self.n_jobs)),
            "_n_features_out": n_landmarks,
        }

    def _features(self, beliefs: Beliefs) -> FloatArray:
        require_moderate(normalization_=self.normalization_)
        out = np.empty((len(beliefs), len(self.landmarks_)))
        step = max(1, _TILE_FLOATS // len(self.landmarks_))
        tiles = gram_blocks(
            self.kernel_, beliefs, self.landmarks_, block_rows=step, n_jobs=self.n_jobs
        )
        for rows, K in tiles:
            np.matmul(K, self.normalization_, out=out[rows])
        return out


def inverse_root(K: FloatArray) -> FloatArray:
    """Return ``inv(K)^(1/2)`` of a positive semidefinite matrix, on the range of that matrix."""
    eigenvalues, vectors = eigh((K + K.T) / 2)
    kept = eigenvalues > len(K) * np.finfo(np.float64).eps * max(eigenvalues[-1], 0.0)
    vectors = vectors[:, kept]
    return (vectors / np.sqrt(eigenvalues[kept])) @ vectors.T
