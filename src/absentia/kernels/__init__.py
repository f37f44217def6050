"""Similarity of beliefs, in closed form."""

from absentia.kernels.base import KERNELS_BY_NAME, Kernel, Product, Scaled, Sum
from absentia.kernels.category import CategoryKernel
from absentia.kernels.distance import ExpectedDistanceRBF, GammaRBF
from absentia.kernels.embedding import EmbeddingRBF
from absentia.kernels.gram.tiles import gram_blocks
from absentia.kernels.mask import MaskKernel
from absentia.kernels.named_kernels import FunctionKernel, PrecomputedKernel, kernel_named
from absentia.kernels.polynomial import ExpectedLinear, ExpectedPolynomial
from absentia.kernels.rbf import ExpectedRBF, GenRBF
from absentia.kernels.repair import (
    NotPositiveDefiniteWarning,
    RepairedMatrix,
    check_psd,
    repair_psd,
)
from absentia.kernels.variance import kernel_variance, kernel_variance_diag

__all__ = [
    "KERNELS_BY_NAME",
    "CategoryKernel",
    "EmbeddingRBF",
    "ExpectedDistanceRBF",
    "ExpectedLinear",
    "ExpectedPolynomial",
    "ExpectedRBF",
    "FunctionKernel",
    "GammaRBF",
    "GenRBF",
    "Kernel",
    "MaskKernel",
    "NotPositiveDefiniteWarning",
    "PrecomputedKernel",
    "Product",
    "RepairedMatrix",
    "Scaled",
    "Sum",
    "check_psd",
    "gram_blocks",
    "kernel_named",
    "kernel_variance",
    "kernel_variance_diag",
    "repair_psd",
]
