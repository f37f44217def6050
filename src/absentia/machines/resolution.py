"""From what a user types to what a machine uses: names become densities and kernels."""

from absentia.densities.naming import make_density
from absentia.kernels.naming import make_kernel, make_mask_kernel, make_unmasked_kernel

__all__ = ["make_density", "make_kernel", "make_mask_kernel", "make_unmasked_kernel"]
