"""absentia: kernel machines that learn from incomplete data without filling it in."""

from absentia import amputation
from absentia.beliefs import Beliefs
from absentia.densities import GaussianDensity
from absentia.encoding import TableEncoder
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
)
from absentia.missingness import Patterns
from absentia.persistence import load, save

__all__ = [
    "Beliefs",
    "EmbeddingRBF",
    "ExpectedDistanceRBF",
    "ExpectedLinear",
    "ExpectedPolynomial",
    "ExpectedRBF",
    "GammaRBF",
    "GaussianDensity",
    "GaussianProcessRegressor",
    "GenRBF",
    "Kernel",
    "KernelMatrix",
    "KernelRidge",
    "KernelRidgeCV",
    "LogisticRegression",
    "MaskKernel",
    "MissingnessShiftWarning",
    "NotPositiveDefiniteWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Patterns",
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "TableEncoder",
    "amputation",
    "gram_blocks",
    "kernel_variance",
    "load",
    "repair_psd",
    "save",
]
