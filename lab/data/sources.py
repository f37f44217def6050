"""Sources of Gram matrices, the only difference between kernel methods for incomplete rows.

A method of this kind is a way from incomplete rows to kernel values. What comes after (the
penalty, the folds, the solver, the score) is done in :mod:`lab.experiments.inner_search`, the
same for all, so that two methods differ only in their treatment of missing values. What does not
depend on the kernel's width is computed once: a density, an imputation, a table of squared
distances.

:func:`source_of` decomposes an estimator of the registry, so that what is tuned here is what a
user gets from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC as CompleteSVC
from sklearn.svm import SVR as CompleteSVR

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityLike, make_density
from absentia.kernels.base import Kernel
from absentia.kernels.named_kernels import KernelLike, make_mask_kernel, make_unmasked_kernel
from absentia.kernels.repair import repair_psd
from absentia.machines import SVC, SVR
from absentia.tables import FloatArray, Table
from absentia.tables.known_limits import KeepsLimits
from lab.baselines import (
    KarmaSVC,
    KarmaSVR,
    MultipleImputationClassifier,
    MultipleImputationRegressor,
)
from lab.baselines.karma import karma_kernel, self_similarity

#: The Gram matrices of training rows with themselves, and of other rows with training rows.
GramPair = tuple[FloatArray, FloatArray]


class FittedSource(ABC):
    """Kernel values between training rows, and of other rows with them."""

    @abstractmethod
    def at(self, width: float) -> Callable[[dict[str, object]], list[GramPair]]:
        """Return what gives the pairs of matrices of one width and some extra.

        One pair; several where predictions are to be pooled.
        """


@dataclass(frozen=True)
class GramSource(ABC):
    """A way from incomplete rows to kernel values.

    Attributes
    ----------
    steps : tuple of transformers
        What is done to the rows first, fitted on the training rows: scaling, filling in.
    extras : sequence of dict
        Further parameters to choose among, besides the kernel's width.
    """

    steps: tuple[Any, ...] = ()
    extras: Sequence[dict[str, object]] = field(default=({},), kw_only=True)

    def fit(self, X: FloatArray | Table, X_other: FloatArray | Table) -> FittedSource:
        """Learn from the training rows ``X`` only, and prepare the other rows."""
        for step in self.steps:
            fresh = clone(step) if isinstance(X, np.ndarray) else KeepsLimits(step)
            X, X_other = fresh.fit_transform(X), fresh.transform(X_other)
        return self._fit(X, X_other)

    @abstractmethod
    def _fit(self, X: Any, X_other: Any) -> FittedSource:
        """Do the same after the steps; a table with limits is a ``Table``, others are arrays."""


@dataclass(frozen=True)
class BeliefSource(GramSource):
    """Beliefs under a density, and a kernel of beliefs: absentia's own way."""

    kernel: KernelLike = "genrbf"
    density: DensityLike = "gaussian"

    def _fit(self, X: FloatArray | Table, X_other: FloatArray | Table) -> FittedSource:
        density = make_density(self.density).fit(X)
        return _FittedBeliefs(density.condition(X), density.condition(X_other), self._kernel)

    def _kernel(self, width: float) -> Kernel:
        if isinstance(self.kernel, Kernel):
            kernel: Kernel = clone(self.kernel)
            return kernel.set_params(gamma=width) if "gamma" in kernel.get_params() else kernel
        return make_unmasked_kernel(self.kernel, width)


@dataclass
class _FittedBeliefs(FittedSource):
    known: Beliefs
    new: Beliefs
    make_kernel: Callable[[float], Kernel]

    def at(self, width: float) -> Callable[[dict[str, object]], list[GramPair]]:
        kernel = self.make_kernel(width).resolve(self.known.prior)
        K, K_new = kernel(self.known), kernel(self.new, self.known)
        if not kernel.positive_definite:
            K, repair = repair_psd(K)
            K_new = repair.transform(K_new)

        def masked(extra: dict[str, Any]) -> list[GramPair]:
            mask = make_mask_kernel(extra.get("mask_weight"))
            if mask is None:
                return [(K, K_new)]
            return [(K * mask(self.known), K_new * mask(self.new, self.known))]

        return masked


