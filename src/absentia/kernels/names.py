"""Kernels by name, for those who would rather type a word."""

from __future__ import annotations

from typing import Any

from absentia.kernels.base import Kernel
from absentia.kernels.distance import ExpectedDistanceRBF, GammaRBF
from absentia.kernels.linear import ExpectedLinear
from absentia.kernels.polynomial import ExpectedPolynomial
from absentia.kernels.rbf import ExpectedRBF, GenRBF

__all__ = ["KERNELS_BY_NAME", "kernel_named"]

KERNELS_BY_NAME: dict[str, type[Kernel]] = {
    "genrbf": GenRBF,
    "expected-rbf": ExpectedRBF,
    "expected-linear": ExpectedLinear,
    "expected-polynomial": ExpectedPolynomial,
    "esd": ExpectedDistanceRBF,
    "egk": GammaRBF,
}


def kernel_named(name: Any, gamma: Any = "scale") -> Kernel:
    """Return the kernel of that name, with its default parameters.

    Parameters
    ----------
    name : str
        A key of ``KERNELS_BY_NAME``; ``"expected_rbf"`` is read as ``"expected-rbf"``.
    gamma : float or "scale", default="scale"
        For the kernels that have one. The linear kernel has none and leaves it aside, so that a
        grid over kernels and gammas can include it.

    Examples
    --------
    >>> from absentia.kernels import kernel_named
    >>> kernel_named("genrbf", gamma=0.5)
    GenRBF(gamma=0.5)
    """
    known = ", ".join(repr(key) for key in KERNELS_BY_NAME)
    problem = f"The kernels with a name are {known}; found {name!r}."
    if not isinstance(name, str):
        raise TypeError(f"{problem} A Kernel object needs no name.")
    if name.replace("_", "-") not in KERNELS_BY_NAME:
        raise ValueError(f"{problem} Any other kernel can be given as an object.")
    kind = KERNELS_BY_NAME[name.replace("_", "-")]
    return kind(gamma=gamma) if "gamma" in kind._get_param_names() else kind()
