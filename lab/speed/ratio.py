"""Rows of a speed suite, one to a comparison, and the measurement of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from absentia.engine.threads import one_blas_thread


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    name : str
        What was timed, and on what.
    ours_seconds, theirs_seconds : float
        The time of absentia and of what it is compared with.
    bar, aim : float or None
        The ratio that must hold and the one to strive for; None where there is none.
    note : str
        What "theirs" is, and anything a reader should know.
    """

    name: str
    ours_seconds: float
    theirs_seconds: float
    bar: float | None = None
    aim: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """Our time in units of theirs; below one is faster."""
        return self.ours_seconds / self.theirs_seconds

    @property
    def verdict(self) -> str:
        """Return "aim met", "within bar" or "TOO SLOW"; empty where no bar is set."""
        if self.aim is not None and self.ratio <= self.aim:
            return "aim met"
        if self.bar is None:
            return ""
        return "within bar" if self.ratio <= self.bar else "TOO SLOW"


def best_seconds(function: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest of several runs, after one that is not counted.

    The shortest, because whatever else the machine does can only add to it; the first is not
    counted, because it may compile.
    """
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def best_rival_seconds(function: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest of several runs of a rival, with the threads of BLAS or without them.

    On a machine that is busy those threads wait for each other, and a rival that has them would
    look several times slower than it is.
    """
    with_threads = best_seconds(function, repeats)
    with one_blas_thread():
        return min(with_threads, best_seconds(function, repeats))
