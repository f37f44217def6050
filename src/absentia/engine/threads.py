"""How many threads to use, running compiled blocks on them, and keeping those of BLAS away."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import OpenBLASController, ThreadpoolController

__all__ = [
    "n_threads",
    "one_blas_thread",
    "row_tiles",
    "run_tiles",
    "run_single_threaded_blas",
    "triangle_tiles",
]


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads a Gram matrix may use.

    A number is taken as joblib takes it. ``None`` means every core, as BLAS does it, but one
    thread inside a joblib worker (the cores are taken) and never more than ``OMP_NUM_THREADS``.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    backend, _ = get_active_backend()
    if getattr(backend, "nesting_level", 0):
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(_cores(), int(limit))) if limit.isdigit() else _cores()


@cache
def _cores() -> int:
    # joblib reads files of the system each time it is asked, which a single prediction can feel.
    return int(cpu_count())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread inside a ``with`` block.

    Many small products on the threads of BLAS wait for each other more than they work, the more
    so on a machine that is busy; threads over blocks of rows (``n_jobs``) do better. The number is
    one for the whole process, so blocks may overlap in any order: the first thread to enter takes
    it down, the last to leave puts back what the first has found.
    """
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()


class _LimitedBlas:
    """How many ``with`` blocks hold BLAS to one thread, and what to restore after the last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._pools: ThreadpoolController | None = None
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                if self._pools is None:  # found once: looking takes longer than a small fit
                    self._pools = ThreadpoolController().select(user_api="blas")
                self._limit = self._pools.limit(limits=1)
                _let_any_thread_set_limits()
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()
                _let_any_thread_set_limits()

    def renew_lock(self) -> None:
        """Forget that another thread held the lock: after a fork that thread is not there."""
        self._lock = Lock()


def _let_any_thread_set_limits() -> None:
    """Give up a right that newer versions of threadpoolctl reserve to the first thread to use it.

    The last thread to leave need not be the first that entered; what it sets must count.
    """
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release()


_blas = _LimitedBlas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.renew_lock)


def run_tiles(
    function: Callable[..., Any], blocks: Sequence[tuple[int, int]], threads: int, *args: Any
) -> None:
    """Call ``function(start, stop, *args)`` for each block, on several threads where it pays."""
    _run(lambda block: function(*block, *args), blocks, threads)


def run_single_threaded_blas(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], threads: int
) -> None:
    """Call ``function(*task)`` for each task on our threads, each with a BLAS of one thread."""
    if threads == 1 or len(tasks) == 1:
        _run(lambda task: function(*task), tasks, 1)
    else:
        with one_blas_thread():
            _run(lambda task: function(*task), tasks, threads)


def _run(function: Callable[[Any], Any], tasks: Sequence[Any], threads: int) -> None:
    # Not joblib.Parallel, which looks for results every ten milliseconds: as long as a whole Gram
    # matrix of a thousand rows takes.
    if threads == 1 or len(tasks) == 1:
        for task in tasks:
            function(task)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(function, tasks):
                pass


def row_tiles(start: int, stop: int, n_blocks: int, unit: int) -> list[tuple[int, int]]:
    """Cut rows into about ``n_blocks`` blocks of equal height, multiples of ``unit``."""
    height = max(1, -(-(stop - start) // max(1, n_blocks)))
    height = -(-height // unit) * unit
    return [(first, min(first + height, stop)) for first in range(start, stop, height)]


def triangle_tiles(start: int, stop: int, n_blocks: int, unit: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of about equal *area below the diagonal*, largest first."""
    area = stop**2 - start**2
    edges = [start]
    for b in range(1, n_blocks):
        edge = int((start**2 + area * b / n_blocks) ** 0.5)
        edges.append(start + (edge - start) // unit * unit)
    edges.append(stop)
    blocks = [(a, b) for a, b in pairwise(edges) if b > a]
    return blocks[::-1]
