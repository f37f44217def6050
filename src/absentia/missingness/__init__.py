"""Which cells are missing: the patterns of a table, and holes made on purpose."""

from absentia.missingness.patterns import Patterns

__all__ = ["Patterns"]
