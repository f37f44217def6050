"""Kernels from the parameters of an estimator: a name and a few numbers, a function, a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from absentia.beliefs import Beliefs
from absentia.kernels.base import KERNELS_BY_NAME, Kernel
from absentia.kernels.gram.tiles import symmetrised
from absentia.kernels.mask import MaskKernel
from absentia.kernels.metric import Widths
from absentia.kernels.polynomial import ExpectedLinear, ExpectedPolynomial
from absentia.kernels.rbf import GenRBF
from absentia.parameters import declared, shown
from absentia.tables import FloatArray

#: The parameter ``kernel`` of an estimator.
KernelLike = str | Kernel | Callable[..., ArrayLike]
#: The parameter ``mask_weight`` of an estimator: of all columns, or one per column.
MaskWeight = float | str | ArrayLike | None
#: The parameter ``category_weight``: of all columns of categories, or one for each.
CategoryWeight = float | str | ArrayLike

#: Names of scikit-learn for the kernels that equal these on complete rows, with its defaults.
KERNELS_OF_SCIKIT_LEARN: dict[str, Callable[..., Kernel]] = {
    "rbf": GenRBF,
    "linear": ExpectedLinear,
    "poly": partial(ExpectedPolynomial, degree=3, coef0=0.0),
}


def kernel_named(name: object, gamma: Widths = "scale") -> Kernel:
    """Return the kernel of that name, with its default parameters.

    A key of ``KERNELS_BY_NAME`` (``"expected_rbf"`` is read as ``"expected-rbf"``), or
    scikit-learn's ``"rbf"``, ``"linear"`` or ``"poly"`` (of degree 3 and without constant, as
    there), for the kernels that equal them on complete rows. The linear kernel ignores ``gamma``,
    so that a grid over kernels and gammas can include it.
    """
    kinds: dict[str, Callable[..., Kernel]] = {**KERNELS_BY_NAME, **KERNELS_OF_SCIKIT_LEARN}
    if not isinstance(name, str) or name.replace("_", "-") not in kinds:
        known = ", ".join(repr(key) for key in kinds)
        raise (ValueError if isinstance(name, str) else TypeError)(
            f"kernel must be one of {known}, found {shown(name)}. Any other can be given as a "
            "Kernel, such as GenRBF(gamma=0.1)."
        )
    kernel = kinds[name.replace("_", "-")]()
    return kernel.set_params(gamma=gamma) if "gamma" in kernel.get_params() else kernel


def make_kernel(
    kernel: KernelLike,
    gamma: Widths,
    mask_weight: MaskWeight,
    category_weight: CategoryWeight = "scale",
    **polynomial: Any,
) -> Kernel:
    """Return the kernel of that name and gamma, or a copy of the one given, times the mask kernel.

    ``gamma`` and ``category_weight`` are numbers or ``"scale"``; a :class:`Kernel` brings its own,
    so for one of those they must be ``"scale"``, the default. ``polynomial`` has ``degree`` and
    ``coef0`` for scikit-learn's ``"poly"``, and is left aside by the others.
    """
    mask = make_mask_kernel(mask_weight)
    unmasked = make_unmasked_kernel(kernel, gamma, category_weight)
    if isinstance(kernel, str) and kernel == "poly":
        unmasked.set_params(**polynomial)
    return unmasked if mask is None else unmasked * mask


def make_unmasked_kernel(
    kernel: KernelLike, gamma: Widths, category_weight: CategoryWeight = "scale"
) -> Kernel:
    """Return the kernel of that name, gamma and weight of categories, or a copy of the one given.

    Kernels that compare no categories leave their weight aside.
    """
    if isinstance(kernel, Kernel):
        for name, given in (("gamma", gamma), ("category_weight", category_weight)):
            if not (isinstance(given, str) and given == "scale"):
                raise ValueError(
                    f"{name}={shown(given)} was given along with kernel={kernel!r}, which "
                    f"has its own parameters. Set {name} inside the kernel (GenRBF({name}=0.1); "
                    f"kernel__{name} in a grid search), or name the kernel (kernel='genrbf') and "
                    f"keep {name}."
                )
        return clone(kernel)
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    named = kernel_named(kernel, gamma)
    if "category_weight" in named.get_params(deep=False):
        named.set_params(category_weight=category_weight)
    return named


def make_mask_kernel(mask_weight: MaskWeight) -> Kernel | None:
    """Return the mask kernel of that weight, or None without a weight."""
    if mask_weight is None or not np.any(mask_weight):
        return None
    return MaskKernel(mask_weight)


@declared
class FunctionKernel(Kernel):
    """A function ``f(X, Y) -> (n, m)`` of complete rows, applied to the means of beliefs.

    Nothing is known about the function, so there is no closed form for a row with missing values:
    it enters with its conditional mean. On complete rows the matrix is the function's own.

    Parameters
    ----------
    function : callable
        From two arrays, of shapes (n, n_features) and (m, n_features), to a matrix (n, m).
    of_pairs : bool, default=False
        Whether the function takes two rows and returns a number instead.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVC
    >>> X = np.array([[-2.0, -1.0], [-1.0, -2.0], [1.0, np.nan], [2.0, 1.0]])
    >>> SVC(kernel=lambda X, Y: X @ Y.T).fit(X, [0, 0, 1, 1]).predict([[3.0, 1.0]])
    array([1])
    """

    function: Callable[[FloatArray, FloatArray], ArrayLike] = field(kw_only=False)
    of_pairs: bool = field(default=False, kw_only=False)

    @property
    def positive_definite(self) -> bool:
        """False: nothing is known about the function."""
        return False

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        rows = P.mean()
        columns = rows if Q is None else Q.mean()
        if self.of_pairs:
            K = pairwise_kernels(rows, columns, metric=self.function)
        else:
            K = np.array(self.function(rows, columns), dtype=np.float64)
        if K.shape != (len(rows), len(columns)):
            raise ValueError(
                f"The kernel function must return a matrix of shape {(len(rows), len(columns))} "
                f"for {len(rows)} and {len(columns)} rows, found shape {K.shape}."
            )
        return symmetrised(K) if Q is None else K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.array([self._gram(P[i], P[i], None)[0, 0] for i in range(len(P))])


class PrecomputedKernel(Kernel):
    """The kernel of a machine that was given its Gram matrix: it compares no beliefs itself."""

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        raise TypeError(
            "This machine was fitted with kernel='precomputed', so only its user can compute the "
            "kernel of new rows with the training rows. Pass that matrix."
        )

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.diagonal(self._gram(P, None, None))
