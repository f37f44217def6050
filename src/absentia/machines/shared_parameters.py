"""Parameters that machines share, declared once; a machine adds its own in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from absentia.densities.fit_density import DensityLike
from absentia.kernels.metric import Widths
from absentia.kernels.named_kernels import CategoryWeight, KernelLike, MaskWeight
from absentia.machines.missingness_shift import Shift
from absentia.parameters import declared

__all__ = [
    "BeliefParameters",
    "LibsvmParameters",
    "PolynomialParameters",
    "SearchParameters",
    "VoteParameters",
    "WidthParameters",
]


@declared
class BeliefParameters:
    """Of all machines: how rows become beliefs, and how beliefs are compared."""

    density: DensityLike = "gaussian"
    kernel: KernelLike = "genrbf"
    n_jobs: int | None = None
    shift: Shift = "ignore"


@declared
class WidthParameters:
    """Of the machines that do not search for them: the width of the kernel, and weights in it."""

    gamma: Widths = "scale"
    mask_weight: MaskWeight = None
    category_weight: CategoryWeight = "scale"


@declared
class PolynomialParameters(WidthParameters):
    """Of the machines that know scikit-learn's polynomial kernel by name."""

    degree: int = 3
    coef0: float = 0.0


@declared
class VoteParameters:
    """Of support vector classifiers: how decisions between pairs of classes become one."""

    decision_function_shape: str = "ovr"
    break_ties: bool = False


@declared
class LibsvmParameters:
    """Of the solver of support vector machines."""

    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1


@declared
class SearchParameters:
    """Of the machines that choose their hyperparameters by cross-validation."""

    gammas: int | ArrayLike | None = 7
    mask_weights: Sequence[MaskWeight] | None = None
    category_weights: int | Sequence[CategoryWeight] | None = None
    cv: Any = 5
    scoring: str | Callable[..., float] | None = None
    refit: bool = True
    progress: bool = False
