"""Threads: how many to use, work cut into tiles for them, BLAS kept to one, locks across forks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from numbers import Integral
from threading import RLock, local
from typing import Any, Generic, TypeVar, overload

from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import OpenBLASController, ThreadpoolController

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: More threads than this are a mistake, and starting them would take too long.
_MOST_THREADS = 4096


def hold_during_forks(lock: Any, in_child: Callable[[], None] | None = None) -> None:
    """Take a reentrant lock (if any) before every fork, and release it in both processes.

    A fork copies one thread and all memory: a lock that another thread holds at that moment is
    never released in the child. Held by the forking thread instead, it is free in both processes
    afterwards, and the state it protects is consistent. ``in_child`` is called before the release.
    """
    if lock is None or not hasattr(os, "register_at_fork"):
        return

    def release_in_child() -> None:
        try:
            if in_child is not None:
                in_child()
        finally:
            lock.release()

    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=release_in_child
    )


def compiler_lock() -> Any:
    """Return the lock of Numba's compiler; None for a Numba that has none of that name.

    It is held while a function is compiled, or loaded from the cache. To give a forked child a new
    one would not be enough: LLVM has locks of its own, and a module half-way through.
    """
    try:
        from numba.core.compiler_lock import global_compiler_lock
    except ImportError:
        return None
    return global_compiler_lock if hasattr(global_compiler_lock, "acquire") else None


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads may be used: the one meaning of ``n_jobs`` in the library.

    ``None`` means as many threads as BLAS would use: all cores, fewer where ``OMP_NUM_THREADS``
    or threadpoolctl says so, and one inside a joblib worker, whose siblings have the other cores.
    An integer is taken as joblib takes it, ``-1`` for all cores. On one of our own threads the
    answer is always one: what runs there has its share of the cores already.
    """
    if n_jobs is not None:
        given: Any = n_jobs  # typed by a user, so perhaps "two"
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        if not whole or n_jobs == 0 or n_jobs > _MOST_THREADS:
            raise ValueError(
                f"n_jobs must be None or an integer other than 0 and of at most {_MOST_THREADS} "
                f"(-1 for all cores), found {'more' if whole and n_jobs else repr(n_jobs)}."
            )
    if getattr(_here, "is_worker", False):
        return 1
    if n_jobs is not None:
        # From -1 downwards joblib counts back from all cores, and never below one.
        return int(effective_n_jobs(max(int(n_jobs), -_MOST_THREADS)))
    backend, _ = get_active_backend()
    if getattr(backend, "nesting_level", 0):
        return 1
    limits = [_cores(), *_blas.n_threads()]
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdecimal():
        limits.append(int(limit))
    return max(1, min(limits))


