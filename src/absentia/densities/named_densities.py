"""From the parameter ``density`` of an estimator, a name or an object, to an unfitted density."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, Self

from sklearn.base import clone

from absentia.beliefs import Beliefs
from absentia.densities.gaussian import GaussianDensity
from absentia.densities.low_rank import LowRankDensity
from absentia.densities.mixed import MixedDensity
from absentia.densities.mixture import MixtureDensity
from absentia.parameters import RandomState, shown
from absentia.tables import TableLike

__all__ = ["DensityEstimator", "DensityLike", "make_density"]


class DensityEstimator(Protocol):
    """What a machine needs of a density; :class:`Density` has it, others may."""

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Fit to rows; a parameter ``sample_weight`` is used where there is one."""

    def condition(self, X: TableLike) -> Beliefs:
        """Return the beliefs about rows."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters, as scikit-learn has them."""

    def set_params(self, **params: object) -> Self:
        """Set parameters."""


#: The parameter ``density`` of an estimator.
DensityLike = str | DensityEstimator

#: By name a mixture starts from a fixed seed: fits of machines can then be repeated.
_DENSITIES: dict[str, Callable[[], DensityEstimator]] = {
    "gaussian": GaussianDensity,
    "low-rank": partial(LowRankDensity, random_state=0),
    "mixture": partial(MixtureDensity, random_state=0),
    "mixed": partial(MixedDensity, random_state=0),
}


def make_density(density: DensityLike, random_state: RandomState = None) -> DensityEstimator:
    """Return an unfitted density: the one of that name, or a clone of the one given.

    ``random_state`` is for a density by name that draws at random; one that is given has its own.

    A density that is fitted already is kept as it is when passed as
    ``sklearn.frozen.FrozenEstimator(density)``.
    """
    if isinstance(density, str):
        density = density.replace("_", "-")  # as in the names of kernels
        if density not in _DENSITIES:
            known = ", ".join(repr(name) for name in _DENSITIES)
            raise ValueError(
                f"density must be one of {known} or a density estimator such as "
                f"GaussianDensity(), found {shown(density)}."
            )
        named: DensityEstimator = _DENSITIES[density]()
        if random_state is not None and "random_state" in named.get_params():
            named.set_params(random_state=random_state)
        return named
    if isinstance(density, type) or not (hasattr(density, "fit") and hasattr(density, "condition")):
        raise TypeError(
            "density must be 'gaussian', 'low-rank', 'mixture', 'mixed' or a density estimator "
            f"with fit and condition, such as GaussianDensity(), found {shown(density)}."
        )
    copied: DensityEstimator = clone(density)
    return copied
