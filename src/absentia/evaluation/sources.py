"""Where a Gram matrix comes from: the one thing in which kernel methods for holes differ.

A method of this kind is a way from rows with holes to kernel values. What comes after (the
penalty, the folds, the solver, the score) is done in :mod:`absentia.evaluation.tuning`, the same
for all, so that two methods differ in their treatment of holes and in nothing else. What does not
depend on the kernel's width is paid once: a density, an imputation, a table of squared distances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from absentia.comparators.karma import _self_similarity, karma_kernel
from absentia.densities.naming import make_density
from absentia.kernels.naming import make_mask_kernel, make_unmasked_kernel
from absentia.kernels.repair import repair_psd
from absentia.tables import FloatArray

__all__ = ["BeliefSource", "FittedSource", "GramSource", "ImputedSource", "KarmaSource"]

#: The Gram matrices of training rows with themselves, and of other rows with training rows.
GramPair = tuple[FloatArray, FloatArray]


class FittedSource(ABC):
    """Kernel values between training rows, and of other rows with them."""

    @abstractmethod
    def grams(self, gamma: float, extra: dict[str, Any]) -> list[GramPair]:
        """Return one pair of matrices; several where predictions are to be pooled."""


class GramSource(ABC):
    """A way from rows with holes to kernel values.

    ``extras`` are the further parameters to choose among, besides the kernel's width.
    """

    extras: Sequence[dict[str, Any]] = ({},)

    @abstractmethod
    def fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        """Learn from the training rows ``X`` alone, and make the other rows ready."""


@dataclass
class BeliefSource(GramSource):
    """Beliefs under a density, and a kernel of beliefs: absentia's own way.

    Parameters
    ----------
    kernel : str
        A name such as ``"genrbf"`` or ``"expected-rbf"``.
    density : str or density
    mask_weights : sequence of float or None
        Weights of the mask kernel to choose among; None among them leaves it out.
    """

    kernel: str = "genrbf"
    density: Any = "gaussian"
    mask_weights: Sequence[float | None] = (None,)
    extras: Sequence[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.extras = [{"mask_weight": weight} for weight in self.mask_weights]

    def fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        density = make_density(self.density).fit(X)
        return _FittedBeliefs(self.kernel, density.condition(X), density.condition(X_other))


@dataclass
class _FittedBeliefs(FittedSource):
    kernel: str
    known: Any
    new: Any
    _latest: tuple[float, FloatArray, FloatArray] | None = None

    def grams(self, gamma: float, extra: dict[str, Any]) -> list[GramPair]:
        if self._latest is None or self._latest[0] != gamma:
            kernel = make_unmasked_kernel(self.kernel, gamma).resolve(self.known.prior)
            K, K_new = kernel(self.known), kernel(self.new, self.known)
            if not kernel.positive_definite:
                K, repair = repair_psd(K)
                K_new = repair.transform(K_new)
            self._latest = gamma, K, K_new
        _, K, K_new = self._latest
        mask = make_mask_kernel(extra.get("mask_weight"))
        if mask is None:
            return [(K, K_new)]
        return [(K * mask(self.known), K_new * mask(self.new, self.known))]


@dataclass
class ImputedSource(GramSource):
    """Holes filled in, then the ordinary RBF kernel.

    Parameters
    ----------
    imputer : callable
        Returns a new transformer that fills holes.
    n_draws : int, default=1
        With more than one the imputer must draw (``draws(X, n_draws)``); a machine is trained on
        each draw, and the predictions are pooled.
    """

    imputer: Callable[[], Any]
    n_draws: int = 1

    def fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        imputer = self.imputer()
        if self.n_draws > 1:
            imputer.fit(X)
            drawn = imputer.draws(X, self.n_draws), imputer.draws(X_other, self.n_draws)
            tables = list(zip(*drawn, strict=True))
        else:
            tables = [(imputer.fit_transform(X), imputer.transform(X_other))]
        return _FittedDistances(
            [
                tuple(euclidean_distances(rows, known, squared=True) for rows in (known, new))
                for known, new in tables
            ]
        )


@dataclass
class KarmaSource(GramSource):
    """The karma kernel of common columns inside an RBF, as [Smieja2018]_ uses it."""

    extras: Sequence[dict[str, Any]] = ({"g": 1}, {"g": 2})

    def fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        return _FittedKarma(X, X_other)


@dataclass
class _FittedDistances(FittedSource):
    squared_distances: list[GramPair]

    def grams(self, gamma: float, extra: dict[str, Any]) -> list[GramPair]:
        return [(np.exp(-gamma * D), np.exp(-gamma * E)) for D, E in self.squared_distances]


class _FittedKarma(FittedSource):
    def __init__(self, X: FloatArray, X_other: FloatArray):
        self._by_g: dict[int, GramPair] = {}
        self._rows = X, X_other

    def grams(self, gamma: float, extra: dict[str, Any]) -> list[GramPair]:
        g = extra["g"]
        if g not in self._by_g:
            known, new = self._rows
            own, other = _self_similarity(known, g), _self_similarity(new, g)
            # One grid of widths for all methods: a row is as far from zero as with a plain RBF.
            scale = known.shape[1] / max(float(own.mean()), np.finfo(float).tiny)
            D = own[:, None] + own - 2 * karma_kernel(known, g=g)
            E = other[:, None] + own - 2 * karma_kernel(new, known, g=g)
            self._by_g[g] = scale * np.maximum(D, 0.0), scale * np.maximum(E, 0.0)
        D, E = self._by_g[g]
        return [(np.exp(-gamma * D), np.exp(-gamma * E))]
