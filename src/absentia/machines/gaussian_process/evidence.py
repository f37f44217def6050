"""The evidence of a Gaussian process: how probable the targets are under a kernel matrix.

Targets ``y = f + noise`` with ``f ~ N(0, scale K)`` have the log marginal likelihood

    -1/2 y' inv(S) y - 1/2 log det S - n/2 log(2 pi),    S = scale K + noise I.

``K`` comes from a kernel with parameters of its own, and costs most. One eigendecomposition of it
makes the likelihood of *any* scale and noise O(n), so that those two are settled, globally, for
each ``K``; the search over the kernel's parameters then has one or two dimensions, not four.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from absentia.tables import FloatArray

__all__ = ["Bounds", "Spectrum"]

Bounds = tuple[float, float]

_GRID = 48


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigendecomposition of a kernel matrix, and the targets in its basis.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        Eigenvalues; what rounding made negative is zero.
    vectors : ndarray of shape (n_samples, n_samples)
    targets : ndarray of shape (n_samples, n_outputs)
        In the basis of the eigenvectors. All outputs share kernel, scale and noise.
    """

    values: FloatArray
    vectors: FloatArray
    targets: FloatArray

    @classmethod
    def of(cls, K: FloatArray, Y: FloatArray) -> Spectrum:
        """Decompose a kernel matrix, O(n^3)."""
        values, vectors = eigh(K, driver="evd", check_finite=False)
        return cls(np.maximum(values, 0.0), vectors, vectors.T @ Y)

    @property
    def energies(self) -> FloatArray:
        """The squares of the targets along each eigenvector, summed over outputs."""
        energies: FloatArray = (self.targets**2).sum(axis=1)
        return energies

    def log_likelihood(self, scale: float | FloatArray, noise: float | FloatArray) -> FloatArray:
        """Return the log marginal likelihood of one scale and noise, or of arrays of them."""
        n, n_outputs = self.targets.shape
        variances = np.multiply.outer(scale, self.values) + np.asarray(noise)[..., None]
        likelihood: FloatArray = -0.5 * (
            (self.energies / variances + n_outputs * np.log(variances)).sum(axis=-1)
            + n * n_outputs * np.log(2 * np.pi)
        )
        return likelihood

    def settle(
        self,
        scale: float | None,
        noise: float | None,
        scale_bounds: Bounds,
        noise_bounds: Bounds,
    ) -> tuple[float, float]:
        """Return the most likely scale and noise.

        A search in one dimension: over the noise or the scale where the other is given, else over
        their ratio, for which the best scale is known in closed form. A grid finds the highest
        hill, so that no second optimum (all signal, or all noise) is taken for the first.

        Parameters
        ----------
        scale, noise : float or None
            None for what is to be chosen.
        scale_bounds, noise_bounds : pair of float
        """

        if scale is not None and noise is not None:
            return scale, noise
        if scale is None and noise is None:
            low, high = noise_bounds[0] / scale_bounds[1], noise_bounds[1] / scale_bounds[0]
        else:
            low, high = scale_bounds if scale is None else noise_bounds

        def levels(logarithm: FloatArray) -> tuple[FloatArray, FloatArray]:
            free = np.exp(logarithm)
            if noise is not None:
                return free, np.full_like(free, noise)
            if scale is not None:
                return np.full_like(free, scale), free
            best = (self.energies / (self.values + free[..., None])).mean(axis=-1)
            best = best / self.targets.shape[1]
            lowest = np.maximum(scale_bounds[0], noise_bounds[0] / free)
            highest = np.minimum(scale_bounds[1], noise_bounds[1] / free)
            best = np.clip(best, lowest, highest)
            return best, free * best

        def loss(logarithm: float) -> float:
            return -float(self.log_likelihood(*levels(np.asarray(logarithm))))

        grid = np.linspace(np.log(low), np.log(high), _GRID)
        top = int(np.argmax(self.log_likelihood(*levels(grid))))
        bracket = grid[max(top - 1, 0)], grid[min(top + 1, _GRID - 1)]
        found = minimize_scalar(loss, bounds=bracket, method="bounded", options={"xatol": 1e-7})
        best_scale, best_noise = levels(np.asarray(min((found.x, grid[top]), key=loss)))
        return float(best_scale), float(best_noise)

    def gradient(
        self, scale: float, noise: float, derivatives: Iterable[FloatArray] = ()
    ) -> FloatArray:
        """Return the derivatives of the log marginal likelihood, given those of ``K``.

        ``1/2 tr((a a' - inv(S)) scale dK)`` with ``a = inv(S) y`` for each ``dK`` in
        ``derivatives``, then those by the logarithms of scale and noise, for which ``dS`` is
        ``scale K`` and ``noise I``. At the best scale and noise the last two vanish, and the
        others are those of the likelihood with scale and noise settled.
        """
        inverse = 1.0 / (scale * self.values + noise)
        rotated = inverse[:, None] * self.targets
        spread = (rotated**2).sum(axis=1) - self.targets.shape[1] * inverse
        by_levels = 0.5 * np.array([scale * (spread @ self.values), noise * spread.sum()])
        G = self.kernel_weights(scale, noise)
        by_kernel = [float(np.vdot(G, dK)) for dK in derivatives]
        return np.append(by_kernel, by_levels)

    def kernel_weights(self, scale: float, noise: float) -> FloatArray:
        """Return the derivatives of the log marginal likelihood by the entries of ``K``."""
        inverse = 1.0 / (scale * self.values + noise)
        weights = self.vectors @ (inverse[:, None] * self.targets)
        G: FloatArray = weights @ weights.T
        G -= self.targets.shape[1] * (self.vectors * inverse) @ self.vectors.T
        G *= 0.5 * scale
        return G
