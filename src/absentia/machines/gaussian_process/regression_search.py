"""Kernel parameters, scale and noise of a regression, where the evidence is highest.

One eigendecomposition for each value of the kernel's parameters settles scale and noise. Of many
rows that is done for some, evenly spaced, and a search over all hyperparameters at once goes on
from there with all rows, by Cholesky factors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from absentia.beliefs import Beliefs
from absentia.kernels.repair import check_psd
from absentia.machines.gaussian_process.evidence import Bounds, Spectrum
from absentia.machines.gaussian_process.factored_evidence import (
    FactoredEvidence,
    NotPositiveDefinite,
)
from absentia.machines.search.kernel_family import KernelFamily
from absentia.tables import FloatArray

__all__ = ["Optimum", "RegressionSearch"]

# From so many rows on a search begins with some of them.
MANY_ROWS = 800
SOME_ROWS = 400
# The noise that such a search begins with, at least, as a share of the mean square.
_LEAST_NOISE = 0.01


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
    """What a search has found.

    Attributes
    ----------
    family : KernelFamily
        The kernel and which of its parameters were free.
    logarithms : ndarray
        Of those parameters.
    levels : dict
        Scale and noise, as far as they were free.
    evidence : FactoredEvidence
        There, of all rows.
    """

    family: KernelFamily
    logarithms: FloatArray
    levels: dict[str, float]
    evidence: FactoredEvidence


@dataclass(frozen=True, eq=False)
class RegressionSearch:
    """The evidence of training targets as a function of kernel parameters, scale and noise.

    Attributes
    ----------
    maximise : callable
    beliefs : Beliefs
        About the training rows.
    targets : ndarray of shape (n_samples, n_targets)
    scale, noise : float or None
        As given; None where they are free.
    scale_bounds, noise_bounds : pair of float
        In multiples of the mean square of the targets.
    n_jobs : int or None
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
        """Of the targets, or one where they are all zero."""
        return float(np.mean(self.targets**2)) or 1.0

    def bounds_of(self, level: str) -> Bounds:
        """Return the bounds of ``"scale"`` or ``"noise"`` in the units of the targets."""
        low, high = self.scale_bounds if level == "scale" else self.noise_bounds
        return low * self.mean_square, high * self.mean_square

    def best(self, family: KernelFamily, deviation: float) -> Optimum:
        """Return the optimum; ``deviation`` is that of the prior on log-widths, zero for one width.

        Raises ValueError where the covariance of the targets is not positive definite there.
        """
        n = len(self.targets)
        # Of many rows, some of them say about where to look.
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
        check_psd(K, family.kernel)  # before the evidence, which fails where this warns
        found = FactoredEvidence.of(K, self.targets, scale, noise)
        return Optimum(family, best, self._free(scale, noise), found)

    def _free(self, scale: float, noise: float) -> dict[str, float]:
        """Return scale and noise, as far as they are free."""
        levels = {"scale": scale} if self.scale is None else {}
        return levels | ({"noise": noise} if self.noise is None else {})

    def _of_all_rows(
        self, family: KernelFamily, logarithms: FloatArray, scale: float, noise: float
    ) -> Optimum:
        """Go on with all rows from what some of them said."""
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
            except NotPositiveDefinite:  # by rounding, where there is no noise
                return -np.inf, np.zeros(len(theta))
            value, by_kernel = family.log_prior(theta[:m])
            weights = found.kernel_weights()
            by_kernel += family.gradient(theta[:m], self.beliefs, weights, K, self.n_jobs)
            free = [name in chosen for name in ("scale", "noise")]
            return value + found.log_likelihood, np.append(by_kernel, found.gradient()[free])

        limits = np.log([self.bounds_of(name) for name in chosen]).reshape(-1, 2)
        # Some rows may see no noise where all rows do; and from almost none no gradient leads to
        # more of it.
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
