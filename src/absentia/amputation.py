"""Amputation, the removal of values for experiments: see :mod:`absentia.missingness.amputation`."""

from absentia.missingness.amputation import *  # noqa: F403
from absentia.missingness.amputation import __all__ as __all__
