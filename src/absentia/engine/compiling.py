"""The one place that decides how loops are compiled, and where the machine code is kept.

Compiling takes seconds, so Numba writes the machine code beside the sources or into the user's
cache folder. Where neither can be written (a read-only installation and no home, as in many
containers) Numba refuses to decorate the function at all; absentia then compiles in every process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function to machine code that runs without the interpreter's lock.

    Parameters
    ----------
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
        "Compiled code cannot be kept: no cache folder can be written. Each process compiles anew, "
        "for some seconds; set NUMBA_CACHE_DIR to a folder that can be written to avoid it."
    )
