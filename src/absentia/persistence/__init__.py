"""Save fitted models in files that run no code when they are opened, and load them again."""

from absentia.persistence.kinds import trusted_types
from absentia.persistence.model_files import load, save

__all__ = ["load", "save", "trusted_types"]
