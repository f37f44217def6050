"""absentia: kernel machines that learn from incomplete data without filling it in."""

from absentia import amputation
from absentia.beliefs import Beliefs
from absentia.densities import GaussianDensity
from absentia.kernels import ExpectedRBF, GenRBF, Kernel
from absentia.missingness import Patterns

__all__ = [
    "Beliefs",
    "ExpectedRBF",
    "GaussianDensity",
    "GenRBF",
    "Kernel",
    "Patterns",
    "amputation",
]
