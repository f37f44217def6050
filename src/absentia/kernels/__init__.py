"""Similarity of beliefs, in closed form."""

from absentia.kernels.base import Kernel, Product, Scaled, Sum
from absentia.kernels.rbf import ExpectedRBF, GenRBF

__all__ = ["ExpectedRBF", "GenRBF", "Kernel", "Product", "Scaled", "Sum"]
