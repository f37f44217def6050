"""The one place that decides how loops are compiled, and where the machine code is kept.

Compiling takes seconds, so Numba writes the machine code beside the sources or into the user's
cache folder. Where neither can be written (a read-only installation and no home, as in many
containers) Numba refuses to decorate the function at all; absentia then compiles in every process.
Who waits for it longer than a second reads the reason on the terminal, once.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core import event

__all__ = ["compiled"]


def compiled(*, makes_arrays: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function to machine code that runs without the interpreter's lock.

    Parameters
    ----------
    makes_arrays : bool
        Where no array is made inside, nobody need count the owners of those that are passed: a
        function that is called for every few pairs of rows would spend a tenth of its time on it.
    **options
        Of :func:`numba.njit`, such as ``fastmath`` or ``error_model``.

    Returns
    -------
    callable
        A decorator. The machine code is kept for the next process where a folder can be written.

    Examples
    --------
    >>> from absentia.engine.compiling import compiled
    >>> @compiled()
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(3)
    6
    """

    if not makes_arrays:
        options["_nrt"] = False

    def compile_function(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            _log_that_nothing_is_kept()
            return njit(nogil=True, **options)(function)

    return compile_function


@cache
def _log_that_nothing_is_kept() -> None:
    # Once per process: there are dozens of compiled functions.
    logging.getLogger("absentia").warning(
        "Compiled code cannot be cached: no cache folder is writable. Each process compiles it "
        "again, which takes some seconds; set NUMBA_CACHE_DIR to a writable folder to avoid this."
    )


_COMPILING = (
    "Compiling for this processor, once; this takes about ten seconds. The command `absentia "
    "warmup` does it beforehand."
)


class _Announcer(event.Listener):
    """Says that compiling goes on, once per process, when it has taken longer than a second."""

    def __init__(self) -> None:
        self._depth = 0
        self._since = 0.0
        self._spent = 0.0
        self._said = False

    def on_start(self, event: Any) -> None:
        # Functions that ours call are compiled inside; what other libraries compile is theirs.
        if self._depth or event.data["dispatcher"].py_func.__module__.startswith("absentia."):
            if not self._depth:
                self._since = time.perf_counter()
            self._depth += 1
            self._say_if_long()

    def on_end(self, event: Any) -> None:
        if self._depth:
            self._say_if_long()
            self._depth -= 1
            if not self._depth:
                self._spent += time.perf_counter() - self._since

    def _say_if_long(self) -> None:
        if not self._said and self._spent + time.perf_counter() - self._since > 1.0:
            self._said = True
            logging.getLogger("absentia").info(_COMPILING)
            # Only where somebody waits: a terminal or a notebook.
            if "ipykernel" in sys.modules or sys.stderr.isatty():
                print(f"absentia: {_COMPILING}", file=sys.stderr)


event.register("numba:compile", _Announcer())
