"""Features of what is missing: the mask kernel as an inner product of finite rows."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs
from absentia.features.base import MapsRows, require_moderate
from absentia.features.fourier import fold_last_pair, frequencies_for, mask_frequencies
from absentia.missingness import Patterns
from absentia.parameters import FloatMatrix, RandomState, declared
from absentia.tables import FloatArray, MemoryRows, Table, TableLike, open_rows, set_fitted


@declared
class MaskFeatures(MapsRows):
    """Features of *which* values a row misses; inner products approach :class:`MaskKernel`.

    Append them to :class:`FourierFeatures` with ``FeatureUnion`` and the kernels add up; to
    multiply the kernels, use ``FourierFeatures(mask_weight=...)``. For the mask ``m`` of a row
    (one where a value is missing) and a random vector ``v`` the features are ``cos(v'm)`` and
    ``sin(v'm)`` with ``v_j = +-arccos(exp(-weight_j))``, with random signs: the
    average of ``cos(v'(m - n))`` is the product of ``exp(-weight_j)`` over the columns in which
    two masks differ, without bias and with less variance than Gaussian frequencies have.

    Parameters
    ----------
    n_components : int, default=64
        The number of features: a cosine and a sine per frequency.
    weight : float or array of shape (n_features,), default=1.0
        As in :class:`MaskKernel`.
    random_state : int, RandomState or None
        Draws the signs.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_frequencies)
        One frequency per two features.
    last_phase_ : float
        Where the number of features is odd, the last frequency has one, with this phase.

    Notes
    -----
    No density is needed. Cost: O(P d D) for P patterns and D features, and writing the features.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import MaskFeatures
    >>> X = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]])
    >>> Z = MaskFeatures(n_components=20, weight=np.log(2), random_state=0).fit_transform(X)
    >>> (Z @ Z.T).round(1)
    array([[1. , 0.5, 1. ],
           [0.5, 1. , 0.5],
           [1. , 0.5, 1. ]])
    """

    frequencies_: FloatMatrix = field(init=False)
    last_phase_: float = field(init=False)

    n_components: int = field(default=64, kw_only=False)
    weight: ArrayLike = 1.0
    random_state: RandomState = None

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> MaskFeatures:
        """Draw the frequencies; of the table only the number of columns matters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame
        y : ignored
        """
        n_frequencies = frequencies_for(self.n_components)
        rows = open_rows(X, words="codes")
        rng = check_random_state(self.random_state)
        learned = {
            "frequencies_": mask_frequencies(n_frequencies, self.weight, rows.n_features, rng),
            "last_phase_": rng.uniform(0, 2 * np.pi),
            "_n_features_out": int(self.n_components),
        }
        set_fitted(self, rows, learned)
        return self

    def of_rows(self, rows: FloatArray | MemoryRows) -> FloatArray:
        """Return the features of rows that were checked before, (n_samples, n_components)."""
        require_moderate(frequencies_=self.frequencies_, last_phase_=self.last_phase_)
        if isinstance(rows, np.ndarray):
            rows = Table(rows)
        patterns = rows.patterns if isinstance(rows, Beliefs) else Patterns.of(rows)
        phases = patterns.masks @ self.frequencies_
        waves = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
        waves /= np.sqrt(self.frequencies_.shape[1])
        if waves.shape[1] > self._n_features_out:
            waves = fold_last_pair(waves, self.last_phase_)
        return waves[patterns.pattern_of_row]
