"""Two roads to the same numbers: NumPy for small problems, compiled loops for all others.

Compiling a loop takes a second or two, which a table of two hundred rows never earns back. The
choice depends on the size of the problem alone, never on what happens to be compiled, so that a
fit gives the same bits in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from typing import Any

__all__ = ["TwoRoads", "always_compiled", "is_small", "two_roads"]

# Numbers that a NumPy road may touch in one call: about a tenth of a millisecond.
_SMALL = 2**14

_allowed = ContextVar("allowed", default=True)


def is_small(work: float, limit: float = _SMALL) -> bool:
    """Tell whether a problem takes the NumPy road."""
    return _allowed.get() and work <= limit


@contextmanager
def always_compiled() -> Iterator[None]:
    """Send problems of every size down the compiled road inside a ``with`` block."""
    before = _allowed.set(False)
    try:
        yield
    finally:
        _allowed.reset(before)


class TwoRoads:
    """A compiled function and its NumPy twin; a call takes the one that suits its arguments.

    Attributes
    ----------
    compiled, plain : callable
        The two functions, which take the same arguments.
    work : callable
        From the arguments to how many numbers ``plain`` would touch.
    """

    def __init__(
        self, compiled: Any, plain: Callable[..., Any], work: Callable[..., float]
    ) -> None:
        update_wrapper(self, compiled)
        self.compiled = compiled
        self.plain = plain
        self.work = work

    def __call__(self, *args: Any) -> Any:
        return self.road(self.work(*args))(*args)

    def road(self, work: float) -> Callable[..., Any]:
        """Return the function for problems of that size: the same for all parts of one problem."""
        return self.plain if is_small(work) else self.compiled


def two_roads(
    plain: Callable[..., Any], work: Callable[..., float]
) -> Callable[[Callable[..., Any]], TwoRoads]:
    """Give a compiled function a NumPy twin for small arguments; the outermost decorator.

    Examples
    --------
    >>> from absentia.engine.compiling import compiled
    >>> from absentia.engine.small import two_roads
    >>> @two_roads(plain=sum, work=len)
    ... @compiled()
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total([1.0, 2.0])
    3.0
    """
    return lambda compiled: TwoRoads(compiled, plain, work)
