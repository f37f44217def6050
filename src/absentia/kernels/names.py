"""Kernels by name, for those who would rather type a word."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from absentia.kernels.base import Kernel
from absentia.kernels.distance import ExpectedDistanceRBF, GammaRBF
from absentia.kernels.linear import ExpectedLinear
from absentia.kernels.polynomial import ExpectedPolynomial
from absentia.kernels.rbf import ExpectedRBF, GenRBF

__all__ = ["KERNELS_BY_NAME", "KERNELS_OF_SCIKIT_LEARN", "kernel_named"]

KERNELS_BY_NAME: dict[str, type[Kernel]] = {
    "genrbf": GenRBF,
    "expected-rbf": ExpectedRBF,
    "expected-linear": ExpectedLinear,
    "expected-polynomial": ExpectedPolynomial,
    "esd": ExpectedDistanceRBF,
    "egk": GammaRBF,
}

#: What scikit-learn calls the kernels that these are on complete rows, with its own defaults; so a
#: script with ``SVC(kernel="rbf")`` keeps working.
KERNELS_OF_SCIKIT_LEARN: dict[str, Callable[..., Kernel]] = {
    "rbf": GenRBF,
    "linear": ExpectedLinear,
    "poly": partial(ExpectedPolynomial, degree=3, coef0=0.0),
}


def kernel_named(name: Any, gamma: Any = "scale") -> Kernel:
    """Return the kernel of that name, with its default parameters.

    Parameters
    ----------
    name : str
        A key of ``KERNELS_BY_NAME``; ``"expected_rbf"`` is read as ``"expected-rbf"``. Or
        scikit-learn's ``"rbf"``, ``"linear"`` or ``"poly"`` (of degree 3 and without constant, as
        there), for the kernels that equal them on complete rows.
    gamma : float or "scale", default="scale"
        For the kernels that have one. The linear kernel has none and leaves it aside, so that a
        grid over kernels and gammas can include it.

    Examples
    --------
    >>> from absentia.kernels import kernel_named
    >>> kernel_named("genrbf", gamma=0.5)
    GenRBF(gamma=0.5)
    >>> kernel_named("poly", gamma=0.5)
    ExpectedPolynomial(degree=3, gamma=0.5, coef0=0)
    """
    kinds: dict[str, Callable[..., Kernel]] = {**KERNELS_BY_NAME, **KERNELS_OF_SCIKIT_LEARN}
    known = ", ".join(repr(key) for key in kinds)
    problem = f"The kernels with a name are {known}; found {name!r}."
    if not isinstance(name, str):
        raise TypeError(f"{problem} A Kernel object needs no name.")
    if name.replace("_", "-") not in kinds:
        raise ValueError(f"{problem} Any other kernel can be given as an object.")
    kernel = kinds[name.replace("_", "-")]()
    return kernel.set_params(gamma=gamma) if "gamma" in kernel.get_params() else kernel
