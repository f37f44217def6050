"""Expected Fourier features: the RBF kernel of beliefs as an inner product of finite rows.

The RBF kernel is the average of ``cos(w'(x - y))`` over Gaussian ``w``: the theorem of Bochner,
used by Rahimi and Recht (2007) for random features. Frequencies that are orthogonal to one another
(Yu et al., 2016) have the same distribution one by one, and less variance together.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs, Prior
from absentia.densities.fit_density import DensityLike, prior_of, words_for
from absentia.engine.sincos import LARGEST_PHASE, add_sincos, damp_patterns, scale_to_unit_length
from absentia.engine.threads import (
    bounded_slices,
    n_threads,
    one_blas_thread,
    run_single_threaded_blas,
)
from absentia.features.base import BeliefFeatures, require_moderate
from absentia.kernels.mask import checked_weight
from absentia.kernels.metric import metric_root
from absentia.kernels.named_kernels import MaskWeight
from absentia.kernels.rbf import GenRBF
from absentia.parameters import MANY, FloatMatrix, FloatVector, RandomState, declared
from absentia.tables import BoolArray, FloatArray, IntArray, Learned, MemoryRows, WordsAs
from absentia.tables.stored import require_array
from absentia.tables.streams import Stream

# Phases of a tile, and then its features, should stay in the cache between two uses.
_TILE_FLOATS = 2**16


@declared
class FourierFeatures(BeliefFeatures):
    """Turn incomplete rows into features whose inner products approach genRBF.

    Put it in front of any linear model, and that model becomes a kernel machine whose cost is
    linear in the rows. For a frequency ``w`` and a row whose belief is the Gaussian ``N(a, A)``
    the features are expectations, exact for every frequency:

    ``E[cos(w'x)] = exp(-w'Aw / 2) cos(w'a)``,  ``E[sin(w'x)] = exp(-w'Aw / 2) sin(w'a)``

    and for a mixture the weighted sum of those of its components. What is uncertain is damped; a
    complete row has the textbook random features. With ``w ~ N(0, 2 gamma I)`` the inner product
    of two rows, averaged over the draw, is the expected RBF kernel, Eq. (3) of [Anderson2011]_.
    A column of categories multiplies the waves of each frequency by the mean of a random sign of
    its category, component by component, and the inner products approach the kernel with its
    factor of categories (:class:`CategoryKernel`). ``normalize=True`` divides every row of features
    by its length, and the inner products approach genRBF, Eq. (20) of [Smieja2018]_.

    Parameters
    ----------
    n_components : int, default=512
        The number of features, a cosine and a sine per frequency. The error of an entry of
        the kernel falls as ``1 / sqrt(n_components)``.
    gamma : float or "scale", default="scale"
        As in :class:`GenRBF`.
    metric : "euclidean", "mahalanobis" or array of shape (n_features, n_features)
        As in :class:`GenRBF`.
    density : "gaussian", "low-rank", "mixture", "mixed" or density estimator, default="gaussian"
        What the rows could have been; a copy is fitted. To use a density that is fitted already,
        pass ``sklearn.frozen.FrozenEstimator(density)``.
    normalize : bool, default=True
        Whether to give every row of features the length 1 (genRBF), or not (expected RBF). The
        length comes from the features themselves and not from the exact kernel: the errors of
        numerator and denominator then largely cancel, and no entry exceeds one.
    orthogonal : bool, default=True
        Whether to draw the frequencies orthogonal to one another, which lowers the variance.
    mask_weight : float, array of shape (n_features,) or None
        Multiplies the kernel with :class:`MaskKernel` of that weight, for data in which
        missingness is informative; see :class:`MaskFeatures` for a sum instead of a product.
    category_weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
        As in :class:`GenRBF`, for a density that knows categories (``density="mixed"``).
    category_similarities : None, "ordered", list or dict, default=None
        As in :class:`GenRBF`.
    n_jobs : int, optional
        Threads; by default as many as BLAS would use.
    random_state : int, RandomState or None
        Draws the frequencies.

    Attributes
    ----------
    density_ : fitted density, None after a fit on beliefs
    gamma_ : float
    frequencies_ : ndarray of shape (n_features, n_frequencies)
        One frequency per two features.
    mask_frequencies_ : ndarray of shape (n_features, n_frequencies), or None
    category_signs_ : list of ndarray of shape (n_categories, n_frequencies)
        One per column of categories.
    last_phase_ : float
        Where the number of features is odd, the last frequency has one, with this phase.
    center_ : ndarray of shape (n_features,)
        Phases are counted from here. Inner products do not depend on it, rounding does.

    Notes
    -----
    Cost: one matrix product, n d D / 2 multiplications for D features; n D sines and cosines; for
    each pattern that misses q values D q^2 / 2. Memory: the features and half a megabyte.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import FourierFeatures, GaussianDensity, GenRBF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3))
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> features = FourierFeatures(n_components=2000, random_state=0)
    >>> Z = features.fit_transform(X)
    >>> K = GenRBF()(GaussianDensity().fit(X).condition(X))
    >>> bool(abs(Z @ Z.T - K).max() < 0.1)
    True
    """

    frequencies_: FloatMatrix = field(init=False)
    mask_frequencies_: FloatMatrix | None = field(init=False)
    center_: FloatVector | FloatMatrix = field(init=False)
    last_phase_: float = field(init=False)
    gamma_: float | FloatVector = field(init=False)
    category_signs_: list[FloatMatrix] = field(init=False)

    n_components: int = field(default=512, kw_only=False)
    gamma: float | str = "scale"
    metric: Any = "euclidean"
    density: DensityLike = "gaussian"
    normalize: bool = True
    orthogonal: bool = True
    mask_weight: MaskWeight = None
    category_weight: Any = "scale"
    category_similarities: Any = None
    n_jobs: int | None = None
    random_state: RandomState = None

    def _learn(self, density: BaseEstimator, rows: MemoryRows | Stream) -> Learned:
        n_frequencies = frequencies_for(self.n_components)
        prior = prior_of(density, rows)
        rng = check_random_state(self.random_state)
        weight, alike = self.category_weight, self.category_similarities
        kernel: Any = GenRBF(
            self.gamma, self.metric, category_weight=weight, category_similarities=alike
        ).resolve(prior)
        gamma = kernel.gamma
        metric = None if isinstance(kernel.metric, str) else kernel.metric
        shape = prior.n_features, n_frequencies
        frequencies = gaussian_frequencies(shape, gamma, metric, self.orthogonal, rng)
        if not prior.n_numbers:  # the one number of a table of categories says nothing
            frequencies[:] = 0.0
        mask_waves = None
        if self.mask_weight is not None:
            mask_waves = mask_frequencies(n_frequencies, self.mask_weight, prior.n_features, rng)
        return {
            "gamma_": gamma,
            "frequencies_": frequencies,
            "mask_frequencies_": mask_waves,
            "category_signs_": _draw_signs(kernel, prior, n_frequencies, rng),
            "center_": prior.mean(),
            "last_phase_": rng.uniform(0, 2 * np.pi),
            "_n_features_out": int(self.n_components),
        }

    def _words(self) -> WordsAs:
        return words_for(self.density)

    def _features(self, beliefs: Beliefs) -> FloatArray:
        """Return the features, a tile of rows at a time.

        The rows are taken in the order of their groups, so that what rows of one pattern share is
        computed once, and needs no table of all patterns.
        """
        d, n_frequencies = beliefs.n_features, self.frequencies_.shape[1]
        # Compiled loops trust the shapes, and these arrays may have come out of a file.
        shapes = {"frequencies_": (d, None), "center_": (d,)}
        if self.mask_frequencies_ is not None:
            shapes["mask_frequencies_"] = (d, n_frequencies)
        for name, shape in shapes.items():
            require_array(name, getattr(self, name), np.float64, shape)
        require_moderate(
            frequencies_=self.frequencies_,
            mask_frequencies_=self.mask_frequencies_,
            center_=self.center_,
            last_phase_=self.last_phase_,
        )
        n_categories = () if beliefs.codes is None else beliefs.prior.n_categories
        if len(n_categories) != len(self.category_signs_):
            raise ValueError(
                f"These beliefs have {len(n_categories)} columns of categories, but the features "
                f"were fitted to {len(self.category_signs_)}: use the density of the features."
            )
        for signs, K in zip(self.category_signs_, n_categories, strict=True):
            require_array("category_signs_", signs, np.float64, (K, n_frequencies))
            require_moderate(category_signs_=signs)
        out = np.empty((len(beliefs), 2 * n_frequencies))
        # With a missing category a row of complete numbers is not a point either.
        certain = _certain(beliefs) & (beliefs.codes is None)
        order = np.argsort(beliefs.group_of_row, kind="stable")
        is_point = certain[beliefs.group_of_row[order]]
        step = max(1, _TILE_FLOATS // n_frequencies)
        tasks = [
            (fill, rows[start : start + step])
            for fill, rows in ((self._fill_points, order[is_point]), (self._fill, order[~is_point]))
            for start in range(0, len(rows), step)
        ]
        # The products of a tile are too small for the threads of BLAS; tiles have threads.
        with one_blas_thread():
            run_single_threaded_blas(
                lambda fill, rows: fill(beliefs, rows, out), tasks, n_threads(self.n_jobs)
            )
        if self._n_features_out < 2 * n_frequencies:
            out = fold_last_pair(out, self.last_phase_)
            if self.normalize:
                scale_to_unit_length(np.arange(len(out)), out)
        return out

    def _fill_points(self, beliefs: Beliefs, rows: IntArray, out: FloatArray) -> None:
        """Write the features of complete rows: all components agree, and nothing is damped."""
        phases, undamped = self._phases(beliefs, rows, 0), np.zeros(len(rows), dtype=np.intp)
        amplitudes = np.full(len(rows), 1 / np.sqrt(phases.shape[1]))
        add_sincos(phases, np.ones((1, phases.shape[1])), undamped, amplitudes, rows, out, True)

    def _fill(self, beliefs: Beliefs, rows: IntArray, out: FloatArray) -> None:
        """Write the features of some rows, neighbours in the order of their groups."""
        groups = beliefs.group_of_row[rows]
        is_new = np.concatenate([[True], groups[1:] != groups[:-1]])
        damping_of_row = np.cumsum(is_new) - 1
        damping = log_damping(beliefs, groups[is_new], self.frequencies_)
        # What is left of a belief at its least damped frequency. To count from there keeps a row
        # of normalised features from vanishing, however uncertain its belief is.
        peaks = damping.max(axis=2)
        damping -= peaks[:, :, None]
        np.exp(damping, out=damping)
        amplitudes = beliefs.log_weights[rows].T + peaks[:, damping_of_row]
        if self.normalize:
            amplitudes -= amplitudes.max(axis=0)
        np.exp(amplitudes, out=amplitudes)
        amplitudes /= np.sqrt(self.frequencies_.shape[1])
        if beliefs.codes is not None:
            out[rows] = 0.0
        for c in range(beliefs.n_components):
            phases = self._phases(beliefs, rows, c)
            if beliefs.codes is None:
                add_sincos(phases, damping[c], damping_of_row, amplitudes[c], rows, out, c == 0)
                continue
            own, here = np.empty((len(rows), out.shape[1])), np.arange(len(rows))
            add_sincos(phases, damping[c], damping_of_row, amplitudes[c], here, own, True)
            out[rows] += own * np.tile(self._mean_signs(beliefs, rows, c), 2)
        if self.normalize:
            scale_to_unit_length(rows, out)

    def _mean_signs(self, beliefs: Beliefs, rows: IntArray, component: int) -> FloatArray:
        """Return the product over columns of the mean signs of categories, (n_rows, n_freq)."""
        assert beliefs.codes is not None
        product = np.ones((len(rows), self.frequencies_.shape[1]))
        pairs = zip(self.category_signs_, beliefs.prior.probabilities, strict=True)
        for j, (signs, table) in enumerate(pairs):
            # The last one is that of a missing category, which code -1 looks up.
            product *= np.vstack([signs, table[component] @ signs])[beliefs.codes[rows, j]]
        return product

    def _phases(self, beliefs: Beliefs, rows: IntArray, component: int) -> FloatArray:
        """Return the phases of some rows at all frequencies, (n_rows, n_frequencies)."""
        centred = beliefs.means[rows, component] - self.center_
        phases = centred @ self.frequencies_
        if self.mask_frequencies_ is not None:
            phases += beliefs.patterns.mask[rows] @ self.mask_frequencies_
        if max(phases.max(initial=0), -phases.min(initial=0)) > LARGEST_PHASE:
            np.remainder(phases, 2 * np.pi, out=phases)
        return phases


def _draw_signs(
    kernel: GenRBF, prior: Prior, n_frequencies: int, rng: np.random.RandomState
) -> list[FloatArray]:
    if not prior.probabilities:
        return []
    weights = np.broadcast_to(np.asarray(kernel.category_weight), (len(prior.probabilities),))
    matrices = kernel.category_similarities or (None,) * len(weights)
    columns = zip(prior.n_categories, weights, matrices, strict=True)
    return [category_signs(n_frequencies, K, float(w), rng, S) for K, w, S in columns]


def _certain(beliefs: Beliefs) -> BoolArray:
    """Return which groups are points: complete patterns, whose components all have one mean."""
    if beliefs.covariances.is_conditioned or beliefs.n_components == 1:
        return beliefs.covariances.is_zero()
    return np.zeros(beliefs.covariances.n_groups, dtype=bool)


def log_damping(beliefs: Beliefs, groups: IntArray, frequencies: FloatArray) -> FloatArray:
    """Return ``-w'Aw / 2`` by component, group and frequency."""
    d, n_frequencies = frequencies.shape
    out = np.empty((beliefs.n_components, len(groups), n_frequencies))
    table = beliefs.covariances
    if table.is_conditioned:
        masks, prior = beliefs.patterns.masks[groups], beliefs.prior
        for c in range(beliefs.n_components):
            variances = np.diagonal(prior.covariances[c]).copy()
            damp_patterns(prior.precisions[c], variances, masks, frequencies, out[c])
        return out
    for part in bounded_slices(len(groups), beliefs.n_components * d * (d + n_frequencies)):
        images = table.dense(groups[part]) @ frequencies
        out[:, part] = -0.5 * np.einsum("gcdf,df->cgf", images, frequencies)
    return np.minimum(out, 0.0, out=out)


