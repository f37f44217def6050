"""Warnings that are hidden for a while, in as many threads as there are.

``warnings.catch_warnings`` puts back the filters that it found. Of two threads that are inside at
the same time the one that leaves last puts back those of the other, and what that one had hidden
stays hidden for the rest of the program. Here a filter is added once, counted, and taken out by the
last thread that leaves; the filters of others are not touched.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

__all__ = ["hidden_warnings"]

#: Tells our filters from those of others, which may hide the same; a comment within an expression.
_OURS = "(?#of absentia)"

_lock = Lock()
_threads_inside: Counter[tuple[str, type[Warning]]] = Counter()


@contextmanager
def hidden_warnings(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Hide warnings whose text begins with a message, of a category.

    Filters belong to the whole program: other threads do not see such warnings either, meanwhile.

    Examples
    --------
    >>> import warnings
    >>> from absentia.hidden_warnings import hidden_warnings
    >>> filters = list(warnings.filters)
    >>> with hidden_warnings("Nothing", UserWarning):
    ...     warnings.warn("Nothing to see here.")
    >>> warnings.filters == filters
    True
    """
    key, pattern = (message, category), _OURS + re.escape(message)
    with _lock:
        _threads_inside[key] += 1
        if _threads_inside[key] == 1:
            warnings.filterwarnings("ignore", pattern, category)
    try:
        yield
    finally:
        with _lock:
            _threads_inside[key] -= 1
            if not _threads_inside[key]:
                del _threads_inside[key]
                ours = ("ignore", re.compile(pattern, re.IGNORECASE), category, None, 0)
                # Not there where the caller has put back filters of an earlier time meanwhile.
                with suppress(ValueError):
                    warnings.filters.remove(ours)  # type: ignore[attr-defined]
