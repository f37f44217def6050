"""Nystroem features: any kernel of beliefs as an inner product, by comparison with landmarks."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityLike, believe, words_for
from absentia.features.base import BeliefFeatures
from absentia.features.landmarks import candidate_rows, choose_landmarks
from absentia.kernels import gram_blocks
from absentia.kernels.base import Kernel
from absentia.kernels.gross_values import widths_from_variance
from absentia.kernels.metric import Widths
from absentia.kernels.named_kernels import CategoryWeight, KernelLike, MaskWeight, make_kernel
from absentia.parameters import RandomState, declared
from absentia.tables import FloatArray, Learned, MemoryRows, WordsAs
from absentia.tables.streams import Stream

__all__ = ["Nystroem"]

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
    mask_weight : float, array of shape (n_features,) or None
        Multiplies the kernel with :class:`MaskKernel` of that weight.
    category_weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
        As in :class:`GenRBF`, for a kernel that is given by name and a density that knows
        categories (``density="mixed"``).
    density : "gaussian", "low-rank", "mixture", "mixed" or density estimator, default="gaussian"
        What the rows could have been; a copy is fitted. To use a density that is fitted already,
        pass ``sklearn.frozen.FrozenEstimator(density)``.
    landmarks : {"kmeans++", "leverage", "uniform"}, default="kmeans++"
        How landmarks are chosen: spread over the conditional means, by approximate ridge leverage
        under the kernel, or uniformly at random.
    prefer_complete : bool, default=True
        Whether landmarks are chosen among the rows that miss least. With a mask kernel, for
        which incomplete rows matter as they are, False may serve better.
    n_jobs : int, optional
        Threads; by default as many as BLAS would use.
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
    normalization_: FloatArray = field(init=False)

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
        return words_for(self.density) if self._make_kernel().takes_categories else "indicators"

    def _make_kernel(self) -> Kernel:
        return make_kernel(self.kernel, self.gamma, self.mask_weight, self.category_weight)

    def _widths_from_variance(self) -> bool:
        return widths_from_variance(self._make_kernel())

    def _learn(self, density: BaseEstimator | None, rows: MemoryRows | Stream) -> Learned:
        n_components = int(self.n_components)
        rng = check_random_state(self.random_state)
        beliefs = believe(density, rows.some_rows(_SAMPLED * n_components, rng))
        kernel = self._make_kernel().resolve(beliefs.prior)
        n_landmarks = min(n_components, len(beliefs))
        candidates = beliefs[
            candidate_rows(beliefs.missing_patterns, n_landmarks, self.prefer_complete, rng)
        ]
        landmarks = candidates[
            choose_landmarks(self.landmarks, kernel, candidates, n_landmarks, rng)
        ]
        return {
            "kernel_": kernel,
            "landmarks_": landmarks,
            # Of the landmarks as two sets, so that a diagonal of its own (one row with itself)
            # does not count: new rows are compared with landmarks without it.
            "normalization_": inverse_root(kernel(landmarks, landmarks, n_jobs=self.n_jobs)),
            "_n_features_out": n_landmarks,
        }

    def _features(self, beliefs: Beliefs) -> FloatArray:
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
    root: FloatArray = (vectors / np.sqrt(eigenvalues[kept])) @ vectors.T
    return root