@cache
def _cores() -> int:
    # joblib reads system files at each call, which slows down a single prediction.
    return int(cpu_count())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread inside a ``with`` block.

    Many small products on the threads of BLAS wait for each other more than they work. The number
    is one for the whole process, so blocks may overlap in any order: the first thread to enter
    takes it down, the last to leave puts back what the first has found.
    """
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()


class _LimitedBlas:
    """Count of the ``with`` blocks that hold BLAS to one thread, and the limits to restore."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._inside = 0
        self._own = local()  # blocks of this thread among them
        self._pools: ThreadpoolController | None = None
        self._limit: Any = None
        self._before: list[int] = []

    def enter(self) -> None:
        with self.lock:
            if not self._inside:
                pools = self._found_pools()
                self._before = [pool.num_threads for pool in pools.lib_controllers]
                self._limit = pools.limit(limits=1)
                _let_any_thread_set_limits()
            self._inside += 1
            self._own.inside = self._inside_here() + 1

    def leave(self) -> None:
        with self.lock:
            self._own.inside = self._inside_here() - 1
            self._leave_blocks(1)

    def n_threads(self) -> list[int]:
        """Return the most threads of any BLAS, as if no block were entered; empty without BLAS."""
        with self.lock:
            if self._inside:
                found = self._before
            else:
                found = [pool.num_threads for pool in self._found_pools().lib_controllers]
        return [max(found)] if found else []

    def _found_pools(self) -> ThreadpoolController:
        if self._pools is None:  # found once: looking takes longer than a small fit
            self._pools = ThreadpoolController().select(user_api="blas")
        return self._pools

    def leave_blocks_of_other_threads(self) -> None:
        """Do what other threads would: in a forked process they are not there to leave."""
        with self.lock:
            others = self._inside - max(0, self._inside_here())
            if others > 0:
                self._leave_blocks(others)

    def _inside_here(self) -> int:
        return int(getattr(self._own, "inside", 0))

    def _leave_blocks(self, number: int) -> None:
        self._inside -= number
        if not self._inside:
            self._limit.restore_original_limits()
            _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Give up a right that newer versions of threadpoolctl reserve to the first thread to use it.

    The last thread to leave need not be the first that entered; what it sets must count.
    """
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release()


_blas = _LimitedBlas()
_here = local()
hold_during_forks(_blas.lock, _blas.leave_blocks_of_other_threads)
hold_during_forks(compiler_lock())


def run_tiles(
    function: Callable[..., Any], tiles: Sequence[tuple[Any, ...]], threads: int, *args: Any
) -> None:
    """Call ``function(*tile, *args)`` for each tile, on several threads where it pays."""
    threads, ahead = min(threads, len(tiles)), len(tiles)
    for _ in map_on_threads(lambda tile: function(*tile, *args), tiles, threads, ahead=ahead):
        pass


def run_single_threaded_blas(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], threads: int
) -> None:
    """Call ``function(*task)`` for each task on our threads, each with a BLAS of one thread."""
    with nullcontext() if threads == 1 or len(tasks) == 1 else one_blas_thread():
        run_tiles(function, tasks, threads)


def map_on_threads(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    threads: int,
    *,
    ahead: int | None = None,
) -> Iterator[_Result]:
    """Yield ``function(item)`` for each item, in order, computed on several threads.

    At most ``ahead`` items (twice the threads by default) are under way before the first of them
    is taken, so that a long stream is never held whole.
    """
    # Not joblib.Parallel, which looks for results every ten milliseconds: as long as a whole Gram
    # matrix of a thousand rows takes.
    if threads <= 1:
        yield from map(function, items)
        return
    most = 2 * threads if ahead is None else ahead
    with ThreadPoolExecutor(threads, initializer=_become_worker) as pool:
        waiting: deque[Future[_Result]] = deque()
        for item in items:
            waiting.append(pool.submit(copy_context().run, function, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _become_worker() -> None:
    _here.is_worker = True


def row_tiles(start: int, stop: int, n_tiles: int, unit: int) -> list[tuple[int, int]]:
    """Cut rows into about ``n_tiles`` tiles of equal height, multiples of ``unit``."""
    height = max(1, -(-(stop - start) // max(1, n_tiles)))
    height = -(-height // unit) * unit
    return [(first, min(first + height, stop)) for first in range(start, stop, height)]


def triangle_tiles(start: int, stop: int, n_tiles: int, unit: int) -> list[tuple[int, int]]:
    """Cut rows into tiles of about equal *area below the diagonal*, largest first."""
    area = stop**2 - start**2
    edges = [start]
    for b in range(1, n_tiles):
        edge = int((start**2 + area * b / n_tiles) ** 0.5)
        edges.append(start + (edge - start) // unit * unit)
    edges.append(stop)
    tiles = [(a, b) for a, b in pairwise(edges) if b > a]
    return tiles[::-1]


def cut(n_rows: int, step: int) -> list[slice]:
    """Cut ``n_rows`` into slices of at most ``step`` rows."""
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def bounded_slices(n_rows: int, floats_per_row: int, budget: int = 2**22) -> list[slice]:
    """Cut ``n_rows`` into slices of at most ``budget`` floats each (32 MB by default)."""
    # As integers of Python: a small one of NumPy cannot be compared with the budget.
    return cut(n_rows, max(1, budget // max(1, int(floats_per_row))))


def bounded_blocks(
    begin: int, end: int, floats_per_row: int, budget: int = 2**22
) -> list[tuple[int, int]]:
    """Cut the rows from ``begin`` to ``end`` into blocks of at most ``budget`` floats each."""
    slices = bounded_slices(end - begin, floats_per_row, budget)
    return [(begin + part.start, begin + part.stop) for part in slices]


Value = TypeVar("Value")


class computed_once(Generic[Value]):
    """Turn a method into an attribute that is computed once for each object, without a lock.

    ``functools.cached_property`` of Python 3.11 has a lock, which a fork may inherit in the locked
    state. Here two threads may compute a value at the same time; both get the one stored first. It
    goes straight into the object's dictionary, so that frozen dataclasses can have it.
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
        return vars(instance).setdefault(self.name, self.method(instance))