def gaussian_frequencies(
    shape: tuple[int, int],
    gamma: float | FloatArray,
    metric: FloatArray | None,
    orthogonal: bool,
    rng: np.random.RandomState,
) -> FloatArray:
    """Draw frequencies ``w ~ N(0, 2 gamma M)``, one per column; shape (d, n_frequencies).

    Then ``E[cos(w'(x - y))] = exp(-gamma (x - y)' M (x - y))``. Orthogonal ones come in groups of
    ``d``: the directions from the QR factorisation of a Gaussian matrix (signs put right, so that
    they are uniform), the lengths those of independent Gaussian vectors.
    """
    d, n_frequencies = shape
    if orthogonal:
        n_groups = -(-n_frequencies // d)
        directions = np.concatenate([_rotation(d, rng) for _ in range(n_groups)], axis=1)
        lengths = np.sqrt(rng.chisquare(d, size=n_groups * d))
        standard = (directions * lengths)[:, :n_frequencies]
    else:
        standard = rng.standard_normal((d, n_frequencies))
    if metric is not None:
        standard = metric_root(metric).T @ standard
    return np.sqrt(2 * np.reshape(gamma, (-1, 1))) * standard


def frequencies_for(n_components: Any) -> int:
    """Return how many frequencies make this many features: a cosine and a sine per frequency."""
    MANY.check("n_components", n_components)
    return -(-int(n_components) // 2)


def fold_last_pair(waves: FloatArray, phase: float) -> FloatArray:
    """Make an odd number of features: one of the last frequency, instead of its pair.

    ``sqrt(2) cos(w'x + b)`` with a random phase ``b`` has the same average as the pair ``cos(w'x)``
    and ``sin(w'x)``, only more variance. ``waves`` holds the cosines, then the sines; the last
    column goes.
    """
    last = waves.shape[1] // 2 - 1
    folded = waves[:, :-1].copy()
    folded[:, last] = np.sqrt(2) * (np.cos(phase) * waves[:, last] - np.sin(phase) * waves[:, -1])
    return folded


def mask_frequencies(
    n_frequencies: int, weight: ArrayLike, n_features: int, rng: np.random.RandomState
) -> FloatArray:
    """Draw frequencies for the kernel of masks, one per column, shape (d, n_frequencies).

    As in :class:`~absentia.MaskFeatures`. Of all symmetric distributions with that average this one
    has the smallest second moment ``E[cos(v'(m - n))^2]``, because it makes
    ``E[cos(2 v_j)] = 2 E[cos(v_j)^2] - 1`` as small as Jensen allows.
    """
    angles = np.broadcast_to(np.arccos(np.exp(-checked_weight(weight, n_features))), n_features)
    signs = rng.choice([-1.0, 1.0], size=(n_features, n_frequencies))
    return angles[:, None] * signs


def category_signs(
    n_frequencies: int,
    n_categories: int,
    weight: float,
    rng: np.random.RandomState,
    similarity: FloatArray | None = None,
) -> FloatArray:
    """Draw signs for the kernel of one column of categories, (n_categories, n_frequencies).

    With probability ``exp(-weight)`` all categories of a frequency have the sign 1, and otherwise
    each has a fair sign of its own. Then ``E[s(x) s(y)]`` is 1 for equal categories and
    ``exp(-weight)`` for others, which is the kernel. With a similarity ``S`` of categories it is
    ``R s`` that each category has, for a root ``R R' = S``: ``E[(R s)(R s)'] = S``.
    """
    signs = rng.choice([-1.0, 1.0], size=(n_categories, n_frequencies))
    if similarity is not None:
        eigenvalues, vectors = np.linalg.eigh(similarity)
        signs = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ signs
    signs[:, rng.uniform(size=n_frequencies) < np.exp(-weight)] = 1.0
    return signs


def _rotation(d: int, rng: np.random.RandomState) -> FloatArray:
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return Q * np.sign(np.diagonal(R))
