"""What the data could have been: densities fitted by EM to rows with holes."""

from absentia.densities.gaussian import GaussianDensity
from absentia.densities.mixture import MixtureDensity

__all__ = ["GaussianDensity", "MixtureDensity"]
