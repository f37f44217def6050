"""The data sets of the experiments: see :mod:`absentia.evaluation.datasets`."""

from absentia.evaluation.datasets import *  # noqa: F403
from absentia.evaluation.datasets import __all__ as __all__
