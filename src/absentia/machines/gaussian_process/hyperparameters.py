"""The hyperparameters of a kernel that a Gaussian process chooses by its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Kernel, with_params
from absentia.kernels.metric import resolve_gamma
from absentia.parameters import RandomState
from absentia.tables import FloatArray

__all__ = ["KernelFamily", "is_free", "maximise"]

#: Weights of the mask kernel that are looked at: from no effect to patterns that never meet.
_WEIGHT_BOUNDS = (1e-3, 30.0)


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """A kernel as a function of the logarithms of some of its parameters.

    Attributes
    ----------
    kernel : Kernel
        Resolved; its values of the free parameters are where a search starts.
    names : tuple of str
        The free parameters, as ``kernel.set_params`` names them.
    bounds : ndarray of shape (n_parameters, 2)
        Of the logarithms.
    """

    kernel: Kernel
    names: tuple[str, ...]
    bounds: FloatArray

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        prior: Prior,
        *,
        free_gamma: bool,
        free_mask_weight: bool,
        gamma_bounds: tuple[float, float],
    ) -> KernelFamily:
        """Find the free parameters of a resolved kernel, also inside of sums and products.

        Parameters
        ----------
        kernel : Kernel
        prior : Prior
            ``gamma_bounds`` are multiples of its ``gamma="scale"``, in the metric of the kernel.
        free_gamma : bool
            Whether every ``gamma`` in the kernel is free.
        free_mask_weight : bool
            Whether the weight of the mask kernel is; it is the last factor.
        gamma_bounds : pair of float
        """
        params = kernel.get_params(deep=True)
        bounds: dict[str, tuple[float, float]] = {}
        if free_gamma:
            for name in sorted(params):
                *path, last = name.split("__")
                if last == "gamma" and isinstance(params[name], float):
                    start = params[name]
                    metric = params.get("__".join([*path, "metric"]), "euclidean")
                    unit = resolve_gamma("scale", prior, metric)
                    low, high = gamma_bounds[0] * unit, gamma_bounds[1] * unit
                    bounds[name] = min(low, start), max(high, start)
        if free_mask_weight:
            bounds["right__weight"] = _WEIGHT_BOUNDS
        limits = np.array(list(bounds.values())).reshape(len(bounds), 2)
        return cls(kernel, tuple(bounds), np.log(limits))

    @property
    def start(self) -> FloatArray:
        """The logarithms of the kernel's own values of the free parameters."""
        params = self.kernel.get_params(deep=True)
        return np.log([params[name] for name in self.names])

    def at(self, logarithms: FloatArray) -> Kernel:
        """Return the kernel with these values of its free parameters."""
        if not self.names:
            return self.kernel
        values = np.exp(logarithms)
        new = {name: float(value) for name, value in zip(self.names, values, strict=True)}
        return with_params(self.kernel, **new)

    def derivatives(
        self,
        logarithms: FloatArray,
        beliefs: Beliefs,
        K: FloatArray | None = None,
        n_jobs: int | None = None,
    ) -> Iterator[FloatArray]:
        """Yield the derivative of the Gram matrix by each free parameter, one at a time.

        By finite differences, for any kernel: with the Gram matrix ``K`` at this point forward
        ones (one further matrix per parameter, six digits: enough for the search), without it
        central ones (two matrices, nine digits).
        """
        step = 1e-4 if K is None else 1e-6
        for j in range(len(self.names)):
            direction = np.zeros(len(self.names))
            direction[j] = step
            D = self.at(logarithms + direction)(beliefs, n_jobs=n_jobs)
            if K is None:
                D -= self.at(logarithms - direction)(beliefs, n_jobs=n_jobs)
                D /= 2 * step
            else:
                D -= K
                D /= step
            yield D


def is_free(parameter: Any) -> bool:
    """Return whether a parameter is to be chosen by the evidence."""
    return isinstance(parameter, str) and parameter == "optimize"


def maximise(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: FloatArray,
    n_restarts: int,
    random_state: RandomState,
) -> FloatArray:
    """Return where an objective with its gradient is highest, by L-BFGS-B from several starts.

    The first start is given, the others are drawn evenly within the bounds.
    """

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(point)
        return -value, -gradient

    rng = check_random_state(random_state)
    starts = [np.clip(start, bounds[:, 0], bounds[:, 1])]
    starts += [rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(n_restarts)]
    options = {"ftol": 1e-9, "gtol": 1e-4, "maxiter": 100}
    ends = [
        minimize(loss, x, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
        for x in starts
    ]
    best: FloatArray = min(ends, key=lambda end: end.fun).x
    return best
