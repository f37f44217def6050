"""Suppression of warnings per context, which is safe with several threads.

Warning filters belong to the whole process. ``warnings.catch_warnings`` restores the filters that
it found, and of two threads that are inside it at the same time the one that leaves last restores
those of the other, so that a warning can stay suppressed for good. Here nothing is restored: a
filter stays, and the object that it has in place of a regular expression matches only in the
context that suppresses the warning, and in threads that run in a copy of that context.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import active_count
from typing import Any
from weakref import ref

#: An expression that matches no text.
_NOTHING = "(?!)"


@contextmanager
def hidden_warnings(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Hide warnings whose text begins with a message, of a category, in this context."""
    hidden = _hidden(message, category)
    token = _Token()
    outer = hidden.tokens.get()
    try:
        hidden.tokens.set((*outer, ref(token)))
        hidden.come_first()
        yield
    finally:
        hidden.tokens.set(outer)


class _Token:
    """One use of :func:`hidden_warnings`; forgotten with its frame, however that is left."""


class _Hidden:
    """Stands in a filter where others have a regular expression."""

    def __init__(self, message: str, category: type[Warning]):
        self._expression = re.compile(re.escape(message), re.IGNORECASE)
        self._category = category
        #: References to the uses that this context is inside of.
        self.tokens: ContextVar[tuple[ref[_Token], ...]] = ContextVar(message, default=())

    def match(self, text: str) -> Any:
        """Return a match, as a regular expression does, or None."""
        return self._expression.match(text) if self._hides() else None

    def come_first(self) -> None:
        """Move the filter before all that are not of this kind."""
        filters: Any = warnings.filters  # a list, which typeshed does not say
        others = (place for place, found in enumerate(filters) if not isinstance(found[1], _Hidden))
        first_of_others = next(others, len(filters))
        if all(found[1] is not self for found in filters[:first_of_others]):
            ours = ("ignore", self, self._category, None, 0)
            with suppress(ValueError):  # one behind filters that came later
                filters.remove(ours)
            filters.insert(0, ours)

    @property
    def pattern(self) -> str:
        """The expression that is hidden now, for scikit-learn, which copies filters.

        Nothing where other threads run: the copies would hold for all of them.
        """
        return self._hidden_here() if active_count() == 1 else _NOTHING

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain regular expression, for worker processes."""
        return re.compile, (self._hidden_here(), re.IGNORECASE)

    def _hidden_here(self) -> str:
        return self._expression.pattern if self._hides() else _NOTHING

    def _hides(self) -> bool:
        return any(token() is not None for token in self.tokens.get())


_kept: dict[tuple[str, type[Warning]], _Hidden] = {}


def _hidden(message: str, category: type[Warning]) -> _Hidden:
    key = message, category
    return _kept.get(key) or _kept.setdefault(key, _Hidden(message, category))
