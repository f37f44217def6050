"""Processes that run cells, one at a time each, and can die without harm.

A pool of the standard library breaks as a whole when one of its processes is killed, and cannot
stop a task that takes too long. Here each process has a pipe of its own, so the parent knows which
cell it was at: a process that dies, or overruns its time, costs that one cell, which is recorded
as failed, and is replaced.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any

from lab.experiments.running.cells import Cell, CellResult, Context

#: A function from a cell and a context to scores and facts.
Work = Callable[[Cell, Context], tuple[Sequence[Any], dict[str, Any]]]
_ORPHAN_CHECK_SECONDS = 1.0
_LONGEST_ERROR = 300
#: What a process sends once it has imported everything: only then its clock starts.
_READY = "ready"


def attempt(work: Work, cell: Cell, context: Context) -> CellResult:
    """Run one cell; an error becomes part of the result, and so do warnings."""
    started = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")  # each once per place, however often it is raised
            scores, facts = work(cell, context)
    except Exception as error:
        return CellResult(
            cell,
            time.perf_counter() - started,
            error=" ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_ERROR],
            traceback=traceback.format_exc(),
        )
    if caught:
        kinds = {f"{warning.category.__name__}: {warning.message}"[:200] for warning in caught}
        facts = {**facts, "warnings": sorted(kinds)}
    return CellResult(cell, time.perf_counter() - started, tuple(scores), facts)


def run_in_processes(
    work: Work,
    cells: Sequence[Cell],
    context: Context,
    *,
    jobs: int,
    time_limit: float | None = None,
) -> Iterator[CellResult]:
    """Yield the result of each cell as it comes, from ``jobs`` processes.

    Parameters
    ----------
    work : callable
        Importable by name, as everything that is sent to another process.
    cells : sequence of Cell
    context : Context
    jobs : int
        How many processes; each computes with one thread.
    time_limit : float, optional
        Seconds after which a cell is abandoned.
    """
    waiting = list(reversed(cells))
    processes = _start_method()
    workers = [_Worker(processes, work, context) for _ in range(min(jobs, len(cells)))]
    try:
        for worker in workers:
            worker.start(waiting.pop())
        while any(worker.cell is not None for worker in workers):
            busy = [worker for worker in workers if worker.cell is not None]
            deadlines = [w.deadline(time_limit) for w in busy if time_limit is not None]
            patience = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
            if patience == float("inf"):
                patience = None
            ready = wait([w.pipe for w in busy], timeout=patience)
            for k, worker in enumerate(workers):
                if worker.cell is None:
                    continue
                result = None
                if worker.pipe in ready:
                    result = worker.receive()
                elif time_limit is not None and time.monotonic() >= worker.deadline(time_limit):
                    result = worker.given_up(f"TimeoutError: took longer than {time_limit:g} s")
                if result is None:
                    continue
                if worker.ended:
                    worker.stop()
                    if waiting:
                        worker = workers[k] = _Worker(processes, work, context)
                if waiting:
                    worker.start(waiting.pop())
                yield result
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """The parent's side of one process."""

    def __init__(self, processes: Any, work: Work, context: Context):
        self.pipe, far_end = processes.Pipe()
        self.cell: Cell | None = None
        self.started = 0.0
        self.ended = False
        self._ready = False
        self._process = processes.Process(
            target=_serve, args=(far_end, work, context, os.getpid()), daemon=True
        )
        self._process.start()
        far_end.close()

    def start(self, cell: Cell) -> None:
        self.cell, self.started = cell, time.monotonic()
        try:
            self.pipe.send(cell)
        except OSError:
            # It died before its first cell; receive() finds the pipe at its end and says so.
            self.ended = True

    def deadline(self, time_limit: float) -> float:
        return self.started + time_limit if self._ready else float("inf")

    def receive(self) -> CellResult | None:
        """Return a result, or None where the process only said that it is ready."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(timeout=5)
            code = self._process.exitcode
            return self.given_up(f"ProcessDied: the process ended with exit code {code}")
        if isinstance(message, CellResult):
            self.cell = None
            return message
        self._ready, self.started = True, time.monotonic()
        return None

    def given_up(self, error: str) -> CellResult:
        assert self.cell is not None
        result = CellResult(self.cell, time.monotonic() - self.started, error=error)
        self.cell, self.ended = None, True
        return result

    def stop(self) -> None:
        self.pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join(timeout=5)


def _serve(pipe: Connection, work: Work, context: Context, parent: int) -> None:
    """Run cells until the parent closes the pipe."""
    from threadpoolctl import threadpool_limits

    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    # What ends it is the parent that has gone or was interrupted: nothing to report, and to nobody.
    with threadpool_limits(limits=1), suppress(EOFError, OSError, KeyboardInterrupt):
        pipe.send(_READY)
        while True:
            pipe.send(attempt(work, pipe.recv(), context))


def _start_method() -> BaseContext:
    """Fork from a clean process that has imported absentia already; start afresh on Windows.

    Forking from the caller itself would copy its threads' locks, and importing takes seconds.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["lab.experiments.running.workers", "sklearn.svm"])
    _start_server_deaf_to_interrupts()
    return processes


def _start_server_deaf_to_interrupts() -> None:
    """Start the process that others are forked from, with SIGINT blocked there and in its forks.

    A terminal sends Ctrl-C to all processes. The parent stops the others; by themselves they
    would print a traceback from wherever they were, imports included.
    """
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # first, because it unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent(parent: int) -> None:
    """End this process soon after the one that started it was killed, also within a cell."""
    while _exists(parent):
        time.sleep(_ORPHAN_CHECK_SECONDS)
    os._exit(1)


def _exists(process: int) -> bool:
    if os.name == "nt":
        return os.getppid() == process
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
