"""Features of beliefs: similarity as an inner product, at a cost linear in the rows."""

from absentia.features.fourier import FourierFeatures
from absentia.features.mask_features import MaskFeatures
from absentia.features.nystroem import Nystroem

__all__ = ["FourierFeatures", "MaskFeatures", "Nystroem"]
