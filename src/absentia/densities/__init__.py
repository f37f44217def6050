"""Densities fitted by EM to incomplete rows."""

from absentia.densities.gaussian import GaussianDensity
from absentia.densities.low_rank import LowRankDensity
from absentia.densities.mixed import MixedDensity
from absentia.densities.mixture import MixtureDensity

__all__ = ["GaussianDensity", "LowRankDensity", "MixedDensity", "MixtureDensity"]
