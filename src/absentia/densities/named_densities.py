"""From the parameter ``density`` of an estimator, a name or an object, to an unfitted density."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.base import clone

from absentia.densities.base import Density
from absentia.densities.gaussian import GaussianDensity
from absentia.densities.mixed import MixedDensity
from absentia.densities.mixture import MixtureDensity

__all__ = ["make_density"]

#: By name a mixture starts from a fixed seed: fits of machines can then be repeated.
_DENSITIES: dict[str, Callable[[], Density]] = {
    "gaussian": GaussianDensity,
    "mixture": partial(MixtureDensity, random_state=0),
    "mixed": partial(MixedDensity, random_state=0),
}


def make_density(density: Any) -> Any:
    """Return an unfitted density: the one of that name, or a clone of the one given.

    A density that is fitted already is kept as it is when passed as
    ``sklearn.frozen.FrozenEstimator(density)``.
    """
    if isinstance(density, str):
        if density not in _DENSITIES:
            known = ", ".join(repr(name) for name in _DENSITIES)
            raise ValueError(
                f"density must be one of {known} or a density estimator such as "
                f"GaussianDensity(), found {density!r}."
            )
        return _DENSITIES[density]()
    if isinstance(density, type) or not (hasattr(density, "fit") and hasattr(density, "condition")):
        raise TypeError(
            "density must be 'gaussian', 'mixture', 'mixed' or a density estimator with fit and "
            f"condition, such as GaussianDensity(), found {density!r}."
        )
    return clone(density)
