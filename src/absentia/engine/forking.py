"""Locks that no forked process may inherit from a thread that it does not have.

A fork copies one thread and all memory: a lock that another thread holds at that moment is held for
ever in the child. Held by the forking thread instead, it is free in both processes afterwards,
and what it protects is whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Holdable", "compiler_lock", "hold_during_forks"]


class Holdable(Protocol):
    """A lock that its thread may take again: it may be the one that forks."""

    def acquire(self) -> Any:
        """Wait until no other thread has it, and take it."""

    def release(self) -> Any:
        """Give it back."""


def hold_during_forks(lock: Holdable | None, in_child: Callable[[], None] | None = None) -> None:
    """Take a lock before every fork, and give it back in both processes.

    Parameters
    ----------
    lock : reentrant lock or None
        None is left alone, as are systems without forks.
    in_child : callable, optional
        What to do in the child before it is given back.
    """
    if lock is None or not hasattr(os, "register_at_fork"):
        return

    def release_in_child() -> None:
        try:
            if in_child is not None:
                in_child()
        finally:
            lock.release()

    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=release_in_child
    )


def compiler_lock() -> Holdable | None:
    """Return the lock of Numba's compiler; None for a Numba that has none of that name.

    It is held while a function is compiled, or loaded from the cache. To give a forked child a new
    one would not be enough: LLVM has locks of its own, and a module half-way through.
    """
    try:
        from numba.core.compiler_lock import global_compiler_lock
    except ImportError:
        return None
    lock: Any = global_compiler_lock
    return lock if hasattr(lock, "acquire") and hasattr(lock, "release") else None
