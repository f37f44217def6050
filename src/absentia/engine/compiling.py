"""Compiled loops: how they are compiled, their NumPy twins, and the types of their arrays.

Machine code is cached beside the sources or in the user's cache folder; where neither can be
written (a read-only installation and no home) every process compiles anew. A small table never
earns back the time of compilation, so its loops run in NumPy. The choice depends on the size of the
problem alone, so that a fit gives the same bits in every process.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper
from typing import Any

import numpy as np
from numba import njit
from numba.core import event
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]

# Numbers that a NumPy twin may touch in one call: about a tenth of a millisecond.
_SMALL = 2**14

#: Multiple of the limits up to which NumPy computes.
_numpy_reach = ContextVar("numpy_reach", default=1.0)


def compiled(*, makes_arrays: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function to machine code that runs without the interpreter's lock: a decorator.

    Where a function creates no array (``makes_arrays=False``), the reference counts of its
    arguments are left alone, which saves a tenth of the time of a function that is called for every
    few pairs of rows. ``options`` are those of :func:`numba.njit`. The machine code is cached for
    the next process where a folder is writable.
    """
    if not makes_arrays:
        options["_nrt"] = False

    def compile_function(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            _log_that_nothing_is_cached()
            return njit(nogil=True, **options)(function)

    return compile_function


@cache
def _log_that_nothing_is_cached() -> None:
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
    """Print a message once per process, when compiling has taken longer than a second."""

    _depth, _since, _spent, _announced = 0, 0.0, 0.0, False

    def on_start(self, event: Any) -> None:
        # Functions that ours call are compiled inside; those of other libraries do not count.
        if self._depth or event.data["dispatcher"].py_func.__module__.startswith("absentia."):
            if not self._depth:
                self._since = time.perf_counter()
            self._depth += 1
            self._announce_if_long()

    def on_end(self, event: Any) -> None:
        if self._depth:
            self._announce_if_long()
            self._depth -= 1
            if not self._depth:
                self._spent += time.perf_counter() - self._since

    def _announce_if_long(self) -> None:
        if not self._announced and self._spent + time.perf_counter() - self._since > 1.0:
            self._announced = True
            logging.getLogger("absentia").info(_COMPILING)
            # Only where somebody waits: a terminal or a notebook.
            if "ipykernel" in sys.modules or sys.stderr.isatty():
                print(f"absentia: {_COMPILING}", file=sys.stderr)


event.register("numba:compile", _Announcer())


def is_small(work: float, limit: float = _SMALL) -> bool:
    """Return whether a problem is computed in NumPy."""
    return work <= limit * _numpy_reach.get()


@contextmanager
def always_compiled(reach: float = -1.0) -> Iterator[None]:
    """Use compiled loops for problems of every size inside a ``with`` block.

    With a ``reach`` above one they are used for larger problems only, as by a single prediction
    that should not wait for the compiler.
    """
    before = _numpy_reach.set(reach)
    try:
        yield
    finally:
        _numpy_reach.reset(before)


class Dispatch:
    """A compiled function and its NumPy twin, of which a call takes one by the size of the problem.

    ``work`` maps the arguments to the number of values that ``plain`` would touch.
    """

    def __init__(
        self, compiled: Any, plain: Callable[..., Any], work: Callable[..., float]
    ) -> None:
        update_wrapper(self, compiled)
        self.compiled = compiled
        self.plain = plain
        self.work = work

    def __call__(self, *args: Any) -> Any:
        return self.choose(self.work(*args))(*args)

    def choose(self, work: float) -> Callable[..., Any]:
        """Return the function for problems of that size: the same for all parts of one problem."""
        return self.plain if is_small(work) else self.compiled


def dispatched(
    plain: Callable[..., Any], work: Callable[..., float]
) -> Callable[[Callable[..., Any]], Dispatch]:
    """Give a compiled function a NumPy twin for small arguments; the outermost decorator."""
    return lambda compiled: Dispatch(compiled, plain, work)
