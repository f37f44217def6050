"""Methods that a model can be trained with, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sklearn.base import BaseEstimator

from absentia.automatic import AutoClassifier, AutoRegressor
from absentia.densities import LowRankDensity, MixtureDensity
from absentia.machines import SVCCV, SVRCV
from absentia.machines.targets import Task

__all__ = ["AUTOMATIC", "METHODS", "new_machine"]

#: The default method.
AUTOMATIC = "automatic"
# Penalties of Section 5.2 of [Smieja2018]_ for classification, and of its Section 5.5.
_PENALTIES: dict[Task, list[float]] = {
    "classification": [2.0**k for k in range(-5, 10, 2)],
    "regression": [2.0**k for k in range(-5, 5)],
}
# A weight acts per column that only one of two rows misses: 0.3 on thirty such columns makes any
# two rows unlike.
_MASK_WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class _Kernel:
    kernel: str
    density: Callable[[int], str | BaseEstimator] = lambda seed: "gaussian"
    mask_weights: tuple[float, ...] | None = None


def _mixture(seed: int) -> BaseEstimator:
    return MixtureDensity(3, random_state=seed)


_KERNELS = {
    "genrbf": _Kernel("genrbf"),
    "genrbf-mask": _Kernel("genrbf", mask_weights=_MASK_WEIGHTS),
    "genrbf-mixture": _Kernel("genrbf", _mixture),
    "genrbf-low-rank": _Kernel("genrbf", lambda seed: LowRankDensity(random_state=seed)),
    "expected-rbf": _Kernel("expected-rbf"),
    "expected-rbf-mixture": _Kernel("expected-rbf", _mixture),
    "esd": _Kernel("esd"),
    "egk": _Kernel("egk"),
}
#: All names, the default first.
METHODS = (AUTOMATIC, *_KERNELS)


def new_machine(
    method: str,
    task: Task,
    *,
    seed: int = 0,
    progress: bool = False,
    time_budget: float | None = None,
) -> BaseEstimator:
    """Return an unfitted machine that chooses its own parameters.

    Parameters
    ----------
    method : str
        One of :data:`METHODS`: the automatic machine, or a support vector machine with one kernel
        whose penalty, width and mask weight are chosen by cross-validation.
    task : {"classification", "regression"}
    seed : int, default=0
    progress : bool, default=False
    time_budget : float, optional
        Seconds; for the automatic machine.
    """
    if method not in METHODS:
        raise ValueError(f"There is no method {method!r}; the methods are {', '.join(METHODS)}.")
    if method == AUTOMATIC:
        automatic = AutoClassifier if task == "classification" else AutoRegressor
        return automatic(random_state=seed, progress=progress, time_budget=time_budget)
    settings = _KERNELS[method]
    search = SVCCV if task == "classification" else SVRCV
    return search(
        kernel=settings.kernel,
        density=settings.density(seed),
        Cs=_PENALTIES[task],
        mask_weights=settings.mask_weights,
        progress=progress,
    )
