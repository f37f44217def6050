"""From what a user types to a kernel: a name and a few numbers, or a kernel, become one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.kernels.base import Kernel
from absentia.kernels.mask import MaskKernel
from absentia.kernels.names import KERNELS_BY_NAME, KERNELS_OF_SCIKIT_LEARN, kernel_named

__all__ = ["make_kernel", "make_mask_kernel", "make_unmasked_kernel"]


def make_kernel(kernel: Any, gamma: Any, mask_weight: Any) -> Kernel:
    """Return the kernel of that name and gamma, or a copy of the one given, times the mask kernel.

    ``gamma`` is a number or ``"scale"``; a :class:`Kernel` brings its own, so for one of those it
    must be ``"scale"``, the default.
    """
    mask = make_mask_kernel(mask_weight)
    unmasked = make_unmasked_kernel(kernel, gamma)
    return unmasked if mask is None else unmasked * mask


def make_unmasked_kernel(kernel: Any, gamma: Any) -> Kernel:
    """Return the kernel of that name and gamma, or a copy of the one given."""
    if isinstance(kernel, Kernel):
        if not (isinstance(gamma, str) and gamma == "scale"):
            raise ValueError(
                f"gamma={gamma!r} was given beside kernel={kernel!r}, which has parameters of its "
                "own. Set gamma inside the kernel (GenRBF(gamma=0.1); kernel__gamma in a grid "
                "search), or name the kernel (kernel='genrbf') and keep gamma."
            )
        copy: Kernel = clone(kernel)
        return copy
    if not isinstance(kernel, str):
        known = ", ".join(repr(name) for name in (*KERNELS_BY_NAME, *KERNELS_OF_SCIKIT_LEARN))
        raise TypeError(
            f"kernel must be one of {known} or a Kernel such as GenRBF(), found {kernel!r}."
        )
    return kernel_named(kernel, gamma)


def make_mask_kernel(mask_weight: Any) -> Kernel | None:
    """Return the mask kernel of that weight, or None for no weight at all."""
    if mask_weight is None or not np.any(mask_weight):
        return None
    return MaskKernel(mask_weight)
