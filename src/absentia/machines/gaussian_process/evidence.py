"""The evidence of a Gaussian process, and a search for its maximum.

Targets ``y = f + noise`` with ``f ~ N(0, scale K)`` have the log marginal likelihood

    -1/2 y' inv(S) y - 1/2 log det S - n/2 log(2 pi),    S = scale K + noise I.

``K`` comes from a kernel with parameters of its own, and costs most. One eigendecomposition of it
makes the likelihood of *any* scale and noise O(n), so that those two are settled, globally, for
each ``K``; the search over the kernel's parameters then has one or two dimensions, not four. For
many rows that is done with some of them, evenly spaced; a search over all hyperparameters at once
goes on from there with all rows, by Cholesky factors, which take an eighth of the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize_scalar

from absentia.beliefs import Beliefs
from absentia.machines.search.kernel_family import KernelFamily
from absentia.tables import FloatArray

Bounds = tuple[float, float]

_GRID = 48
# From so many rows on a search begins with some of them.
MANY_ROWS = 800
SOME_ROWS = 400
# The least noise that such a search begins with, as a share of the mean square.
_LEAST_NOISE = 0.01


class NotPositiveDefinite(ValueError):
    """The covariance of the targets has no Cholesky factor."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigendecomposition of a kernel matrix, and the targets in its basis.

    Eigenvalues below zero by rounding are set to zero. All outputs share kernel, scale and noise.
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
        return (self.targets**2).sum(axis=1)

    def log_likelihood(self, scale: float | FloatArray, noise: float | FloatArray) -> FloatArray:
        """Return the log marginal likelihood of one scale and noise, or of arrays of them."""
        n, n_outputs = self.targets.shape
        variances = np.multiply.outer(scale, self.values) + np.asarray(noise)[..., None]
        return -0.5 * (
            (self.energies / variances + n_outputs * np.log(variances)).sum(axis=-1)
            + n * n_outputs * np.log(2 * np.pi)
        )

    def settle(
        self, scale: float | None, noise: float | None, scale_bounds: Bounds, noise_bounds: Bounds
    ) -> tuple[float, float]:
        """Return the most likely scale and noise; those given are returned as they are.

        A search in one dimension: over the noise or the scale if the other is given, else over
        their ratio, for which the best scale is known in closed form. A grid finds the highest
        hill, so that no second optimum (all signal, or all noise) is taken for the first.
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

    def kernel_weights(self, scale: float, noise: float) -> FloatArray:
        """Return the derivatives of the log marginal likelihood by the entries of ``K``.

        ``scale/2 (a a' - inv(S))`` with ``a = inv(S) y``. At the best scale and noise these are
        the derivatives of the likelihood with scale and noise settled.
        """
        inverse = 1.0 / (scale * self.values + noise)
        weights = self.vectors @ (inverse[:, None] * self.targets)
        G: FloatArray = weights @ weights.T
        G -= self.targets.shape[1] * (self.vectors * inverse) @ self.vectors.T
        G *= 0.5 * scale
        return G


@dataclass(frozen=True, eq=False)
class FactoredEvidence:
    """The covariance ``S = scale K + noise I`` of the targets, (n_samples, n_outputs), factored.

    ``root`` is the lower Cholesky factor of ``S``, ``weights`` is ``inv(S)`` times the targets.
    """

    scale: float
    noise: float
    targets: FloatArray
    root: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, K: FloatArray, targets: FloatArray, scale: float, noise: float) -> FactoredEvidence:
        """Factor the covariance of the targets under a kernel matrix, O(n^3 / 3)."""
        S = scale * K
        S[np.diag_indices_from(S)] += noise
        try:
            # Symmetric, so the transpose is the same matrix in the order that LAPACK wants.
            root = cholesky(S.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise NotPositiveDefinite(
                f"The covariance of the targets, {scale:.3g} * K + {noise:.3g} * I, is not "
                "positive definite. Raise noise (or the lower bound in noise_bounds), or use a "
                "kernel whose positive_definite attribute is True, such as GenRBF."
            ) from error
        weights = cho_solve((root, True), targets, check_finite=False)
        return cls(scale, noise, targets, root, weights)

    @property
    def log_likelihood(self) -> float:
        """The log marginal likelihood of the targets."""
        n, n_outputs = self.targets.shape
        log_determinant = 2 * np.log(np.diagonal(self.root)).sum()
        quadratic = np.vdot(self.targets, self.weights)
        return float(-0.5 * (quadratic + n_outputs * (log_determinant + n * np.log(2 * np.pi))))

    def kernel_weights(self) -> FloatArray:
        """Return the derivatives of the log marginal likelihood by the entries of ``K``."""
        half, _ = dpotri(self.root, lower=1)
        lower = np.tril(half)
        G: FloatArray = self.weights @ self.weights.T
        G -= self.targets.shape[1] * (lower + np.tril(lower, -1).T)
        G *= 0.5 * self.scale
        return G

    def by_levels(self) -> FloatArray:
        """Return the derivatives by the logarithms of scale and noise.

        ``1/2 tr((a a' - inv(S)) dS)``, Eq. (5.9) of Rasmussen and Williams (2006), with ``dS``
        equal to ``S - noise I`` and ``noise I``.
        """
        n, n_outputs = self.targets.shape
        diagonal = np.diagonal(dpotri(self.root, lower=1)[0])
        noisy = self.noise * (np.vdot(self.weights, self.weights) - n_outputs * diagonal.sum())
        whole = np.vdot(self.targets, self.weights) - n_outputs * n
        return np.array([0.5 * (whole - noisy), 0.5 * noisy])


@dataclass(frozen=True, eq=False)
class RegressionEvidence:
    """The evidence of training targets as a function of kernel parameters, scale and noise.

    ``scale`` and ``noise`` are None if they are free; their bounds are multiples of the mean square
    of the targets, (n_samples, n_targets).
    """

    beliefs: Beliefs
    targets: FloatArray
    scale: float | None
    noise: float | None
    scale_bounds: Bounds
    noise_bounds: Bounds
    n_jobs: int | None
    units: float | None = None

    @property
    def mean_square(self) -> float:
        """The mean square of the targets of all rows, or one if they are all zero."""
        return self.units or float(np.mean(self.targets**2)) or 1.0

    def bounds_of(self, level: str) -> Bounds:
        """Return the bounds of ``"scale"`` or ``"noise"`` in the units of the targets."""
        low, high = self.scale_bounds if level == "scale" else self.noise_bounds
        return low * self.mean_square, high * self.mean_square

    def of_some_rows(self) -> RegressionEvidence:
        """Return the evidence of some of many rows, enough to find the region of the optimum."""
        n = len(self.targets)
        if n <= MANY_ROWS:
            return self
        some = np.linspace(0, n - 1, SOME_ROWS).astype(int)
        return replace(
            self, beliefs=self.beliefs[some], targets=self.targets[some], units=self.mean_square
        )

    def gram(self, family: KernelFamily, theta: FloatArray) -> FloatArray:
        """Return the Gram matrix at logarithms that begin with those of the kernel."""
        return family.at(theta[: len(family.names)])(self.beliefs, n_jobs=self.n_jobs)

    def spectrum(
        self, family: KernelFamily, logarithms: FloatArray
    ) -> tuple[FloatArray, Spectrum, dict[str, float]]:
        """Return the Gram matrix, its spectrum, and the most likely scale and noise."""
        K = self.gram(family, logarithms)
        spectrum = Spectrum.of(K, self.targets)
        limits = self.bounds_of("scale"), self.bounds_of("noise")
        scale, noise = spectrum.settle(self.scale, self.noise, *limits)
        return K, spectrum, {"scale": scale, "noise": noise}

    def settled(self, family: KernelFamily, logarithms: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence with scale and noise settled, and its gradient by the kernel's."""
        K, spectrum, levels = self.spectrum(family, logarithms)
        value, gradient = family.log_prior(logarithms)
        weights = spectrum.kernel_weights(**levels)
        gradient += family.gradient(logarithms, self.beliefs, weights, K, self.n_jobs)
        return value + float(spectrum.log_likelihood(**levels)), gradient

    def levels_of(self, family: KernelFamily, theta: FloatArray) -> dict[str, float]:
        """Return scale and noise, given or at the end of the logarithms."""
        levels = {"scale": self.scale, "noise": self.noise}
        free = iter(np.exp(theta[len(family.names) :]))
        return {name: float(next(free) if x is None else x) for name, x in levels.items()}

    def joint(self, family: KernelFamily, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence of kernel parameters, scale and noise at once, and its gradient."""
        m = len(family.names)
        K = self.gram(family, theta)
        try:
            found = FactoredEvidence.of(K, self.targets, **self.levels_of(family, theta))
        except NotPositiveDefinite:  # by rounding, if there is no noise
            return -np.inf, np.zeros(len(theta))
        value, by_kernel = family.log_prior(theta[:m])
        weights = found.kernel_weights()
        by_kernel += family.gradient(theta[:m], self.beliefs, weights, K, self.n_jobs)
        free = [self.scale is None, self.noise is None]
        return value + found.log_likelihood, np.append(by_kernel, found.by_levels()[free])

    def joint_start(self, family: KernelFamily, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return where the search with all rows begins after that with some, and its bounds."""
        names = [name for name in ("scale", "noise") if getattr(self, name) is None]
        limits = np.log([self.bounds_of(name) for name in names]).reshape(-1, 2)
        if self.noise is None:
            # Some rows may show no noise though all rows do, and from almost none no gradient
            # leads to more of it.
            least = np.clip(_LEAST_NOISE * self.mean_square, *self.bounds_of("noise"))
            theta = np.append(theta[:-1], max(theta[-1], np.log(least)))
        return theta, np.concatenate([family.bounds, limits])
