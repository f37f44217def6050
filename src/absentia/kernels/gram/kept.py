"""What a kernel computed from beliefs, kept with them: support vectors come back at every call."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from absentia.beliefs import Beliefs
from absentia.kernels.gram.smoothing import Smoothing

__all__ = ["kept_for"]

_Value = TypeVar("_Value")


def kept_for(
    beliefs: Beliefs, smoothing: Smoothing, what: Hashable, compute: Callable[[], _Value]
) -> _Value:
    """Return ``compute()``, from an earlier call with the same beliefs and smoothing if there was.

    The values of one smoothing are kept, so that a search over widths does not pile them up. They
    live and die with the beliefs, are no part of their fields, and are neither copied nor written
    to files. Threads may compute the same value at the same time; both get the one kept first.

    Parameters
    ----------
    beliefs : Beliefs
    smoothing : Smoothing
    what : hashable
        Names the value, with everything else that it depends on.
    compute : callable
    """
    key = smoothing.key
    own = vars(beliefs)
    kept = own.get("_kept")
    if kept is None or kept[0] != key:
        kept = own["_kept"] = (key, {})
    values: dict[Hashable, _Value] = kept[1]
    if what not in values:
        return values.setdefault(what, compute())
    return values[what]
