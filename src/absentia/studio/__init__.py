"""A local page for people who do not program: open a table, train, ask about one row."""

from absentia.studio.serving import serve

__all__ = ["serve"]
