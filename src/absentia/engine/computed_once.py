"""Values that are computed when first asked for, and kept: without a lock.

``functools.cached_property`` of Python 3.11 holds a lock of the whole class while it computes. A
process that forks while another thread holds it leaves the child with a lock that nobody will ever
release. Here two threads may compute the same value at the same time, and both get the one that
was kept first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class computed_once(Generic[Value]):
    """Turn a method into an attribute that is computed once for each object.

    Works for frozen dataclasses too, because the value goes straight into the object's dictionary,
    where it is found before this descriptor is asked again.

    Examples
    --------
    >>> from absentia.engine.computed_once import computed_once
    >>> class Circle:
    ...     radius = 2
    ...
    ...     @computed_once
    ...     def area(self):
    ...         print("computing")
    ...         return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area
    computing
    12.56
    >>> circle.area
    12.56
    """

    def __init__(self, method: Callable[[Any], Value]):
        self.method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> computed_once[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(
        self, instance: object | None, owner: type | None = None
    ) -> Value | computed_once[Value]:
        if instance is None:
            return self
        kept: Value = vars(instance).setdefault(self.name, self.method(instance))
        return kept
