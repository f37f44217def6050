"""Save fitted models in files that run no code when they are opened, and load them again."""

from absentia.persistence.model_files import load, save
from absentia.persistence.trust import trusted_types

__all__ = ["load", "save", "trusted_types"]
