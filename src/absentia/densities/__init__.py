"""Densities fitted by EM to incomplete rows."""

from absentia.densities.gaussian import GaussianDensity
from absentia.densities.low_rank import LowRankDensity
from absentia.densities.mixed import MixedDensity
from absentia.densities.mixture import MixtureDensity
from absentia.densities.outliers import OutlierDetector
from absentia.densities.suspicious_cells import SuspiciousCells, suspicious_cells

__all__ = [
    "GaussianDensity",
    "LowRankDensity",
    "MixedDensity",
    "MixtureDensity",
    "OutlierDetector",
    "SuspiciousCells",
    "suspicious_cells",
]
