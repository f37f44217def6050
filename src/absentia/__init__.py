"""absentia: kernel machines that learn from incomplete data without filling it in."""

from absentia import amputation
from absentia.beliefs import Beliefs
from absentia.densities import GaussianDensity
from absentia.encoding import TableEncoder
from absentia.kernels import ExpectedRBF, GenRBF, Kernel
from absentia.machines import (
    SVC,
    SVR,
    KernelMatrix,
    KernelRidge,
    MissingnessShiftWarning,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from absentia.missingness import Patterns

__all__ = [
    "Beliefs",
    "ExpectedRBF",
    "GaussianDensity",
    "GenRBF",
    "Kernel",
    "KernelMatrix",
    "KernelRidge",
    "MissingnessShiftWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Patterns",
    "SVC",
    "SVR",
    "TableEncoder",
    "amputation",
]
