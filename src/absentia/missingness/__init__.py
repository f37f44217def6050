"""Missing patterns of a table, and amputation."""

from absentia.missingness.patterns import Patterns

__all__ = ["Patterns"]
