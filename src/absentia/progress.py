"""Progress and ends of long fits: a bar on the terminal, log records, why a solver stopped.

Everything that can take longer than a few seconds reports here. A parameter ``progress`` or
``verbose`` decides what is shown on the terminal; the records of the logger ``"absentia"`` are for
programs, and are silent unless the level is set::

    logging.basicConfig()
    logging.getLogger("absentia").setLevel("INFO")
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from absentia.optional_imports import optional_import

_Self = TypeVar("_Self")
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")
#: Whether the fit that is running was asked to print its steps.
_printed: ContextVar[bool] = ContextVar("printed", default=False)

#: The library's one logger.
LOGGER = logging.getLogger("absentia")


class SolverStatus(Enum):
    """Reason why a solver stopped; the value is a phrase for messages."""

    CONVERGED = "converged"
    ALMOST = "converged, less accurately than asked"
    EXHAUSTED = "out of iterations"
    STALLED = "no further progress"
    FAILED = "failed numerically"

    @property
    def converged(self) -> bool:
        """Whether the result is as accurate as was asked."""
        return self is SolverStatus.CONVERGED


LOGGER.addHandler(logging.NullHandler())


def report(message: str, *values: Any, verbose: bool = False) -> None:
    """Log one step of a fit, and print it as well where the user asked for ``verbose``."""
    LOGGER.info(message, *values)
    if verbose or _printed.get():
        print(message % values if values else message)


def shows_progress(
    fit: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Print the reports of a method and of what it calls if ``verbose=True``."""

    @wraps(fit)
    def shown(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        token = _printed.set(_printed.get() or getattr(self, "verbose", False) is True)
        try:
            return fit(self, *args, **kwargs)
        finally:
            _printed.reset(token)

    return shown


class Bar:
    """Progress of a loop; this base class shows nothing."""

    def advance(self, remark: str = "") -> None:
        """Count one more step as done."""


class _TqdmBar(Bar):
    def __init__(self, bar: Any):
        self._bar = bar

    def advance(self, remark: str = "") -> None:
        if remark:
            self._bar.set_postfix_str(remark, refresh=False)
        self._bar.update()


@contextmanager
def progress_bar(
    total: int, *, shown: bool, title: str, unit: str = "fit", initial: int = 0
) -> Iterator[Bar]:
    """Show a bar of tqdm on standard error while a ``with`` block runs."""
    if not shown:
        yield Bar()
        return
    tqdm = optional_import("tqdm", "progress", "A progress bar", "leave out progress=True").tqdm
    settings: Any = {"file": sys.stderr, "dynamic_ncols": True, "smoothing": 0.05}
    with tqdm(total=total, initial=initial, desc=title, unit=unit, **settings) as bar:
        yield _TqdmBar(bar)