@dataclass(frozen=True)
class FilledSource(GramSource):
    """The ordinary RBF kernel of rows that the steps have imputed."""

    def _fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        return _FittedDistances([_squared_distances(X, X_other)])


@dataclass(frozen=True)
class DrawnSource(GramSource):
    """The same for several draws of what is missing, whose predictions are pooled."""

    imputer: BaseEstimator | None = None
    n_draws: int = 5

    def _fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        imputer = clone(self.imputer).fit(X)
        drawn = imputer.draws(X, self.n_draws), imputer.draws(X_other, self.n_draws)
        return _FittedDistances(
            [_squared_distances(*tables) for tables in zip(*drawn, strict=True)]
        )


@dataclass
class _FittedDistances(FittedSource):
    squared_distances: list[GramPair]

    def at(self, width: float) -> Callable[[dict[str, object]], list[GramPair]]:
        pairs = [(np.exp(-width * D), np.exp(-width * E)) for D, E in self.squared_distances]
        return lambda extra: pairs


@dataclass(frozen=True)
class KarmaSource(GramSource):
    """The karma kernel of common columns inside an RBF, as [Smieja2018]_ uses it."""

    extras: Sequence[dict[str, object]] = field(default=({"g": 1}, {"g": 2}), kw_only=True)

    def _fit(self, X: FloatArray, X_other: FloatArray) -> FittedSource:
        return _FittedKarma(X, X_other)


class _FittedKarma(FittedSource):
    def __init__(self, X: FloatArray, X_other: FloatArray):
        self._by_g: dict[int, GramPair] = {}
        self._rows = X, X_other

    def at(self, width: float) -> Callable[[dict[str, object]], list[GramPair]]:
        def of_order(extra: dict[str, Any]) -> list[GramPair]:
            D, E = self._distances(extra["g"])
            return [(np.exp(-width * D), np.exp(-width * E))]

        return of_order

    def _distances(self, g: int) -> GramPair:
        if g not in self._by_g:
            known, new = self._rows
            own, other = self_similarity(known, g), self_similarity(new, g)
            # One grid of widths for all methods: a row is as far from zero as with a plain RBF.
            scale = known.shape[1] / max(float(own.mean()), np.finfo(float).tiny)
            D = own[:, None] + own - 2 * karma_kernel(known, g=g)
            E = other[:, None] + own - 2 * karma_kernel(new, known, g=g)
            self._by_g[g] = scale * np.maximum(D, 0.0), scale * np.maximum(E, 0.0)
        return self._by_g[g]


def source_of(estimator: BaseEstimator, mask_weights: Sequence[Any] = ()) -> GramSource | None:
    """Return where the Gram matrices of an estimator come from; None if it has none.

    Parameters
    ----------
    estimator : Pipeline that ends in a support vector machine
    mask_weights : sequence of float
        Weights of the mask kernel to choose among.
    """
    if not isinstance(estimator, Pipeline):
        return None
    *before, machine = (step for _, step in estimator.steps)
    steps = tuple(before)
    if isinstance(machine, SVC | SVR):
        extras = [{"mask_weight": weight} for weight in mask_weights] or [{}]
        return BeliefSource(steps, machine.kernel, machine.density, extras=extras)
    if isinstance(machine, CompleteSVC | CompleteSVR):
        return FilledSource(steps)
    if isinstance(machine, MultipleImputationClassifier | MultipleImputationRegressor):
        return DrawnSource(steps, machine.imputer, machine.n_draws)
    if isinstance(machine, KarmaSVC | KarmaSVR):
        return KarmaSource(steps)
    return None


def in_unit_interval(source: GramSource) -> GramSource:
    """Return the same source with columns scaled to [0, 1], after missing values are filled in."""
    return replace(source, steps=(*source.steps, MinMaxScaler()))


def without_scaling(source: GramSource) -> GramSource:
    """Return the same source for rows that are in the right units already."""
    steps = tuple(step for step in source.steps if not isinstance(step, StandardScaler))
    return replace(source, steps=steps)


def _squared_distances(X: FloatArray, X_other: FloatArray) -> GramPair:
    return euclidean_distances(X, squared=True), euclidean_distances(X_other, X, squared=True)
