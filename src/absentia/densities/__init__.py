"""Densities fitted by EM to incomplete rows."""

from absentia.densities.gaussian import GaussianDensity
from absentia.densities.imputation import DensityImputer, multiple_imputations
from absentia.densities.low_rank import LowRankDensity
from absentia.densities.mixture import MixedDensity, MixtureDensity
from absentia.densities.outliers import OutlierDetector
from absentia.densities.suspicious_cells import SuspiciousCells, suspicious_cells

__all__ = [
    "DensityImputer",
    "GaussianDensity",
    "LowRankDensity",
    "MixedDensity",
    "MixtureDensity",
    "OutlierDetector",
    "SuspiciousCells",
    "multiple_imputations",
    "suspicious_cells",
]
