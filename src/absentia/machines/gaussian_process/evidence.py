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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize_scalar

from absentia.beliefs import Beliefs
from absentia.kernels.repair import check_psd
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


class Maximise(Protocol):
    """A search for the highest evidence, from a start within bounds."""

    def __call__(
        self,
        evidence: Callable[[FloatArray], tuple[float, FloatArray]],
        start: FloatArray,
        bounds: FloatArray,
        n_samples: int,
        n_restarts: int | None = None,
    ) -> FloatArray:
        """Return the logarithms of the parameters."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The result of a search: kernel family, logarithms of its free parameters, and evidence there.

    ``levels`` are scale and noise, as far as they were free.
    """

    family: KernelFamily
    logarithms: FloatArray
    levels: dict[str, float]
    evidence: FactoredEvidence


@dataclass(frozen=True, eq=False)
class RegressionSearch:
    """The evidence of training targets as a function of kernel parameters, scale and noise.

    ``scale`` and ``noise`` are None if they are free; their bounds are multiples of the mean square
    of the targets, (n_samples, n_targets).
    """

    maximise: Maximise
    beliefs: Beliefs
    targets: FloatArray
    scale: float | None
    noise: float | None
    scale_bounds: Bounds
    noise_bounds: Bounds
    n_jobs: int | None

    @property
    def mean_square(self) -> float:
        """The mean square of the targets, or one if they are all zero."""
        return float(np.mean(self.targets**2)) or 1.0

    def bounds_of(self, level: str) -> Bounds:
        """Return the bounds of ``"scale"`` or ``"noise"`` in the units of the targets."""
        low, high = self.scale_bounds if level == "scale" else self.noise_bounds
        return low * self.mean_square, high * self.mean_square

    def best(self, family: KernelFamily, deviation: float) -> Optimum:
        """Return the optimum; ``deviation`` is that of the prior on log-widths, zero for one width.

        Raises ValueError if the covariance of the targets is not positive definite there.
        """
        n = len(self.targets)
        # Some of many rows suffice to find the region of the optimum.
        some = np.arange(n)
        if n > MANY_ROWS:
            some = np.linspace(0, n - 1, SOME_ROWS).astype(int)
        beliefs = self.beliefs if len(some) == n else self.beliefs[some]
        targets = self.targets[some]

        def settled(
            family: KernelFamily, logarithms: FloatArray
        ) -> tuple[FloatArray, Spectrum, float, float]:
            K = family.at(logarithms)(beliefs, n_jobs=self.n_jobs)
            spectrum = Spectrum.of(K, targets)
            limits = self.bounds_of("scale"), self.bounds_of("noise")
            scale, noise = spectrum.settle(self.scale, self.noise, *limits)
            return K, spectrum, scale, noise

        def evidence(family: KernelFamily, logarithms: FloatArray) -> tuple[float, FloatArray]:
            K, spectrum, scale, noise = settled(family, logarithms)
            value, gradient = family.log_prior(logarithms)
            weights = spectrum.kernel_weights(scale, noise)
            gradient += family.gradient(logarithms, beliefs, weights, K, self.n_jobs)
            return value + float(spectrum.log_likelihood(scale, noise)), gradient

        best = self.maximise(partial(evidence, family), family.start, family.bounds, len(some))
        if deviation > 0:
            # From the best common width: every column may now leave it.
            family = replace(family, kernel=family.at(best))
            family = family.by_column(self.beliefs.prior, deviation)
            best = self.maximise(
                partial(evidence, family), family.start, family.bounds, len(some), n_restarts=0
            )
        K, _, scale, noise = settled(family, best)
        if len(some) < n:
            return self._of_all_rows(family, best, scale, noise)
        check_psd(K, family.kernel)  # before the evidence, which fails if this warns
        found = FactoredEvidence.of(K, self.targets, scale, noise)
        return Optimum(family, best, self._free(scale, noise), found)

    def _free(self, scale: float, noise: float) -> dict[str, float]:
        """Return scale and noise, as far as they are free."""
        levels = {"scale": scale} if self.scale is None else {}
        return levels | ({"noise": noise} if self.noise is None else {})

    def _of_all_rows(
        self, family: KernelFamily, logarithms: FloatArray, scale: float, noise: float
    ) -> Optimum:
        """Continue with all rows from the optimum of some of them."""
        m = len(family.names)
        chosen = self._free(scale, noise)

        def at(theta: FloatArray) -> tuple[FloatArray, FactoredEvidence]:
            levels = {"scale": scale, "noise": noise}
            levels |= dict(zip(chosen, np.exp(theta[m:]), strict=True))
            K = family.at(theta[:m])(self.beliefs, n_jobs=self.n_jobs)
            return K, FactoredEvidence.of(K, self.targets, **levels)

        def evidence(theta: FloatArray) -> tuple[float, FloatArray]:
            try:
                K, found = at(theta)
            except NotPositiveDefinite:  # by rounding, if there is no noise
                return -np.inf, np.zeros(len(theta))
            value, by_kernel = family.log_prior(theta[:m])
            weights = found.kernel_weights()
            by_kernel += family.gradient(theta[:m], self.beliefs, weights, K, self.n_jobs)
            free = [name in chosen for name in ("scale", "noise")]
            return value + found.log_likelihood, np.append(by_kernel, found.by_levels()[free])

        limits = np.log([self.bounds_of(name) for name in chosen]).reshape(-1, 2)
        # Some rows may show no noise though all rows do, and from almost none no gradient leads
        # to more of it.
        least = np.clip(_LEAST_NOISE * self.mean_square, *self.bounds_of("noise"))
        start = {name: max(value, least * (name == "noise")) for name, value in chosen.items()}
        theta = self.maximise(
            evidence,
            np.append(logarithms, np.log(list(start.values()))),
            np.concatenate([family.bounds, limits]),
            len(self.targets),
            n_restarts=0,
        )
        K, found = at(theta)
        check_psd(K, family.kernel)
        return Optimum(family, theta[:m], self._free(found.scale, found.noise), found)
