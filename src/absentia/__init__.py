"""absentia: kernel machines that learn from incomplete data without filling it in."""

from absentia import amputation
from absentia.beliefs import Beliefs
from absentia.densities import GaussianDensity, MixtureDensity
from absentia.distributed import Chunks
from absentia.encoding import TableEncoder
from absentia.features import FourierFeatures, MaskFeatures, Nystroem
from absentia.kernels import (
    EmbeddingRBF,
    ExpectedDistanceRBF,
    ExpectedLinear,
    ExpectedPolynomial,
    ExpectedRBF,
    GammaRBF,
    GenRBF,
    Kernel,
    MaskKernel,
    NotPositiveDefiniteWarning,
    gram_blocks,
    kernel_variance,
    repair_psd,
)
from absentia.machines import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    GaussianProcessRegressor,
    KernelMatrix,
    KernelRidge,
    KernelRidgeCV,
    LogisticRegression,
    MissingnessShiftWarning,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RobustSVC,
)
from absentia.missingness import Patterns
from absentia.missingness_report import MissingnessReport, describe_missingness
from absentia.persistence import load, save

__all__ = [
    "Beliefs",
    "Chunks",
    "EmbeddingRBF",
    "ExpectedDistanceRBF",
    "ExpectedLinear",
    "ExpectedPolynomial",
    "ExpectedRBF",
    "FourierFeatures",
    "GammaRBF",
    "GaussianDensity",
    "GaussianProcessRegressor",
    "GenRBF",
    "Kernel",
    "KernelMatrix",
    "KernelRidge",
    "KernelRidgeCV",
    "LogisticRegression",
    "MaskFeatures",
    "MaskKernel",
    "MissingnessReport",
    "MissingnessShiftWarning",
    "MixtureDensity",
    "NotPositiveDefiniteWarning",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "Patterns",
    "RobustSVC",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "TableEncoder",
    "amputation",
    "describe_missingness",
    "gram_blocks",
    "kernel_variance",
    "load",
    "repair_psd",
    "save",
]
