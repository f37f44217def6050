"""From what a user types to what a machine uses: names become densities and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from absentia import kernels
from absentia.densities.naming import make_density
from absentia.kernels.base import Kernel

__all__ = ["make_density", "make_kernel"]

_KERNELS = {"genrbf": "GenRBF", "expected_rbf": "ExpectedRBF"}


def make_kernel(kernel: Any, gamma: Any, mask_weight: Any) -> Kernel:
    """Return the kernel of that name and gamma, or a copy of the one given, times the mask kernel.

    ``gamma`` is a number or ``"scale"``; a :class:`Kernel` brings its own, so for one of those it
    must be ``"scale"``, the default.
    """
    return _with_mask(_without_mask(kernel, gamma), mask_weight)


def _without_mask(kernel: Any, gamma: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        if not (isinstance(gamma, str) and gamma == "scale"):
            raise ValueError(
                f"gamma={gamma!r} was given beside kernel={kernel!r}, which has parameters of its "
                "own. Set gamma inside the kernel (GenRBF(gamma=0.1); kernel__gamma in a grid "
                "search), or name the kernel (kernel='genrbf') and keep gamma."
            )
        copy: Kernel = clone(kernel)
        return copy
    if isinstance(kernel, str) and kernel in _KERNELS:
        named: Kernel = getattr(kernels, _KERNELS[kernel])(gamma=gamma)
        return named
    known = ", ".join(repr(name) for name in _KERNELS)
    problem = f"kernel must be one of {known} or a Kernel such as GenRBF(), found {kernel!r}."
    raise ValueError(problem) if isinstance(kernel, str) else TypeError(problem)


def _with_mask(kernel: Kernel, mask_weight: Any) -> Kernel:
    if mask_weight is None or not np.any(mask_weight):
        return kernel
    return kernel * kernels.MaskKernel(mask_weight)
